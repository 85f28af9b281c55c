package lfs

import "fmt"

// parseSuperblock reads b, the 3072 bytes of one copy, and returns the first
// fault that makes it unusable, or the geometry. All sums are of 64 bits, and of
// fields of 32, so that none wraps. The device's size is for the caller to
// compare, and so are the features: those that are unknown make a volume that
// may be read and not written.
func parseSuperblock(b superblock) (*Geometry, *fault) {
	g := &Geometry{}
	for _, read := range []func(superblock) *fault{
		g.readSizes, g.readCounts, g.readAreas, g.checkOrder, g.checkRoom, g.readNumbers, g.readDevices, checkSum,
	} {
		if f := read(b); f != nil {
			return nil, f
		}
	}
	return g, nil
}

// field makes a fault of the 32-bit field at off.
func (b superblock) field(slug string, off int64, want any, format string, args ...any) *fault {
	return &fault{slug: slug, off: off, len: 4, got: b.u32(int(off)), want: want, detail: fmt.Sprintf(format, args...)}
}

// readSizes reads what everything else is counted in.
func (g *Geometry) readSizes(b superblock) *fault {
	if m := b.magic(); m != superMagic {
		return &fault{slug: "sb-magic", off: sbMagic, len: 4, got: hex(m), want: hex(uint32(superMagic)), detail: "the magic number is another"}
	}
	block, sector := b.u32(sbLogBlock), b.u32(sbLogSector)
	if block < minLogBlock || block > maxLogBlock {
		return b.field("sb-block-size", sbLogBlock, nil, "log_blocksize must be 12 to 14: blocks have 4, 8 or 16 KiB")
	}
	if n := b.u32(sbLogSegment); n != logSegmentBlocks {
		return b.field("sb-segment-size", sbLogSegment, logSegmentBlocks, "log_blocks_per_seg must be 9: a segment has 512 blocks")
	}
	if sector < minLogSector || sector > block {
		return b.field("sb-sector-size", sbLogSector, nil, "log_sectorsize must be 9 to %d", block)
	}
	if want := block - sector; b.u32(sbLogSectorsBlock) != want {
		return b.field("sb-sector-size", sbLogSectorsBlock, want, "sectors of %d bytes and blocks of %d do not go with log_sectors_per_block", 1<<sector, 1<<block)
	}
	g.BlockSize, g.SectorSize = 1<<block, 1<<sector
	g.Features = b.features()
	g.SummaryBytes = g.BlockSize
	if g.Has(featPackedSSA) {
		g.SummaryBytes = packedSummary
	}
	return nil
}

// readCounts reads how many segments, sections and zones there are.
func (g *Geometry) readCounts(b superblock) *fault {
	g.Blocks = b.u64(sbBlocks)
	g.Segments, g.MainSegments, g.Sections = b.u32(sbSegments), b.u32(sbSegmentsMain), b.u32(sbSections)
	g.SegsPerSec, g.SecsPerZone = b.u32(sbSegsPerSec), b.u32(sbSecsPerZone)
	if g.Blocks > 1<<32 {
		return &fault{slug: "sb-block-count", off: sbBlocks, len: 8, got: g.Blocks, detail: "block_count is beyond the 2^32 blocks that an address reaches"}
	}
	if g.Segments < minSegments || g.Segments > maxSegments {
		return b.field("sb-segment-count", sbSegments, nil, "segment_count must be %d to %d", minSegments, maxSegments)
	}
	if fit := g.Blocks / segmentBlocks; uint64(g.Segments) > fit {
		return b.field("sb-segment-count", sbSegments, fit, "%d blocks are %d segments", g.Blocks, fit)
	}
	if n := g.SegsPerSec; n < 1 || n > g.Segments {
		return b.field("sb-section-size", sbSegsPerSec, nil, "segs_per_sec must be 1 to the number of segments, %d", g.Segments)
	}
	// [Linux] behaviour: the main area is whole sections.
	if uint64(g.Sections)*uint64(g.SegsPerSec) != uint64(g.MainSegments) || g.Sections < 1 {
		return b.field("sb-section-count", sbSections, g.MainSegments/g.SegsPerSec, "the main area has %d segments, %d to a section", g.MainSegments, g.SegsPerSec)
	}
	if n := g.SecsPerZone; n < 1 || n > g.Sections {
		return b.field("sb-zone-size", sbSecsPerZone, nil, "secs_per_zone must be 1 to the number of sections, %d", g.Sections)
	}
	return nil
}

// readAreas reads where the areas are and how long.
func (g *Geometry) readAreas(b superblock) *fault {
	g.CPSegments, g.SITSegments, g.NATSegments, g.SSASegments = b.u32(sbSegmentsCP), b.u32(sbSegmentsSIT), b.u32(sbSegmentsNAT), b.u32(sbSegmentsSSA)
	g.Segment0, g.CP, g.SIT, g.NAT, g.SSA, g.Main = b.u32(sbSegment0), b.u32(sbCP), b.u32(sbSIT), b.u32(sbNAT), b.u32(sbSSA), b.u32(sbMain)
	g.CPPayload = b.payload()
	if g.CPSegments != packCount {
		return b.field("sb-area-size", sbSegmentsCP, packCount, "segment_count_ckpt must be 2: each pack has a segment")
	}
	if n := g.SITSegments; n == 0 || n%2 != 0 {
		return b.field("sb-area-size", sbSegmentsSIT, nil, "segment_count_sit must be even: SIT has two copies")
	}
	if n := g.NATSegments; n == 0 || n%2 != 0 {
		return b.field("sb-area-size", sbSegmentsNAT, nil, "segment_count_nat must be even: NAT has two copies")
	}
	if g.CPPayload > maxCPPayload {
		return b.field("sb-payload", sbCPPayload, nil, "cp_payload must be at most %d: a pack fits its segment", maxCPPayload)
	}
	return nil
}

// checkOrder: the areas follow one another, and end inside the volume.
func (g *Geometry) checkOrder(b superblock) *fault {
	if g.Segment0 < superBlocks {
		return b.field("sb-area-place", sbSegment0, superBlocks, "segment0_blkaddr must be 2 or more: the superblocks lie before")
	}
	at := uint64(g.Segment0)
	for _, a := range []struct {
		name     string
		off      int64
		start    uint32
		segments uint32
	}{
		{"cp_blkaddr", sbCP, g.CP, g.CPSegments}, {"sit_blkaddr", sbSIT, g.SIT, g.SITSegments}, {"nat_blkaddr", sbNAT, g.NAT, g.NATSegments},
		{"ssa_blkaddr", sbSSA, g.SSA, g.SSASegments}, {"main_blkaddr", sbMain, g.Main, g.MainSegments},
	} {
		if uint64(a.start) != at {
			return b.field("sb-area-place", a.off, at, "%s is not where the area before it ends", a.name)
		}
		at += uint64(a.segments) * segmentBlocks
	}
	if end := uint64(g.Segment0) + uint64(g.Segments)*segmentBlocks; at > end {
		return b.field("sb-segment-count", sbSegments, (at-uint64(g.Segment0))/segmentBlocks, "the main area ends at block %d, the segments at %d", at, end)
	}
	if at > g.Blocks {
		return &fault{slug: "sb-block-count", off: sbBlocks, len: 8, got: g.Blocks, want: at, detail: fmt.Sprintf("the main area ends at block %d, the volume before", at)}
	}
	return nil
}

// checkRoom: SIT and SSA have an entry for each segment.
func (g *Geometry) checkRoom(b superblock) *fault {
	if room := uint64(g.SITBlocks()) * uint64(g.per().sitEntries()); room < uint64(g.MainSegments) {
		return b.field("sb-area-size", sbSegmentsSIT, nil, "SIT has room for %d segments, and the main area has %d", room, g.MainSegments)
	}
	room := uint64(g.SSASegments) * uint64(g.SegmentBytes()/g.SummaryBytes)
	if room < uint64(g.MainSegments) && !g.ReadOnly() {
		return b.field("sb-area-size", sbSegmentsSSA, nil, "SSA has room for %d segments, and the main area has %d", room, g.MainSegments)
	}
	return nil
}

// readNumbers reads the inode numbers and checks the counts of the lists.
func (g *Geometry) readNumbers(b superblock) *fault {
	g.RootIno, g.NodeIno, g.MetaIno = b.u32(sbRootIno), b.u32(sbNodeIno), b.u32(sbMetaIno)
	for kind := range g.QuotaInos {
		g.QuotaInos[kind] = b.quotaIno(kind)
	}
	for _, n := range []struct {
		name string
		off  int64
		want uint32
	}{{"root_ino", sbRootIno, rootIno}, {"node_ino", sbNodeIno, nodeIno}, {"meta_ino", sbMetaIno, metaIno}} {
		if b.u32(int(n.off)) != n.want {
			return b.field("sb-inode-number", n.off, n.want, "%s must be %d", n.name, n.want)
		}
	}
	cold, hot := b.u32(sbColdExtensions), uint32(b[sbHotExtensions])
	if uint64(cold)+uint64(hot) > maxExtensions {
		return b.field("sb-extensions", sbColdExtensions, nil, "%d cold and %d hot extensions do not fit the list of %d", cold, hot, maxExtensions)
	}
	return nil
}

// readDevices counts the devices of a volume that has several: their segments
// are those of the volume, or, [f2fs-tools] behaviour, are when each is rounded
// down to a zone.
func (g *Geometry) readDevices(b superblock) *fault {
	zone := uint64(g.SegsPerSec) * uint64(g.SecsPerZone)
	var sum, whole uint64
	for g.Devices < maxDevices {
		path, segments := b.device(g.Devices)
		if path == "" {
			break
		}
		g.Devices++
		sum += uint64(segments)
		whole += uint64(segments) / zone * zone
	}
	if all := uint64(g.Segments); g.Devices > 0 && sum != all && whole != all {
		return &fault{slug: "sb-devices", off: sbDevices, len: maxDevices * deviceLen, got: sum, want: all, detail: "the segments of the devices are not those of the volume"}
	}
	return nil
}

// checkSum comes last: of a superblock that is wrong twice the field says more.
func checkSum(b superblock) *fault {
	if !b.has(featSuperChecksum) {
		return nil
	}
	if off := b.u32(sbChecksumOffset); off != sbChecksum {
		return b.field("sb-checksum", sbChecksumOffset, sbChecksum, "the checksum of a superblock is at byte 3068")
	}
	if !b.sumOK() {
		return &fault{slug: "sb-checksum", off: sbChecksum, len: 4, got: hex(b.u32(sbChecksum)), want: hex(superSum(b)), detail: "the checksum of the superblock is wrong"}
	}
	return nil
}

// hex shows a number whose bits have meanings.
func hex[T byte | uint16 | uint32 | uint64](v T) string { return fmt.Sprintf("%#x", v) }
