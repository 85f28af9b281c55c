// Package source is what a volume is filled from: a directory or a tar archive,
// as a list of entries in the order in which they are laid out, and a way to
// read their contents.
//
// What it takes memory for is the entries, not their bytes: an archive that is
// compressed, or comes from a pipe, is unpacked into a temporary file without a
// name.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Options of reading a source.
type Options struct {
	// Latest is the latest time that an entry may have; later ones become it.
	// Zero: no limit. See SOURCE_DATE_EPOCH at reproducible-builds.org.
	Latest time.Time
	// Seconds drops fractions of seconds: a tar archive has none unless it was
	// made to, and a directory is to give the same volume as its archive.
	Seconds bool
	// Follow puts in the place of a symbolic link what it leads to.
	Follow bool
	// NoXattrs says that nobody wants to know of extended attributes more than that
	// there are some.
	NoXattrs bool
	// Image is the image that is filled, if it is a file that is there. It is left
	// out where it is met in a directory, and cannot be the source itself.
	Image fs.FileInfo
	// Most is how many bytes an archive that is compressed, or comes from a pipe,
	// may have; 0 is 1 TiB.
	Most int64
}

func (o *Options) most() int64 {
	if o.Most > 0 {
		return o.Most
	}
	return 1 << 40
}

// Source is entries and their contents.
type Source struct {
	// Entries are the caller's to change, and to keep only some of: Open goes by
	// the index that an entry had at first.
	Entries []vol.Entry
	// Left are the names of the image itself on the host, which were left out.
	Left  []string
	open  func(i int) (vol.Contents, error)
	close func() error
}

// Open opens the contents of the file that was Entries[i].
func (s *Source) Open(i int) (vol.Contents, error) {
	return s.open(i)
}

// Close gives up what the source holds.
func (s *Source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// isImage tells whether a host file is the image that is filled.
func (o *Options) isImage(fi fs.FileInfo) bool { return o.Image != nil && os.SameFile(o.Image, fi) }

// itself is the error that the source at path is the image.
func itself(path string) error {
	return fmt.Errorf("%w: %s: that is the image itself", vol.ErrRequest, path)
}

// ErrChanged says that a file is not any more what it was when it was listed.
var ErrChanged = errors.New("it changed while it was read")

// maxName is how long the name of an entry of an archive may be, in bytes: what Windows
// takes of UTF-16 units. One name can be a directory for each two of its bytes, so
// what is made of it must not grow with the square of it.
const maxName = 1<<15 - 1

// cleanPath is a path of an entry without "." and doubled slashes. One that is
// absolute, leads out of the source, or is out of all measure cannot be.
func cleanPath(p string) (string, error) {
	switch {
	case strings.HasPrefix(p, "/"):
		return "", errors.New("the name is absolute")
	case len(p) > maxName:
		return "", fmt.Errorf("the name has %d bytes, and %d are the most", len(p), maxName)
	}
	for _, part := range strings.Split(p, "/") {
		if part == ".." {
			return "", errors.New(`the name has ".." in it`)
		}
	}
	if strings.ContainsRune(p, 0) {
		return "", errors.New("the name has a zero byte in it")
	}
	if p = path.Clean(p); p == "." {
		return "", nil
	}
	return p, vol.TooDeep(p)
}

// ComparePaths orders paths component by component, by bytes, so that what is
// in a directory follows it at once.
func ComparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// settle times an entry as the options say. All its times become the one of
// the last change of contents: the others say when the source was made, not
// what is in it.
func (o *Options) settle(e *vol.Entry) {
	t := e.Modified
	if !o.Latest.IsZero() && t.After(o.Latest) {
		t = o.Latest
	}
	if o.Seconds {
		t = t.Truncate(time.Second)
	}
	e.Modified = t.UTC()
}

// arrange brings entries into the order of their paths, in the memory that they are
// in. Of several names of a file the first in that order becomes the one with the
// contents. from(i) is the index that the contents of out[i] had in es. Entries of no
// kind are left out.
func arrange(es []vol.Entry) (out []vol.Entry, from func(i int) int) {
	if inOrder(es) {
		return es, func(i int) int { return i }
	}
	order, left := make([]int32, 0, len(es)), []int32(nil)
	for i := range es {
		if es[i].Kind != 0 {
			order = append(order, int32(i))
		} else {
			left = append(left, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return ComparePaths(es[a].Path, es[b].Path) })
	owners := firstNames(es, order)
	permute(es, append(order, left...))
	return es[:len(order):len(order)], func(i int) int {
		if owner, ok := owners[int32(i)]; ok {
			return owner
		}
		return int(order[i])
	}
}

// firstNames gives the contents of a file with several names to the one that comes
// first in order, which is where each entry is to go to, and points the others to
// that. owners has, by their places in order, who had the contents of the first names.
func firstNames(es []vol.Entry, order []int32) (owners map[int32]int) {
	first := make(map[int]int) // by the entry that had the contents
	for i := range es {
		if es[i].Same >= 0 {
			first[es[i].Same] = -1
		}
	}
	owners = make(map[int32]int)
	if len(first) == 0 {
		return owners
	}
	for to, i := range order {
		e, owner := &es[i], int(i)
		if e.Same >= 0 {
			owner = e.Same
		}
		at, several := first[owner]
		switch {
		case !several:
		case at >= 0:
			e.Same = at
		default:
			first[owner] = to
			p, origin := e.Path, e.Origin
			*e = es[owner]
			e.Path, e.Origin = p, origin
			owners[int32(to)] = owner
		}
	}
	return owners
}

// permute puts into es[i] what is in es[from[i]], from being all of its indices.
func permute(es []vol.Entry, from []int32) {
	for start := range from {
		if from[start] < 0 {
			continue // done: ^from, until all are
		}
		was, to := es[start], start
		for next := int(from[to]); next != start; next = int(from[to]) {
			es[to] = es[next]
			from[to] = ^from[to]
			to = next
		}
		es[to] = was
		from[to] = ^from[to]
	}
	for i := range from {
		from[i] = ^from[i]
	}
}

// exact is list in no more memory than it needs: growing leaves up to a quarter.
func exact[T any](list []T) []T {
	if cap(list)-len(list) <= len(list)/16 {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

func inOrder(es []vol.Entry) bool {
	for i := range es {
		if es[i].Kind == 0 || i > 0 && ComparePaths(es[i-1].Path, es[i].Path) >= 0 {
			return false
		}
	}
	return true
}

// complete refuses names that are there twice and files that have something in
// them, and adds the directories that an archive leaves out. Of a directory that
// is there twice the attributes of the last one count, as if it were unpacked.
func complete(es []vol.Entry, when time.Time) ([]vol.Entry, error) {
	at := make(map[string]int, len(es))
	for i := range es {
		e := &es[i]
		before, twice := at[e.Path]
		switch {
		case twice && (es[before].Kind != vol.KindDir || e.Kind != vol.KindDir):
			return nil, vol.EntryError(e, "the name is there twice")
		case twice:
			es[before].Kind = 0
		}
		at[e.Path] = i
	}
	for i := range len(es) {
		for dir := vol.Parent(es[i].Path); ; dir = vol.Parent(dir) {
			k, ok := at[dir]
			if ok && es[k].Kind != vol.KindDir {
				return nil, vol.EntryError(&es[i], "%s is not a directory", es[k].Path)
			}
			if ok {
				break
			}
			at[dir] = len(es)
			e := vol.Entry{Path: dir, Same: -1}
			e.Kind, e.Mode, e.Modified = vol.KindDir, 0o755, when
			es = append(es, e)
			if dir == "" {
				break
			}
		}
	}
	return es, nil
}
