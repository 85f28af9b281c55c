package dev

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Requests of <sys/disk.h>.
const (
	dkiocGetBlockSize  = 0x40046418 // uint32, bytes
	dkiocGetBlockCount = 0x40086419 // uint64
)

// openFlags are for open(2). O_NONBLOCK is for a FIFO that takes the place of
// the file meanwhile.
func openFlags(_, write bool) int {
	if write {
		return os.O_RDWR | unix.O_NONBLOCK
	}
	return os.O_RDONLY | unix.O_NONBLOCK
}

// checkFree returns ErrMounted if path is a device that is mounted, or that a
// mounted slice belongs to.
func checkFree(path string, fi fs.FileInfo) error {
	if fi.Mode().IsRegular() {
		return nil
	}
	n, err := unix.Getfsstat(nil, unix.MNT_NOWAIT)
	if err != nil {
		return err
	}
	mounts := make([]unix.Statfs_t, n)
	if n, err = unix.Getfsstat(mounts, unix.MNT_NOWAIT); err != nil {
		return err
	}
	if direct, err := filepath.EvalSymlinks(path); err == nil {
		path = direct // mounts name the device itself
	}
	for _, m := range mounts[:min(n, len(mounts))] {
		from := unix.ByteSliceToString(m.Mntfromname[:])
		if from == path || strings.HasPrefix(from, path+"s") {
			return fmt.Errorf("%w: %s on %s", ErrMounted, from, unix.ByteSliceToString(m.Mntonname[:]))
		}
	}
	return nil
}

// fileSize is the length of f in bytes.
func fileSize(f *os.File, block bool) (int64, error) {
	if block {
		unit, count := ioctlInt(f, dkiocGetBlockSize), ioctlInt(f, dkiocGetBlockCount)
		if unit > 0 && count > 0 && count <= (1<<62)/unit {
			return unit * count, nil
		}
	}
	return f.Seek(0, io.SeekEnd)
}

// ioctlInt asks f for a number; 0 if it has no answer.
func ioctlInt(f *os.File, req uint) int64 {
	n := 0
	err := control(f, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, req)
		return err
	})
	if err != nil {
		return 0
	}
	return int64(n)
}

// fileLimits says what f is like.
func fileLimits(f *os.File, _ fs.FileInfo, block bool) Limits {
	l := Limits{LogicalSector: 512, PhysicalSector: 512, Readahead: fileReadahead, Holes: !block}
	if block {
		if n := ioctlInt(f, dkiocGetBlockSize); n >= 512 && n <= 1<<20 {
			l.LogicalSector, l.PhysicalSector = int(n), int(n)
		}
	}
	return l
}

// markSparse does nothing: files have holes where the file system has.
func markSparse(*os.File) {}
