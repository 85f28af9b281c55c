// Package dev is about bytes: image files, block devices and memory behind one
// interface, readahead in plugs, and transactions that stage every change,
// keep an undo log and can be taken back.
//
// It knows nothing of file systems. Everything above it reads and writes
// through [Device]; a [Txn] is a Device over a Device, so code that repairs
// does not know whether its writes are staged.
package dev

import (
	"errors"
	"fmt"
)

// Range is a run of bytes: Len bytes from offset Off.
type Range struct{ Off, Len int64 }

// End is the offset of the first byte after r.
func (r Range) End() int64 { return r.Off + r.Len }

// Empty reports whether r holds no byte.
func (r Range) Empty() bool { return r.Len <= 0 }

// Intersect is what r and s have in common; its Len is 0 where that is nothing.
func (r Range) Intersect(s Range) Range {
	off, end := max(r.Off, s.Off), min(r.End(), s.End())
	if end <= off {
		return Range{Off: off}
	}
	return Range{Off: off, Len: end - off}
}

func (r Range) String() string { return fmt.Sprintf("%d+%d", r.Off, r.Len) }

// Limits says what a device is like. Sizes are bytes.
type Limits struct {
	LogicalSector  int   // smallest unit of I/O; 512 for files
	PhysicalSector int   // unit that a power cut does not tear
	OptimalIO      int   // preferred size of a write, 0 if not stated
	Readahead      int64 // window for reading ahead, see Plug
	ReadOnly       bool
	Rotational     bool
	Holes          bool // Zero and Discard can leave or make holes
}

// Device is a range-checked array of bytes. Implementations are safe for
// concurrent ReadAt; writers are the caller's to serialise.
type Device interface {
	// ReadAt fills p from off, whole or not at all: a short read is an error,
	// and so is a range that leaves the device (ErrRange).
	ReadAt(p []byte, off int64) (int, error)
	// WriteAt writes p at off. It never grows the device.
	WriteAt(p []byte, off int64) (int, error)
	// Size is the length in bytes.
	Size() int64
	// Limits says what the device is like.
	Limits() Limits
	// NextData is the first range at or after off that may hold a byte other
	// than zero; what lies between off and its start reads as zeros (a hole).
	// The Len is 0 where no data follows. A device that has no holes, or
	// cannot tell, answers with everything from off on. It never fails.
	NextData(off int64) Range
	// Readahead advises that r is about to be read. It never fails.
	Readahead(r Range)
	// Zero makes r read as zeros, in the cheapest way that is right: leave a
	// hole, punch, zero-range, BLKZEROOUT, write.
	Zero(r Range) error
	// Discard says that the contents of r do not matter any more.
	Discard(r Range) error
	// Sync makes all that was written durable, and orders it before all that
	// is written later. On a Txn it is the order alone: a barrier.
	Sync() error
	// Close releases the device. What was not synced may be lost.
	Close() error
}

// Sentinels for what callers branch on; wrapped in *Error.
var (
	ErrRange    = errors.New("outside the device")
	ErrReadOnly = errors.New("opened read-only")
	ErrLocked   = errors.New("in use by another fatkit")
	ErrMounted  = errors.New("mounted")
	ErrInUse    = errors.New("held by the system")
	ErrNotImage = errors.New("neither an image file nor a block device")
	ErrEmpty    = errors.New("empty file")
)

// Error says what failed, on which bytes, and why.
type Error struct {
	Op    string // "read", "write", "zero", "sync", "open", ...
	Path  string // the file, where there is one
	Range Range  // the bytes, where Len > 0
	Err   error
}

func (e *Error) Error() string {
	s := e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	if e.Range.Len > 0 {
		s += fmt.Sprintf(" at byte %d (%d bytes)", e.Range.Off, e.Range.Len)
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// CheckRange returns ErrRange in an *Error unless r lies inside a device of
// size bytes. It is safe against overflow.
func CheckRange(op string, r Range, size int64) error {
	if r.Off < 0 || r.Len < 0 || r.Off > size || r.Len > size-r.Off {
		return &Error{Op: op, Range: r, Err: fmt.Errorf("%w of %d bytes", ErrRange, size)}
	}
	return nil
}
