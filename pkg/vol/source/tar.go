package source

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/packed"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Tar lists a tar archive, compressed or not: name is a file, or "-" for r. The
// formats are those of archive/tar: ustar, PAX and GNU, with sparse files. Names
// that are absolute, lead out of the archive, or are there twice are refused.
func Tar(ctx context.Context, name string, r io.Reader, o Options) (*Source, error) {
	a, err := openArchive(ctx, name, r, &o)
	if err != nil {
		return nil, err
	}
	t := &tarList{ctx: ctx, o: o, a: a, names: make(map[string]int)}
	if err := t.read(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	s, err := t.source()
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return s, nil
}

// archive is a tar archive as it is read: uncompressed, with any offset.
type archive interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// plainFile is an archive that is read where it is.
type plainFile struct {
	*os.File
	size int64
}

// Size is how long it was when it was opened.
func (f plainFile) Size() int64 { return f.size }

// openArchive opens an archive so that its parts can be read in any order: the
// file itself, or what is unpacked from it.
func openArchive(ctx context.Context, name string, r io.Reader, o *Options) (archive, error) {
	if name == "-" {
		return unpacked(ctx, "standard input", r, o.most())
	}
	f, err := dev.Await(ctx, func() (*os.File, error) { return os.Open(name) }, func(f *os.File) { _ = f.Close() })
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if o.isImage(fi) {
		return nil, errors.Join(itself(name), f.Close())
	}
	head := make([]byte, 6)
	if n, err := f.ReadAt(head, 0); fi.Mode().IsRegular() && (err == nil || errors.Is(err, io.EOF)) && packed.Kind(head[:n]) == "" {
		return plainFile{f, fi.Size()}, nil
	}
	a, err := unpacked(ctx, name, f, o.most())
	return a, errors.Join(err, f.Close())
}

// unpacked reads r, compressed or not, into a file without a name.
func unpacked(ctx context.Context, name string, r io.Reader, most int64) (archive, error) {
	b := bufio.NewReaderSize(dev.Interruptible(ctx, r), 1<<20)
	head, _ := b.Peek(6) // what is wrong is met again when it is read
	in := io.NopCloser(b)
	kind := packed.Kind(head)
	if kind != "" {
		var err error
		if in, err = packed.NewReader(kind, b); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %s: the %s stream is damaged: %w", vol.ErrRequest, name, kind, err)
		}
	}
	defer func() { _ = in.Close() }() // it says again what reading said
	f, err := dev.Unpack(ctx, name, "", in, most)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, dev.ErrEmpty):
		return nil, vol.Refusef("%s: this is no tar archive: it is empty", name)
	case kind == "" || ctx.Err() != nil || errors.Is(err, dev.ErrTooLarge):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s: the %s stream is damaged: %w", vol.ErrRequest, name, kind, err)
}

// tarList is an archive being listed.
type tarList struct {
	ctx   context.Context
	o     Options
	a     archive
	es    []vol.Entry
	at    []stored
	names map[string]int // entries that hard links may name
	size  int64
}

// stored is where the contents of an entry are in the archive.
type stored struct {
	off  int64
	size int64  // of the file
	runs *[]run // of a sparse file, as few are; nil: all bytes, one after the other
}

// read lists all entries of the archive.
func (t *tarList) read() error {
	t.size = t.a.Size()
	in := &blockReader{r: t.a, size: t.size}
	tr := tar.NewReader(in)
	for {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		in.begin()
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			if len(t.es) == 0 && t.size < 2*tarBlock {
				return fmt.Errorf("%w: this is no tar archive: it has %d bytes", vol.ErrRequest, t.size)
			}
			if err := t.empty(); err != nil {
				return err
			}
			if len(in.blocks) == 0 {
				return vol.Refusef("the tar archive is truncated: it ends at byte %d without a block of zeros, which is the mark of its end", t.size)
			}
			return nil
		case err != nil:
			return fmt.Errorf("%w: the tar archive is damaged near byte %d: %w", vol.ErrRequest, in.off, err)
		}
		if err := t.add(h, in); err != nil {
			return err
		}
	}
}

// empty looks whether an archive without entries is one: the zeros of its end begin many
// a disk image, too. Whoever fills a volume with that wants to hear of it.
func (t *tarList) empty() error {
	head := make([]byte, min(t.size, 64<<10))
	if _, err := t.a.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	zeros := len(head) - len(bytes.TrimLeft(head, "\x00"))
	if len(t.es) == 0 && zeros >= tarBlock && zeros < len(head) {
		return fmt.Errorf("%w: this is no tar archive: it begins with zeros, and at byte %d is something else", vol.ErrRequest, zeros)
	}
	return nil
}

// add lists one entry.
func (t *tarList) add(h *tar.Header, in *blockReader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	e := vol.Entry{Same: -1, Origin: h.Name}
	var err error
	if e.Path, err = cleanPath(h.Name); err != nil {
		e.Origin = h.Name[:min(len(h.Name), 1<<12)] // enough to find it
		return vol.EntryError(&e, "%w", err)
	}
	e.Path = vol.TailOf(e.Origin, e.Path)
	e.Modified = h.ModTime
	e.Mode = uint32(h.Mode) & 0o7777
	e.UID, e.GID = uint32(h.Uid), uint32(h.Gid)
	if !isOwner(h.Uid) || !isOwner(h.Gid) {
		return vol.EntryError(&e, "owner %d:%d cannot be", h.Uid, h.Gid)
	}
	if e.Xattrs, err = t.tarXattrs(h); err != nil {
		return vol.EntryError(&e, "%w", err)
	}
	t.o.settle(&e)
	at := stored{off: in.off, size: h.Size}
	if err := t.fill(&e, h, in, &at); err != nil {
		return err
	}
	if e.Path == "" && e.Kind != vol.KindDir {
		return vol.EntryError(&e, "an entry without a name is no directory")
	}
	if e.Kind != vol.KindDir {
		t.names[e.Path] = len(t.es)
	}
	t.es, t.at = append(t.es, e), append(t.at, at)
	return nil
}

// isOwner tells whether id is that of an owner: the highest of 32 bits stands for
// nobody, chown(2).
func isOwner(id int) bool { return int64(id) >= 0 && int64(id) < 1<<32-1 }

// fill takes from a header what its kind of entry has.
func (t *tarList) fill(e *vol.Entry, h *tar.Header, in *blockReader, at *stored) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeRegA, tar.TypeCont, tar.TypeGNUSparse: //nolint:staticcheck // old archives have TypeRegA
		e.Kind, e.Size = vol.KindFile, h.Size
		runs, off, err := in.sparse(h)
		if err != nil {
			return vol.EntryError(e, "%w", err)
		}
		if runs != nil {
			at.off, at.runs = off, &runs
			e.Data = dataOf(runs)
		}
		if end := at.end(h.Size); end < at.off || end > t.size { // below: beyond 2^63
			return vol.EntryError(e, "the archive is truncated: the file ends at byte %d of %d", end, t.size)
		}
	case tar.TypeDir:
		e.Kind = vol.KindDir
	case tar.TypeSymlink:
		e.Kind, e.Link = vol.KindSymlink, h.Linkname
	case tar.TypeLink:
		return t.link(e, h)
	case tar.TypeFifo:
		e.Kind = vol.KindFIFO
	case tar.TypeChar, tar.TypeBlock:
		e.Kind = vol.KindChar
		if h.Typeflag == tar.TypeBlock {
			e.Kind = vol.KindBlock
		}
		if h.Devmajor < 0 || h.Devmajor > 1<<12-1 || h.Devminor < 0 || h.Devminor > 1<<20-1 {
			return vol.EntryError(e, "device %d:%d cannot be", h.Devmajor, h.Devminor)
		}
		e.Major, e.Minor = uint32(h.Devmajor), uint32(h.Devminor)
	default:
		return vol.EntryError(e, "entries of type %q are not known", h.Typeflag)
	}
	return nil
}

// link makes e another name of an entry before.
func (t *tarList) link(e *vol.Entry, h *tar.Header) error {
	target, err := cleanPath(h.Linkname)
	if err != nil {
		return vol.EntryError(e, "hard link to %q: %w", h.Linkname, err)
	}
	i, ok := t.names[target]
	if !ok {
		return vol.EntryError(e, "hard link to %q, which is not in the archive before it", h.Linkname)
	}
	if t.es[i].Same >= 0 {
		i = t.es[i].Same
	}
	e.Kind, e.Same = t.es[i].Kind, i
	return nil
}

// source arranges the entries. Directories that the archive leaves out have the
// time of the limit, or 1980 where there is none: one that means nothing, and is
// the same every time.
func (t *tarList) source() (*Source, error) {
	when := t.o.Latest
	if when.IsZero() {
		when = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if t.o.Follow {
		if err := t.follow(); err != nil {
			return nil, err
		}
	}
	t.names = nil
	es, err := complete(t.es, when)
	if err != nil {
		return nil, err
	}
	for len(t.at) < len(es) {
		t.at = append(t.at, stored{})
	}
	es, from := arrange(exact(es))
	a, at := t.a, exact(t.at) // and nothing else of t, which is large
	return &Source{Entries: es, close: a.Close, open: func(i int) (vol.Contents, error) {
		return &member{a: a, stored: at[from(i)]}, nil
	}}, nil
}

// maxHops is how many symbolic links may lead to a file, as in Linux.
const maxHops = 40

// follow puts the files that symbolic links lead to, inside the archive, in
// their places.
func (t *tarList) follow() error {
	for i := range t.es {
		e := &t.es[i]
		if e.Kind != vol.KindSymlink || e.Same >= 0 {
			continue
		}
		to, err := t.behind(e)
		if err != nil {
			return vol.EntryError(e, "symbolic link to %q: %w", e.Link, err)
		}
		p, origin := e.Path, e.Origin
		t.es[i], t.at[i] = t.es[to], t.at[to]
		t.es[i].Path, t.es[i].Origin = p, origin
	}
	return nil
}

// behind is the file that a symbolic link leads to.
func (t *tarList) behind(e *vol.Entry) (int, error) {
	for range maxHops {
		if path.IsAbs(e.Link) {
			return 0, errors.New("it leads out of the archive")
		}
		target := path.Join(vol.Parent(e.Path), e.Link)
		if strings.HasPrefix(target, "../") {
			return 0, errors.New("it leads out of the archive")
		}
		i, ok := t.names[target]
		if !ok {
			return 0, errors.New("there is no such file in the archive")
		}
		if t.es[i].Same >= 0 {
			i = t.es[i].Same
		}
		if e = &t.es[i]; e.Kind != vol.KindSymlink {
			return i, nil
		}
	}
	return 0, errors.New("too many links")
}

// member is the contents of one entry.
type member struct {
	a archive
	stored
}

// ReadAt reads what is stored; holes are zeros.
func (m *member) ReadAt(p []byte, off int64) (int, error) {
	if off >= m.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), m.size-off)
	if err := m.read(p[:n], off); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (m *member) read(p []byte, off int64) error {
	if m.runs == nil {
		_, err := m.a.ReadAt(p, m.off+off)
		return err
	}
	clear(p)
	want := dev.Range{Off: off, Len: int64(len(p))}
	runs := *m.runs // there may be a million, so they are not all looked at for each piece
	for _, r := range runs[sort.Search(len(runs), func(i int) bool { return runs[i].End() > off }):] {
		part := want.Intersect(r.Range)
		if r.Off >= want.End() {
			break
		}
		if part.Empty() {
			continue
		}
		if _, err := m.a.ReadAt(p[part.Off-off:part.End()-off], m.off+r.stored+part.Off-r.Off); err != nil {
			return err
		}
	}
	return nil
}

// Close has nothing to give up: the archive is closed with its source.
func (*member) Close() error { return nil }
