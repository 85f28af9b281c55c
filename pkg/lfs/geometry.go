package lfs

import (
	"fmt"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Geometry is what a superblock says, checked: the areas follow one another,
// have room for what they must hold, and end inside the volume. Areas are in
// segments, addresses in blocks.
type Geometry struct {
	BlockSize    int64 // bytes
	SectorSize   int64 // bytes; a device's, of no consequence for the layout
	SummaryBytes int64 // of a summary block: BlockSize, or 4096 with packed_ssa
	Blocks       uint64

	SegsPerSec, SecsPerZone uint32
	Sections                uint32 // of the main area
	Segments                uint32 // of all areas
	CPSegments              uint32
	SITSegments             uint32 // both copies
	NATSegments             uint32 // both copies
	SSASegments             uint32
	MainSegments            uint32

	Segment0, CP, SIT, NAT, SSA, Main uint32 // where they start

	CPPayload uint32 // blocks
	Features  uint32
	RootIno   uint32
	NodeIno   uint32
	MetaIno   uint32
	QuotaInos [quotaKinds]uint32 // 0: none
	Devices   int                // 0: all of it is on one, which is not named
}

// Has tells whether the volume has one of the features.
func (g *Geometry) Has(feature uint32) bool { return g.Features&feature != 0 }

// ReadOnly tells whether the volume is one that is never written after it was
// made: it has no SSA, two logs, and no reserve.
func (g *Geometry) ReadOnly() bool { return g.Has(featReadOnly) }

// newInodes is how many inodes a new volume has: those of the root directory,
// of quotas and of lost+found.
func (g *Geometry) newInodes() (n uint32) {
	n = 1
	for _, ino := range g.QuotaInos {
		if ino != 0 {
			n++
		}
	}
	if g.Has(featLostFound) {
		n++
	}
	return n
}

// per gives what a block has room for.
func (g *Geometry) per() blockSize { return blockSize(g.BlockSize) }

// SegmentBytes is the length of a segment.
func (g *Geometry) SegmentBytes() int64 { return g.BlockSize * segmentBlocks }

// VolumeBytes is what the superblock claims.
func (g *Geometry) VolumeBytes() int64 { return int64(g.Blocks) * g.BlockSize }

// BlockOff is where a block starts, in bytes.
func (g *Geometry) BlockOff(blk uint32) int64 { return int64(blk) * g.BlockSize }

// BlockRange is n blocks from blk on.
func (g *Geometry) BlockRange(blk, n uint32) dev.Range {
	return dev.Range{Off: g.BlockOff(blk), Len: int64(n) * g.BlockSize}
}

// MainBlocks is how many blocks the main area has.
func (g *Geometry) MainBlocks() uint64 { return uint64(g.MainSegments) * segmentBlocks }

// MainEnd is the first block behind the main area. It can be 2^32.
func (g *Geometry) MainEnd() uint64 { return uint64(g.Main) + g.MainBlocks() }

// ValidMain tells whether blk is the address of a block in the main area.
func (g *Geometry) ValidMain(blk uint32) bool {
	return blk >= g.Main && uint64(blk) < g.MainEnd() && blk < compressAddr
}

// SegmentOf is the segment of a block, which must be ValidMain; IndexOf its
// place in it.
func (g *Geometry) SegmentOf(blk uint32) uint32 { return (blk - g.Main) / segmentBlocks }
func (g *Geometry) IndexOf(blk uint32) uint32   { return (blk - g.Main) % segmentBlocks }

// SegmentBlock is the first block of a segment.
func (g *Geometry) SegmentBlock(segno uint32) uint32 { return g.Main + segno*segmentBlocks }

// SectionOf is the section of a segment.
func (g *Geometry) SectionOf(segno uint32) uint32 { return segno / g.SegsPerSec }

// PackBlock is where checkpoint pack 0 or 1 starts.
func (g *Geometry) PackBlock(pack int) uint32 { return g.CP + uint32(pack)*segmentBlocks }

// SITBlocks and NATBlocks are how many blocks a copy has, each a bit in its
// version bitmap.
func (g *Geometry) SITBlocks() uint32 { return g.SITSegments / 2 * segmentBlocks }
func (g *Geometry) NATBlocks() uint32 { return g.NATSegments / 2 * segmentBlocks }

// SITBitmapBytes and NATBitmapBytes are the lengths of the version bitmaps.
func (g *Geometry) SITBitmapBytes() int64 { return int64(g.SITBlocks()) / 8 }
func (g *Geometry) NATBitmapBytes() int64 { return int64(g.NATBlocks()) / 8 }

// SITIndex is the block of SIT that a segment's entry is in, and which entry of
// it that is.
func (g *Geometry) SITIndex(segno uint32) (index uint32, slot int) {
	n := uint32(g.per().sitEntries())
	return segno / n, int(segno % n)
}

// SITAddr is where block index of SIT is, in copy 0 or 1. The second copy
// follows the first.
func (g *Geometry) SITAddr(index uint32, second bool) uint32 {
	if second {
		index += g.SITBlocks()
	}
	return g.SIT + index
}

// NATIndex is the block of NAT that a node's entry is in, and which entry of it
// that is.
func (g *Geometry) NATIndex(nid uint32) (index uint32, slot int) {
	n := uint32(g.per().natEntries())
	return nid / n, int(nid % n)
}

// NATAddr is where block index of NAT is, in copy 0 or 1. The segments of the
// copies alternate.
func (g *Geometry) NATAddr(index uint32, second bool) uint32 {
	a := g.NAT + index/segmentBlocks*(2*segmentBlocks) + index%segmentBlocks
	if second {
		a += segmentBlocks
	}
	return a
}

// NIDs is how many nids NAT has room for: valid ones are below.
func (g *Geometry) NIDs() uint32 {
	n := uint64(g.NATBlocks()) * uint64(g.per().natEntries())
	return uint32(min(n, 1<<32-1))
}

// SummaryOff is where the summary block of a segment is, in bytes: SSA has one
// for each segment. There is none on a volume that is ReadOnly.
func (g *Geometry) SummaryOff(segno uint32) int64 {
	return g.BlockOff(g.SSA) + int64(segno)*g.SummaryBytes
}

// fault is one field of a superblock that cannot be, by slug of the catalogue.
// Offsets are from the start of the superblock.
type fault struct {
	slug      string
	off, len  int64
	got, want any
	detail    string
}

func (f *fault) Error() string {
	return fmt.Sprintf("%s (byte %d is %v)", f.detail, f.off, f.got)
}

// isQuota tells whether an inode is one of the quota files.
func (g *Geometry) isQuota(nid uint32) bool { return nid != 0 && slices.Contains(g.QuotaInos[:], nid) }
