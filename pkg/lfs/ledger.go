package lfs

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/fatkit/fatkit/pkg/space"
)

// ledger is SIT as a change sees it: which blocks are in use now, beside which
// were at the checkpoint. A block that was in use then is not given out again
// before the new checkpoint is down, so that the old one stays whole.
//
// Memory is that of segments, and 128 bytes for each segment that changes.
type ledger struct {
	g   *Geometry
	was *segments
	// Segments that nothing is written to: blocks of the log of synced nodes are
	// there, though SIT does not say so.
	avoid *space.Map

	mu      sync.Mutex
	count   []uint16 // of valid blocks, now
	changed map[uint32]*segment
	// Sections without a block in use, now or then, and that no log writes to.
	free *space.Groups
	// Releases counts calls of release, which are the runs of blocks that were
	// given back.
	releases uint64
}

// segment is a segment that changes: the blocks that are valid, the first one in
// the highest bit as on the disk.
type segment struct {
	was, now [segmentBlocks / 64]uint64
	kind     int
	mtime    bool // the segment is written to, so its time is that of the checkpoint
}

func newLedger(l *loaded) *ledger {
	g := l.g
	t := &ledger{g: g, was: l.sit, avoid: l.avoid, count: append([]uint16(nil), l.sit.count...), changed: map[uint32]*segment{}}
	busy := space.NewMap(g.Sections)
	for segno, n := range t.count {
		if n != 0 || t.avoids(uint32(segno)) {
			busy.Set(g.SectionOf(uint32(segno)))
		}
	}
	for log := range logCount {
		if segno := l.s.cp.logSegment(log); segno < g.MainSegments {
			busy.Set(g.SectionOf(segno))
		}
	}
	t.free = space.NewAllocator(busy, space.Options{})
	return t
}

// segment is the entry of a segment, to be changed.
func (t *ledger) segment(segno uint32) *segment {
	s := t.look(segno)
	t.changed[segno] = s
	return s
}

// look is the entry of a segment, to be read.
func (t *ledger) look(segno uint32) *segment {
	if s := t.changed[segno]; s != nil {
		return s
	}
	s := &segment{kind: int(t.was.kind[segno])}
	const perPage = 1 << 15 / segmentBlocks // segments in a page of the map
	if p := t.was.valid.Page(int(segno / perPage)); p != nil {
		for i := range s.was {
			s.was[i] = bits.Reverse64(p[int(segno%perPage)*len(s.was)+i])
		}
	}
	s.now = s.was
	return s
}

// eachWord calls fn with the words of a segment that hold the n blocks from at
// on, and which of their bits do, as long as fn returns true.
func eachWord(at, n uint32, fn func(i int, mask uint64) bool) bool {
	for end := at + n; at < end; {
		from, to := at%64, min(64, at%64+end-at)
		mask := ^uint64(0) >> from &^ (^uint64(0) >> (to - 1) >> 1)
		if !fn(int(at/64), mask) {
			return false
		}
		at += to - from
	}
	return true
}

// valid tells whether a block, which must be ValidMain, is in use now.
func (t *ledger) valid(addr uint32) bool {
	segno, i := t.g.SegmentOf(addr), t.g.IndexOf(addr)
	if s := t.changed[segno]; s != nil {
		return s.now[i/64]<<(i%64)>>63 != 0
	}
	return t.was.valid.Used(addr - t.g.Main)
}

// fresh tells whether a block was given out since the checkpoint: it may be
// written again where it is.
func (t *ledger) fresh(addr uint32) bool {
	s := t.changed[t.g.SegmentOf(addr)]
	if s == nil {
		return false
	}
	i := t.g.IndexOf(addr)
	return (s.now[i/64]&^s.was[i/64])<<(i%64)>>63 != 0
}

// take marks n blocks of one segment as in use: they are of a log of that kind.
func (t *ledger) take(addr, n uint32, kind int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	segno := t.g.SegmentOf(addr)
	s := t.segment(segno)
	eachWord(t.g.IndexOf(addr), n, func(i int, mask uint64) bool {
		s.now[i] |= mask
		return true
	})
	s.kind, s.mtime = kind, true
	t.count[segno] += uint16(n)
}

// setKind notes that a log writes to a segment, which is of its kind from then
// on: [Linux] behaviour reset_curseg().
func (t *ledger) setKind(segno uint32, kind int) { t.segment(segno).kind = kind }

// release gives n blocks back that lie one after the other: lesson 3. Linux
// v6.14 gave f2fs_invalidate_blocks() a length, and f2fs_do_zero_range() collects
// neighbours, which took zeroing 64 MiB from 16.4 ms to 10.0 ms: one range of the
// bitmap, one count and one lock for a run, and not for a block.
//
// A block that is not in use belongs to two, or to a damaged SIT: nothing is
// known then, and the change must be given up.
func (t *ledger) release(addr, n uint32) error {
	if !t.g.ValidMain(addr) || uint64(addr)+uint64(n) > t.g.MainEnd() {
		return damagedf("blocks %d to %d are not in the main area; run check -y", addr, uint64(addr)+uint64(n)-1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releases++
	for n > 0 {
		segno, at := t.g.SegmentOf(addr), t.g.IndexOf(addr)
		k := min(n, segmentBlocks-at)
		s := t.segment(segno)
		if !eachWord(at, k, func(i int, mask uint64) bool {
			ok := s.now[i]&mask == mask
			s.now[i] &^= mask
			return ok
		}) {
			return damagedf("a block of %d to %d belongs to two, or SIT has it as free; run check -y", addr, addr+k-1)
		}
		t.count[segno] -= uint16(k)
		addr, n = addr+k, n-k
	}
	return nil
}

// hole is the first block from at on of a segment that is neither in use nor
// was; 512 where there is none.
func (s *segment) hole(at uint32) uint32 {
	for ; at < segmentBlocks; at = (at/64 + 1) * 64 {
		i := at / 64
		if free := ^(s.was[i] | s.now[i]) & (^uint64(0) >> (at % 64)); free != 0 {
			return i*64 + uint32(bits.LeadingZeros64(free))
		}
	}
	return segmentBlocks
}

// empty tells whether a segment has no block in use, now or then.
func (t *ledger) empty(segno uint32) bool {
	return t.count[segno] == 0 && t.was.count[segno] == 0 && !t.avoids(segno)
}

// put writes the entry of a segment that changed; time is what SIT calls so:
// seconds that the volume was mounted.
func (s *segment) put(e sitEntry, count uint16, time uint64) {
	e.put(s.kind, int(count))
	for i, w := range s.now {
		binary.BigEndian.PutUint64(e.validMap()[8*i:], w)
	}
	if s.mtime {
		binary.LittleEndian.PutUint64(e[sitMtime:], time)
	}
}

// avoids tells whether a segment is kept free for what a log leads to.
func (t *ledger) avoids(segno uint32) bool { return t.avoid != nil && t.avoid.Used(segno) }
