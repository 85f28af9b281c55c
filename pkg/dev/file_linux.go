package dev

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openFlags are for open(2). O_EXCL without O_CREAT claims a block device: the
// kernel refuses while it is mounted or claimed, and refuses mounts from then
// on. O_NONBLOCK means nothing to a regular file; it is for a FIFO put in its
// place meanwhile. To a block device it can mean "even without a medium".
func openFlags(block, write bool) int {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	switch {
	case !block:
		flags |= unix.O_NONBLOCK
	case write:
		flags |= unix.O_EXCL
	}
	return flags
}

// startWrite has the system begin to write r out, and does not wait for it. It is
// advice: what it cannot do Sync does.
func startWrite(f *os.File, r Range) {
	_ = control(f, func(fd int) error {
		return unix.SyncFileRange(fd, r.Off, r.Len, unix.SYNC_FILE_RANGE_WRITE)
	})
}

// checkFree says what keeps path, which is fi, from being written: ErrMounted
// or ErrInUse.
func checkFree(_ string, fi fs.FileInfo) error {
	h := host{sys: "/sys", proc: "/proc"}
	if fi.Mode().IsRegular() {
		return h.checkLoops(fi)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return h.checkDevice(numberOf(uint64(st.Rdev)))
}

// numberOf takes apart the device number that stat(2) gives.
func numberOf(rdev uint64) devNumber {
	return devNumber{major: unix.Major(rdev), minor: unix.Minor(rdev)}
}

// checkOtherLocks returns ErrInUse if a program holds record locks on f, as a
// virtual machine does on the image of its disk.
func checkOtherLocks(f *os.File) error {
	lk := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := control(f, func(fd int) error {
		return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &lk)
	})
	if err != nil || lk.Type == unix.F_UNLCK {
		return nil
	}
	if lk.Pid > 0 {
		return fmt.Errorf("%w: process %d holds a lock on it", ErrInUse, lk.Pid)
	}
	return fmt.Errorf("%w: another program holds a lock on it", ErrInUse)
}

// fileSize is the length of f in bytes. Seeking to the end works for block
// devices on all architectures alike, BLKGETSIZE64 does not.
func fileSize(f *os.File, _ bool) (int64, error) { return f.Seek(0, io.SeekEnd) }

// fileLimits says what f, of which fi tells, is like.
func fileLimits(f *os.File, fi fs.FileInfo, block bool) Limits {
	h := host{sys: "/sys", proc: "/proc"}
	st, ok := fi.Sys().(*syscall.Stat_t)
	l := Limits{LogicalSector: 512, PhysicalSector: 512, Readahead: fileReadahead, Holes: true}
	if !block {
		if ok {
			l.Rotational = h.queueOf(numberOf(uint64(st.Dev))).rotational
		}
		return l
	}
	l.Holes = false
	l.LogicalSector = ioctlSize(f, unix.BLKSSZGET, l.LogicalSector)
	l.PhysicalSector = max(ioctlSize(f, unix.BLKPBSZGET, l.LogicalSector), l.LogicalSector)
	l.OptimalIO = ioctlSize(f, unix.BLKIOOPT, 0)
	l.Readahead = deviceReadahead
	if ok {
		q := h.queueOf(numberOf(uint64(st.Rdev)))
		l.Rotational = q.rotational
		if q.known {
			l.Readahead = q.window
		}
	}
	return l
}

// ioctlSize asks f for a size in bytes; otherwise is the answer if it has none.
func ioctlSize(f *os.File, req uint, otherwise int) int {
	n := uint32(0)
	err := control(f, func(fd int) (err error) {
		n, err = unix.IoctlGetUint32(fd, req)
		return err
	})
	if err != nil || n == 0 || n > 1<<30 {
		return otherwise
	}
	return int(n)
}

// adviseRead starts reading r of f into the page cache.
func adviseRead(f *os.File, r Range) {
	_ = control(f, func(fd int) error {
		return unix.Fadvise(fd, r.Off, r.Len, unix.FADV_WILLNEED)
	})
}

// punch makes a hole of r; errors.ErrUnsupported where there are none.
func punch(f *os.File, r Range) error {
	return fallocate(f, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, r)
}

// zeroRange zeroes r and keeps it allocated; errors.ErrUnsupported where the
// file system cannot.
func zeroRange(f *os.File, r Range) error {
	return fallocate(f, unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE, r)
}

func fallocate(f *os.File, mode uint32, r Range) error {
	return unsupported(control(f, func(fd int) error {
		for {
			err := unix.Fallocate(fd, mode, r.Off, r.Len)
			if !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	}))
}

// zeroBlocks has the device zero r, which is whole sectors. The kernel drops
// what the page cache holds of it, and does not unmap.
func zeroBlocks(f *os.File, r Range) error { return ioctlRange(f, unix.BLKZEROOUT, r) }

// discardBlocks tells the device that r, whole sectors, is of no use any more.
func discardBlocks(f *os.File, r Range) error { return ioctlRange(f, unix.BLKDISCARD, r) }

// ioctlRange is an ioctl(2) that takes an offset and a length.
func ioctlRange(f *os.File, req uintptr, r Range) error {
	arg := [2]uint64{uint64(r.Off), uint64(r.Len)}
	return unsupported(control(f, func(fd int) error {
		for {
			_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(unsafe.Pointer(&arg)))
			if e == 0 {
				return nil
			}
			if e != unix.EINTR {
				return e
			}
		}
	}))
}

// unsupported makes errors.ErrUnsupported of the many ways in which kernels
// and drivers say so.
func unsupported(err error) error {
	for _, e := range []error{unix.EINVAL, unix.ENODEV, unix.ENOTTY} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	return err
}

// markSparse does nothing: files have holes here.
func markSparse(*os.File) {}

// syncData makes what is in a file durable, and where it is, but not when it was
// last changed: with fsync(2) that alone costs a commit of the journal of the
// file system, each time.
func syncData(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = c.Control(func(fd uintptr) {
		for {
			if serr = unix.Fdatasync(int(fd)); serr != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(err, serr)
}
