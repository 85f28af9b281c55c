//go:build unix

package dev

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// allocated is how many bytes of disk the file fi takes up.
func allocated(fi fs.FileInfo) int64 {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fi.Size()
	}
	return int64(st.Blocks) * 512
}

// syncDir makes the entries of the directory path durable. File systems that
// cannot are not to blame.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return nil // may be written to, but not listed
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
