//go:build !linux && !darwin && !windows

package dev

import (
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

// fileSize is the length of f in bytes.
func fileSize(f *os.File, _ bool) (int64, error) { return f.Seek(0, io.SeekEnd) }

// fileLimits says what f is like.
func fileLimits(_ *os.File, _ fs.FileInfo, block bool) Limits {
	return Limits{LogicalSector: 512, PhysicalSector: 512, Readahead: fileReadahead, Holes: !block}
}

// markSparse does nothing: files have holes where the file system has.
func markSparse(*os.File) {}
