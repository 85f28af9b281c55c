package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/vol"
)

// special makes a FIFO, socket or device, through the directory that it is in,
// so that no symbolic link leads it elsewhere.
func (s *hostSink) special(name string, n *vol.Node) error {
	dir, err := s.root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	bits := map[vol.Kind]uint32{
		vol.KindFIFO: unix.S_IFIFO, vol.KindSocket: unix.S_IFSOCK,
		vol.KindChar: unix.S_IFCHR, vol.KindBlock: unix.S_IFBLK,
	}
	if err := unix.Mknodat(int(dir.Fd()), filepath.Base(name), bits[n.Kind]|0o600, int(unix.Mkdev(n.Major, n.Minor))); err != nil {
		return fmt.Errorf("%s (%s): %w", name, n.Kind, err)
	}
	return nil
}

// setXattrs sets the extended attributes of a file or directory. Those that
// this user, or the file system, may not have are left out.
func (s *hostSink) setXattrs(name string, n *vol.Node) error {
	if len(n.Xattrs) == 0 || n.Kind != vol.KindFile && n.Kind != vol.KindDir {
		return nil
	}
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, x := range n.Xattrs {
		err := unix.Fsetxattr(int(f.Fd()), x.Name, x.Value, 0)
		if err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%s: extended attribute %s: %w", name, x.Name, err)
		}
	}
	return nil
}
