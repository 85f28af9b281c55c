package dev

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the byte that is locked. Locks are mandatory here, so it lies
// where no image has one: readers of the bytes themselves are not disturbed.
const lockOffset = 1 << 62

// lock locks f, exclusively for a writer and shared for a reader, until it is
// closed; ErrLocked where another has a lock that forbids it. File systems
// that know no locks are taken as they are.
func lock(f *os.File, write bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if write {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := &windows.Overlapped{OffsetHigh: lockOffset >> 32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return nil
}
