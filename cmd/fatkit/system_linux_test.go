package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/dev/devtest/loop"
)

// asNobody runs fn with the permissions of a user who owns nothing, also where
// the tests are run by root, whom no permission stops. They are those of one
// thread, which ends with the goroutine that is bound to it.
func asNobody(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 {
			runtime.LockOSThread()
			_ = unix.Setfsuid(65534)
		}
		fn()
	}()
	<-done
}

func TestNoPermission(t *testing.T) {
	f := newFake(t, pSafe)
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	dir, elsewhere := filepath.Dir(f.image), t.TempDir()
	chmod(f.image, 0o444)
	chmod(filepath.Dir(dir), 0o755) // os.MkdirTemp lets nobody else in
	chmod(dir, 0o555)
	chmod(elsewhere, 0o777)
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	asNobody(func() {
		f.run("check", "IMAGE").want(t, 4)
		f.run("check", "-y", "--dry-run", "IMAGE").want(t, 4, "would be repaired")
		f.run("check", "-y", "--json", "IMAGE").want(t, 8, `"kind":"permission"`)
		f.run("zero", "IMAGE", "a").want(t, 8, "permission denied")
		f.run("format", "-t", "fake", "-f", "IMAGE").want(t, 8, "permission denied")
		f.run("format", "-t", "fake", "-s", "1M", "IMAGE2").want(t, 8, "permission denied")
	})
	chmod(f.image, 0o666)
	asNobody(func() { // the image may be written, its directory may not: no place for the log
		f.run("check", "-y", "IMAGE").want(t, 8, "create undo log", "--undo FILE")
		f.run("check", "IMAGE").want(t, 4)
		f.run("check", "-y", "--undo", filepath.Join(elsewhere, "log"), "IMAGE").want(t, 1)
	})
	chmod(f.image, 0o000)
	asNobody(func() { f.run("check", "--json", "IMAGE").want(t, 8, `"kind":"permission"`) })
}

func TestFifoAndDevice(t *testing.T) {
	f := newFake(t)
	if err := unix.Mkfifo(f.image+".fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"check", "check -y", "info", "mount-scan", "undo", "format -t fake -f"} {
		f.run(append(strings.Fields(args), "IMAGE.fifo")...).want(t, 8, "a FIFO")
		f.run(append(strings.Fields(args), "/dev/null")...).want(t, 8, "a character device")
	}
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE.fifo").want(t, 8, "no regular file")
}

func TestCheckProgress(t *testing.T) {
	f := newFake(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	// The program closes what it is given, so it gets a descriptor of its own.
	fd, err := unix.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.run("check", "-C", fmt.Sprint(fd), "IMAGE").want(t, 0)
	_ = w.Close()
	b := make([]byte, 4096)
	n, _ := r.Read(b)
	// Two passes, each told of at its begin and in its middle, on the scale of e2fsck's five.
	want := strings.ReplaceAll("1 0 2000 F\n2 500 2000 F\n3 1000 2000 F\n4 1500 2000 F\n", "F", f.image)
	if string(b[:n]) != want {
		t.Errorf("%q, want %q", b[:n], want)
	}
}

// TestCompatPartitionedDisk: mkfs.fat writes no volume over the partition table of a
// whole disk, unless told to with -I.
func TestCompatPartitionedDisk(t *testing.T) {
	image := compatTarget(t, "mbr")
	before, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	disk := loop.Attach(t, image)
	for _, line := range []string{"mkfs.vfat", "mkfs.vfat --mbr=n", "mkfs.f2fs"} {
		out, code := runNamed(t, append(strings.Fields(line), disk)...)
		if code != 1 || !strings.Contains(out, "it holds a partition table with 1 partition; -") {
			t.Errorf("%s: exit %d\n%s", line, code, out)
		}
	}
	if after, err := os.ReadFile(image); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was written to, %v", err)
	}
	if out, code := runNamed(t, "mkfs.vfat", "-I", disk); code != exitOK || !strings.Contains(out, ", 66 MiB, ") {
		t.Errorf("-I: exit %d\n%s", code, out)
	}
}
