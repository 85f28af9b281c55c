package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

func TestCheckModes(t *testing.T) {
	const mended, second = fakeMended, fakeMended + 1
	for _, c := range []struct {
		name string
		args string
		in   []byte
		code int
		out  []byte // the problem bytes afterwards; nil: as before
	}{
		{"clean", "", nil, 0, nil},
		{"report", "", []byte{pSafe, pWarning}, 4, nil},
		{"n", "-n", []byte{pSafe}, 4, nil},
		{"a warning is no failure", "-n", []byte{pWarning}, 0, nil},
		{"unless told", "-n --fail-on warning", []byte{pWarning}, 4, nil},
		{"info", "-n --fail-on info", []byte{pInfo}, 4, nil},
		{"an info is left alone", "-y", []byte{pInfo}, 0, nil},
		{"p", "-p", []byte{pWarning, pSafe}, 1, []byte{mended, mended}},
		{"a is p", "-a", []byte{pSafe}, 1, []byte{mended}},
		{"p leaves what may lose", "-p", []byte{pSafe, pLossy}, 4, []byte{mended, pLossy}},
		{"p takes the lossless way", "-p", []byte{pOrphans}, 1, []byte{second}},
		{"y", "-y", []byte{pWarning, pSafe, pLossy, pOrphans}, 1, []byte{mended, mended, mended, mended}},
		{"y on a clean one", "-y", nil, 0, nil},
		{"a second pass", "-y", []byte{pHidden, pSafe}, 1, []byte{mended, mended}},
		{"y keeps what it can", "-y", []byte{pSafe, pHopeless}, 4, []byte{mended, pHopeless}},
		{"not now", "-y", []byte{pSafe, pNotNow}, 4, []byte{mended, pNotNow}},
		{"a repair that does not hold", "-y", []byte{pSafe, pStubborn}, 4, nil},
		{"a check that does not end", "-y", []byte{pSafe, pStop}, 4, nil},
		{"orphans free", "-p --orphans free", []byte{pOrphans}, 1, []byte{mended}},
		{"orphans rescue", "-y --orphans rescue", []byte{pOrphans, pSafe}, 1, []byte{second, mended}},
		{"orphans report", "-y --orphans report", []byte{pOrphans, pSafe}, 4, []byte{pOrphans, mended}},
		{"dry run", "-y --dry-run", []byte{pSafe}, 4, nil},
		{"dry run of a warning", "-y --dry-run", []byte{pWarning}, 0, nil},
		{"unreadable", "-y", []byte{pSafe, pIO}, 8, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, c.in...)
			before := f.read()
			got := f.run(append([]string{"check", "IMAGE"}, strings.Fields(c.args)...)...)
			got.want(t, c.code)
			if c.out == nil && !bytes.Equal(f.read(), before) {
				t.Errorf("the image has changed: %v", f.problems(len(c.in)))
			} else if c.out != nil && !bytes.Equal(f.problems(len(c.out)), c.out) {
				t.Errorf("problem bytes %v, want %v", f.problems(len(c.out)), c.out)
			}
			if _, err := os.Stat(f.image + undoSuffix); err == nil {
				t.Error("an undo log is left")
			}
		})
	}
}

// TestCheckStopped: a check that could not go on to its end has no numbers to show.
func TestCheckStopped(t *testing.T) {
	f := newFake(t, pStop)
	got := f.run("check", "IMAGE")
	got.want(t, 4, "1 error left: the check could not go on to its end")
	if strings.Contains(got.out, "0 files") {
		t.Errorf("files are counted:\n%s", got.out)
	}
	for _, report := range []string{"json", "jsonl"} {
		if got := f.run("check", "--report", report, "IMAGE"); !strings.Contains(got.out, `"stopped":true,"stats"`) {
			t.Errorf("%s does not tell that it stopped:\n%s", report, got.out)
		}
	}
}

func TestCheckUsage(t *testing.T) {
	f := newFake(t)
	for _, args := range []string{
		"", "-n -y IMAGE", "-p -y IMAGE", "-y -r IMAGE", "-a -y IMAGE", "--report html IMAGE", "--json --report text IMAGE",
		"--fail-on bad IMAGE", "--orphans maybe -y IMAGE", "--orphans free IMAGE", "--discard-log IMAGE", "-y --no-replay --discard-log IMAGE", "-n --orphans rescue IMAGE",
		"-r IMAGE", "-j 0 IMAGE", "-j x IMAGE", "-C 987 IMAGE", "--undo x IMAGE", "--keep-undo IMAGE", "-y --undo x IMAGE IMAGE",
		"-y --undo= IMAGE", "--bogus IMAGE", "--size 5 IMAGE",
	} {
		if got := f.run(append([]string{"check"}, strings.Fields(args)...)...); got.code != exitUsage || got.out+got.err == "" {
			t.Errorf("check %s: exit %d, %q", args, got.code, got.err)
		}
	}
}

func TestCheckSeveralImagesORs(t *testing.T) {
	f := newFake(t, pSafe)
	other := f.image + "2"
	f.write(other, fakeVolumeBytes())
	got := f.run("check", "--json", "IMAGE", "IMAGE2", "IMAGE3")
	got.want(t, exitLeft|exitFailed)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], `"schema":"fatkit.error/1"`) || !strings.Contains(lines[2], `"kind":"not-found"`) {
		t.Errorf("%q", lines)
	}
}

// twoPartitions makes an MBR disk: the volumes, each in a partition of its own, and one
// more partition that nobody knows.
func twoPartitions(t *testing.T, volumes ...[]byte) *fake {
	f := newFake(t)
	const start, sectors = 64, fakeSize / 512
	b := make([]byte, (start+sectors*(len(volumes)+1))*512)
	for i := range len(volumes) + 1 {
		e := b[446+16*i:]
		e[4] = 0x0C
		binary.LittleEndian.PutUint32(e[8:], uint32(start+sectors*i))
		binary.LittleEndian.PutUint32(e[12:], sectors)
		if i < len(volumes) {
			copy(b[(start+sectors*i)*512:], volumes[i])
		}
	}
	b[510], b[511] = 0x55, 0xAA
	f.write(f.image, b)
	return f
}

func TestCheckDisk(t *testing.T) {
	f := twoPartitions(t, fakeVolumeBytes(pSafe), fakeVolumeBytes(pSafe, pStubborn), fakeVolumeBytes())
	first, second := 64*512+fakeProblems, 64*512+fakeSize+fakeProblems
	got := f.run("check", "-y", "--json", "IMAGE")
	got.want(t, exitCorrected|exitLeft, `"partition":1,"offset":32768`, `"verdict":"corrected"`, `"verdict":"uncorrected"`,
		`"verdict":"clean"`, `"verdict":"skipped"`, fmt.Sprintf(`"offset":%d,"length":1`, first))
	b := f.read()
	if b[first] != fakeMended {
		t.Errorf("the first volume is not repaired: %d", b[first])
	}
	if b[second] != pSafe {
		t.Errorf("repairs that do not hold were written: %d", b[second])
	}
	f.run("check", "IMAGE:1").want(t, 0, "card.img:1", "clean")
	f.run("check", "IMAGE:2").want(t, 4)
	f.run("check", "IMAGE:4").want(t, 8, "no file system that fatkit knows")
	f.run("check", "IMAGE:7").want(t, 8, "there is no partition 7, but 1, 2, 3, 4")
	f.run("check", "IMAGE@@64S").want(t, 0, "clean")
	f.run("check", "IMAGE@@32K").want(t, 0, "clean")
	f.run("check", "IMAGE@@1M").want(t, 8, "beyond the end")
	f.run("info", "IMAGE").want(t, 0, "card.img:1", "card.img:3", "card.img:4")
	f.run("mount-scan", "IMAGE").want(t, 0, "card.img:3", "mounts cleanly", "card.img:4: skipped")
	f.run("zero", "IMAGE", "x").want(t, 4, "several volumes", "card.img:1", "card.img:2", "card.img:3")
	f.run("zero", "IMAGE:3", "x").want(t, 0)
}

func TestCheckDiskOfStrangers(t *testing.T) {
	f := twoPartitions(t)
	f.run("check", "IMAGE").want(t, 0, "card.img:1: skipped")
	f.run("mount-scan", "IMAGE").want(t, 8, "skipped")
	f.run("prealloc", "-l", "1", "IMAGE", "x").want(t, 8, "1 partition, of no type")
}

func TestCheckCancelled(t *testing.T) {
	f := newFake(t, pSafe, pHidden)
	before := f.read()
	ctx, cancel := context.WithCancel(t.Context())
	passes := 0
	f.onCheck = func() {
		if passes++; passes == 3 { // the first repair is staged by then
			cancel()
		}
	}
	got := f.runWith(ctx, "check", "-y", "--json", "IMAGE", "IMAGE2")
	got.want(t, exitCancelled, `"kind":"cancelled"`, "the image is as it was")
	if !bytes.Equal(before, f.read()) || strings.Count(got.out, "\n") != 1 {
		t.Errorf("changed, or went on:\n%s", got.out)
	}
}

func TestCheckAsks(t *testing.T) {
	for _, c := range []struct {
		answers string
		out     []byte
		code    int
	}{
		{"y\nn\n2\n", []byte{fakeMended, pLossy, fakeMended + 1}, 4},
		{"", []byte{pSafe, pLossy, pOrphans}, 4},
		{"y\n", []byte{fakeMended, pLossy, pOrphans}, 4},
		{"a\n", []byte{fakeMended, fakeMended, fakeMended}, 1},
		{"q\n", []byte{pSafe, pLossy, pOrphans}, 4},
		{"x\nx\n9\ny\nq\n", []byte{pSafe, fakeMended, pOrphans}, 4},
		{"1\nYES\nno", []byte{fakeMended, fakeMended, pOrphans}, 4},
	} {
		f := newFake(t, pSafe, pLossy, pOrphans)
		f.stdin, f.tty = c.answers, true
		f.run("check", "-r", "IMAGE").want(t, c.code, "Repair? [")
		if got := f.problems(3); !bytes.Equal(got, c.out) {
			t.Errorf("%q: %v, want %v", c.answers, got, c.out)
		}
	}
}

// TestCheckAsksOfDisk: a question says of which volume it is and where in the image,
// and answers for all that follows, and those typed ahead, are for all volumes and images.
func TestCheckAsksOfDisk(t *testing.T) {
	for _, c := range []struct {
		answers      string
		first, other byte
		asked        int
	}{
		{"a\n", fakeMended, fakeMended, 1},
		{"q\n", pSafe, pSafe, 1},
		{"n\na\n", pSafe, fakeMended, 2},
		{"y\nq\n", fakeMended, pSafe, 2},
		{"n\nn\nn\n", pSafe, pSafe, 3},
	} {
		f := twoPartitions(t, fakeVolumeBytes(pSafe), fakeVolumeBytes(pSafe))
		f.write(f.image+"2", fakeVolumeBytes(pSafe))
		f.stdin, f.tty = c.answers, true
		got := f.run("check", "-r", "IMAGE", "IMAGE2")
		got.want(t, anyCode, "card.img:1: error FAKE-0002 /f0, cluster 2, byte 33280: something is wrong", "  1  put it right (loses nothing)\n")
		if n := strings.Count(got.err, "Repair? ["); n != c.asked {
			t.Errorf("%q: asked %d times\n%s", c.answers, n, got.err)
		}
		b := f.read()
		if b[64*512+fakeProblems] != c.first || b[64*512+fakeSize+fakeProblems] != c.other {
			t.Errorf("%q: %d, %d", c.answers, b[64*512+fakeProblems], b[64*512+fakeSize+fakeProblems])
		}
	}
}

// seconds are no part of a golden file.
var seconds = regexp.MustCompile(`"seconds": [0-9.e+-]+`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = seconds.ReplaceAllString(got, `"seconds": 0`)
	path := filepath.Join("..", "..", "testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (go test -update writes it anew):\n%s\nwant\n%s", name, got, want)
	}
}

// The shapes that scripts rely on, and the texts that people read.
func TestGolden(t *testing.T) {
	fakeAt := func(problems ...byte) func(t *testing.T) *fake {
		return func(t *testing.T) *fake { return newFake(t, problems...) }
	}
	damaged := fakeAt(pWarning, pSafe, pLossy, pHopeless, pInfo)
	for _, c := range []struct {
		name string
		make func(t *testing.T) *fake
		args string
	}{
		{"check.json", damaged, "check --json IMAGE"},
		{"check-repaired.json", damaged, "check -p --json IMAGE"},
		{"check-dry-run.json", damaged, "check -y --dry-run --json IMAGE"},
		{"check-disk.json", func(t *testing.T) *fake { return twoPartitions(t, fakeVolumeBytes()) }, "check --json IMAGE"},
		{"check-unreadable.json", fakeAt(pIO), "check --json IMAGE"},
		{"check.txt", damaged, "check IMAGE"},
		{"check-repaired.txt", damaged, "check -y -v IMAGE"},
		{"check-dry-run.txt", damaged, "check -y --dry-run IMAGE"},
		{"check-unproven.txt", fakeAt(pSafe, pStubborn), "check -y IMAGE"},
		{"check-clean.txt", fakeAt(), "check IMAGE"},
		{"format.json", fakeAt(), "format -t fake --json --force -L CARD IMAGE"},
		{"format.txt", fakeAt(), "format -t fake -v --force -L CARD IMAGE"},
		{"format-dry-run.txt", fakeAt(), "format -t fake --dry-run --size 1M IMAGE2"},
		{"prealloc.json", fakeAt(), "prealloc --json -l 512 IMAGE a b"},
		{"prealloc.txt", fakeAt(), "prealloc -v -l 512 IMAGE a b"},
		{"zero.json", fakeAt(), "zero --json -l 512 IMAGE a"},
		{"zero-free.json", fakeAt(), "zero --free --json IMAGE"},
		{"zero-free.txt", fakeAt(), "zero --free --slack IMAGE"},
		{"mount-scan.json", fakeAt(), "mount-scan --json IMAGE"},
		{"mount-scan-quick.json", fakeAt(), "mount-scan --quick --readahead 64K --json IMAGE"},
		{"info.json", fakeAt(), "info --json IMAGE"},
		{"info.txt", fakeAt(), "info -v IMAGE"},
		{"explain.txt", fakeAt(), "explain torn"},
		{"explain.json", fakeAt(), "explain --json FAKE-0003"},
		{"error.json", fakeAt(), "check --json IMAGE.not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.make(t)
			f.env["SOURCE_DATE_EPOCH"] = "1700000000"
			got := f.run(strings.Fields(c.args)...)
			text := got.out
			if strings.HasSuffix(c.name, ".json") {
				var v any
				if err := json.Unmarshal([]byte(text), &v); err != nil {
					t.Fatalf("%v in %s%s", err, got.out, got.err)
				}
				var b bytes.Buffer
				_ = json.Indent(&b, []byte(text), "", " ")
				text = b.String()
			} else {
				text = regexp.MustCompile(`[0-9.]+ s\n`).ReplaceAllString(text, "0 s\n") + "-- stderr --\n" + got.err
			}
			golden(t, c.name, fmt.Sprintf("exit %d\n%s", got.code, text))
		})
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestManyAlike(t *testing.T) {
	f := newFake(t, bytes.Repeat([]byte{pSafe}, 50)...)
	got := f.run("check", "IMAGE")
	got.want(t, 4, "and 30 more like it", "50 errors left")
	if n := strings.Count(got.out, "FAKE-0002"); n != 21 {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(f.run("check", "-v", "IMAGE").out, "FAKE-0002"); n != 50 {
		t.Errorf("-v: %d lines", n)
	}
	got = f.run("check", "-q", "IMAGE")
	if strings.Contains(got.out, "errors left") || got.err != "" {
		t.Errorf("-q: %q, %q", got.out, got.err)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"DCIM/a b.MP4": "DCIM/a b.MP4", "café 日本": "café 日本", "a\x1b[31mb": `a\x1b[31mb`, "a\nb": `a\nb`, "\xff": `\xff`, "": "",
		"\ufffd \"q\"": "\ufffd \"q\"", "\u202e\"q\\": `\u202e"q\\`, "\u0085": `\u0085`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"card.img:2": "card.img:2", "my card.img": "'my card.img'", "it's": `'it'\''s'`, "": "''",
		"-p": "./-p", "-a b": "'./-a b'", "a\x1b[31m'b": `$'a\x1b[31m\'b'`, "\xff": `$'\xff'`} {
		if got := shellWord(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestPathBytes: places whose paths are not UTF-8 keep them apart.
func TestPathBytes(t *testing.T) {
	var lines []string
	for _, path := range []string{"/a\xff", "/a\xfe", "/ä\uFFFD"} {
		f := vol.Finding{Problem: &vol.Problem{}, Loc: vol.Location{Path: path}, Related: []vol.Location{{Path: path}}}
		b, err := json.Marshal(newFindingDoc(&vol.Outcome{Finding: &f}, 0))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	for i, want := range []string{`"path":"/a\ufffd","path_bytes":"L2H/"`, `"path":"/a\ufffd","path_bytes":"L2H+"`, `"path":"/ä�"`} {
		if strings.Count(lines[i], want) != 2 || strings.Contains(lines[i], "path_bytes") != (i < 2) {
			t.Errorf("%s: %s", want, lines[i])
		}
	}
}
