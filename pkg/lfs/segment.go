package lfs

import "github.com/fatkit/fatkit/pkg/space"

// logFault is what is wrong with one of the six logs: where in the checkpoint
// that stands, and what.
type logFault struct {
	slug     string
	log      int
	off, len int64
	detail   string
}

// segmentField is where the checkpoint has the segment of a log.
func segmentField(log int) int64 {
	if log < logsPerKind {
		return int64(cpDataSegments + 4*log)
	}
	return int64(cpNodeSegments + 4*(log-logsPerKind))
}

// usesLog tells whether the volume has a log. One that is never written after
// it was made has two.
func (g *Geometry) usesLog(log int) bool {
	return !g.ReadOnly() || log == hotData || log == hotNode
}

// logFor is the log that stands for one which the volume may not have.
func (g *Geometry) logFor(log int) int {
	if g.usesLog(log) {
		return log
	}
	return log / logsPerKind * logsPerKind
}

// logPlaced tells whether a log writes inside the main area.
func (s *state) logPlaced(log int) bool {
	return s.g.usesLog(log) && s.cp.logSegment(log) < s.g.MainSegments && s.cp.logOffset(log) < segmentBlocks
}

// logFaults are the logs that write outside the main area or into another
// one's segment, or that say of no known way how.
func (s *state) logFaults() []logFault {
	var fs []logFault
	seen := map[uint32]int{}
	for i := range logCount {
		if !s.g.usesLog(i) {
			continue
		}
		segno, off := s.cp.logSegment(i), s.cp.logOffset(i)
		place := func(detail string) {
			fs = append(fs, logFault{slug: "log-place", log: i, off: segmentField(i), len: 4, detail: detail})
		}
		other, twice := seen[segno]
		switch {
		case !s.logPlaced(i):
			place(textf("block %d of segment %d; there are %d segments of %d blocks", off, segno, s.g.MainSegments, segmentBlocks))
		case twice:
			place(textf("segment %d is that of log %d", segno, other))
		default:
			seen[segno] = i
		}
		if a := s.cp.logAlloc(i); a != allocLFS && a != allocSSR {
			fs = append(fs, logFault{slug: "log-alloc", log: i, off: int64(cpAllocTypes + i), len: 1, detail: textf("%d", a)})
		}
	}
	return fs
}

// usedLogs are the logs that would write to a block in use: any of those that
// follow for one that appends, the next one for one that fills holes.
func (s *state) usedLogs(t *segments) []logFault {
	var fs []logFault
	for i := range logCount {
		if !s.logPlaced(i) {
			continue
		}
		segno, off := s.cp.logSegment(i), uint32(s.cp.logOffset(i))
		end := uint32(segmentBlocks)
		if s.cp.logAlloc(i) == allocSSR {
			end = off + 1
		}
		for k := off; k < end; k++ {
			if t.valid.Used(segno*segmentBlocks + k) {
				fs = append(fs, logFault{slug: "log-place", log: i, off: segmentField(i), len: 4,
					detail: textf("block %d of segment %d is in use, and it writes from block %d on", k, segno, off)})
				break
			}
		}
	}
	return fs
}

// summaryFaults are the node logs whose summary in the checkpoint pack says
// that it is one of data.
func (s *state) summaryFaults() []logFault {
	var fs []logFault
	for i := logsPerKind; i < logCount; i++ {
		if sum := s.logs[i]; s.g.usesLog(i) && sum != nil && sum.kind() != summaryNode {
			fs = append(fs, logFault{slug: "log-summary", log: i, off: segmentField(i), len: 4, detail: textf("its type is %d, should be %d", sum.kind(), summaryNode)})
		}
	}
	return fs
}

// reserveFault is why the kernel does not take what a checkpoint keeps back, ""
// where it does: [Linux] f2fs_sanity_check_ckpt. A volume that is never written
// keeps nothing.
func (g *Geometry) reserveFault(cp checkpoint) string {
	reserved, over := cp.reserved(), cp.overprovision()
	tables := uint64(g.CPSegments) + uint64(g.SITSegments) + uint64(g.NATSegments) + uint64(g.SSASegments)
	switch {
	case (reserved == 0 || over == 0) && !g.ReadOnly():
		return textf("%d segments are reserved and %d over-provisioned", reserved, over)
	case tables+uint64(reserved) >= uint64(g.Segments):
		return textf("%d segments are reserved, of %d that there are beside the tables", reserved, uint64(g.Segments)-tables)
	}
	return ""
}

// userBlocksFault is why the kernel does not take the number of blocks that
// users may have, "" where it does: [Linux] f2fs_sanity_check_ckpt. On a volume
// that is never written there is no reserve.
func (g *Geometry) userBlocksFault(user, valid uint64) string {
	most := g.MainBlocks() - 1
	if g.ReadOnly() {
		most++
	}
	switch {
	case user == 0:
		return "none are for users"
	case user > most:
		return textf("%d are for users, and at most %d can be", user, most)
	case user < valid:
		return textf("%d are for users, and %d in use", user, valid)
	}
	return ""
}

// countFault is a number of the checkpoint that SIT contradicts, so that the
// kernel refuses the volume.
type countFault struct {
	off, len int64 // in the checkpoint
	got      uint64
	want     uint64
	detail   string
}

// totals are how many blocks with data and with nodes SIT has.
func (t *segments) totals() (data, nodes uint64) {
	for segno, n := range t.count {
		switch kind := t.kind[segno]; {
		case kind < hotNode:
			data += uint64(n)
		case kind < logCount:
			nodes += uint64(n)
		}
	}
	return data, nodes
}

// countFaults compares as [Linux] build_sit_entries does: nodes must be as many
// as the checkpoint says, and all blocks at most as many, as those that are
// only reserved are not in SIT.
func (s *state) countFaults(t *segments) []countFault {
	data, nodes := t.totals()
	var fs []countFault
	if got := uint64(s.cp.validNodes()); got != nodes {
		fs = append(fs, countFault{cpValidNodes, 4, got, nodes, textf("the checkpoint has %d nodes, SIT %d", got, nodes)})
	}
	if got := s.cp.validBlocks(); got < data+nodes {
		fs = append(fs, countFault{cpValidBlocks, 8, got, data + nodes, textf("the checkpoint has %d blocks in use, SIT %d", got, data+nodes)})
	}
	return fs
}

// freeSpace counts free segments.
type freeSpace struct {
	segments, sections uint32
	runs, largest      uint32 // of segments
}

// freeSegments counts segments without a valid block that no log writes to and
// that are not among taken, which may be nil; sections whose segments are all
// such; and runs of the former.
func (s *state) freeSegments(t *segments, taken *space.Map) freeSpace {
	busy := space.NewMap(s.g.MainSegments)
	for i := range logCount {
		if segno := s.cp.logSegment(i); segno < s.g.MainSegments {
			busy.Set(segno)
		}
	}
	var f freeSpace
	run, inSection := uint32(0), uint32(0)
	for segno := range s.g.MainSegments {
		if segno%s.g.SegsPerSec == 0 {
			inSection = 0
		}
		if t.count[segno] != 0 || busy.Used(segno) || taken != nil && taken.Used(segno) {
			run = 0
			continue
		}
		if run++; run == 1 {
			f.runs++
		}
		f.segments++
		f.largest = max(f.largest, run)
		if inSection++; inSection == s.g.SegsPerSec {
			f.sections++
		}
	}
	return f
}
