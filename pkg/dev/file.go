package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// Windows for reading ahead, in bytes, where nothing better is known.
const (
	fileReadahead   = 1 << 20   // image files: the page cache below does the rest
	deviceReadahead = 128 << 10 // block devices that do not say: what Linux starts with
)

// OpenOptions says how OpenFile opens. The zero value reads what is there.
type OpenOptions struct {
	Write bool // for reading and writing, by this process alone
	// Create makes a new image file of Size bytes that is one hole, open for
	// writing. It fails with fs.ErrExist where the name is taken.
	Create bool
	Size   int64 // with Create: length in bytes, 1 and up
	// Lazy says that nobody is going to wait with Sync for all that is written, so
	// that the system may write it out when it sees fit, and need not begin at once.
	Lazy bool
	// Readahead overrides the window in bytes that Limits states: 0 keeps the
	// default, a negative one turns reading ahead off.
	Readahead int64
}

// File is a Device over an image file or a block device.
type File struct {
	f       *os.File
	path    string
	size    int64
	lim     Limits
	block   bool
	lazy    bool         // as OpenOptions has it
	advise  int64        // largest range, in bytes, that one advice covers whole
	ahead   atomic.Int64 // where the last advice ended
	noPunch atomic.Bool  // the file system below cannot punch holes
	noZero  atomic.Bool  // it cannot zero a range by itself either
	newborn atomic.Bool  // the directory entry is not durable yet
	holes   holeCache
	temp    string // a file to be removed when this one is closed, or ""
	read    atomic.Int64
}

var _ Device = (*File)(nil)

// OpenFile opens an image file or a block device. The errors are *Error with
// Op "open" or "create" around:
//   - what the system says: fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, ...
//   - ErrNotImage for directories, FIFOs, sockets and character devices, which
//     are not opened at all: opening a FIFO would wait for its other end;
//   - ErrEmpty for a file of no bytes, and for creating one;
//   - ErrMounted, ErrInUse when opening for writing what the system has in use:
//     mounted, held by another device, the image behind a loop device;
//   - ErrLocked when another fatkit writes to it, or reads it and this one
//     wants to write. Any number may read.
func OpenFile(path string, o OpenOptions) (*File, error) {
	op, open := "open", openExisting
	if o.Create {
		op, open = "create", create
	}
	f, err := open(path, o)
	if err != nil {
		return nil, wrap(op, path, Range{}, err)
	}
	return f, nil
}

// openExisting opens what has the name path.
func openExisting(path string, o OpenOptions) (*File, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	block, err := kind(fi.Mode())
	if err != nil {
		return nil, err
	}
	if o.Write {
		if err := checkFree(path, fi); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, openFlags(block, o.Write), 0)
	if err != nil {
		if block && errors.Is(err, syscall.EBUSY) {
			return nil, fmt.Errorf("%w: %w", ErrInUse, syscall.EBUSY)
		}
		return nil, err
	}
	d, err := adopt(f, path, o)
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return d, nil
}

// create makes the image file path. A file that cannot be given its size is
// removed again: it would be in the way of the next attempt.
func create(path string, o OpenOptions) (*File, error) {
	switch {
	case o.Size < 0:
		return nil, fmt.Errorf("%w: size %d", ErrRange, o.Size)
	case o.Size == 0:
		return nil, ErrEmpty
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	o.Write = true
	d, err := grow(f, path, o)
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, err
	}
	d.newborn.Store(true)
	return d, nil
}

// grow gives the new file f its length and makes a Device of it.
func grow(f *os.File, path string, o OpenOptions) (*File, error) {
	markSparse(f)
	if err := f.Truncate(o.Size); err != nil {
		return nil, err
	}
	return adopt(f, path, o)
}

// adopt locks the open file f and finds out what it is like. What path names
// may have changed since it was looked at, so f itself is looked at again.
func adopt(f *os.File, path string, o OpenOptions) (*File, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	block, err := kind(fi.Mode())
	if err != nil {
		return nil, err
	}
	if err := claim(f, o.Write); err != nil {
		return nil, err
	}
	d := &File{f: f, path: path, block: block, lazy: o.Lazy}
	if d.size, err = fileSize(f, block); err != nil {
		return nil, err
	}
	if d.size <= 0 {
		return nil, ErrEmpty
	}
	d.lim = fileLimits(f, fi, block)
	d.lim.ReadOnly = !o.Write
	d.advise = max(d.lim.Readahead, deviceReadahead)
	if o.Readahead != 0 {
		d.lim.Readahead = max(o.Readahead, 0)
	}
	return d, nil
}

// claim locks f against other fatkits, and a writer makes sure that no other
// program has it.
func claim(f *os.File, write bool) error {
	if write {
		if err := checkOtherLocks(f); err != nil {
			return err
		}
	}
	return lock(f, write)
}

// kind says whether a file of mode m is a block device; ErrNotImage if it is
// nothing that an image can be.
func kind(m fs.FileMode) (block bool, err error) {
	what := "neither file nor device"
	switch {
	case m.IsRegular():
		return false, nil
	case m.IsDir():
		what = "a directory"
	case m&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeCharDevice != 0:
		what = "a character device"
	case m&fs.ModeDevice != 0:
		return true, nil
	}
	return false, fmt.Errorf("%w: it is %s", ErrNotImage, what)
}

// wrap makes an *Error of err, without the operation and path that package os
// has put around it already.
func wrap(op, path string, r Range, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &Error{Op: op, Path: path, Range: r, Err: err}
}

// check is CheckRange with the path in its error, and ErrReadOnly before
// anything that writes.
func (f *File) check(op string, r Range, write bool) error {
	if write && f.lim.ReadOnly {
		return &Error{Op: op, Path: f.path, Range: r, Err: ErrReadOnly}
	}
	err := CheckRange(op, r, f.size)
	var e *Error
	if errors.As(err, &e) {
		e.Path = f.path
	}
	return err
}

// Path is the name that the file was opened by.
func (f *File) Path() string { return f.path }

// IsBlock reports whether it is a block device.
func (f *File) IsBlock() bool { return f.block }

// Size is the length in bytes, as it was when the file was opened.
func (f *File) Size() int64 { return f.size }

// Limits says what the file or device is like. Holes turns false once the file
// system below has refused to make one.
func (f *File) Limits() Limits {
	l := f.lim
	l.Holes = l.Holes && !f.noPunch.Load()
	return l
}

// Allocated is how many bytes of the disk below the file takes up; on systems
// that do not tell it is the size. A block device answers its size.
func (f *File) Allocated() int64 {
	if f.block {
		return f.size
	}
	fi, err := f.f.Stat()
	if err != nil {
		return f.size
	}
	return allocated(fi)
}

// Sync makes all that was written durable. A file that was created is in its
// directory for good only then, too.
func (f *File) Sync() error {
	if f.lim.ReadOnly {
		return nil
	}
	if err := syncData(f.f); err != nil {
		return wrap("sync", f.path, Range{}, err)
	}
	if f.newborn.CompareAndSwap(true, false) {
		if err := syncDir(filepath.Dir(f.path)); err != nil {
			f.newborn.Store(true)
			return wrap("sync", filepath.Dir(f.path), Range{}, err)
		}
	}
	return nil
}

// BytesRead is how many bytes were read from it so far.
func (f *File) BytesRead() int64 { return f.read.Load() }

// Close closes the file, which unlocks it.
func (f *File) Close() error {
	err := f.f.Close()
	if f.temp != "" {
		err = errors.Join(err, os.Remove(f.temp))
	}
	if err != nil {
		return wrap("close", f.path, Range{}, err)
	}
	return nil
}
