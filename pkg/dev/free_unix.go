//go:build linux || darwin || freebsd

package dev

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// freeBytes is how many bytes a user may still take on the file system of f; ok
// is false where nobody knows.
func freeBytes(f *os.File) (n int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0, false
	}
	blocks, size := int64(st.Bavail), int64(st.Bsize)
	if blocks < 0 || size <= 0 {
		return 0, false
	}
	if blocks > math.MaxInt64/size {
		return math.MaxInt64, true
	}
	return blocks * size, true
}
