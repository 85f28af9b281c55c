package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// misfitKind is why there is no volume.
type misfitKind int

const (
	tooSmall misfitKind = iota // for the areas before main
	tooFew                     // zones for a log each
	tooTight                   // nothing is left beside what is kept back
	tooLarge                   // for addresses of 32 bits
)

// misfit is why, in numbers.
type misfit struct {
	kind     misfitKind
	have     int64 // tooSmall, tooTight: segments; tooFew: zones
	needed   int64 // the least of them that do
	overhead float64
}

// layout is a new volume.
type layout struct {
	Geometry
	overhead float64          // percent of over-provision
	reserved int64            // segments for the cleaner alone
	overprov int64            // segments kept back, those included
	logs     [logCount]uint32 // the segments that the logs start with
}

// userBlocks is how many blocks files can have, and usedLogs how many logs
// write to a volume that is laid out.
func (l *layout) userBlocks() int64 { return (int64(l.MainSegments) - l.overprov) * segmentBlocks }
func (l *layout) usedLogs() int64 {
	if l.ReadOnly() {
		return 2
	}
	return logCount
}

// blockLimit: the last two block addresses mean something else, newAddr and
// compressAddr, so the main area must end before them.
const blockLimit = compressAddr

// layout lays out a volume of size bytes. The areas are those that mkfs.f2fs
// would choose.
func (r *formatRequest) layout(size int64) (*layout, *misfit) {
	l := &layout{Geometry: Geometry{
		BlockSize: r.block, SectorSize: r.sector, SummaryBytes: r.block, Features: r.features,
		SegsPerSec: uint32(r.segsPerSec), SecsPerZone: uint32(r.secsPerZone),
		RootIno: rootIno, NodeIno: nodeIno, MetaIno: metaIno, QuotaInos: r.quotaInos(),
	}}
	size = size / r.sector * r.sector
	if size/r.block > 1<<32 {
		return nil, &misfit{kind: tooLarge}
	}
	l.Blocks = uint64(size / r.block)
	start := r.firstSegment()
	zone := r.segsPerSec * r.secsPerZone
	segments := min((size-start)/l.SegmentBytes(), (blockLimit-start/r.block)/segmentBlocks)
	segments = max(segments, 0) / zone * zone
	if segments < minSegments {
		return nil, &misfit{kind: tooSmall, have: segments, needed: minSegments}
	}
	l.Segments, l.Segment0 = uint32(segments), uint32(start/r.block)
	if m := l.placeAreas(segments, zone); m != nil {
		return nil, m
	}
	if m := l.placeLogs(zone); m != nil {
		return nil, m
	}
	if m := l.keepBack(r); m != nil {
		return nil, m
	}
	return l, nil
}

// firstSegment is where segment 0 starts, in bytes: behind both superblocks,
// and, since what is written together should be erased together, at a multiple
// of a zone on the disk. A volume that is only read is put together as tightly
// as can be.
func (r *formatRequest) firstSegment() int64 {
	supers := superBlocks * r.block
	if r.features&featReadOnly != 0 {
		return supers
	}
	zone := r.segsPerSec * r.secsPerZone * segmentBlocks * r.block
	return vol.RoundUp(r.before+supers, zone) - r.before
}

// placeAreas divides the segments into areas. SIT has an entry for each
// segment; NAT one for each block that is not SIT's, as if all could be nodes,
// as far as its version bitmap fits the checkpoint; SSA a block for each
// segment that is left.
func (l *layout) placeAreas(segments, zone int64) *misfit {
	per := l.per()
	sit := vol.DivUp(vol.DivUp(segments, int64(per.sitEntries())), segmentBlocks)
	meta := packCount + 2*sit
	nat := vol.DivUp(vol.DivUp(max(segments-meta, 0)*segmentBlocks, int64(per.natEntries())), segmentBlocks)
	nat = min(nat, l.bitmapRoom(sit)*8/segmentBlocks)
	meta += 2 * nat
	ssa := int64(0)
	if !l.ReadOnly() {
		ssa = vol.DivUp(max(segments-meta, 0), segmentBlocks)
	}
	ssa += vol.RoundUp(meta+ssa, zone) - (meta + ssa) // main starts with a zone
	meta += ssa
	if segments <= meta {
		return &misfit{kind: tooSmall, have: segments, needed: meta + zone}
	}
	main := (segments - meta) / zone * zone
	l.CPSegments, l.SITSegments, l.NATSegments, l.SSASegments = packCount, uint32(2*sit), uint32(2*nat), uint32(ssa)
	l.MainSegments, l.Sections = uint32(main), uint32(main)/l.SegsPerSec
	l.CP = l.Segment0
	l.SIT = l.CP + l.CPSegments*segmentBlocks
	l.NAT = l.SIT + l.SITSegments*segmentBlocks
	l.SSA = l.NAT + l.NATSegments*segmentBlocks
	l.Main = l.SSA + l.SSASegments*segmentBlocks
	return nil
}

// bitmapRoom is how many bytes the version bitmap of NAT may have, and settles
// how many blocks of payload a pack has for that of SIT: none while both fit
// the checkpoint block, between its fixed fields and its checksum.
func (l *layout) bitmapRoom(sit int64) int64 {
	const least = segmentBlocks / 8 // a bitmap of NAT
	room, bytes := l.BlockSize-cpBitmaps-4, sit*segmentBlocks/8
	if bytes > room-least {
		l.CPPayload = uint32(vol.DivUp(bytes, l.BlockSize))
		return room
	}
	l.CPPayload = 0
	return room - bytes
}

// placeLogs gives each log a zone to start with: the nodes and the hot data at
// the front, cold and warm data a quarter and half through, so that they have
// room to grow. A volume that is only read has two logs, which grow towards
// each other.
func (l *layout) placeLogs(zone int64) *misfit {
	zones, least := int64(l.MainSegments)/zone, int64(logCount)
	if l.ReadOnly() {
		least = 2
	}
	if zones <= least {
		return &misfit{kind: tooFew, have: zones, needed: least + 1}
	}
	if l.ReadOnly() {
		l.logs[hotNode] = l.MainSegments - l.SegsPerSec
		return nil
	}
	at := [logCount]int64{hotNode: 0, warmNode: 1, coldNode: 2, hotData: 3}
	at[coldData] = max(zones/4-1, at[hotData]+1)
	at[warmData] = max(zones/2-1, at[coldData]+1)
	for i := range at {
		l.logs[i] = uint32(at[i] * zone)
	}
	return nil
}

// keepBack settles how many segments are kept back. A volume that is never
// written needs none.
func (l *layout) keepBack(r *formatRequest) *misfit {
	if l.ReadOnly() {
		return nil
	}
	l.overhead = l.bestOverhead()
	if r.o.Overprovision != nil {
		l.overhead = *r.o.Overprovision
	}
	main := int64(l.MainSegments)
	l.reserved = l.reservedFor(l.overhead)
	l.overprov = l.overprovFor(l.overhead)
	if l.overhead == 0 || main-logCount < l.reserved || main <= l.overprov {
		return &misfit{kind: tooTight, have: main, needed: max(l.reserved+logCount, l.overprov+1), overhead: l.overhead}
	}
	return nil
}

// reservedFor is how many segments the cleaner has for itself, so that it can
// always move what a share of o percent makes it move: whole sections.
func (l *layout) reservedFor(o float64) int64 {
	s := int64(l.SegsPerSec)
	return vol.RoundUp(int64(float64(100/o+logCount+1)*float64(s)), s)
}

// overprovFor is how many segments are kept back in all: o percent, or the
// reserve where that is more, and a section for each log.
func (l *layout) overprovFor(o float64) int64 {
	return int64(l.share(o)) + logCount*int64(l.SegsPerSec)
}

func (l *layout) share(o float64) float64 {
	reserved := l.reservedFor(o)
	return max(float64(reserved), float64(int64(l.MainSegments)-reserved)*o/100)
}

// bestOverhead is the percentage that leaves most to files: a small one makes
// the reserve large. It is 0 where nothing is left with any. The percentages
// are tried by adding up, and compared before they are cut to segments, as
// mkfs.f2fs does: of those that leave the same the first counts.
func (l *layout) bestOverhead() float64 {
	from, to, step := 0.01, 10.0, 0.01
	if l.MainSegments < 256 {
		from, to, step = 10, 95, 5
	}
	best, most := 0.0, 0.0
	for o := from; o <= to; o += step {
		left := float64(l.MainSegments) - l.share(o) - float64(logCount*l.SegsPerSec)
		if left > most {
			best, most = o, left
		}
	}
	return best
}
