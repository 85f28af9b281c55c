// Package vol is the contract between the command line and the formats: what
// a driver can do, what a finding is, and how a check turns into repairs.
//
// A new file system is one package that fills in a [Driver], one line in the
// program's list of drivers, and the conformance suite in voltest passing.
package vol

import (
	"context"
	"errors"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// Driver is one format. Drivers are values made by the format packages; there
// is no registry.
type Driver struct {
	Name  string   // how people call it: "exFAT"
	Types []string // what format -t takes: "fat", "fat12", ...
	// Problems is the catalogue: every code the checker can issue.
	Problems []Problem
	// Probe looks at d and says whether this format is there. It reads at
	// most a few sectors, and never fails: what cannot be read is not ours.
	Probe func(d dev.Device) Identity
	// Plan lays out a new volume on a target of t.Size bytes. It does not
	// touch the target.
	Plan func(t Target, o FormatOptions) (*Plan, error)
	// Open prepares a volume for changing it. It fails on one that must be
	// checked first, unless o.Force.
	Open func(ctx context.Context, d dev.Device, o OpenOptions) (Volume, error)
	// Describe reads the superblocks alone: for info.
	Describe func(d dev.Device) (Info, error)
	// Check starts one round of checking. Broken volumes are its business,
	// so it takes a device, not a Volume.
	Check func(d dev.Device, o CheckOptions) Checker
	// MountScan says what a mount would read and find. It never writes.
	MountScan func(ctx context.Context, d dev.Device, o ScanOptions) (*Scan, error)
	// Settle stages on d, which is a dev.Txn, what a mount would carry out
	// before it shows any file: a log of what was synced. The note says so in
	// words for who reads; it is "" where there was nothing to do, and nothing
	// is staged then. An error, unless it is ctx's, says why the log cannot be
	// carried out: d must be rolled back, and Read has what was before it. Nil
	// for a format without a log.
	Settle func(ctx context.Context, d dev.Device) (note string, err error)
	// Read opens a volume for reading its files, as they are without what
	// Settle does. Nil while a format cannot.
	Read func(ctx context.Context, d dev.Device, o ReadOptions) (Tree, error)
	// Marks are bytes of the volume on d that whoever changes it writes to sooner
	// or later, though not every change does: what a change leaves of them says
	// whether there was another after it. Nil where there are none.
	Marks func(d dev.Device) []dev.Range
	// Holds is what there is a place for on a volume of this format.
	Holds Holds
	// Need is how many clusters of a planned volume the entries take,
	// directories included. An entry that no volume of this format and type
	// can hold is ErrRequest. Nil while a format cannot.
	Need func(p *Plan, o ReadOptions, entries []Entry) (uint64, error)
}

// Identity is the answer of a Probe.
type Identity struct {
	Confidence Confidence
	Type       string // "fat32"
	Label, ID  string
	Size       int64  // bytes that the volume claims; 0 where unknown
	Note       string // why Confidence is less than Sure, or what is damaged all the same, in words
}

// Confidence of a Probe, in rising order.
type Confidence int

const (
	No     Confidence = iota
	Maybe             // only a backup or a part is recognisable
	Likely            // plausible, with faults a check must look at
	Sure
)

// Target is the place a volume is laid out for.
type Target struct {
	Size         int64 // bytes
	Offset       int64 // bytes from the start of the disk: hidden sectors
	SectorSize   int   // logical sector of the device; 0 or 512 for files
	PhysicalSize int   // physical sector, 0 where unknown
	// Old is what is there now, from the first byte of the target on, for what
	// a format must keep: exFAT's OEM parameters. It is only read. Nil for a
	// target that is new.
	Old dev.Device
}

// Volume is an open volume. Its changes go to the device it was opened on,
// which is a dev.Txn: nothing is written until that is committed.
type Volume interface {
	Info() Info
	// Preallocate reserves space for all files of r: all or nothing.
	Preallocate(ctx context.Context, r PreallocRequest) (*PreallocResult, error)
	// ZeroRanges makes ranges of files read as zeros.
	ZeroRanges(ctx context.Context, r ZeroRequest) (*ZeroResult, error)
	// FreeRanges calls fn with the bytes (of the volume) that belong to no
	// file, in rising order; with slack also the tails of last clusters.
	FreeRanges(ctx context.Context, slack bool, fn func(dev.Range) error) (FreeTotal, error)
	// Put stages all entries of r, or fails. Contents of files are not staged:
	// Pour copies them to where the result says, before the commit.
	Put(ctx context.Context, r *PutRequest) (*PutResult, error)
	// Remove stages that files and directories are taken away.
	Remove(ctx context.Context, r RemoveRequest) (*RemoveResult, error)
}

// FreeTotal counts what FreeRanges went over.
type FreeTotal struct{ Clusters, Runs uint64 }

// ReadOptions say how names are read and written.
type ReadOptions struct {
	// Codepage is the number of the code page of short names on FAT; 0 where
	// nobody named one. Other formats have none and do not look at it.
	Codepage int
}

// OpenOptions of Driver.Open.
type OpenOptions struct {
	// Raw is the device below the transaction, for what is no part of a
	// volume's state: the contents of free clusters. May be nil: then they
	// are staged with the rest.
	Raw dev.Device
	// Force opens a volume that is marked dirty.
	Force bool
	// New says that the volume was just made and holds nothing yet. One that is
	// never written after it was made, F2FS with the feature ro, is opened then
	// for a single Put.
	New bool
	ReadOptions
	// Now stamps new entries; see Clock in the program. Zero: 1980-01-01.
	Now int64 // seconds since 1970, UTC
}

// Info describes a volume. Counts are clusters (blocks for F2FS).
type Info struct {
	Type, Label, ID         string
	Size                    int64
	SectorSize, ClusterSize int
	Clusters                uint64
	Fields                  []Field // every field of the superblocks, for info
}

// Field is one field of a superblock.
type Field struct {
	Name    string // as the format's specification has it
	Offset  int64  // bytes from the start of the volume
	Value   any
	Meaning string // what it says, in a few words
}

// Explain gives fields their meanings, which are by name.
func Explain(fs []Field, meanings map[string]string) {
	for i := range fs {
		fs[i].Meaning = meanings[fs[i].Name]
	}
}

// Sentinels that decide the exit code; wrap them with what and where.
var (
	// ErrRequest: the request cannot be met; nothing was changed (exit 4).
	ErrRequest = errors.New("request cannot be met")
	// ErrDirty: the volume must be checked first (exit 4).
	ErrDirty = errors.New("volume needs a check")
	// ErrNotVolume: not a volume of a known type (exit 8).
	ErrNotVolume = errors.New("not a known volume")
	// ErrDamaged: a structure needed for the work is broken (exit 8).
	ErrDamaged = errors.New("volume is damaged")
	// ErrUsage: an option or value that cannot be (exit 16).
	ErrUsage = errors.New("usage")
)

// PreallocFile is one file of a request. Offset and Length are bytes, as in
// fallocate(2): what the range [Offset, Offset+Length) lacks is reserved.
type PreallocFile struct {
	Path           string
	Offset, Length int64
}

// PreallocRequest is one change over many files.
type PreallocRequest struct {
	Files      []PreallocFile
	KeepSize   bool
	Create     bool
	Contiguous bool
	Align      int64 // bytes; 0 for none
	FillZero   bool  // new clusters read as zeros
	ValidAll   bool  // --valid all
}

// FileExtent is one extent of a file. Offsets and Length are bytes.
type FileExtent struct {
	space.Extent       // in the format's own numbering (FAT: first cluster is 2)
	Off          int64 // from the start of the volume
	Length       int64
}

// FileResult is what became of one file.
type FileResult struct {
	Path                   string
	Size, Valid, Allocated int64
	Extents                []FileExtent
}

// PreallocResult is what Preallocate did.
type PreallocResult struct {
	Files             []FileResult
	ClustersAllocated uint64
	Stale             bool // what the new clusters held before can be read in the files
}

// ZeroFile is one range of one file, bytes.
type ZeroFile struct {
	Path           string
	Offset, Length int64 // Length < 0: to the end
}

// ZeroRequest is one change over many files.
type ZeroRequest struct {
	Files    []ZeroFile
	KeepSize bool
}

// ZeroedFile is what became of one range: the clusters touched, in how many
// runs.
type ZeroedFile struct {
	Path           string
	Offset, Length int64
	Blocks, Runs   uint64
}

// ZeroResult is what ZeroRanges did.
type ZeroResult struct{ Files []ZeroedFile }

// ScanOptions of MountScan.
type ScanOptions struct {
	Quick     bool  // leave the allocation data unread
	Readahead int64 // window in bytes; 0 is the device's own
}

// Scan is what a mount would find.
type Scan struct {
	Info
	Mountable         string // "rw", "ro", "no"
	Dirty             bool
	Reasons           []Reason
	Counted           bool // the allocation data was read
	FreeClusters      uint64
	FreeExtents       uint64
	LargestFreeExtent uint64
	Available         *uint64 // clusters that files can take, where that is not FreeClusters: those are of whole free segments
	Load              Load
}

// Reason is why a volume would not mount cleanly; Code is of the catalogue.
type Reason struct{ Code, Message string }

// Load is what reading the mount-time metadata took.
type Load struct {
	Bytes     int64
	Reads     int
	Readahead int64
}
