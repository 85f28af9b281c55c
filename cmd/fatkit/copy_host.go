package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// hostSink writes below a directory of the host, and never outside of it,
// whatever symbolic links are there or come from the image.
type hostSink struct {
	root   *os.Root
	sparse bool
	dryRun bool
	holds  vol.Holds // what the files that are written have
	dirs   []timedDir
	keep   []fs.FileInfo // files that are not written over: the images themselves
	temps  uint64        // temporary files that were made
}

func (s *hostSink) from(h vol.Holds) { s.holds = h }

// timedDir is a directory whose attributes are set when it is full.
type timedDir struct {
	name string
	node *vol.Node
}

func newHostSink(dir string, r *copyRun, keep []fs.FileInfo) (*hostSink, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &hostSink{root: root, sparse: r.sparse, dryRun: r.dryRun, keep: keep}, nil
}

// Close gives the directory up.
func (s *hostSink) Close() error { return s.root.Close() }

func (s *hostSink) dir(name string, n *vol.Node) error {
	if s.dryRun || name == "" {
		return nil
	}
	err := s.root.Mkdir(filepath.FromSlash(name), 0o700)
	if errors.Is(err, fs.ErrExist) {
		if fi, e := s.root.Stat(filepath.FromSlash(name)); e == nil && fi.IsDir() {
			return nil
		}
	}
	if err == nil {
		s.dirs = append(s.dirs, timedDir{name, n})
	}
	return err
}

// tempSuffix is in the name of a file until it is complete.
const tempSuffix = ".fatkit-new"

// file writes beside the file that it is to be, and renames: an error leaves
// what was there.
func (s *hostSink) file(ctx context.Context, name string, n *vol.Node, in io.ReaderAt, ms []vol.Mapping) error {
	name = filepath.FromSlash(name)
	if err := s.mayReplace(name); err != nil || s.dryRun {
		return err
	}
	f, temp, err := s.temp(filepath.Dir(name))
	if err != nil {
		return err
	}
	err = s.fill(ctx, f, n, in, ms)
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.attributes(temp, n)
	}
	if err == nil {
		err = s.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, s.root.Remove(temp))
	}
	return nil
}

// temp makes a file in dir that is called as nothing else there: a run that was
// killed may have left some. Its name does not hang on the one that it is to get,
// which may be as long as names can be.
func (s *hostSink) temp(dir string) (*os.File, string, error) {
	const tries = 1 << 16
	for last := s.temps + tries; ; {
		s.temps++
		name := filepath.Join(dir, fmt.Sprintf("%s-%d", tempSuffix, s.temps))
		f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || s.temps >= last {
			return f, name, err
		}
	}
}

// mayReplace refuses to put a file in the place of an image that is being read,
// and of what is neither a file nor a link.
func (s *hostSink) mayReplace(name string) error {
	fi, err := s.root.Lstat(name)
	if err != nil {
		return nil // what is wrong is met again when it is written
	}
	if slices.ContainsFunc(s.keep, func(k fs.FileInfo) bool { return os.SameFile(k, fi) }) {
		return requestf("%s: that is the image itself", name)
	}
	if !fi.Mode().IsRegular() && fi.Mode()&fs.ModeSymlink == 0 {
		return requestf("%s is there already, and is no regular file", name)
	}
	return nil
}

// fill writes the contents. Holes of the image stay holes.
func (s *hostSink) fill(ctx context.Context, f *os.File, n *vol.Node, in io.ReaderAt, ms []vol.Mapping) error {
	var err error
	if s.sparse || holes(n, ms) {
		err = pumpSparse(ctx, f, in, n.Size)
	} else {
		err = pump(ctx, f, in, n.Size)
	}
	if err != nil {
		return err
	}
	return f.Truncate(n.Size)
}

// pumpSparse is pump into a file without anything in it: what is zeros is left out,
// and what in knows as a hole is not even read, as a file of a few bytes may have
// a size of terabytes.
func pumpSparse(ctx context.Context, f io.WriterAt, in io.ReaderAt, size int64) error {
	w := dev.NewSparseWriter(f)
	known, ok := in.(interface{ NextData(pos int64) dev.Range })
	if !ok {
		return pump(ctx, w, in, size)
	}
	for at := int64(0); at < size; {
		data := known.NextData(at).Intersect(dev.Range{Len: size})
		if data.Empty() {
			return nil
		}
		w.Skip(data.Off - at)
		if err := pumpRange(ctx, w, in, data); err != nil {
			return err
		}
		at = data.End()
	}
	return nil
}

// holes tells whether a file has parts that no data was written for.
func holes(n *vol.Node, ms []vol.Mapping) bool {
	var data int64
	for _, m := range ms {
		if !m.Unwritten {
			data += m.Length
		}
	}
	return data < n.Size
}

func (s *hostSink) other(name string, n *vol.Node) error {
	if s.dryRun {
		return nil
	}
	name = filepath.FromSlash(name)
	if n.Kind == vol.KindSymlink {
		if err := s.root.Symlink(n.Link, name); err != nil {
			return err
		}
		return errors.Join(s.owner(name, n), s.setXattrs(name, n), s.times(name, n))
	}
	if err := s.special(name, n); err != nil {
		return err
	}
	return s.attributes(name, n)
}

func (s *hostSink) same(name, before string, _ *vol.Node) error {
	if s.dryRun {
		return nil
	}
	return s.root.Link(filepath.FromSlash(before), filepath.FromSlash(name))
}

// attributes gives a file what the image says of it. An owner that this user
// may not give is left out, as cp -p does.
func (s *hostSink) attributes(name string, n *vol.Node) error {
	if err := s.owner(name, n); err != nil {
		return err
	}
	mode := fs.FileMode(n.Mode & 0o777)
	for _, b := range []struct {
		bit uint32
		is  fs.FileMode
	}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}} {
		if n.Mode&b.bit != 0 {
			mode |= b.is
		}
	}
	if !s.holds.Modes {
		mode = defaultMode(n)
	}
	if err := s.setXattrs(name, n); err != nil {
		return err
	}
	if err := s.root.Chmod(name, mode); err != nil {
		return err
	}
	return s.times(name, n)
}

// times sets the times of a file, as far as the image has any.
func (s *hostSink) times(name string, n *vol.Node) error {
	if n.Modified.IsZero() {
		return nil
	}
	accessed := n.Accessed
	if accessed.IsZero() {
		accessed = n.Modified
	}
	return s.setTimes(name, n.Kind, accessed, n.Modified)
}

// defaultMode is for files of a format that knows none but read-only.
func defaultMode(n *vol.Node) fs.FileMode {
	mode := fs.FileMode(0o644)
	if n.IsDir() {
		mode = 0o755
	}
	if n.Flags&vol.FlagReadOnly != 0 && !n.IsDir() {
		mode &^= 0o222
	}
	return mode
}

func (s *hostSink) owner(name string, n *vol.Node) error {
	if os.Geteuid() != 0 || !s.holds.Owners {
		return nil
	}
	return s.root.Lchown(name, int(n.UID), int(n.GID))
}

// done sets the attributes of directories, those inside first.
func (s *hostSink) done() error {
	for i := len(s.dirs) - 1; i >= 0; i-- {
		d := s.dirs[i]
		if err := s.attributes(filepath.FromSlash(d.name), d.node); err != nil {
			return err
		}
	}
	return nil
}
