package lfs

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/fatkit/fatkit/pkg/dev"
)

const (
	// summaryPiece is how many bytes of SSA are read at once. What is near each
	// other in one piece of a sweep mostly leads to few segments, and those are
	// near each other, too.
	summaryPiece = 64 << 10
	// maxSummaries is how much of SSA is kept, if that is all of it: enough for a
	// volume of 8 GiB. Of a larger one a file that is scattered all over it has
	// each summary read once for a piece.
	maxSummaries = 16 << 20
)

// summaryBits are those that a summary has in a word that is read from where it
// starts.
const summaryBits = 1<<(8*summaryLen) - 1

// compare holds what a piece of nodes leads to against SIT and SSA.
func (h *harvest) compare() error {
	err := h.compareRuns(h.nodeRuns, summaryNode)
	if err == nil {
		err = h.compareRuns(h.dataRuns, summaryData)
	}
	if err == nil {
		err = h.compareRuns(h.pageRuns, summaryData)
	}
	return err
}

// compareRuns goes segment by segment, so that each summary is looked for once
// for a piece, however a file is scattered.
func (h *harvest) compareRuns(rs []run, kind byte) error {
	g := h.w.g
	sortByKey(rs, &h.spare, func(r *run) uint32 { return g.SegmentOf(r.addr) })
	for len(rs) > 0 {
		segno, n := g.SegmentOf(rs[0].addr), 1
		for n < len(rs) && g.SegmentOf(rs[n].addr) == segno {
			n++
		}
		h.compareValid(segno, rs[:n])
		if !g.ReadOnly() { // there is no SSA
			if err := h.compareSegment(segno, rs[:n], kind); err != nil {
				return err
			}
		}
		rs = rs[n:]
	}
	return nil
}

// compareValid looks whether SIT has the blocks as valid.
func (h *harvest) compareValid(segno uint32, rs []run) {
	w := h.w
	valid := w.sit.segment(segno)
	for i := range rs {
		r := &rs[i]
		for k := uint32(0); k < uint32(r.n); k++ {
			if at := w.g.IndexOf(r.addr) + k; valid == nil || valid[at/64]>>(at%64)&1 == 0 {
				h.note(note{slug: "sit-free", inode: r.inode, blk: r.addr + k})
			}
		}
	}
}

// compareSegment holds runs in a segment against its summary. That of a segment
// that a log writes to is in the checkpoint pack; of a node log that was cut off
// it is nowhere, and the nodes speak for themselves. The footer of one in SSA
// says what it is of; where it is wrong about that, no more can be said.
func (h *harvest) compareSegment(segno uint32, rs []run, kind byte) error {
	w := h.w
	log := w.s.logOf(segno)
	if log >= 0 {
		if sum := w.s.logs[log]; sum != nil {
			h.compareEntries(segno, sum, rs, kind)
		}
		return nil
	}
	sum, err := h.summary(segno)
	if err != nil {
		return err
	}
	if sum.kind() != kind && (w.sit.kind[segno] >= hotNode) == (kind == summaryNode) {
		off := w.g.SummaryOff(segno) + w.g.SummaryBytes - summaryFooterLen
		h.note(note{slug: "ssa-type", inode: -1, from: segno, off: off, len: 1, got: sum.kind(), want: kind, detail: textf("segment %d", segno)})
		return nil
	}
	h.compareEntries(segno, sum, rs, kind)
	return nil
}

// summary reads the summary of a segment; it is good until the next call.
func (h *harvest) summary(segno uint32) (summaryBlock, error) {
	g := h.w.g
	off := g.SummaryOff(segno) - g.BlockOff(g.SSA)
	piece, at := off/summaryPiece, off%summaryPiece
	if h.w.ssa != nil {
		if kept := h.w.ssa[piece].Load(); kept != nil {
			return summaryBlock((*kept)[at:][:g.SummaryBytes]), nil
		}
		b, err := h.readSummaries(make([]byte, summaryPiece), piece)
		if err != nil {
			return nil, err
		}
		h.w.ssa[piece].Store(&b) // another worker may have done the same
		return summaryBlock(b[at:][:g.SummaryBytes]), nil
	}
	if h.sums == nil || h.sumsPiece != piece {
		if h.sums == nil {
			h.sums = make([]byte, summaryPiece)
		}
		h.sumsPiece = -1
		if _, err := h.readSummaries(h.sums, piece); err != nil {
			return nil, err
		}
		h.sumsPiece = piece
	}
	return summaryBlock(h.sums[at:][:g.SummaryBytes]), nil
}

// readSummaries reads a piece of SSA; the last one may be shorter.
func (h *harvest) readSummaries(b []byte, piece int64) ([]byte, error) {
	g := h.w.g
	ssa := dev.Range{Off: g.BlockOff(g.SSA), Len: g.BlockOff(g.Main) - g.BlockOff(g.SSA)}
	r := dev.Range{Off: ssa.Off + piece*summaryPiece, Len: int64(len(b))}.Intersect(ssa)
	_, err := h.w.d.ReadAt(b[:r.Len], r.Off)
	h.bytesRead += r.Len
	return b, err
}

// keptSummaries makes room for all of SSA, piece by piece as it is read; nil
// where that would be too much.
func keptSummaries(g *Geometry) []atomic.Pointer[[]byte] {
	n := g.BlockOff(g.Main) - g.BlockOff(g.SSA)
	if g.ReadOnly() || n > maxSummaries {
		return nil
	}
	return make([]atomic.Pointer[[]byte], (n+summaryPiece-1)/summaryPiece)
}

// compareEntries compares entries: each names the node that leads to the block;
// for data also which of its pointers does, and the version that the node has in
// NAT.
func (h *harvest) compareEntries(segno uint32, sum summaryBlock, rs []run, kind byte) {
	w := h.w
	for i := range rs {
		r := &rs[i]
		n := &w.index.nodes[r.node]
		at := int(w.g.IndexOf(r.addr))
		if kind == summaryNode {
			if e := sum.entry(at); e.nid() != n.nid {
				h.differs(segno, e, r, 0, kind)
			}
			continue
		}
		want := uint64(n.nid) | uint64(n.version)<<(8*summaryVersion) | uint64(r.slot)<<(8*summaryOffset)
		for k := range int(r.n) {
			if binary.LittleEndian.Uint64(sum[summaryLen*(at+k):])&summaryBits != want {
				h.differs(segno, sum.entry(at+k), r, k, kind)
			}
			want += 1 << (8 * summaryOffset)
		}
	}
}

// differs notes that the summary of block k of a run is wrong.
func (h *harvest) differs(segno uint32, e summary, r *run, k int, kind byte) {
	w := h.w
	n := note{slug: "ssa-entry", inode: r.inode, blk: r.addr + uint32(k), from: w.index.nodes[r.node].nid, word: int32(r.slot) + int32(k)}
	if kind == summaryNode {
		n.word = -1
	}
	if !h.enough(n.slug) {
		x := &w.index.nodes[r.node]
		n.detail = textf("it names node %d, should be %d", e.nid(), x.nid)
		if e.nid() == x.nid && kind == summaryData {
			n.detail = textf("it names pointer %d of version %d of node %d, should be %d of %d", e.offset(), e.version(), x.nid, int(r.slot)+k, x.version)
		}
	}
	if w.s.logOf(segno) < 0 {
		n.off, n.len = w.g.SummaryOff(segno)+int64(w.g.IndexOf(n.blk))*summaryLen, summaryLen
	}
	h.note(n)
}
