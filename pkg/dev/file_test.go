package dev

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// imageFile makes a file that holds content.
func imageFile(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "card.img")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// createImage makes an image of one hole and closes it after the test.
func createImage(t testing.TB, size int64) *File {
	t.Helper()
	f, err := OpenFile(filepath.Join(t.TempDir(), "new.img"), OpenOptions{Create: true, Size: size})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// pattern is n bytes, none of which is zero, and which differ from sector to
// sector.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i%251) ^ byte(i>>9) | 1
	}
	return p
}

// wantError checks that err is an *Error with this operation around want.
func wantError(t *testing.T, err error, op string, want error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *Error", err, err)
	}
	if e.Op != op || !errors.Is(err, want) {
		t.Fatalf("error %q with Op %q, want Op %q and %q", err, e.Op, op, want)
	}
	return e
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	sock := filepath.Join(dir, "sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		needs.Lacks(t, "%v", err)
	}
	defer l.Close()
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want error
		text string
	}{
		{dir, ErrNotImage, "a directory"},
		{sock, ErrNotImage, "a socket"},
		{os.DevNull, ErrNotImage, "a character device"},
		{filepath.Join(dir, "empty"), ErrEmpty, "empty file"},
		{filepath.Join(dir, "missing"), fs.ErrNotExist, ""},
	} {
		for _, write := range []bool{false, true} {
			_, err := OpenFile(tt.path, OpenOptions{Write: write})
			e := wantError(t, err, "open", tt.want)
			if e.Path != tt.path || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: error %q, want one with the path and %q", tt.path, err, tt.text)
			}
		}
	}
}

// What a user may not write is an error that says so, and can still be read.
func TestOpenFilePermission(t *testing.T) {
	dir, err := os.MkdirTemp("", "fatkit-permission")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "card.img")
	// Another user must come to the file, and may read it.
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, make([]byte, 512), 0o444)); err != nil {
		t.Fatal(err)
	}
	unprivileged(t, func() {
		_, err := OpenFile(path, OpenOptions{Write: true})
		wantError(t, err, "open", fs.ErrPermission)
		f, err := OpenFile(path, OpenOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		f.Close()
	})
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.img")
	for _, tt := range []struct {
		size int64
		want error
	}{{0, ErrEmpty}, {-1, ErrRange}} {
		_, err := OpenFile(path, OpenOptions{Create: true, Size: tt.size})
		wantError(t, err, "create", tt.want)
	}
	if _, err := OpenFile(path, OpenOptions{Create: true, Size: 1<<63 - 1}); err == nil {
		t.Error("created a file of 8 EiB")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that could not be created is there: %v", err)
	}
	f, err := OpenFile(path, OpenOptions{Create: true, Size: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Size() != 1<<40 || f.Path() != path || f.IsBlock() || f.Limits().ReadOnly {
		t.Errorf("size %d, path %s, block %v, limits %+v", f.Size(), f.Path(), f.IsBlock(), f.Limits())
	}
	if f.Limits().Holes && f.Allocated() > 1<<20 {
		t.Errorf("%d bytes allocated in a new sparse file", f.Allocated())
	}
	if err := f.Sync(); err != nil || f.newborn.Load() {
		t.Errorf("sync of a new file: %v, directory left out: %v", err, f.newborn.Load())
	}
	_, err = OpenFile(path, OpenOptions{Create: true, Size: 512})
	wantError(t, err, "create", fs.ErrExist)
}

func TestReadOnlyFile(t *testing.T) {
	content := pattern(5000)
	path := imageFile(t, content)
	f, err := OpenFile(path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := Range{Off: 10, Len: 20}
	_, err = f.WriteAt(make([]byte, 20), 10)
	for op, err := range map[string]error{
		"write": err, "zero": f.Zero(r), "discard": f.Discard(r),
	} {
		if e := wantError(t, err, op, ErrReadOnly); e.Range != r || e.Path != path {
			t.Errorf("%s: %+v", op, e)
		}
	}
	wantError(t, f.ZeroKeep(r), "zero", ErrReadOnly)
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, content) {
		t.Error("the file has changed")
	}
	wantError(t, f.Close(), "close", fs.ErrClosed)
	_, err = f.ReadAt(make([]byte, 1), 0)
	wantError(t, err, "read", fs.ErrClosed)
}

func TestFileRanges(t *testing.T) {
	f := createImage(t, 4096)
	for _, r := range []Range{{-1, 1}, {4096, 1}, {4095, 2}, {0, 4097}, {1 << 62, 10}, {5000, 0}} {
		p := make([]byte, r.Len)
		_, err := f.ReadAt(p, r.Off)
		if e := wantError(t, err, "read", ErrRange); e.Path != f.Path() || e.Range != r {
			t.Errorf("read %v: %+v", r, e)
		}
		_, err = f.WriteAt(p, r.Off)
		wantError(t, err, "write", ErrRange)
		wantError(t, f.Zero(r), "zero", ErrRange)
		wantError(t, f.ZeroKeep(r), "zero", ErrRange)
		wantError(t, f.Discard(r), "discard", ErrRange)
		f.Readahead(r)
	}
	for _, r := range []Range{{0, -1}, {10, 1<<63 - 1}, {1<<63 - 1, 1<<63 - 1}} {
		wantError(t, f.Zero(r), "zero", ErrRange)
		f.Readahead(r)
	}
	if fi, err := os.Stat(f.Path()); err != nil || fi.Size() != 4096 {
		t.Errorf("the file has grown: %v, %v", fi.Size(), err)
	}
	if n, err := f.ReadAt(nil, 4096); n != 0 || err != nil {
		t.Errorf("reading nothing at the end: %d, %v", n, err)
	}
}

func TestShortRead(t *testing.T) {
	path := imageFile(t, pattern(4096))
	f, err := OpenFile(path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 1000); err != nil {
		needs.Lacks(t, "%v", err)
	}
	n, err := f.ReadAt(make([]byte, 1024), 512)
	e := wantError(t, err, "read", io.ErrUnexpectedEOF)
	if want := (Range{Off: 1000, Len: 536}); n != 488 || e.Range != want {
		t.Errorf("%d bytes, error at %v, want 488 and %v", n, e.Range, want)
	}
	_, err = f.ReadAt(make([]byte, 10), 2000)
	wantError(t, err, "read", io.ErrUnexpectedEOF)
}

func TestLocks(t *testing.T) {
	path := imageFile(t, make([]byte, 4096))
	open := func(write bool) (*File, error) { return OpenFile(path, OpenOptions{Write: write}) }
	must := func(write bool) *File {
		t.Helper()
		f, err := open(write)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	r1, r2 := must(false), must(false)
	_, err := open(true)
	wantError(t, err, "open", ErrLocked)
	r1.Close()
	_, err = open(true)
	wantError(t, err, "open", ErrLocked)
	r2.Close()

	w := must(true)
	for _, write := range []bool{false, true} {
		_, err := open(write)
		if e := wantError(t, err, "open", ErrLocked); e.Path != path {
			t.Errorf("path %q", e.Path)
		}
	}
	// The lock lies where the bytes are not.
	if _, err := os.ReadFile(path); err != nil {
		t.Errorf("other programs cannot read: %v", err)
	}
	w.Close()
	must(true).Close()
}

func TestReadaheadOption(t *testing.T) {
	path := imageFile(t, make([]byte, 4096))
	for _, tt := range []struct{ option, want int64 }{{0, fileReadahead}, {64 << 10, 64 << 10}, {-1, 0}} {
		f, err := OpenFile(path, OpenOptions{Readahead: tt.option})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Limits().Readahead; got != tt.want {
			t.Errorf("option %d: window %d, want %d", tt.option, got, tt.want)
		}
		f.Readahead(Range{Len: 1 << 40})
		f.Close()
	}
}

func TestFileReadWrite(t *testing.T) {
	f := createImage(t, 3<<20)
	want := make([]byte, f.Size())
	for _, w := range []Range{{0, 10}, {4095, 2}, {1 << 20, 1 << 20}, {f.Size() - 1, 1}, {5, 0}} {
		p := pattern(int(w.Len))
		copy(want[w.Off:], p)
		if n, err := f.WriteAt(p, w.Off); n != len(p) || err != nil {
			t.Fatalf("write %v: %d, %v", w, n, err)
		}
	}
	got := make([]byte, f.Size())
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("what was read is not what was written (%v)", err)
	}
}
