package dev

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/dev/devtest/loop"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

func TestOpenFileDoesNotWaitForFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o644); err != nil {
		needs.Lacks(t, "%v", err)
	}
	done := make(chan error, 2)
	go func() {
		for _, write := range []bool{false, true} {
			_, err := OpenFile(path, OpenOptions{Write: write})
			done <- err
		}
	}()
	for range 2 {
		select {
		case err := <-done:
			wantError(t, err, "open", ErrNotImage)
		case <-time.After(10 * time.Second):
			t.Fatal("still waiting")
		}
	}
}

// TestAdoptLooksAgain has something else in the place of what was looked at.
func TestAdoptLooksAgain(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		needs.Lacks(t, "%v", err)
	}
	defer f.Close()
	if _, err := adopt(f, "image", OpenOptions{}); !errors.Is(err, ErrNotImage) {
		t.Errorf("a character device is adopted: %v", err)
	}
}

// TestNoSpace writes to /dev/full, as to a file on a disk that is full.
func TestNoSpace(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		needs.Lacks(t, "%v", err)
	}
	defer full.Close()
	f := &File{f: full, path: "image", size: 1 << 20}
	_, err = f.WriteAt(make([]byte, 512), 1024)
	e := wantError(t, err, "write", syscall.ENOSPC)
	if want := (Range{1024, 512}); e.Range != want || e.Path != "image" {
		t.Errorf("%+v", e)
	}
	// It cannot punch, zero a range or seek for data: what is left is writing.
	wantError(t, f.Zero(Range{0, 1 << 20}), "write", syscall.ENOSPC)
	if !f.noPunch.Load() || !f.noZero.Load() || f.Limits().Holes {
		t.Error("the file believes that it can punch and zero")
	}
	if err := f.Discard(Range{0, 4096}); err != nil {
		t.Errorf("discard: %v", err)
	}
	if got := f.NextData(5); got != (Range{5, 1<<20 - 5}) {
		t.Errorf("NextData %v", got)
	}
}

func TestLockOfOthers(t *testing.T) {
	path := imageFile(t, make([]byte, 4096))
	vm, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	lk := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart, Start: 100, Len: 1} // as qemu does
	if err := unix.FcntlFlock(vm.Fd(), unix.F_OFD_SETLK, &lk); err != nil {
		needs.Lacks(t, "%v", err)
	}
	_, err = OpenFile(path, OpenOptions{Write: true})
	wantError(t, err, "open", ErrInUse)
	f, err := OpenFile(path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	vm.Close()
	f, err = OpenFile(path, OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestUnsupported(t *testing.T) {
	for _, e := range []error{unix.EINVAL, unix.ENODEV, unix.ENOTTY, unix.EOPNOTSUPP, unix.ENOSYS} {
		if err := unsupported(e); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, e) {
			t.Errorf("%v: %v", e, err)
		}
	}
	for _, e := range []error{unix.ENOSPC, unix.EIO, nil} {
		if err := unsupported(e); errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, e) {
			t.Errorf("%v: %v", e, err)
		}
	}
}

// loopDevice is a loop device over a file of size bytes.
func loopDevice(t *testing.T, size int64) (device, image string) {
	t.Helper()
	image = filepath.Join(t.TempDir(), "disk.img")
	if err := errors.Join(os.WriteFile(image, nil, 0o644), os.Truncate(image, size)); err != nil {
		t.Fatal(err)
	}
	return loop.Attach(t, image), image
}

func TestLoopDevice(t *testing.T) {
	const size = 8 << 20
	device, image := loopDevice(t, size)
	_, err := OpenFile(image, OpenOptions{Write: true})
	wantError(t, err, "open", ErrInUse)
	t.Log(err)
	r, err := OpenFile(image, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()

	f, err := OpenFile(device, OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if l := f.Limits(); !f.IsBlock() || f.Size() != size || l.LogicalSector != 512 || l.Readahead <= 0 || l.Holes {
		t.Errorf("block %v, size %d, limits %+v", f.IsBlock(), f.Size(), l)
	}
	_, err = OpenFile(device, OpenOptions{Write: true})
	wantError(t, err, "open", ErrInUse)
	if _, err := f.WriteAt(pattern(size), 0); err != nil {
		t.Fatal(err)
	}
	want := pattern(size)
	for _, z := range []Range{{100, 50}, {1000, 3000}, {1 << 20, 2 << 20}, {5<<20 - 7, 1<<20 + 9}} {
		if err := f.Zero(z); err != nil {
			t.Fatal(err)
		}
		clear(want[z.Off:z.End()])
	}
	got := make([]byte, size)
	if _, err := f.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("byte %d is %#x, want %#x", i, got[i], want[i])
		}
	}
	if f.noZero.Load() {
		t.Log("the loop device cannot zero by itself")
	}
	if err := errors.Join(f.Discard(Range{1, size - 2}), f.Sync()); err != nil {
		t.Error(err)
	}
	if f.Allocated() != size || f.NextData(5) != (Range{5, size - 5}) {
		t.Errorf("allocated %d, data %v", f.Allocated(), f.NextData(5))
	}
}

// unprivileged runs fn as a user who may not do everything with files, also where
// the tests are run by one who may.
func unprivileged(t *testing.T, fn func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		fn()
		return
	}
	const nobody = 65534
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread is another user's from now on, and ends with this function,
		// because it is not unlocked.
		runtime.LockOSThread()
		if err := unix.Setfsuid(nobody); err != nil {
			t.Errorf("setfsuid: %v", err)
			return
		}
		fn()
	}()
	<-done
}
