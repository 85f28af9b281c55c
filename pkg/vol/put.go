package vol

import (
	"fmt"
	"io"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Holds is what a format has a place for, beside names and contents.
type Holds struct {
	Links     bool // symbolic links
	HardLinks bool
	Special   bool // FIFOs, sockets, devices
	Owners    bool // UID and GID
	Modes     bool // permissions beyond FlagReadOnly
	Xattrs    bool
	// HoleUnit is how many bytes of a file, from a multiple of it on, can be a
	// hole; 0 where there are none. A file of up to Inside bytes never has one.
	HoleUnit, Inside int64
	Flags            bool  // FileFlags
	Codepages        []int // of short names: those that are known; which one is written nowhere
	MaxSize          int64 // of a file, bytes
}

// Entry is something that is to be made on a volume.
type Entry struct {
	// Path has its components separated by "/" and no "/" at its start or end.
	// It is "" for the root directory itself, of which only Attr counts.
	Path string
	Attr
	Times *Times // nil, or one that is zero: as Modified
	Size  int64  // bytes; of a file
	// Data are the bytes of the file that are no holes, in rising order and
	// apart from each other. Nil is all of them.
	Data []dev.Range
	// Same is the index of an earlier entry of the request that this is another
	// name of, or -1. Nothing else than Path counts then.
	Same int
	// Origin is how messages call what the entry was made from.
	Origin string
}

// Contents are those of one file, while it is copied.
type Contents interface {
	io.ReaderAt
	io.Closer
}

// PutRequest is one change that makes many entries, or none of them.
type PutRequest struct {
	// Entries have a directory before what is in it, and are to be laid out in
	// this order. A directory that is there already stays, and gets nothing of
	// Attr; anything else that is there is refused, or replaced.
	Entries []Entry
	// Open opens the contents of the file Entries[i].
	Open func(i int) (Contents, error)
	// Parents makes directories that lead to an entry and are not there.
	Parents bool
	// Replace puts a file in the place of a file that is there; not of a
	// directory. Its old clusters become free when the change is committed.
	Replace bool
	// New refuses a directory that is there already, as mkdir without -p does.
	New bool
	// Inherit gives entries the group of their directory, and directories its bit
	// for that, where the directory has it: as for what mkdir(2) makes.
	Inherit bool
	// Rename changes names that the format cannot hold; otherwise they are
	// refused.
	Rename bool
}

// PutResult is what became of a PutRequest, once it is staged.
type PutResult struct {
	// Files has, for every entry, where its contents belong; nil for what has
	// none or whose contents are staged already, as they are inside an inode.
	Files   [][]Place
	Renamed []Renamed
	// Holes are those of the device below the transaction that were written.
	Holes FreshHoles
	// ClustersAllocated counts those of files and directories.
	ClustersAllocated uint64
}

// Place is a part of a file and where it is on the volume: whole clusters. What
// is in them behind the end of the file is to be zeros.
type Place struct {
	Pos int64     // bytes from the start of the file
	At  dev.Range // bytes of the volume
}

// Renamed tells of an entry that got another name than it had.
type Renamed struct {
	Entry int
	Path  string // what it became
}

// RemoveRequest takes files and directories away, all or none.
type RemoveRequest struct {
	Paths     []string
	Recursive bool // directories with all that is in them
}

// RemoveResult is what was taken away.
type RemoveResult struct {
	Files, Directories uint64
	ClustersFreed      uint64
}

// AllTimes are the times of e, those that it does not have being as Modified.
func (e *Entry) AllTimes() Times {
	t := Times{}
	if e.Times != nil {
		t = *e.Times
	}
	for _, at := range []*time.Time{&t.Accessed, &t.Changed, &t.Born} {
		if at.IsZero() {
			*at = e.Modified
		}
	}
	return t
}

// Name is how messages call an entry: by what it is made from, or by its path.
func (e *Entry) Name() string {
	if e.Origin != "" {
		return e.Origin
	}
	return "/" + e.Path
}

// EntryError is what is wrong with one entry of a request. It wraps
// ErrRequest.
func EntryError(e *Entry, format string, args ...any) error {
	return Because(e.Name(), fmt.Errorf(format, args...))
}
