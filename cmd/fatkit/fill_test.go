package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
)

// jsonOf is what a command prints with --json.
func jsonOf[T any](t *testing.T, args ...string) (doc T) {
	t.Helper()
	o := realRun(t, append(args, "--json")...)
	o.want(t, 0)
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return doc
}

// printed runs a command that must print text.
func printed(t *testing.T, text string, args ...string) {
	t.Helper()
	if o := realRun(t, args...); o.code != exitOK || !strings.Contains(o.out, text) {
		t.Errorf("%v: exit %d, %q lacks %q\n%s", args, o.code, o.out, text, o.err)
	}
}

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.FromSlash(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// --size auto is the smallest size that holds the content, and the slack beside it.
func TestAutoSize(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/a": strings.Repeat("x", 300_000), "src/.hidden/b": "y"})
	for _, typ := range []string{"fat12", "fat16", "exfat"} {
		d := jsonOf[formatDoc](t, "format", "-t", typ, "-s", "auto", "-d", "src", typ+".img")
		smaller := realRun(t, "format", "-t", typ, "-s", fmt.Sprint(d.Size-autoStep), "-d", "src", "small.img")
		if smaller.code == exitOK {
			t.Errorf("%s: %d bytes would do, too: exit %d\n%s", typ, d.Size-autoStep, smaller.code, smaller.err)
		}
		const slack = 3 << 20
		loose := jsonOf[formatDoc](t, "format", "-t", typ, "-s", "auto", "--slack", "3M", "-d", "src", typ+"-loose.img")
		if free := int64(loose.FreeClusters) * int64(loose.ClusterSize); free < slack {
			t.Errorf("%s: %d bytes are free, not %d", typ, free, slack)
		}
	}
}

// What FAT has no place for: a second name of a file is a file with the same
// contents, and one that may not be written is read-only.
func TestFillFAT(t *testing.T) {
	if runtime.GOOS == "windows" {
		needs.Lacks(t, "hard links and modes")
	}
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/b": "contents", "src/c": "other"})
	if err := errors.Join(os.Link("src/b", "src/z"), os.Link("src/b", "src/a"), os.Chmod("src/c", 0o444)); err != nil {
		t.Fatal(err)
	}
	realRun(t, "format", "-t", "fat16", "-s", "16M", "-d", "src", "x.img").want(t, 0)
	for path, want := range map[string]string{"a": "contents", "b": "contents", "z": "contents", "c": "other"} {
		printed(t, want, "cat", "x.img", path)
	}
	printed(t, "-r--r--r-- R--A", "ls", "-l", "x.img", "c")
	printed(t, "clean: 4 files", "check", "x.img")
}

// A symbolic link that is left out is left out under its other names, too.
func TestFillSkipsLinks(t *testing.T) {
	if runtime.GOOS != "linux" {
		needs.Lacks(t, "names of symbolic links") // elsewhere a second name may be of the file
	}
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/f": "x"})
	if err := errors.Join(os.Symlink("f", "src/a"), os.Link("src/a", "src/b")); err != nil {
		t.Fatal(err)
	}
	realRun(t, "format", "-t", "fat16", "-s", "16M", "-d", "src", "--links", "skip", "x.img").want(t, 0)
	printed(t, "clean: 1 file", "check", "x.img")
}

// What is copied out has the modes and the times that the image says.
func TestCopyOutAttributes(t *testing.T) {
	if runtime.GOOS == "windows" {
		needs.Lacks(t, "modes of files")
	}
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/d/f": "x"})
	when := time.Unix(1_600_000_000, 0)
	if err := errors.Join(os.Chmod("src/d/f", 0o640), os.Chmod("src/d", 0o750),
		os.Chtimes("src/d/f", when, when), os.Chtimes("src/d", when, when)); err != nil {
		t.Fatal(err)
	}
	for typ, modes := range map[string][2]os.FileMode{"f2fs": {0o640, 0o750}, "exfat": {0o644, 0o755}} {
		image := typ + ".img"
		realRun(t, "format", "-t", typ, "-s", "64M", "-d", "src", image).want(t, 0)
		if err := os.Mkdir(typ, 0o755); err != nil {
			t.Fatal(err)
		}
		realRun(t, "copy", "-r", image+"::d", typ).want(t, 0)
		for i, name := range []string{"d/f", "d"} {
			fi, err := os.Stat(filepath.Join(typ, name))
			if err != nil || fi.Mode().Perm() != modes[i] || !fi.ModTime().Equal(when) {
				t.Errorf("%s: %s has %v, %v, %v, want %v, %v", typ, name, fi.Mode().Perm(), fi.ModTime(), err, modes[i], when)
			}
		}
	}
}

// The map of a volume and what a mount-scan counts are the same.
func TestMapTotals(t *testing.T) {
	t.Chdir(t.TempDir())
	big := strings.Repeat("x", 500_000)
	writeFiles(t, map[string]string{"src/a": big, "src/b": big, "src/c": big, "src/d": big})
	for _, typ := range []string{"fat16", "exfat"} {
		image := typ + ".img"
		realRun(t, "format", "-t", typ, "-s", "4M", "-d", "src", image).want(t, 0)
		realRun(t, "rm", image, "b").want(t, 0)
		m := jsonOf[struct {
			mapSumDoc
			ClusterSize uint64 `json:"cluster_size"`
			Size        int64
			Ranges      []useDoc
		}](t, "map", image)
		v := jsonOf[scanDoc](t, "mount-scan", image).Volumes[0]
		if m.FreeExtents != *v.Extents || uint64(m.LargestFree.Length) != *v.LargestFree*m.ClusterSize || uint64(m.Totals["free"]) != *v.Free*m.ClusterSize {
			t.Errorf("%s: %d runs, the largest %d, %d free; mount-scan says %d, %d, %d clusters of %d", typ, m.FreeExtents,
				m.LargestFree.Length, m.Totals["free"], *v.Extents, *v.LargestFree, *v.Free, m.ClusterSize)
		}
		var at int64
		for _, r := range m.Ranges {
			if r.Offset != at {
				t.Errorf("%s: a range begins at %d, not %d", typ, r.Offset, at)
			}
			at = r.Offset + r.Length
		}
		if at != m.Size {
			t.Errorf("%s: the ranges end at %d of %d", typ, at, m.Size)
		}
	}
}

// A hole between two pieces makes two fragments of them, wherever they lie.
func TestFragments(t *testing.T) {
	at := func(pos, off, n int64) vol.Mapping {
		return vol.Mapping{Pos: pos, FileExtent: vol.FileExtent{Off: off, Length: n}}
	}
	for want, ms := range [][]vol.Mapping{
		{}, {at(0, 100, 10), at(10, 110, 5)}, {at(0, 100, 10), at(20, 110, 5)}, {at(0, 100, 10), at(10, 120, 5), at(15, 100, 1)},
	} {
		if got := fragments(ms); got != want {
			t.Errorf("%v are %d fragments, want %d", ms, got, want)
		}
	}
}

// A directory that is made has the group of the one that it is in, and hands it on,
// if that does so; and a copy is as its source.
func TestMkdirInherits(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/f": "x", "d/e/f": "x"})
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "src", "--owner", "7:8", "v.img").want(t, 0)
	if err := os.Chmod("d", os.ModeSetgid|0o750); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat("d"); err != nil || fi.Mode()&os.ModeSetgid == 0 {
		needs.Lacks(t, "directories that hand on their group")
	}
	realRun(t, "copy", "-r", "--owner", "7:8", "d", "v.img::/").want(t, 0)
	realRun(t, "mkdir", "v.img", "d/one", "f-dir").want(t, 0)
	realRun(t, "mkdir", "-p", "v.img", "d/two/three").want(t, 0)
	o := realRun(t, "ls", "-lR", "v.img")
	o.want(t, 0)
	for _, want := range []string{`drwxr-sr-x .* 0 +8 .*/d/one/`, `drwxr-sr-x .* 0 +8 .*/d/two/`, `drwxr-sr-x .* 0 +8 .*/d/two/three/`,
		`drwxr-xr-x .* 0 +0 .*/f-dir/`, `drwxr-xr-x .* 7 +8 .*/d/e/`} {
		if !regexp.MustCompile(want).MatchString(o.out) {
			t.Errorf("%s is not there:\n%s", want, o.out)
		}
	}
}

// The owner of the root directory is what --root-owner says, also beside --owner.
func TestFillRootOwner(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/f": "x"})
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "src", "--owner", "7:8", "--root-owner", "9:10", "v.img").want(t, 0)
	realRun(t, "copy", "-r", "v.img::/", "--tar", "out.tar").want(t, 0)
	b, err := os.ReadFile("out.tar")
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string][2]int{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		owners[h.Name] = [2]int{h.Uid, h.Gid}
	}
	if owners["./"] != [2]int{9, 10} || owners["f"] != [2]int{7, 8} {
		t.Errorf("owners %v", owners)
	}
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "src", "--owner", "4294967295:0", "w.img").want(t, exitUsage)
}
