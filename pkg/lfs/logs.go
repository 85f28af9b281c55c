package lfs

import (
	"errors"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// logHead is where one of the six logs writes.
type logHead struct {
	kind  int
	segno uint32
	next  uint32 // block in the segment; always one that is free
	fills bool   // holes of a segment in use, which is SSR; else it appends
	sum   summaryBlock
}

// logs are the six logs, and where they go on when a segment is full.
type logs struct {
	w     *writer
	heads [logCount]logHead
	// Below as many free sections holes are filled rather than sections taken,
	// as the kernel does. At least floor are left to it, to collect garbage with.
	scarce, floor uint64
}

func newLogs(w *writer, s *state) *logs {
	per := w.g.SegsPerSec
	l := &logs{w: w, scarce: uint64((s.cp.reserved() + per - 1) / per)}
	// What is left when users have all blocks they may have, without any holes:
	// each log may have just begun a section.
	l.floor = min(l.scarce, max(2, uint64(s.cp.overprovision()/per)-min(logCount, uint64(s.cp.overprovision()/per))))
	for i := range l.heads {
		h := &l.heads[i]
		*h = logHead{kind: i, segno: s.cp.logSegment(i), next: uint32(s.cp.logOffset(i)), fills: s.cp.logAlloc(i) == allocSSR}
		h.sum = append(summaryBlock(nil), s.logs[i]...)
		clear(h.sum.journal()) // its entries go to the tables
		h.putKind()
	}
	return l
}

// isNode tells whether a log has nodes.
func (h *logHead) isNode() bool { return h.kind >= logsPerKind }

// putKind sets the footer of the summary.
func (h *logHead) putKind() {
	h.sum.putKind(summaryData)
	if h.isNode() {
		h.sum.putKind(summaryNode)
	}
}

// alloc gives out the next block of a log, and notes whose it is: pointer slot
// of node nid, or the node itself.
func (l *logs) alloc(kind int, nid uint32, version byte, slot uint16) (uint32, error) {
	kind = l.w.g.logFor(kind)
	h := &l.heads[kind]
	addr := l.w.g.SegmentBlock(h.segno) + h.next
	h.sum.entry(int(h.next)).put(nid, version, slot)
	l.w.sit.take(addr, 1, kind)
	if h.fills {
		h.next = l.w.sit.segment(h.segno).hole(h.next)
	} else {
		h.next++
	}
	if h.next < segmentBlocks {
		return addr, nil
	}
	return addr, l.advance(h)
}

// advance closes a full segment and begins another. There always is one, as a
// checkpoint must say where a log goes on.
func (l *logs) advance(h *logHead) error {
	if err := l.w.writeSummary(h.segno, h.sum); err != nil {
		return err
	}
	if segno, ok := l.inSection(h); ok {
		return l.begin(h, segno)
	}
	if l.w.g.ReadOnly() {
		if segno, ok := l.nextSection(h); ok {
			return l.begin(h, segno)
		}
		return vol.Refusef("no segment is left for log %d of a volume with the feature ro", h.kind)
	}
	if l.w.sit.free.Free() <= l.scarce {
		if segno, ok := l.used(h); ok {
			return l.fill(h, segno)
		}
	}
	if l.w.sit.free.Free() > l.floor {
		if segno, ok := l.newSection(h); ok {
			return l.begin(h, segno)
		}
	}
	return vol.Refusef("free blocks are too scattered: no segment is left for log %d, but for the %d sections that collecting garbage needs; a mount collects it", h.kind, l.floor)
}

// inSection is a segment without a block of the section that a log is in:
// [Linux] behaviour get_new_segment(), which takes those first, as garbage is
// collected by section.
func (l *logs) inSection(h *logHead) (uint32, bool) {
	per := l.w.g.SegsPerSec
	for segno := h.segno + 1; segno%per != 0; segno++ {
		if l.w.sit.empty(segno) && l.headOf(segno) < 0 {
			return segno, true
		}
	}
	return 0, false
}

// newSection takes a section that has no block.
func (l *logs) newSection(h *logHead) (uint32, bool) {
	goal := l.w.g.SectionOf(h.segno)
	es, err := l.w.sit.free.Alloc(nil, space.Request{Units: 1, Goal: goal})
	if err != nil {
		return 0, false
	}
	return es[0].Start * l.w.g.SegsPerSec, true
}

// nextSection is where a log goes on that shares the volume with one other: that
// of data upwards, that of nodes downwards, [f2fs-tools] behaviour
// reserve_new_block() on a volume with the feature ro.
func (l *logs) nextSection(h *logHead) (uint32, bool) {
	g := l.w.g
	section := g.SectionOf(h.segno)
	if h.isNode() {
		section-- // before the first is none: that is more than there are
	} else {
		section++
	}
	if section >= g.Sections {
		return 0, false
	}
	first := section * g.SegsPerSec
	for segno := first; segno < first+g.SegsPerSec; segno++ {
		if !l.w.sit.empty(segno) || l.headOf(segno) >= 0 {
			return 0, false
		}
	}
	return first, true
}

// used is a segment with holes: of data for data and of nodes for nodes, of the
// log's own kind where there is one, and with as few blocks as can be. [Linux]
// behaviour get_ssr_segment(): it does so when few sections are free.
func (l *logs) used(h *logHead) (best uint32, ok bool) {
	sit := l.w.sit
	bestCount, bestKind := uint16(segmentBlocks), false
	for segno := range l.w.g.MainSegments {
		n := max(sit.count[segno], sit.was.count[segno])
		kind := sit.kindOf(segno)
		if n == 0 || n >= segmentBlocks || kind/logsPerKind != h.kind/logsPerKind || l.headOf(segno) >= 0 {
			continue
		}
		if same := kind == h.kind; (same && !bestKind || same == bestKind && n < bestCount) && sit.holed(segno) {
			best, bestCount, bestKind, ok = segno, n, same, true
		}
	}
	return best, ok
}

// kindOf is the type of a segment.
func (t *ledger) kindOf(segno uint32) int {
	if s := t.changed[segno]; s != nil {
		return s.kind
	}
	return int(t.was.kind[segno])
}

// holed tells whether a segment has a block that was not in use and is not.
func (t *ledger) holed(segno uint32) bool {
	return t.look(segno).hole(0) < segmentBlocks && !t.avoids(segno)
}

// headOf is the log that writes to a segment, or -1.
func (l *logs) headOf(segno uint32) int {
	for i := range l.heads {
		if l.heads[i].segno == segno && l.w.g.usesLog(i) {
			return i
		}
	}
	return -1
}

// begin has a log append to an empty segment.
func (l *logs) begin(h *logHead, segno uint32) error {
	h.segno, h.next, h.fills = segno, 0, false
	h.sum = make(summaryBlock, l.w.g.SummaryBytes)
	h.putKind()
	l.w.sit.setKind(segno, h.kind)
	return nil
}

// fill has a log fill the holes of a segment, whose summary stays.
func (l *logs) fill(h *logHead, segno uint32) error {
	sum := make(summaryBlock, l.w.g.SummaryBytes)
	if _, err := l.w.d.ReadAt(sum, l.w.g.SummaryOff(segno)); err != nil {
		return err
	}
	kind := h.sum.kind()
	if sum.kind() != kind {
		return damagedf("the summary of segment %d is of the other kind; run check -y", segno)
	}
	clear(sum.journal())
	h.segno, h.next, h.fills, h.sum = segno, l.w.sit.segment(segno).hole(0), true, sum
	l.w.sit.setKind(segno, h.kind)
	return nil
}

// sections takes whole sections for the data of one file, which then is pinned:
// [Linux] behaviour f2fs_allocate_pinning_section(). In the order of the result
// they hold the file; contiguous asks for one run of them.
func (l *logs) sections(n uint32, r space.Request) ([]space.Extent, error) {
	free := l.w.sit.free
	if have := free.Free(); uint64(n)+l.floor > have {
		return nil, vol.Refusef("%d free sections are needed, of %d bytes; %d are free, of which %d are for collecting garbage",
			n, int64(l.w.g.SegsPerSec)*l.w.g.SegmentBytes(), have, l.floor)
	}
	r.Units = n
	es, err := free.Alloc(nil, r)
	switch {
	case errors.Is(err, space.ErrNotContiguous):
		return nil, vol.Refusef("there are not %d free sections of %d bytes where they are wanted, one behind the other", n, int64(l.w.g.SegsPerSec)*l.w.g.SegmentBytes())
	case err != nil:
		return nil, vol.Refusef("%d free sections are needed: %v", n, err)
	}
	return es, nil
}
