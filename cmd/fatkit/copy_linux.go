package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/vol"
)

// special makes a FIFO, socket or device, through the directory that it is in,
// so that no symbolic link leads it elsewhere.
func (s *hostSink) special(name string, n *vol.Node) error {
	bits := map[vol.Kind]uint32{
		vol.KindFIFO: unix.S_IFIFO, vol.KindSocket: unix.S_IFSOCK,
		vol.KindChar: unix.S_IFCHR, vol.KindBlock: unix.S_IFBLK,
	}
	err := s.inDir(name, func(dir int, base string) error {
		return unix.Mknodat(dir, base, bits[n.Kind]|0o600, int(unix.Mkdev(n.Major, n.Minor)))
	})
	if err != nil {
		return fmt.Errorf("%s (%s): %w", name, n.Kind, err)
	}
	return nil
}

// inDir calls fn with the directory that name is in, opened, and its name there.
func (s *hostSink) inDir(name string, fn func(dir int, base string) error) error {
	dir, err := s.root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return fn(int(dir.Fd()), filepath.Base(name))
}

// setTimes sets the times of a file, or those of a symbolic link itself. Those of
// os are counted in nanoseconds, and end in 2262; what the file system cannot hold
// Linux makes the nearest that it can.
func (s *hostSink) setTimes(name string, _ vol.Kind, accessed, modified time.Time) error {
	var ts [2]unix.Timespec
	for i, t := range []time.Time{accessed, modified} {
		var err error
		if ts[i], err = unix.TimeToTimespec(t); err != nil {
			return fmt.Errorf("%s: time %v: %w", name, t, err)
		}
	}
	err := s.inDir(name, func(dir int, base string) error {
		return unix.UtimesNanoAt(dir, base, ts[:], unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return fmt.Errorf("%s: times: %w", name, err)
	}
	return nil
}

// setXattrs sets the extended attributes of a file. Those that this user, or the
// file system, may not have are left out. It comes before the mode, which may keep
// even the owner from doing so.
func (s *hostSink) setXattrs(name string, n *vol.Node) error {
	switch {
	case len(n.Xattrs) == 0:
		return nil
	case n.Kind != vol.KindFile && n.Kind != vol.KindDir:
		// What cannot be opened has a path by way of its directory.
		return s.inDir(name, func(dir int, base string) error {
			path := filepath.Join("/proc/self/fd", strconv.Itoa(dir), base)
			return eachXattr(name, n, func(x vol.Xattr) error { return unix.Lsetxattr(path, x.Name, x.Value, 0) })
		})
	}
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return eachXattr(name, n, func(x vol.Xattr) error { return unix.Fsetxattr(int(f.Fd()), x.Name, x.Value, 0) })
}

func eachXattr(name string, n *vol.Node, set func(vol.Xattr) error) error {
	for _, x := range n.Xattrs {
		err := set(x)
		if err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%s: extended attribute %s: %w", name, x.Name, err)
		}
	}
	return nil
}
