package vol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"
	"syscall"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Tree reads what is on a volume: directories, files, and what its parts serve
// for. It never writes, and it takes a volume that asks for a check, as far as
// that can be read: what cannot be is ErrDamaged, with the path.
type Tree interface {
	Info() Info
	// Root is the root directory.
	Root() (*Node, error)
	// Lookup finds a name in a directory, as the format compares names. Where
	// there is none the error is fs.ErrNotExist.
	Lookup(dir *Node, name string) (*Node, error)
	// List calls fn for what is in a directory, in the order on the disk,
	// without "." and "..". The nodes are fn's to keep. An error of fn ends it
	// and is returned.
	List(ctx context.Context, dir *Node, fn func(*Node) error) error
	// Details reads into n what List leaves out because it takes reads of its
	// own: the target of a symbolic link and the extended attributes.
	Details(n *Node) error
	// Mappings are the pieces of a file or directory in their order.
	Mappings(n *Node) ([]Mapping, error)
	// Contents reads a file. It takes any offset and range, and what the
	// file has no data for reads as zeros. At Size it is io.EOF.
	Contents(n *Node) (io.ReaderAt, error)
	// Uses calls fn for all of the volume, in rising order and without gaps:
	// two ranges that follow each other may have the same use.
	Uses(ctx context.Context, fn func(UseRange) error) error
	// Fold makes names that the format takes for the same the same string.
	Fold(name string) string
}

// maxWalkPath is how many bytes the path of a directory may have that a walk goes
// into: Windows takes paths of up to 32767 units of UTF-16, which are at most so many.
// heldPath is up to how many of them are kept of each of its entries: of a longer path
// that they all begin with, one directory of an image of a few MiB would fill memory.
const (
	maxWalkPath = 3 << 15
	heldPath    = MaxPath
)

// Resolve finds the node at path, which may begin with "/" or mtools' "::". Errors are
// ErrRequest, and fs.ErrNotExist or syscall.ENOTDIR, or those of reading.
func Resolve(t Tree, p string) (*Node, error) {
	parts, err := pathParts(p)
	if err != nil {
		return nil, err
	}
	n, err := t.Root()
	for _, name := range parts {
		if err != nil {
			return nil, err
		}
		if !n.IsDir() {
			return nil, Saying(fmt.Sprintf("%s: %s: %s is not a directory", ErrRequest, p, n.Path), ErrRequest, syscall.ENOTDIR)
		}
		dir := n
		if n, err = t.Lookup(dir, name); errors.Is(err, fs.ErrNotExist) {
			return nil, NoSuch(p, dir.Path, name, namesIn(t, dir))
		}
	}
	return n, err
}

// namesIn are the names in a directory, as far as it can be read.
func namesIn(t Tree, dir *Node) iter.Seq[string] {
	return func(yield func(string) bool) {
		_ = t.List(context.Background(), dir, func(n *Node) error {
			if !yield(path.Base(n.Path)) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// WalkFunc is called for a node; and for a directory once more, with what went
// wrong, where not all that is in it could be listed. fs.SkipDir as its result
// leaves out what is in a directory, nil after an error goes on with the rest,
// and any other error ends the walk.
type WalkFunc func(n *Node, err error) error

// Walk calls fn for n and, if it is a directory, for all below it: a directory
// before what is in it, and that in order of name. A directory that is met
// twice is damage: on a damaged volume one can be its own child.
func Walk(ctx context.Context, t Tree, n *Node, fn WalkFunc) error {
	w := walk{ctx: ctx, t: t, fn: fn, seen: make(map[uint64]string)}
	return w.visit(n, 0)
}

type walk struct {
	ctx  context.Context
	t    Tree
	fn   WalkFunc
	seen map[uint64]string // directories by ID
}

func (w *walk) visit(n *Node, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	err := w.fn(n, nil)
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	if err != nil || !n.IsDir() {
		return err
	}
	kids, err := w.kids(n, depth)
	if err != nil && w.ctx.Err() == nil {
		if err = w.fn(n, err); errors.Is(err, fs.SkipDir) {
			return nil
		}
	}
	for i, k := range kids {
		if err != nil {
			return err
		}
		if len(n.Path) > heldPath {
			k.Path = n.Path + "/" + k.Path
		}
		kids[i], err = nil, w.visit(k, depth+1)
	}
	return err
}

// kids is what is in a directory, in order of name, as far as it can be read. Where
// its path is longer than heldPath they have their names as paths.
func (w *walk) kids(n *Node, depth int) (kids []*Node, err error) {
	if before, twice := w.seen[n.ID]; twice && n.ID != 0 { // a directory without clusters holds nothing
		return nil, fmt.Errorf("%w: %s is the same directory as %s; run check first", ErrDamaged, clipPath(n.Path), before)
	}
	if depth > MaxDepth {
		return nil, fmt.Errorf("%w: %s: directories are more than %d deep", ErrDamaged, clipPath(n.Path), MaxDepth)
	}
	if len(n.Path) > maxWalkPath {
		return nil, fmt.Errorf("%w: %s: its path has %d bytes, more than any system takes", ErrDamaged, clipPath(n.Path), len(n.Path))
	}
	w.seen[n.ID] = clipPath(n.Path)
	err = w.t.List(w.ctx, n, func(k *Node) error {
		if len(n.Path) > heldPath {
			k.Path = strings.Clone(k.Path[len(n.Path)+1:])
		}
		kids = append(kids, k)
		return nil
	})
	byName := func(a, b *Node) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(kids, byName) { // as what was made in order is
		slices.SortStableFunc(kids, byName)
	}
	return kids, err
}

// Glob is the nodes that a pattern of path.Match matches, component by
// component, names being compared as the format compares them. What has the pattern
// for its path wins, for names may have any of these characters in them and come from
// a list; and one without special characters is a path, and must be there.
func Glob(ctx context.Context, t Tree, pattern string) ([]*Node, error) {
	n, err := Resolve(t, pattern)
	if err == nil {
		return []*Node{n}, nil
	}
	if !strings.ContainsAny(pattern, `*?[\`) || !errors.Is(err, ErrRequest) {
		return nil, err
	}
	if _, bad := path.Match(pattern, ""); bad != nil {
		return nil, err // so it can be a path alone
	}
	parts, err := pathParts(pattern)
	if err != nil {
		return nil, err
	}
	root, err := t.Root()
	if err != nil {
		return nil, err
	}
	at := []*Node{root}
	for _, part := range parts {
		if at, err = globIn(ctx, t, at, part); err != nil {
			return nil, err
		}
	}
	if len(at) == 0 {
		return nil, Saying(fmt.Sprintf("%s: nothing matches %q", ErrRequest, pattern), ErrRequest, fs.ErrNotExist)
	}
	return at, nil
}

// globIn is what matches part in the directories among dirs.
func globIn(ctx context.Context, t Tree, dirs []*Node, part string) ([]*Node, error) {
	var out []*Node
	folded := t.Fold(part)
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		if !strings.ContainsAny(part, `*?[\`) {
			n, err := t.Lookup(d, part)
			if err == nil {
				out = append(out, n)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			continue
		}
		err := t.List(ctx, d, func(n *Node) error {
			ok, err := path.Match(folded, t.Fold(path.Base(n.Path)))
			if ok {
				out = append(out, n)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ReadMapped is Tree.Contents of a format that has files and directories alone, where
// all that a file holds is in its mappings, places of d.
func ReadMapped(t Tree, d dev.Device, n *Node) (io.ReaderAt, error) {
	if n.Kind != KindFile {
		return nil, fmt.Errorf("%w: %s is a directory", ErrRequest, n.Path)
	}
	ms, err := t.Mappings(n)
	if err != nil {
		return nil, err
	}
	return &SectionReader{D: d, Mappings: ms, Size: n.Size, Valid: n.Valid}, nil
}

// SectionReader reads pieces of a device as one file.
type SectionReader struct {
	D        dev.Device
	Mappings []Mapping // in rising order of Pos
	Size     int64     // bytes of the file
	Valid    int64     // from here on it reads as zeros
}

// ReadAt is io.ReaderAt.
func (r *SectionReader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("read at %d: %w", off, fs.ErrInvalid)
	}
	if off >= r.Size {
		return 0, io.EOF
	}
	short := int64(len(p)) > r.Size-off
	if short {
		p = p[:r.Size-off]
	}
	clear(p)
	want := dev.Range{Off: off, Len: int64(len(p))}
	for _, m := range r.Mappings[r.first(off):] {
		if m.Pos >= want.End() {
			break
		}
		part := want.Intersect(dev.Range{Off: m.Pos, Len: m.Length}).Intersect(dev.Range{Len: r.Valid})
		if m.Unwritten || part.Empty() {
			continue
		}
		if _, err := r.D.ReadAt(p[part.Off-off:part.End()-off], m.Off+part.Off-m.Pos); err != nil {
			return 0, err
		}
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// NextData is the first range at pos or behind it that is on the volume; what is
// before it, and all that follows where it is empty, is zeros that need not be read.
func (r *SectionReader) NextData(pos int64) dev.Range {
	for _, m := range r.Mappings[r.first(pos):] {
		data := dev.Range{Off: m.Pos, Len: m.Length}.Intersect(dev.Range{Off: pos, Len: min(r.Valid, r.Size) - pos})
		if !m.Unwritten && !data.Empty() {
			return data
		}
	}
	return dev.Range{}
}

// first is the index of the first mapping that ends beyond off.
func (r *SectionReader) first(off int64) int {
	return sort.Search(len(r.Mappings), func(i int) bool { return r.Mappings[i].Pos+r.Mappings[i].Length > off })
}
