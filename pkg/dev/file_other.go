//go:build !linux && !darwin && !windows

package dev

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// openFlags are for os.OpenFile.
func openFlags(_, write bool) int {
	if write {
		return os.O_RDWR
	}
	return os.O_RDONLY
}

// checkFree leaves it to the system to refuse.
func checkFree(string, fs.FileInfo) error { return nil }

// checkOtherLocks knows of no locks but those that lock meets.
func checkOtherLocks(*os.File) error { return nil }

// fileSize is the length of f in bytes.
func fileSize(f *os.File, _ bool) (int64, error) { return f.Seek(0, io.SeekEnd) }

// fileLimits says what f is like.
func fileLimits(_ *os.File, _ fs.FileInfo, block bool) Limits {
	return Limits{LogicalSector: 512, PhysicalSector: 512, Readahead: fileReadahead, Holes: !block}
}

// adviseRead leaves reading ahead to the system.
func adviseRead(*os.File, Range) {}

// What follows is done by writing zeros, or not at all.
func punch(*os.File, Range) error         { return errors.ErrUnsupported }
func zeroRange(*os.File, Range) error     { return errors.ErrUnsupported }
func zeroBlocks(*os.File, Range) error    { return errors.ErrUnsupported }
func discardBlocks(*os.File, Range) error { return errors.ErrUnsupported }

// markSparse does nothing: files have holes where the file system has.
func markSparse(*os.File) {}

// startWrite does nothing here: Sync does it all.
func startWrite(*os.File, Range) {}
