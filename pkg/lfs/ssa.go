package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
)

// maxPointers is how many pointers are gathered before they are held against
// SSA: in order of segment each summary block is read once for a batch, however
// a file is scattered. Sorting them takes as much memory again, and one batch is
// compared while the next is gathered.
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

// flushFull has a batch compared that is full. A node adds as many as it has
// slots, which is the most that a batch is longer.
func (w *walk) flushFull() error {
	if len(w.pointers) < maxPointers {
		return nil
	}
	return w.flushPointers()
}

// flushPointers has what was gathered compared, beside what comes next.
func (w *walk) flushPointers() error {
	if err := w.awaitSummaries(); err != nil {
		return err
	}
	c := &comparison{ctx: w.ctx, d: w.d, g: w.g, s: w.s, ps: w.pointers, done: make(chan error, 1)}
	w.pointers, w.spare = w.spare[:0], nil
	w.comparing = c
	if w.alone {
		c.done <- c.run()
		return w.awaitSummaries()
	}
	go func() { c.done <- c.run() }()
	return nil
}

// awaitSummaries takes over what the comparison under way found, if there is
// one. Every one that was begun is awaited, whatever else happens.
func (w *walk) awaitSummaries() error {
	c := w.comparing
	if c == nil {
		return nil
	}
	err := <-c.done
	w.comparing, w.spare = nil, c.ps
	w.bytesRead += c.bytesRead
	for _, n := range c.notes {
		w.note(n)
	}
	w.noted["ssa-entry"] += c.more
	return err
}

// comparison holds a batch of pointers against SSA.
type comparison struct {
	ctx       context.Context
	d         dev.Device
	g         *Geometry
	s         *state
	ps        []pointer
	notes     []note
	more      int // entries that differ beyond maxNotes
	bytesRead int64
	done      chan error
}

// segmentPointers are the pointers into one segment.
type segmentPointers struct {
	segno uint32
	ps    []pointer
}

// run compares segment by segment. The summary of a segment that a log writes
// to is in the checkpoint pack; of a node log that was cut off it is nowhere,
// and the nodes speak for themselves.
func (c *comparison) run() error {
	sortByKey(c.ps, func(p *pointer) uint32 { return c.g.SegmentOf(p.addr) })
	plug := dev.NewPlug(c.d, c.g.window(c.d, 0))
	plug.Gap = summaryGap
	var groups []segmentPointers
	for i := 0; i < len(c.ps); {
		segno := c.g.SegmentOf(c.ps[i].addr)
		end := i
		for end < len(c.ps) && c.g.SegmentOf(c.ps[end].addr) == segno {
			end++
		}
		if log := c.s.logOf(segno); log < 0 {
			plug.Add(dev.Range{Off: c.g.SummaryOff(segno), Len: c.g.SummaryBytes})
			groups = append(groups, segmentPointers{segno, c.ps[i:end]})
		} else if sum := c.s.logs[log]; sum != nil {
			c.compareAll(segno, sum, c.ps[i:end])
		}
		i = end
	}
	stats, err := plug.Read(c.ctx, dev.ReadOptions{}, func(p dev.Range, b []byte) error {
		for len(groups) > 0 && c.g.SummaryOff(groups[0].segno) < p.End() {
			off := c.g.SummaryOff(groups[0].segno) - p.Off
			c.compareSegment(groups[0].segno, summaryBlock(b[off:off+c.g.SummaryBytes]), groups[0].ps)
			groups = groups[1:]
		}
		return nil
	})
	c.bytesRead = stats.Bytes
	return err
}

// compareSegment holds the pointers into a segment against its summary in SSA,
// whose footer says what it is of.
func (c *comparison) compareSegment(segno uint32, sum summaryBlock, ps []pointer) {
	want := byte(summaryData)
	if ps[0].node {
		want = summaryNode
	}
	if sum.kind() != want {
		off := c.g.SummaryOff(segno) + c.g.SummaryBytes - summaryFooterLen
		c.note(note{slug: "ssa-type", inode: -1, off: off, len: 1, got: sum.kind(), want: want, detail: textf("segment %d", segno)})
		return
	}
	c.compareAll(segno, sum, ps)
}

// compareAll compares entries: each names the node that leads to the block; for
// data also which of its pointers does, and the version that the node has in
// NAT.
func (c *comparison) compareAll(segno uint32, sum summaryBlock, ps []pointer) {
	for i := range ps {
		p := &ps[i]
		if e := sum.entry(int(c.g.IndexOf(p.addr))); e.nid() != p.nid || !p.node && (e.offset() != p.slot || e.version() != p.version) {
			c.differs(segno, e, p)
		}
	}
}

func (c *comparison) differs(segno uint32, e summary, p *pointer) {
	if len(c.notes) >= maxNotes {
		c.more++
		return
	}
	detail := textf("it names node %d, should be %d", e.nid(), p.nid)
	if e.nid() == p.nid {
		detail = textf("it names pointer %d of version %d of node %d, should be %d of %d", e.offset(), e.version(), p.nid, p.slot, p.version)
	}
	n := note{slug: "ssa-entry", inode: p.inode, blk: p.addr, detail: detail}
	if c.s.logOf(segno) < 0 {
		n.off, n.len = c.g.SummaryOff(segno)+int64(c.g.IndexOf(p.addr))*summaryLen, summaryLen
	}
	c.note(n)
}

func (c *comparison) note(n note) { c.notes = append(c.notes, n) }
