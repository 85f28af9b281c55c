//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// chownLike gives the file at path the owner and the group of old, if they are
// others than it has.
func chownLike(path string, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	if is, ok := fi.Sys().(*syscall.Stat_t); ok && is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return os.Chown(path, int(was.Uid), int(was.Gid))
}
