//go:build linux || darwin || freebsd

package dev

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// seekData is the first data of f at or after off, up to size; its Len is 0
// and its Off is size where there is none. ok is false where the file system
// cannot tell. It moves the file offset, which nothing here uses.
func seekData(f *os.File, off, size int64) (r Range, ok bool) {
	err := control(f, func(fd int) error {
		start, err := unix.Seek(fd, off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && start >= size {
			r = Range{Off: size}
			return nil
		}
		if err != nil {
			return err
		}
		end, err := unix.Seek(fd, start, unix.SEEK_HOLE)
		if err != nil || end <= start {
			return unix.EINVAL
		}
		r = Range{Off: start, Len: min(end, size) - start}
		return nil
	})
	return r, err == nil
}

// control runs fn with the descriptor of f, which stays open meanwhile.
func control(f *os.File, fn func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = fn(int(fd)) }); err != nil {
		return err
	}
	return inner
}
