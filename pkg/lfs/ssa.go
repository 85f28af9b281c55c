package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
)

// maxPointers is how many pointers are gathered before they are held against
// SSA: in order of address each summary block is read once for a batch, however
// a file is scattered. Sorting them takes as much memory again.
const maxPointers = 1 << 18

// summaryGap is how many bytes between two summaries are read with them.
const summaryGap = 64 << 10

// point has a pointer held against the summary of its block.
func (w *walk) point(p pointer) {
	if w.g.ReadOnly() {
		return // there is no SSA
	}
	if w.pointers == nil {
		// As many as there will be, up to a batch and what one node adds.
		blocks := min(w.sit.valid.CountUsed(), maxPointers)
		w.pointers = make([]pointer, 0, int(blocks)+w.g.per().nodeSlots()+1)
	}
	w.pointers = append(w.pointers, p)
}

// flushFull compares a batch that is full. A node adds as many as it has slots,
// which is the most that a batch is longer.
func (w *walk) flushFull() error {
	if len(w.pointers) < maxPointers {
		return nil
	}
	return w.flushPointers()
}

// segmentPointers are the pointers into one segment.
type segmentPointers struct {
	segno uint32
	ps    []pointer
}

// flushPointers compares what was gathered with SSA, segment by segment. The
// summary of a segment that a log writes to is in the checkpoint pack; of a node
// log that was cut off it is nowhere, and the nodes speak for themselves.
func (w *walk) flushPointers() error {
	ps := w.pointers
	w.pointers = w.pointers[:0]
	sortByKey(ps, func(p *pointer) uint32 { return p.addr })
	plug := dev.NewPlug(w.d, w.g.window(w.d, 0))
	plug.Gap = summaryGap
	var groups []segmentPointers
	for i := 0; i < len(ps); {
		segno := w.g.SegmentOf(ps[i].addr)
		end := i
		for end < len(ps) && w.g.SegmentOf(ps[end].addr) == segno {
			end++
		}
		if log := w.s.logOf(segno); log < 0 {
			plug.Add(dev.Range{Off: w.g.SummaryOff(segno), Len: w.g.SummaryBytes})
			groups = append(groups, segmentPointers{segno, ps[i:end]})
		} else if sum := w.s.logs[log]; sum != nil {
			w.compareAll(segno, sum, ps[i:end])
		}
		i = end
	}
	stats, err := plug.Read(w.ctx, dev.ReadOptions{}, func(p dev.Range, b []byte) error {
		for len(groups) > 0 && w.g.SummaryOff(groups[0].segno) < p.End() {
			off := w.g.SummaryOff(groups[0].segno) - p.Off
			w.compareSegment(groups[0].segno, summaryBlock(b[off:off+w.g.SummaryBytes]), groups[0].ps)
			groups = groups[1:]
		}
		return nil
	})
	w.bytesRead += stats.Bytes
	return err
}

// compareSegment holds the pointers into a segment against its summary in SSA,
// whose footer says what it is of.
func (w *walk) compareSegment(segno uint32, sum summaryBlock, ps []pointer) {
	want := byte(summaryData)
	if ps[0].node {
		want = summaryNode
	}
	if sum.kind() != want {
		w.note(note{slug: "ssa-type", inode: -1, off: w.g.SummaryOff(segno) + w.g.SummaryBytes - summaryFooterLen, len: 1, got: sum.kind(), want: want, detail: textf("segment %d", segno)})
		return
	}
	w.compareAll(segno, sum, ps)
}

func (w *walk) compareAll(segno uint32, sum summaryBlock, ps []pointer) {
	for i := range ps {
		w.compareSummary(segno, sum, &ps[i])
	}
}

// compareSummary: a summary names the node that leads to the block; for data
// also which of its pointers does, and the version that the node has in NAT.
func (w *walk) compareSummary(segno uint32, sum summaryBlock, p *pointer) {
	k := int(w.g.IndexOf(p.addr))
	e := sum.entry(k)
	if e.nid() == p.nid && (p.node || e.offset() == p.slot && e.version() == p.version) {
		return
	}
	detail := textf("it names node %d, should be %d", e.nid(), p.nid)
	if e.nid() == p.nid {
		detail = textf("it names pointer %d of version %d of node %d, should be %d of %d", e.offset(), e.version(), p.nid, p.slot, p.version)
	}
	n := note{slug: "ssa-entry", inode: p.inode, blk: p.addr, detail: detail}
	if w.s.logOf(segno) < 0 {
		n.off, n.len = w.g.SummaryOff(segno)+int64(k*summaryLen), summaryLen
	}
	w.note(n)
}
