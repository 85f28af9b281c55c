package vol

import (
	"slices"
	"strings"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Kind is what a directory entry is of.
type Kind uint8

// The kinds of POSIX. FAT and exFAT have the first two.
const (
	KindFile Kind = iota + 1
	KindDir
	KindSymlink
	KindFIFO
	KindSocket
	KindChar
	KindBlock
)

// String is the kind as ls --json names it.
func (k Kind) String() string {
	names := [...]string{"unknown", "file", "dir", "symlink", "fifo", "socket", "char", "block"}
	if int(k) >= len(names) {
		k = 0
	}
	return names[k]
}

// Attr is what belongs to a file beside its name and its contents. What a
// format has no place for is the zero value where it is read, and is dropped
// where it is written: see [Holds].
type Attr struct {
	Kind     Kind
	Flags    FileFlags
	Mode     uint32 // the low twelve bits of st_mode: permissions, set-id, sticky
	UID, GID uint32
	// Major and Minor are the numbers of a device.
	Major, Minor uint32
	Modified     time.Time // of the contents; the zero Time where there is none
	Link         string    // what a symbolic link leads to
	Xattrs       []Xattr   // in order of name
}

// Times are those beside the last change of contents; the zero Time where there is
// none. Born is when it was made.
type Times struct{ Accessed, Changed, Born time.Time }

// FileFlags are the attributes that FAT and exFAT keep, as they number them:
// [FAT] DIR_Attr, [exFAT] §7.4.4.
type FileFlags uint8

// The attributes that a user sets. Bits of other attributes are none.
const (
	FlagReadOnly FileFlags = 1 << 0
	FlagHidden   FileFlags = 1 << 1
	FlagSystem   FileFlags = 1 << 2
	FlagArchive  FileFlags = 1 << 5
)

// FlagNames are the names of flags that were asked for: of a million files most have
// the same ones, and those share a slice.
type FlagNames [FlagArchive << 1][]string

// Of is f.Names. The slice is not to be changed.
func (n *FlagNames) Of(f FileFlags) []string {
	f &= FileFlags(len(n) - 1)
	if n[f] == nil {
		n[f] = slices.Clip(f.Names())
	}
	return n[f]
}

// Names are the flags in words, in the order of their bits.
func (f FileFlags) Names() []string {
	var names []string
	for _, n := range []struct {
		bit  FileFlags
		name string
	}{{FlagReadOnly, "read-only"}, {FlagHidden, "hidden"}, {FlagSystem, "system"}, {FlagArchive, "archive"}} {
		if f&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// Xattr is an extended attribute, with the whole name: "user.comment".
type Xattr struct {
	Name  string
	Value []byte
}

// Node is a file, directory or something else that is on a volume.
type Node struct {
	Path string // from the root: "/DCIM/A.JPG"; the root is "/"
	Attr
	Times
	Size int64 // bytes
	// Valid is where what was written ends: bytes from there to Size read as
	// zeros ([exFAT] §7.6.5). It is Size in other formats.
	Valid int64
	Nlink uint32 // names that it has
	// ID is the same for two nodes if they are the same: the number of an inode,
	// or the first cluster. 0 for a file without clusters.
	ID uint64
	// Attributes are what the format says of the node besides, in its own
	// words: "hidden", "encrypted", "pinned".
	Attributes []string
	// Own is what the format needs to find the contents. Nobody else's business.
	Own any
}

// IsDir tells whether n is a directory.
func (n *Node) IsDir() bool { return n.Kind == KindDir }

// Mapping is where a piece of a file is. FAT and exFAT have no holes, so their
// mappings follow each other; in F2FS what no mapping covers reads as zeros.
type Mapping struct {
	Pos int64 // bytes from the start of the file
	FileExtent
	Unwritten bool // reserved or not valid yet: it reads as zeros
	Inline    bool // it is inside the inode
}

// Use is what a part of a volume serves for.
type Use uint8

// Uses, in the order in which a legend lists them.
const (
	UseMetadata Use = iota // what the format itself needs, directories included where they are told apart
	UseData                // clusters of files
	UseFree
	UseBad      // clusters marked so
	UseReserved // nobody may have it: alignment, over-provision, what is behind the last cluster
)

// String names the use.
func (u Use) String() string {
	return [...]string{"metadata", "used", "free", "bad", "reserved"}[u]
}

// UseRange is a part of a volume, bytes, that has one use.
type UseRange struct {
	dev.Range
	Use Use
}

// SetXattr is xs with the attribute name set to value, in order of name.
func SetXattr(xs []Xattr, name string, value []byte) []Xattr {
	i, found := slices.BinarySearchFunc(xs, name, func(x Xattr, n string) int { return strings.Compare(x.Name, n) })
	if found {
		xs = slices.Clone(xs)
		xs[i].Value = value
		return xs
	}
	return slices.Insert(slices.Clone(xs), i, Xattr{name, value})
}
