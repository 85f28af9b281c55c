//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package dev

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long a lock that is taken is asked for again: udev holds
// one on a block device for the moment it takes to look at it.
const lockPatience = 500 * time.Millisecond

// lock takes the advisory lock of f, exclusive for a writer and shared for a
// reader, until f is closed; ErrLocked where another has one that forbids it.
// File systems that know no locks are taken as they are. A block device is
// locked as well: that is what tells udev to leave it alone while we write.
func lock(f *os.File, write bool) error {
	how := unix.LOCK_SH | unix.LOCK_NB
	if write {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	until := time.Now()
	if !fi.Mode().IsRegular() {
		until = until.Add(lockPatience)
	}
	for {
		err := flock(f, how)
		switch {
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil
		case !time.Now().Before(until):
			return ErrLocked
		default:
			time.Sleep(lockPatience / 20)
		}
	}
}

// flock is flock(2) on f.
func flock(f *os.File, how int) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = unix.Flock(int(fd), how) }); err != nil {
		return err
	}
	return inner
}
