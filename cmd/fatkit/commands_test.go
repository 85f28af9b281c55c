package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

func TestCommandLine(t *testing.T) {
	f := newFake(t)
	for args, want := range map[string]int{
		"": 16, "bogus": 16, "bogus x": 16, "--bogus": 16, "help": 0, "--help": 0, "-h": 0, "help check": 0, "check --help": 0, "check -h": 0,
		"help bogus": 16, "--version": 0, "version": 0, "version x": 16, "version --json": 0, "-q version": 0, "explain": 0, "explain -v": 0,
		"explain wrong": 0, "explain fake-0001": 0, "explain x": 16, "info": 16, "info IMAGE IMAGE": 16, "mount-scan": 16, "undo": 16, "undo --undo= IMAGE": 16,
		"mount-scan --readahead x IMAGE": 16, "mount-scan --readahead 0 IMAGE": 0, "--json": 16, "--json check": 16,
	} {
		got := f.run(strings.Fields(args)...)
		if got.code != want {
			t.Errorf("%q: exit %d, want %d\n%s", args, got.code, want, got.err)
		}
		if want == 0 && (got.out == "" || got.err != "") || want == 16 && got.err == "" && !strings.Contains(got.out, "fatkit.error/1") {
			t.Errorf("%q: %q, %q", args, got.out, got.err)
		}
	}
	// An image may be called anything.
	for _, name := range []string{"help", "json", "-n"} {
		dir := t.TempDir()
		t.Chdir(dir)
		f.write(name, fakeVolumeBytes())
		f.run("check", "--json", "--", name).want(t, 0)
	}
}

func TestMountScan(t *testing.T) {
	f := newFake(t)
	f.run("mount-scan", "-v", "IMAGE").want(t, 0, "mounts cleanly", "5 of 126 clusters free in 2 extents, the largest 1.5 KiB", "512 B in 1 read")
	b := f.read()
	b[fakeDirtyOff] = 1
	f.write(f.image, b)
	f.run("mount-scan", "IMAGE").want(t, 4, "FAKE-0001 marked dirty", "check it first")
	f.run("mount-scan", "--json", "IMAGE", "IMAGE.not").want(t, 12, `"dirty":true`, `"exit":4`, "not-found")
}

// TestScanState: what a mount would do, in words.
func TestScanState(t *testing.T) {
	reason := []reasonDoc{{Code: "FAKE-0001", Message: "odd"}}
	for _, c := range []struct {
		mountable string
		dirty     bool
		reasons   []reasonDoc
		want      string
	}{
		{"rw", false, nil, "mounts cleanly"},
		{"rw", false, reason, "mounts, but should be checked first"},
		{"rw", true, reason, "mounts, but is marked dirty: check it first"},
		{"ro", false, nil, "mounts cleanly, read-only"},
		{"ro", false, reason, "mounts read-only, but should be checked first"},
		{"no", false, reason, "does not mount"},
		{"no", true, reason, "does not mount, and is marked dirty: check it first"},
	} {
		v := &scanVolumeDoc{Mountable: c.mountable, Dirty: c.dirty, Reasons: c.reasons}
		if got := v.state(); got != c.want {
			t.Errorf("%s, dirty %v, %d reasons: %q, want %q", c.mountable, c.dirty, len(c.reasons), got, c.want)
		}
	}
}

func TestPreallocAndZero(t *testing.T) {
	f := newFake(t)
	f.run("prealloc", "-l", "1K", "IMAGE", "a").want(t, 0, "a: 1024 bytes in 1 extent, from byte 1024")
	if b := f.read(); b[fakeData] != 1 || b[8192] != 0 || b[8192+512] != 0xAA {
		t.Error("the change is not there")
	}
	f = newFake(t)
	before := f.read()
	f.run("prealloc", "-l", "1K", "--dry-run", "IMAGE", "a").want(t, 0, "nothing was written")
	f.run("prealloc", "-l", "1M", "IMAGE", "a").want(t, 4, "no space")
	if !bytes.Equal(before, f.read()) {
		t.Error("changed")
	}
	f.stdin = "512\ta\n1K\tb\n"
	f.run("prealloc", "--manifest", "-", "--fill", "none", "IMAGE").want(t, 0, "4 clusters allocated", "becomes readable")
	f.run("zero", "IMAGE", "a", "-o", "512", "-l", "1K").want(t, 0, "a: 512 bytes from byte 512")
	if b := f.read(); b[fakeData] != 0 {
		t.Error("not zeroed")
	}
	b := f.read()
	b[fakeDirtyOff] = 1
	f.write(f.image, b)
	f.run("prealloc", "-l", "1", "IMAGE", "a").want(t, 4, "marked dirty", "fatkit check")
	f.run("prealloc", "-l", "1", "--force", "IMAGE", "a").want(t, 0)
}

func TestPreallocUsage(t *testing.T) {
	f := newFake(t)
	for _, args := range []string{
		"prealloc", "prealloc IMAGE", "prealloc IMAGE a", "prealloc -l 1M IMAGE", "prealloc -l 0 IMAGE a", "prealloc -l -1 IMAGE a", "prealloc -l x IMAGE a",
		"prealloc -l 1 IMAGE a a", "prealloc --manifest - -l 1 IMAGE", "prealloc --manifest - IMAGE a", "prealloc -l 8388607T -o 1T IMAGE a",
		"prealloc -l 1 --fill x IMAGE a", "prealloc -l 1 --valid x IMAGE a", "prealloc -l 1 --align 0 IMAGE a", "prealloc -l 1 -j 0 IMAGE a",
		"zero", "zero IMAGE", "zero --free IMAGE a", "zero --punch IMAGE a", "zero --slack IMAGE a", "zero --free --punch --write IMAGE",
		"zero --free -o 5 IMAGE", "zero --free -n IMAGE", "zero --free --force IMAGE", "zero --free --keep-undo IMAGE", "zero -l 0 IMAGE a",
	} {
		if got := f.run(strings.Fields(args)...); got.code != exitUsage || got.err == "" {
			t.Errorf("%s: exit %d, %q", args, got.code, got.err)
		}
	}
}

func TestZeroFree(t *testing.T) {
	half := fakeSize / 2
	for args, edge := range map[string]int{"--free": half, "--free --slack": half - 100, "--free --write": half} {
		f := newFake(t)
		f.run(strings.Fields("zero IMAGE "+args)...).want(t, 0, "64 clusters free in 1 run")
		b := f.read()
		if b[edge-1] != 0xAA || !bytes.Equal(b[edge:], make([]byte, fakeSize-edge)) {
			t.Errorf("%s: not exactly the free clusters are zeros", args)
		}
	}
	f := newFake(t, pSafe)
	before := f.read()
	f.run("zero", "--free", "IMAGE").want(t, 4, "FAKE-0002", "fatkit check")
	f = newFake(t)
	f.run("zero", "--free", "--dry-run", "IMAGE").want(t, 0, "nothing was written")
	if bytes.Equal(before, f.read()) || bytes.Contains(f.read()[half:], []byte{0}) {
		t.Error("changed")
	}
}

func TestZeroFreeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := newApp(nil, nil, nil, nil)
	r := &zeroRun{changeFlags: changeFlags{a: a}, slack: true}
	m := dev.NewMem(fakeSize)
	if _, err := m.WriteAt(fakeVolumeBytes(), 0); err != nil {
		t.Fatal(err)
	}
	cancel()
	doc, err := r.zeroFree(ctx, &fakeVolume{d: m}, m)
	if !errors.Is(err, context.Canceled) || doc.BytesPunched != 0 {
		t.Errorf("%v, %+v", err, doc)
	}
	doc.BytesPunched = 512
	if _, code := classify(r.half(err, doc)); code != exitCancelled || !strings.Contains(explainError(r.half(err, doc)), "512 bytes") {
		t.Errorf("%v", r.half(err, doc))
	}
}

// What cannot be an image says so, and nothing waits for it.
func TestBadImages(t *testing.T) {
	f := newFake(t)
	f.write(f.image+".empty", nil)
	f.write(f.image+".small", []byte("x"))
	f.write(f.image+".random", bytes.Repeat([]byte{0x5A, 0xA5, 0x55, 0xAA, 1}, 40000))
	f.write(f.image+".zeros", make([]byte, 1<<20))
	f.write(f.image+".short", fakeVolumeBytes()[:1000])
	if err := os.Mkdir(f.image+".dir", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]string{
		".empty": "empty", ".small": "neither a file system", ".random": "neither a file system", ".zeros": "neither a file system",
		".short": "neither a file system", ".dir": "a directory", ".missing": "no such file", ".dir/x": "no such file",
	} {
		for _, command := range []string{"check", "check -y", "info", "mount-scan", "zero --free", "prealloc -l 1", "check --json", "undo"} {
			args := append(strings.Fields(command), "IMAGE"+name)
			code := exitFailed
			switch {
			case strings.HasPrefix(command, "prealloc"):
				args = append(args, "path")
			case command == "undo" && !strings.HasPrefix(name, ".dir") && name != ".missing" && name != ".empty":
				code, words = exitLeft, "nothing to undo"
			}
			f.run(args...).want(t, code, words)
		}
	}
	f.run("format", "-t", "fake", "IMAGE.dir").want(t, 8, "a directory")
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE.dir/no/such").want(t, 8, "no such file")
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestFullStandardOutput(t *testing.T) {
	f := newFake(t)
	for _, args := range [][]string{{"fatkit", "check", f.image}, {"fatkit", "check", "--json", f.image}, {"fatkit", "--help"}} {
		var errw bytes.Buffer
		a := newApp(drivers(), nil, fullDisk{}, &errw)
		a.drivers[0] = fakeDriver(nil)
		if code := a.run(t.Context(), args); code&exitFailed == 0 || !strings.Contains(errw.String(), "no space left") {
			t.Errorf("%v: exit %d, %q", args, code, errw.String())
		}
	}
}

// Bars are for terminals, and for what takes its time.
func TestMeter(t *testing.T) {
	var w bytes.Buffer
	a := newApp(nil, nil, io.Discard, &w)
	a.terminal = func(any) bool { return true }
	m := a.newMeter("working")
	m.update(1, 2)
	if w.Len() > 0 {
		t.Errorf("at once: %q", w.String())
	}
	m.start = m.start.Add(-2 * patience)
	m.update(1, 2)
	m.begin("still working", 2, 2)
	m.update(2, 2)
	m.update(5, 0)
	m.clear()
	if !strings.Contains(w.String(), "working") || !strings.Contains(w.String(), "50%") || !strings.Contains(w.String(), "1s left") {
		t.Errorf("%q", w.String())
	}
	for _, quiet := range []func(){func() { a.quiet = true }, func() { a.quiet, a.json = false, true }, func() { a.json, a.terminal = false, func(any) bool { return false } }} {
		quiet()
		w.Reset()
		m := a.newMeter("working")
		m.start = m.start.Add(-2 * patience)
		m.update(1, 2)
		m.clear()
		if w.Len() > 0 {
			t.Errorf("%q", w.String())
		}
	}
}

func TestColour(t *testing.T) {
	a := newApp(nil, nil, io.Discard, io.Discard)
	if a.colours || a.colour("31", "x") != "x" {
		t.Error("colour without a terminal")
	}
	a.colours = true
	if a.colour("31", "x") != "\x1b[31mx\x1b[0m" {
		t.Error("no colour")
	}
}
