package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// holeFile writes a file of some size that has text at some places and is a hole,
// or zeros that are written, elsewhere.
func holeFile(t *testing.T, name string, size int64, written bool, texts map[int64]string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if written {
		_, err = f.Write(make([]byte, size))
	} else {
		err = f.Truncate(size)
	}
	for at, text := range texts {
		if err == nil {
			_, err = f.WriteAt([]byte(text), at)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// holeTree makes a directory of files with holes, all holes or all zeros.
func holeTree(t *testing.T, dir string, written bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct {
		size  int64
		texts map[int64]string
	}{
		"ends":    {3 << 20, map[int64]string{0: "first", 3<<20 - 4: "last"}},
		"middle":  {9_000_001, map[int64]string{5_000_000: strings.Repeat("middle", 2000)}},
		"nothing": {1 << 20, nil}, "block": {4096, nil}, "inside": {100, nil}, "nearly": {3600, nil}, "inside too": {200, map[int64]string{150: "x"}},
		"odd":      {40_000, map[int64]string{4095: "ab", 12_288: "c"}},
		"sub/far":  {12 << 20, map[int64]string{11 << 20: "far"}},
		"sub/full": {50_000, map[int64]string{0: strings.Repeat("x", 50_000)}},
		"empty":    {0, nil},
	} {
		holeFile(t, filepath.Join(dir, filepath.FromSlash(name)), f.size, written, f.texts)
	}
}

// TestFillHoles: a volume is the same to the byte from a directory, from its plain
// archive, from one that knows holes, and from a directory in which zeros were
// written; with --size auto, too. On F2FS zeros are holes.
func TestFillHoles(t *testing.T) {
	if runtime.GOOS != "linux" {
		needs.Lacks(t, "GNU tar")
	}
	voltest.Peer(t, "tar")
	voltest.Peer(t, "diff")
	t.Chdir(t.TempDir())
	t.Setenv("SOURCE_DATE_EPOCH", "1600000000")
	holeTree(t, "src", false)
	holeTree(t, "written", true)
	for name, args := range map[string][]string{"plain.tar": {"-cf"}, "sparse.tar": {"-Scf"}, "plain.tgz": {"-czf"}} {
		if out, err := exec.Command("tar", append(args, name, "-C", "src", ".")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sources := []string{"src", "plain.tar", "sparse.tar", "plain.tgz", "written"}
	for _, args := range [][]string{
		{"-t", "f2fs", "-s", "64M"}, {"-t", "f2fs", "-s", "auto"}, {"-t", "f2fs", "-s", "auto", "-O", "extra_attr,inode_checksum,quota", "--slack", "1M"},
		{"-t", "fat32", "-s", "auto"}, {"-t", "exfat", "-s", "auto"},
	} {
		var first []byte
		for _, from := range sources {
			realRun(t, append(append([]string{"format"}, args...), "-f", "-d", from, "disk.img")...).want(t, 0)
			b, err := os.ReadFile("disk.img")
			switch {
			case err != nil:
				t.Fatal(err)
			case first == nil:
				first = b
			case !bytes.Equal(first, b):
				t.Errorf("%q: %s gives another volume than %s, of %d bytes and %d", args, from, sources[0], len(b), len(first))
			}
			if err := os.Remove("disk.img"); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile("disk.img", first, 0o666); err != nil {
			t.Fatal(err)
		}
		realRun(t, "check", "--fail-on", "info", "disk.img").want(t, 0)
		if err := os.Mkdir("out", 0o777); err != nil {
			t.Fatal(err)
		}
		realRun(t, "copy", "-r", "disk.img::/", "out").want(t, 0)
		if out, err := exec.Command("diff", "-r", "src", "out").CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		if err := os.RemoveAll("out"); err != nil {
			t.Fatal(err)
		}
		if args[1] == "f2fs" {
			holesKept(t)
		}
	}
}

// holesKept: of the files of holeTree disk.img has those blocks that have
// something in them.
func holesKept(t *testing.T) {
	t.Helper()
	type lsDoc struct{ Entries []entryDoc }
	got := map[string]int64{}
	for _, e := range jsonOf[lsDoc](t, "ls", "-R", "--extents", "disk.img").Entries {
		for _, x := range e.Extents {
			if !x.Inline {
				got[e.Path] += x.Length
			}
		}
	}
	for path, want := range map[string]int64{"/ends": 8192, "/middle": 4096 * 4, "/nothing": 0, "/block": 0, "/inside": 0, "/nearly": 0, "/odd": 12_288, "/sub/far": 4096, "/sub/full": 53_248} {
		if got[path] != want {
			t.Errorf("%s has %d bytes in blocks, not %d", path, got[path], want)
		}
	}
}
