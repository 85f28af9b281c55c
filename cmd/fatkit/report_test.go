package main

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fatkit/fatkit/pkg/vol"
)

// nasty is a document with names and texts that mean something to those who read
// reports.
func nasty() *checkDoc {
	off := int64(7)
	d := newCheckDoc("a,b:c%.img", modeReport)
	v := &volumeDoc{volumeHead: volumeHead{Type: "fat16", Label: "<&]]>\x1b"}, Verdict: verdictUncorrected, Stats: &statsDoc{}}
	v.Findings = []findingDoc{{Code: "FAT-0012", Slug: "cross-linked", Severity: "error", severity: vol.SevError,
		Message: "100% \"<&]]>\"\x1b[31m\nred", locationDoc: locationDoc{Path: "/ä\x00\n::error::x", Offset: &off, Length: 2}, Repairs: []repairDoc{}}}
	d.add(v)
	d.settle()
	return d
}

func reported(t *testing.T, name string, d *checkDoc) string {
	t.Helper()
	var out strings.Builder
	a := newApp(drivers(), nil, &out, &out)
	r := a.newReporter(name, &checkOptions{failOn: vol.SevError})
	r.Image(d)
	r.End(4)
	_ = a.out.Flush()
	return out.String()
}

// TestGitHubEscaping: by the rules of workflow commands, so that nothing in an
// image makes a command or a property of its own.
func TestGitHubEscaping(t *testing.T) {
	want := `::error file=a%2Cb%3Ac%25.img,title=FAT-0012 cross-linked::a,b:c%25.img: /ä\x00\n::error::x, byte 7: 100%25 "<&]]>"\x1b[31m\nred` + "\n"
	if got := reported(t, reportGitHub, nasty()); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
}

// TestJUnitIsXML: any XML reader gets through it, and finds the counts right.
func TestJUnitIsXML(t *testing.T) {
	text := reported(t, reportJUnit, nasty())
	var all junitSuites
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if all.Tests != 2 || all.Failures != 1 || len(all.Suites) != 1 || len(all.Suites[0].Cases) != 2 || !utf8.ValidString(text) {
		t.Errorf("%+v", all)
	}
	c := all.Suites[0].Cases[1]
	if c.Failure == nil || !strings.Contains(c.Failure.Text, `"<&]]>`) || c.Failure.Type != "FAT-0012" {
		t.Errorf("%+v", c)
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' {
			t.Errorf("%q is in it", r)
		}
	}
}

// TestSift: of many alike the first are shown, and the rest is counted.
func TestSift(t *testing.T) {
	var fs []findingDoc
	for i := range 60 {
		fs = append(fs, findingDoc{Code: []string{"A", "B"}[i%2], Repaired: []string{"", "set"}[i/50]})
	}
	shown, all := sift(fs, 20)
	if len(shown) != 20+20+5+5+2 || all || shown[50].more != 5 || shown[51].more != 5 {
		t.Errorf("%d shown, %+v", len(shown), shown[len(shown)-3:])
	}
	if shown, all := sift(fs[:10], 20); len(shown) != 10 || !all {
		t.Errorf("%d, %v", len(shown), all)
	}
	if out := reported(t, reportGitHub, many(30)); strings.Count(out, "\n") != mostAlike+1 || !strings.Contains(out, "and 10 more like it") {
		t.Error(out)
	}
}

func many(n int) *checkDoc {
	d := nasty()
	for range n - 1 {
		d.Volumes[0].Findings = append(d.Volumes[0].Findings, d.Volumes[0].Findings[0])
	}
	return d
}

// onScreen is what a terminal of that width shows of a run.
func (f *fake) onScreen(columns int, args ...string) string {
	f.t.Helper()
	var out strings.Builder
	a := newApp([]*vol.Driver{fakeDriver(nil)}, strings.NewReader(""), &out, &out)
	a.columns, a.colours = columns, true
	full := []string{"fatkit"}
	for _, arg := range args {
		full = append(full, strings.ReplaceAll(arg, "IMAGE", f.image))
	}
	a.run(f.t.Context(), full)
	return strings.ReplaceAll(out.String(), f.image, "card.img")
}

// TestScreen: on a terminal no line is wider than it, every repair is shown with
// its option and its price, and volumes stand in a table.
func TestScreen(t *testing.T) {
	f := twoPartitions(t, fakeVolumeBytes(pSafe, pLossy, pOrphans, pHopeless), fakeVolumeBytes(pWarning))
	for _, columns := range []int{40, 80, 140} {
		for _, cmd := range []string{"check", "mount-scan"} {
			text := f.onScreen(columns, cmd, "IMAGE")
			for line := range strings.Lines(text) {
				if w := width(strings.TrimRight(line, "\n")); w > columns && !strings.Contains(line, "IMAGE") {
					t.Errorf("%d columns: %d: %q", columns, w, line)
				}
			}
		}
	}
	text := f.onScreen(200, "check", "IMAGE")
	for _, want := range []string{
		"\x1b[1;31merror  \x1b[0m \x1b[1mFAKE-0002\x1b[0m  card.img:1, /f0, cluster 2, byte 33280\n  something is wrong (is 2, should be 0)\n  - repair with -p or -y: put it right (loses nothing)\n",
		"  - repair with -y: cut it off (contents may be lost)\n",
		"  - repair with -y: free them (contents may be lost)\n  - repair with -p: keep them (loses nothing)\n",
		"\x1b[1mPART  TYPE  LABEL  SIZE    RESULT\x1b[0m\n1     FAKE  FAKE   64 KiB  \x1b[1;31m4 errors left\x1b[0m: 3 files, 1 directory, 50 % used\n",
		"3                  64 KiB  skipped: no file system that fatkit knows, or not formatted\n",
		"1 image, 3 volumes: 1 clean, 1 with something left, 1 skipped; 4 errors left, 1 warning left\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if plain := f.run("check", "IMAGE"); strings.Contains(plain.out, "\x1b") || !strings.Contains(plain.out, "card.img:1: error   FAKE-0002 /f0, cluster 2, byte 33280: something is wrong") {
		t.Errorf("piped: %s", plain.out)
	}
}

// TestWithoutEmpty: columns of which only the heading is there are left out, but not the
// first and the last.
func TestWithoutEmpty(t *testing.T) {
	rows := [][]string{{"PART", "NAME", "TYPE", "FREE", "RESULT"}, {"", "", "FAT16", "", ""}, {"", "", "", "7 %", ""}}
	want := [][]string{{"PART", "TYPE", "FREE", "RESULT"}, {"", "FAT16", "", ""}, {"", "", "7 %", ""}}
	if diff := cmp.Diff(want, withoutEmpty(rows)); diff != "" {
		t.Error(diff)
	}
}

// TestIndented: words are not broken, wide characters count twice.
func TestIndented(t *testing.T) {
	for _, tt := range []struct {
		text string
		wide int
		want string
	}{
		{"one two three", 40, "  one two three"},
		{"one two three", 10, "  one two\n  three"},
		{"- one two three", 10, "  - one\n    two\n    three"},
		{"日本語 日本語", 12, "  日本語\n  日本語"},
		{"a-very-long-word-that-fits-nowhere x", 10, "  a-very-long-word-that-fits-nowhere\n  x"},
		{"\x1b[1mone\x1b[0m two", 9, "  \x1b[1mone\x1b[0m two"},
		{"", 10, "  "},
		{"/a  b   c", 40, "  /a  b   c"},
		{"  a  ", 40, "    a  "},
	} {
		if got := indented(tt.text, 2, tt.wide); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.wide, got, tt.want)
		}
	}
}

// TestNothingActsOnTheTerminal: whatever an image or a file is called, no control
// character gets into what is said about it, and the name can still be read.
func TestNothingActsOnTheTerminal(t *testing.T) {
	const evil, shown = "a\x1b]0;x\a\u202e\n\xff", `a\x1b]0;x\a\u202e\n\xff`
	f := newFake(t, pSafe)
	named := filepath.Join(filepath.Dir(f.image), evil)
	f.write(named, fakeVolumeBytes(pSafe))
	f.write(named+".none", make([]byte, fakeSize))
	for _, args := range [][]string{
		{"check", named}, {"check", "-v", named + ".none"}, {"check", "-p", "--keep-undo", named}, {"undo", named}, {"undo", named}, {"check", "IMAGE:" + evil},
		{"check", "--" + evil, "IMAGE"}, {"check", "--partition-label", evil, "IMAGE"}, {evil}, {"explain", evil}, {"ls", named}, {"mount-scan", named + ".none"},
		{"prealloc", "-v", "--create", "-l", "1", named, evil}, {"zero", named, evil}, {"format", "-t", "fake", named}, {"copy", named + "::x", t.TempDir()}, {"info", named + ".none"},
	} {
		got := f.run(args...)
		for _, r := range strings.ReplaceAll(got.out+got.err, "\n", "") {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				t.Errorf("%q: %q is in it\n%q", args, r, got.out+got.err)
				break
			}
		}
		if text := got.out + got.err; !strings.Contains(text, shown) && !strings.Contains(text, strings.ReplaceAll(shown, `\n`, "; ")) {
			t.Errorf("%q: the name is not in\n%s", args, text)
		}
	}
}

// TestToolsEscape: nor under the names of other tools, nor in a progress bar.
func TestToolsEscape(t *testing.T) {
	out, code := runNamed(t, "fsck.vfat", "-n", "no\x1b[2Jne")
	if code != exitFailed || strings.Contains(out, "\x1b") || !strings.Contains(out, `no\x1b[2Jne`) {
		t.Errorf("exit %d: %q", code, out)
	}
	if words := (&meter{what: "a\x1b[2J"}).words(time.Now()); strings.Contains(words, "\x1b") {
		t.Errorf("%q", words)
	}
}

// TestSARIFPlainText: a name with braces is no placeholder, and one that looks like a
// link is none.
func TestSARIFPlainText(t *testing.T) {
	d := nasty()
	d.Volumes[0].Findings[0].Message = "{0} and [a](http://b)"
	var log sarifLog
	if err := json.Unmarshal([]byte(reported(t, reportSARIF, d)), &log); err != nil {
		t.Fatal(err)
	}
	if got := log.Runs[0].Results[0].Message.Text; got != `{{0}} and \[a\](http://b)` {
		t.Errorf("%q", got)
	}
	if got := plainMessage("[Linux] fs/fat/inode.c").Text; got != "[Linux] fs/fat/inode.c" {
		t.Errorf("%q", got)
	}
}
