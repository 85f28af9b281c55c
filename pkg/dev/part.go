package dev

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Schemes of partition tables.
const (
	SchemeMBR = "mbr"
	SchemeGPT = "gpt"
)

// maxPartitions bounds what a table may hold, and the length of a chain of
// logical partitions. Linux gives names to 256.
const maxPartitions = 4096

// Partition is an entry of a partition table.
type Partition struct {
	Number int    // 1 and up; with an MBR 1-4 are primary, 5 and up logical
	Range  Range  // bytes of the device that it has; empty where that is none
	Claims Range  // bytes that it claims, which may leave the device or be no range at all
	Entry  Range  // bytes of the device that say so
	Type   string // "0x0c", or a GUID in capitals
	ID     string // GPT: its own GUID, in capitals; MBR: ""
	Name   string // GPT: as it stands there, up to 36 UTF-16 units; may hold anything
	Scheme string // SchemeMBR or SchemeGPT
}

// Table is a partition table as it stands on a device.
type Table struct {
	Scheme string // SchemeMBR or SchemeGPT
	Sector int64  // bytes of the sectors that it counts in
	ID     string // of the disk: a GUID in capitals, or the signature of an MBR as "0x1a2b3c4d"; "" where it has none
	// Parts in order of number: all entries in use, those that cannot be, too.
	Parts  []Partition
	Faults []Fault // what is wrong with it, at most a few for each entry
}

// Fault is something wrong with a partition table.
type Fault struct {
	Kind      string // one of the Fault constants
	Partition int    // 0 if it is not about one
	At        Range  // bytes of the device that are wrong
	Detail    string // what is there, in words; may be ""
}

// Kinds of faults. They are the slugs of the catalogue in pkg/disk.
const (
	FaultPrimary     = "gpt-primary-bad"      // the first copy of a GPT is damaged
	FaultBackup      = "gpt-backup-bad"       // the copy at the end is damaged or not there
	FaultMisplaced   = "gpt-backup-misplaced" // the backup is sound and not in the last sector
	FaultDiffer      = "gpt-copies-differ"    // both are sound and say different things
	FaultUnprotected = "gpt-unprotected"      // no protective MBR in front of a GPT
	FaultIgnored     = "gpt-ignored"          // an MBR in use before a sound GPT
	FaultHybrid      = "hybrid-mismatch"      // an MBR entry beside a GPT that is not in it
	FaultShort       = "gpt-protection-short" // the protective MBR ends before the disk
	FaultSameGUID    = "partition-guid-twice" // two partitions have the same GUID
	FaultBeyond      = "partition-beyond-end" // a partition leaves the device
	FaultOverlap     = "partition-overlap"    // two partitions share bytes
	FaultOnTable     = "partition-on-table"   // a partition lies on the table
	FaultBackwards   = "partition-backwards"  // it ends before it begins
	FaultTooMany     = "too-many-partitions"  // there are more than we read
	FaultChainLoop   = "ebr-loop"             // a chain of logical partitions comes back to itself
	FaultChain       = "ebr-bad"              // a link of it leads to what is no table
	FaultOutside     = "logical-outside"      // a logical partition leaves the extended one
)

// errGPT: the first sector says that there is a GPT, and neither copy is sound.
var errGPT = errors.New("a protective MBR, but no intact GPT")

// ReadTable reads the partition table of d; nil where there is none (a boot
// sector of a file system looks like an MBR, but does not hold entries that make
// sense). What is wrong with a table is told as faults, as far as it can be read
// at all. Errors are those of reading d, and an *Error with Op "partitions" if a
// GPT is announced and damaged twice.
//
// This is a parser of our own, because github.com/diskfs/go-diskfs v1.9.4, the
// library for it, does not stand what an image from anywhere may hold:
// partition/gpt allocates entry count times entry size as two 32-bit fields
// claim, before any checksum of the entries, and never returns from an entry
// size of 0; partition/mbr knows no logical partitions. It also opens files
// through interfaces of its own, formats a GUID with a further module, and
// refuses a faulty table where a check must say what is wrong with it.
func ReadTable(d Device) (*Table, error) {
	if d.Size() < mbrSize {
		return nil, nil
	}
	var sector mbr
	if _, err := d.ReadAt(sector[:], 0); err != nil {
		return nil, err
	}
	if sector.signed() && sector.protective() {
		return readGPT(d, &sector)
	}
	if sector.signed() {
		t, err := readMBR(d, &sector)
		if t != nil || err != nil {
			return t, err
		}
	}
	return readUnprotected(d), nil
}

// tableReader collects what it finds on d.
type tableReader struct {
	d Device
	Table
}

func (r *tableReader) fault(kind string, number int, at Range, detail string, args ...any) {
	r.Faults = append(r.Faults, Fault{kind, number, at, fmt.Sprintf(detail, args...)})
}

// add takes in an entry that claims these bytes. A table of more than
// maxPartitions is cut there.
func (r *tableReader) add(p Partition) {
	if len(r.Parts) >= maxPartitions {
		if len(r.Parts) == maxPartitions && !r.has(FaultTooMany) {
			r.fault(FaultTooMany, 0, p.Entry, "only the first %d are looked at", maxPartitions)
		}
		return
	}
	p.Scheme = r.Scheme
	if p.Range = p.Claims.Intersect(Range{Len: r.d.Size() / r.Sector * r.Sector}); p.Range.Empty() {
		p.Range = Range{}
	}
	r.Parts = append(r.Parts, p)
	switch size := r.d.Size(); {
	case p.Claims.Off >= size:
		r.fault(FaultBeyond, p.Number, p.Entry, "it begins at byte %d of %d", p.Claims.Off, size)
	case p.Claims.End() > size:
		r.fault(FaultBeyond, p.Number, p.Entry, "it ends at byte %d of %d, so its last %d bytes are not there", p.Claims.End(), size, p.Claims.End()-size)
	}
}

func (r *tableReader) has(kind string) bool {
	return slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Kind == kind })
}

// overlaps reports partitions that share bytes, each with one other: of many on
// the same bytes every one is told of, but not every pair.
func (r *tableReader) overlaps() {
	order := make([]*Partition, 0, len(r.Parts))
	for i := range r.Parts {
		if !r.Parts[i].Claims.Empty() {
			order = append(order, &r.Parts[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *Partition) int {
		return int(min(max(a.Claims.Off-b.Claims.Off, -1), 1))
	})
	var last *Partition // of those so far, the one that ends last
	for _, p := range order {
		if last != nil && p.Claims.Off < last.Claims.End() {
			both := p.Claims.Intersect(last.Claims)
			r.fault(FaultOverlap, p.Number, p.Entry, "it shares %d bytes from byte %d on with partition %d", both.Len, both.Off, last.Number)
		}
		if last == nil || p.Claims.End() > last.Claims.End() {
			last = p
		}
	}
}

// sectorSizes are the sizes in bytes that the sectors of d may have had where
// its table was made: an image is often of a disk with others than its own.
func sectorSizes(d Device) []int64 {
	sizes := []int64{int64(d.Limits().LogicalSector), 512, 4096, 2048, 1024}
	for i := len(sizes) - 1; i >= 0; i-- {
		s := sizes[i]
		if s < 512 || s > 64<<10 || s&(s-1) != 0 || slices.Contains(sizes[:i], s) {
			sizes = slices.Delete(sizes, i, i+1)
		}
	}
	return sizes
}

// begins reports whether something that lives in partitions seems to begin at
// byte off of d: a boot sector, a table of logical partitions, F2FS, ext, XFS,
// LUKS. It is only asked which of two readings of a table is the likely one.
func begins(d Device, off int64) bool {
	b := make([]byte, 2048)
	if CheckRange("read", Range{off, int64(len(b))}, d.Size()) != nil {
		return false
	}
	if _, err := d.ReadAt(b, off); err != nil {
		return false
	}
	at := func(i int, mark string) bool { return bytes.HasPrefix(b[i:], []byte(mark)) }
	return at(510, "\x55\xAA") || at(1024, "\x10\x20\xF5\xF2") || at(1080, "\x53\xEF") || at(0, "XFSB") || at(0, "LUKS")
}
