package lfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// peerTree makes a tree for sload.f2fs: small and large files, links, names of
// all lengths, and a directory that needs more than one level.
func peerTree(t *testing.T) (dir string, files, dirs uint64) {
	t.Helper()
	dir = t.TempDir()
	put := func(name string, n int) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat(name+" ", n/(len(name)+1)+1)[:n]), 0o644); err != nil {
			t.Fatal(err)
		}
		files++
	}
	for i := range 400 {
		put(fmt.Sprintf("many/a file with a long name, number %d", i), i)
	}
	for i, n := range []int{0, 1, 3000, 3488, 3489, 4096, 100_000, 5_000_000} {
		put(fmt.Sprintf("sizes/%d", i), n)
	}
	put("a/b/c/d/e/f/deep", 10)
	put(strings.Repeat("n", 255), 5)
	put("ünï日本", 5)
	for old, name := range map[string]string{"sizes/3": "soft", "nowhere": "a/" + strings.Repeat("x", 100)} {
		if err := os.Symlink(old, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files, 2 + 6
}

// made is an image in a file, made by mkfs.f2fs.
func made(t *testing.T, size int64, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(args) > 0 {
		mkfs := voltest.Peer(t, "mkfs.f2fs")
		if out, err := exec.Command(mkfs, append(args, path)...).CombinedOutput(); err != nil {
			t.Fatalf("mkfs.f2fs %q: %v\n%s", args, err, out)
		}
	}
	return path
}

// judge checks and scans an image: of what is found, and of the reasons, the
// slugs.
func judge(t *testing.T, path string) (rows, why string, res *vol.Result, scan *vol.Scan) {
	t.Helper()
	f, err := dev.OpenFile(path, dev.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	res = checked(t, f)
	scan = scanned(t, f, vol.ScanOptions{})
	return strings.Join(slugs(res), " "), reasons(t, scan), res, scan
}

// TestCheckPeer: what mkfs.f2fs makes and sload.f2fs fills is clean, and all of
// it is found.
func TestCheckPeer(t *testing.T) {
	sload := voltest.Peer(t, "sload.f2fs")
	tree, files, dirs := peerTree(t)
	for _, args := range []string{
		"", "-O extra_attr,inode_checksum,sb_checksum", "-O extra_attr,flexible_inline_xattr,inode_crtime", "-O extra_attr,inode_checksum,project_quota",
		"-O extra_attr,compression", "-O encrypt,verity", "-O quota", "-O casefold -C utf8:strict", "-s 2 -z 2", "-s 4", "-i", "-o 20", "-l label -r", "-O ro", "-O ro,extra_attr,compression",
	} {
		t.Run(args, func(t *testing.T) {
			path := made(t, 256<<20, strings.Fields("-q "+args)...)
			mountable := "rw"
			if strings.Contains(args, "-O ro") {
				mountable = "ro"
			}
			if rows, why, res, scan := judge(t, path); rows != "" || why != "" || res.Stats.Files != 0 {
				t.Errorf("new: found %q, %+v", found(res), scan)
			}
			// It ends with a repairing check, and with 1 where that did something.
			out, err := exec.Command(sload, "-f", tree, path).CombinedOutput()
			if x := new(exec.ExitError); err != nil && (!errors.As(err, &x) || x.ExitCode() != 1) {
				t.Fatalf("sload.f2fs: %v\n%s", err, out)
			}
			rows, why, res, scan := judge(t, path)
			if strings.Contains(args, "flexible") {
				// sload.f2fs 1.15 writes pages of large files where attributes are.
				rows = strings.TrimPrefix(rows, "xattr-magic")
			}
			if rows != "" || why != "" || scan.Mountable != mountable {
				t.Errorf("filled: found %q, %+v", found(res), scan)
			}
			if res.Stats.Files != files || res.Stats.Directories != dirs {
				t.Errorf("found %d files in %d directories, should be %d in %d", res.Stats.Files, res.Stats.Directories, files, dirs)
			}
		})
	}
}

// TestCheckOurs: what we format is clean, whatever the size, the features and
// the blocks, and mounts.
func TestCheckOurs(t *testing.T) {
	cs := append(peerCases(),
		peerCase{16 * tib, vol.FormatOptions{}},
		peerCase{gib, vol.FormatOptions{ClusterSize: 8192, Features: labFeatures}},
		peerCase{gib, vol.FormatOptions{ClusterSize: 16384, Features: labFeatures}},
		peerCase{gib, vol.FormatOptions{ClusterSize: 16384, Features: "ro"}})
	for _, c := range cs {
		d, g := newVolume(t, c.size, c.o)
		res, scan := checked(t, d), scanned(t, d, vol.ScanOptions{})
		rows, why, mountable := "", "", "rw"
		switch {
		case g.BlockSize != minBlock:
			rows, why, mountable = "sb-page-size", "sb-page-size", "no"
		case g.ReadOnly():
			mountable = "ro"
		case g.SectorSize > 512:
			rows = "sb-sector"
		}
		if got := strings.Join(slugs(res), " "); got != rows || reasons(t, scan) != why || scan.Mountable != mountable || scan.Dirty {
			t.Errorf("%v: found %q, and %+v", c, found(res), scan)
		}
	}
}
