package dev

import (
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// openFlags are for os.OpenFile.
func openFlags(_, write bool) int {
	if write {
		return os.O_RDWR
	}
	return os.O_RDONLY
}

// checkFree leaves it to the system to refuse: it locks volumes it uses.
func checkFree(string, fs.FileInfo) error { return nil }

// fileSize is the length of f in bytes.
func fileSize(f *os.File, _ bool) (int64, error) { return f.Seek(0, io.SeekEnd) }

// fileLimits says what f is like.
func fileLimits(*os.File, fs.FileInfo, bool) Limits {
	return Limits{LogicalSector: 512, PhysicalSector: 512, Readahead: fileReadahead}
}

// markSparse asks NTFS to keep the new file f sparse. Where it cannot, the
// file is as good but takes up its size.
func markSparse(f *os.File) {
	var n uint32
	_ = windows.DeviceIoControl(windows.Handle(f.Fd()), windows.FSCTL_SET_SPARSE, nil, 0, nil, 0, &n, nil)
}
