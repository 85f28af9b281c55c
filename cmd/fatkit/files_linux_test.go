package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// wantTimes sets the times of a new link, and of a file, and says what the file
// system makes of them: not all can hold the same.
func wantTimes(t *testing.T, name string, when time.Time) unix.Timespec {
	t.Helper()
	ts, err := unix.TimeToTimespec(when)
	if err := errors.Join(err, os.Symlink("nowhere", name), unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)); err != nil {
		t.Fatal(err)
	}
	return modified(t, name)
}

func modified(t *testing.T, name string) unix.Timespec {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		t.Fatal(err)
	}
	return st.Mtim
}

// Symbolic links keep their times, and times are kept that do not fit into 64 bits
// of nanoseconds.
func TestCopyOutTimes(t *testing.T) {
	t.Chdir(t.TempDir())
	near, far := time.Unix(1_234_567_890, 0), time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "x", ModTime: near},
		{Typeflag: tar.TypeReg, Name: "far", ModTime: far, Mode: 0o644},
		{Typeflag: tar.TypeDir, Name: "dir/", ModTime: far, Mode: 0o755},
		{Typeflag: tar.TypeFifo, Name: "fifo", ModTime: near, Mode: 0o644},
	} {
		h.Format = tar.FormatPAX
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile("a.tar", b.Bytes(), 0o644), os.Mkdir("out", 0o755)); err != nil {
		t.Fatal(err)
	}
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "a.tar", "v.img").want(t, 0)
	realRun(t, "copy", "-r", "v.img::/", "out").want(t, 0)
	wantNear, wantFar := wantTimes(t, "near", near), wantTimes(t, "far", far)
	for name, want := range map[string]unix.Timespec{"link": wantNear, "fifo": wantNear, "far": wantFar, "dir": wantFar} {
		if got := modified(t, "out/"+name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Attributes are set also where the mode does not let the owner write, and on what
// cannot be opened.
func TestCopyOutXattrs(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/ro": "x", "src/none": "x"})
	set := func(name, attr string) {
		if err := unix.Lsetxattr(name, attr, []byte("v"), 0); err != nil {
			needs.Lacks(t, "the extended attribute %s here: %v", attr, err)
		}
	}
	set("src/ro", "user.a")
	set("src/none", "user.a")
	if err := errors.Join(os.Symlink("nowhere", "src/link"), os.Chmod("src/ro", 0o444)); err != nil {
		t.Fatal(err)
	}
	trusted := os.Getuid() == 0 && unix.Lsetxattr("src/link", "trusted.a", []byte("v"), 0) == nil
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "src", "v.img").want(t, 0)
	if err := os.Mkdir("out", 0o777); err != nil {
		t.Fatal(err)
	}
	realRun(t, "copy", "-r", "v.img::/", "out").want(t, 0)
	names := []string{"ro", "none"}
	if trusted {
		names = append(names, "link")
	}
	for _, name := range names {
		b := make([]byte, 256)
		n, err := unix.Llistxattr("out/"+name, b)
		if err != nil || !slices.ContainsFunc(bytes.Split(b[:n], []byte{0}), func(a []byte) bool { return string(a) == "user.a" || string(a) == "trusted.a" }) {
			t.Errorf("%s: attributes %q, %v", name, b[:max(0, n)], err)
		}
	}
}

// Holes take no place where the file system has them, so --size auto does not count
// them.
func TestAutoSizeHoles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"src/a": "x"})
	if err := os.Truncate("src/a", 1<<32); err != nil {
		t.Fatal(err)
	}
	if d := jsonOf[formatDoc](t, "format", "-t", "f2fs", "-s", "auto", "-d", "src", "v.img"); d.Size > 64<<20 {
		t.Errorf("a volume of %d bytes for a file of one byte and a hole", d.Size)
	}
}
