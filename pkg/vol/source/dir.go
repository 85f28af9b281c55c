package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Dir lists all that is in the directory root; root itself is the entry "".
// Nothing is opened until its contents are read.
func Dir(ctx context.Context, root string, o Options) (*Source, error) {
	w := &dirWalk{ctx: ctx, o: o, inodes: make(map[inode]int)}
	fi, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%w: %s is not a directory", vol.ErrRequest, root)
	}
	if err := w.add(root, "", fi); err != nil {
		return nil, err
	}
	return w.source(), nil
}

// Files lists a file or directory for each of paths, with all that is in it,
// under its own name.
func Files(ctx context.Context, paths []string, o Options) (*Source, error) {
	w := &dirWalk{ctx: ctx, o: o, inodes: make(map[inode]int)}
	for _, p := range paths {
		fi, err := w.stat(p)
		if err != nil {
			return nil, err
		}
		if w.o.isImage(fi) {
			return nil, itself(p)
		}
		if err := w.add(p, filepath.Base(filepath.Clean(p)), fi); err != nil {
			return nil, err
		}
	}
	return w.source(), nil
}

// inode is what a host file is told apart by.
type inode struct{ dev, ino uint64 }

// dirWalk goes through directories of the host.
type dirWalk struct {
	ctx    context.Context
	o      Options
	es     []vol.Entry
	seen   []seen
	left   []string      // names of the image
	inodes map[inode]int // files with several names, by entry
	above  []inode       // the directories that are gone through now
}

// seen is a host file as it was when it was listed.
type seen struct {
	path     string
	size     int64
	modified int64 // nanoseconds since 1970
}

func (w *dirWalk) source() *Source {
	es, from := arrange(exact(w.es))
	was := exact(w.seen)
	return &Source{Entries: es, Left: w.left, open: func(i int) (vol.Contents, error) {
		return openHost(was[from(i)])
	}}
}

// stat is of what a link leads to, if links are followed.
func (w *dirWalk) stat(p string) (fs.FileInfo, error) {
	if w.o.Follow {
		return os.Stat(p)
	}
	return os.Lstat(p)
}

// add lists one file of the host and what is in it.
func (w *dirWalk) add(host, name string, fi fs.FileInfo) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	e := vol.Entry{Path: vol.TailOf(host, name), Origin: host, Same: -1}
	e.Kind, e.Mode, e.Modified = kindOf(fi.Mode()), modeOf(fi.Mode()), fi.ModTime()
	id, links := statHost(fi, &e)
	w.o.settle(&e)
	if e.Kind == vol.KindDir {
		return w.addDir(&e, id)
	}
	if first, met := w.inodes[id]; met && links > 1 {
		e.Same = first
	} else if err := w.fill(&e, fi); err != nil {
		return err
	} else if links > 1 {
		w.inodes[id] = len(w.es)
	}
	w.append(e, fi)
	return nil
}

func (w *dirWalk) append(e vol.Entry, fi fs.FileInfo) {
	w.es = append(w.es, e)
	w.seen = append(w.seen, seen{e.Origin, fi.Size(), fi.ModTime().UnixNano()})
}

// fill is what has to be read of a host file that is no directory.
func (w *dirWalk) fill(e *vol.Entry, fi fs.FileInfo) (err error) {
	switch e.Kind {
	case vol.KindFile:
		e.Size = fi.Size()
		if sparseHost(fi) {
			if e.Data, err = hostData(e.Origin, e.Size); err != nil {
				return err
			}
		}
	case vol.KindSymlink:
		if e.Link, err = os.Readlink(e.Origin); err != nil {
			return err
		}
	}
	e.Xattrs, err = hostXattrs(e.Origin)
	return err
}

// addDir lists a directory of the host. A link that leads to a directory above
// itself has no end.
func (w *dirWalk) addDir(e *vol.Entry, id inode) error {
	for _, a := range w.above {
		if a == id && id != (inode{}) {
			return fmt.Errorf("%w: %s: a symbolic link leads to a directory that it is in", vol.ErrRequest, e.Origin)
		}
	}
	w.above = append(w.above, id)
	defer func() { w.above = w.above[:len(w.above)-1] }()
	var err error
	if e.Xattrs, err = hostXattrs(e.Origin); err != nil {
		return err
	}
	fi, err := os.Stat(e.Origin)
	if err != nil {
		return err
	}
	w.append(*e, fi)
	kids, err := os.ReadDir(e.Origin)
	if err != nil {
		return err
	}
	for _, k := range kids {
		host := filepath.Join(e.Origin, k.Name())
		fi, err := w.stat(host)
		if err != nil {
			return err
		}
		if w.o.isImage(fi) {
			w.left = append(w.left, host)
			continue
		}
		name := k.Name()
		if e.Path != "" {
			name = e.Path + "/" + name
		}
		if err := w.add(host, name, fi); err != nil {
			return err
		}
	}
	return nil
}

// kindOf is the kind of a host file.
func kindOf(m fs.FileMode) vol.Kind {
	switch {
	case m.IsRegular():
		return vol.KindFile
	case m.IsDir():
		return vol.KindDir
	case m&fs.ModeSymlink != 0:
		return vol.KindSymlink
	case m&fs.ModeNamedPipe != 0:
		return vol.KindFIFO
	case m&fs.ModeSocket != 0:
		return vol.KindSocket
	case m&fs.ModeCharDevice != 0:
		return vol.KindChar
	}
	return vol.KindBlock
}

// modeOf are the low twelve bits of st_mode.
func modeOf(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for _, b := range []struct {
		is  fs.FileMode
		bit uint32
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}} {
		if m&b.is != 0 {
			bits |= b.bit
		}
	}
	return bits
}

// hostData are the bytes of a host file that are no holes.
func hostData(path string, size int64) ([]dev.Range, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, err
	}
	return dev.DataRanges(f, size), f.Close()
}

// hostFile is the contents of a host file.
type hostFile struct {
	*os.File
	was seen
}

// openHost opens a file that was listed before, and is still what it was.
func openHost(was seen) (vol.Contents, error) {
	f, err := os.OpenFile(was.path, openFlags, 0)
	if err != nil {
		return nil, err
	}
	h := hostFile{f, was}
	if err := h.same(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return h, nil
}

// same checks that the file has not changed since it was listed.
func (h hostFile) same() error {
	fi, err := h.Stat()
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() || fi.Size() != h.was.size || fi.ModTime().UnixNano() != h.was.modified {
		return ErrChanged
	}
	return nil
}

// Close is an error if the file has changed while it was read.
func (h hostFile) Close() error { return errors.Join(h.same(), h.File.Close()) }
