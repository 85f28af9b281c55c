package lfs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"

	"github.com/fatkit/fatkit/pkg/vol"
)

// What a checkpoint pack says of its own parts can be told from the rest of it,
// and its first block is its last one, too.

// tailFix takes the first block of a pack from its last one, where both packs
// are damaged and one has nothing else wrong: [Linux] behaviour write_checkpoint
// makes the last one when all others are down, and both alike. nil where there
// is no such pack; of two the newer one counts.
func (c *checker) tailFix(packs [packCount]*pack) (vol.Fix, error) {
	var best *pack
	var tail checkpoint
	for _, p := range packs {
		if p.err != nil || p.fault.slug != "cp-checksum" {
			continue
		}
		t, err := c.g.lastOfPack(c.d, p)
		if err != nil {
			return nil, err
		}
		if t != nil && (best == nil || int64(t.version()-tail.version()) > 0) {
			best, tail = p, t
		}
	}
	if best == nil {
		return nil, nil
	}
	return c.endsFix(&ends{tail, best.start}), nil
}

// layoutFix sets what a pack says of its parts to what it must be: the lengths
// of the bitmaps follow from the superblock, and where the summaries start from
// how many there are. nil where that does not make it right.
func (c *checker) layoutFix(p *pack) vol.Fix {
	s := &state{g: c.g, cp: append(checkpoint{}, p.cp...), p: p, payload: c.g.CPPayload}
	s.cp.put32(cpSitBitmap, uint32(c.g.SITBitmapBytes()))
	s.cp.put32(cpNatBitmap, uint32(c.g.NATBitmapBytes()))
	if s.checkSizes() != nil {
		n := s.summaryBlocks() + 1
		if n >= s.cp.blocks() {
			return nil
		}
		s.cp.put32(cpStartSum, s.cp.blocks()-n)
		if s.checkSizes() != nil {
			return nil
		}
	}
	s.cp.putSum()
	return c.fix(gradeShape, func(context.Context, vol.Repair) error {
		_, err := c.d.WriteAt(s.cp, c.g.BlockOff(p.start))
		if err == nil {
			_, err = c.d.WriteAt(s.cp, c.g.BlockOff(p.start+s.cp.blocks()-1))
		}
		return err
	})
}

// summaryBlocks is how many blocks of a pack have summaries, see readSummaries.
func (s *state) summaryBlocks() uint32 {
	nodes := uint32(0)
	if s.nodeSummaries() {
		nodes = logsPerKind
	}
	if !s.cp.has(cpCompact) {
		return nodes + logsPerKind
	}
	size := int(s.g.SummaryBytes)
	at, blocks := 2*journalBytes(size), uint32(1)
	for log := range logsPerKind {
		entries := int(s.cp.logOffset(log))
		if s.cp.logAlloc(log) == allocSSR || entries > segmentBlocks {
			entries = segmentBlocks
		}
		for range entries {
			if at+summaryLen > size-summaryFooterLen {
				at, blocks = 0, blocks+1
			}
			at += summaryLen
		}
	}
	return nodes + blocks
}

// moveBitmapFix has the next checkpoint put a large NAT bitmap behind the
// checksum; nil where there is no room.
func (c *checker) moveBitmapFix() vol.Fix {
	moved := &state{g: c.g, cp: append(checkpoint{}, c.s.cp...), payload: c.s.payload}
	moved.cp.put32(cpChecksumOffset, cpBitmaps)
	if sit, _ := moved.bitmapAreas(); sit.Len < c.g.SITBitmapBytes() {
		return nil
	}
	return c.fix(gradeShape, func(ctx context.Context, _ vol.Repair) error {
		c.m.relayout = true
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		w.s.cp.put32(cpChecksumOffset, cpBitmaps)
		return nil
	})
}

// orphanPayload is how many blocks of bitmaps a pack has in front of its list of
// orphans, whose blocks are numbered: [Linux] struct f2fs_orphan_block.
func (c *checker) orphanPayload() (uint32, bool, error) {
	start := c.s.cp.startSum()
	for first := uint32(1); first < start; first++ {
		b, err := readBlock(c.d, c.g, c.s.p.start+first)
		if err != nil {
			return 0, false, err
		}
		o := orphanBlock(b)
		index, n := binary.LittleEndian.Uint16(o[len(o)-orphanIndex:]), binary.LittleEndian.Uint16(o[len(o)-orphanBlocks:])
		if index == 1 && uint32(n) == start-first && o.count() > 0 && o.count() <= uint32(c.g.per().orphans()) {
			return first - 1, true, nil
		}
	}
	return 0, false, nil
}

// unmixFix moves the nodes out of a segment that holds data, too.
func (c *checker) unmixFix(segno uint32) vol.Fix {
	return c.fix(gradePlace, func(ctx context.Context, _ vol.Repair) error {
		if err := cmp.Or(c.placeable(), c.leaveLog(segno)); err != nil {
			return err
		}
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		if free := w.sit.free.Free(); free <= w.logs.floor+logsPerKind {
			return vol.NotNow("the nodes in it are to be moved, and there is no room for them")
		}
		for i := range c.walk.index.nodes {
			x := &c.walk.index.nodes[i]
			if !c.g.ValidMain(x.addr) || c.g.SegmentOf(x.addr) != segno {
				continue
			}
			b, err := w.node(x.nid, x.ino)
			if err != nil && errors.Is(notNow(err), vol.ErrNotNow) {
				continue // it is mended first
			}
			if err == nil {
				err = w.putNode(b)
			}
			if err != nil {
				return err
			}
		}
		kind := warmData
		if log := w.logs.headOf(segno); log >= 0 && log < hotNode {
			kind = log
		}
		w.sit.setKind(segno, kind)
		return nil
	})
}

// leaveLog has a log of nodes leave a segment, before anything is written.
func (c *checker) leaveLog(segno uint32) error {
	log := c.s.logOf(segno)
	if log < hotNode {
		return nil
	}
	if c.m.w != nil {
		return vol.ErrNotNow // in the next round
	}
	if !c.canPlace(log) {
		return vol.NotNow("no segment is free for the log that writes there")
	}
	c.m.place(log)
	return nil
}
