//go:build unix

package source

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/vol"
)

// statHost takes what fs.FileInfo has no words for, and says which file it is
// and how many names that has.
func statHost(fi fs.FileInfo, e *vol.Entry) (id inode, links uint64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, 1
	}
	e.UID, e.GID = st.Uid, st.Gid
	if e.Kind == vol.KindChar || e.Kind == vol.KindBlock {
		rdev := uint64(st.Rdev)
		e.Major, e.Minor = unix.Major(rdev), unix.Minor(rdev)
	}
	return inode{uint64(st.Dev), uint64(st.Ino)}, uint64(st.Nlink)
}

// openFlags are for a file that was one when it was listed: what has become a FIFO
// since must not be waited for.
const openFlags = os.O_RDONLY | unix.O_NONBLOCK

// sparseHost tells whether a file takes less than its size, so that it has
// holes.
func sparseHost(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int64(st.Blocks)*512 < fi.Size()
}
