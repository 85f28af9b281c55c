package lfs

import (
	"cmp"
	"context"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// segmentFix makes the entry of a segment agree with itself: the count is that
// of the map, the type that of the log which writes there, or of the summary.
func (c *checker) segmentFix(f segFault) vol.Fix {
	return c.fix(gradeShape, func(ctx context.Context, _ vol.Repair) error {
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		s := w.sit.segment(f.segno)
		if f.slug == "sit-count" {
			n := 0
			for _, word := range s.now {
				n += bits.OnesCount64(word)
			}
			w.sit.count[f.segno] = uint16(n)
			return nil
		}
		if log := w.logs.headOf(f.segno); log >= 0 {
			s.kind = log
			return nil
		}
		sum := make(summaryBlock, c.g.SummaryBytes)
		if _, err := c.d.ReadAt(sum, c.g.SummaryOff(f.segno)); err != nil {
			return err
		}
		s.kind = warmData
		if sum.kind() == summaryNode {
			s.kind = warmNode
		}
		return nil
	})
}

// kindFix sets the type of a segment to that of what is in it, which is data where
// it holds both.
func (c *checker) kindFix(segno uint32, data, nodes bool) vol.Fix {
	if data && nodes {
		return c.unmixFix(segno)
	}
	return c.mended(gradeCount, func(w *writer) {
		kind := warmData
		if nodes {
			kind = warmNode
		}
		if log := w.logs.headOf(segno); log >= 0 && (log >= hotNode) == nodes {
			kind = log
		}
		w.sit.setKind(segno, kind)
	})
}

// useFix has SIT know that a block is in use.
func (c *checker) useFix(n *note) vol.Fix {
	return c.mended(gradeCount, func(w *writer) {
		if w.sit.valid(n.blk) {
			return
		}
		segno := c.g.SegmentOf(n.blk)
		node := c.walk.segNode.Used(segno)
		kind := w.sit.kindOf(segno)
		if w.sit.count[segno] == 0 { // else its type is another finding
			kind = warmData
			if node {
				kind = warmNode
			}
			if log := w.logs.headOf(segno); log >= 0 && (log >= hotNode) == node {
				kind = log
			}
		}
		w.sit.take(n.blk, 1, kind)
	})
}

// summaryFix writes the summary of a block.
func (c *checker) summaryFix(n *note) vol.Fix {
	return c.fix(gradeCount, func(ctx context.Context, _ vol.Repair) error {
		if d := c.disputes[n.blk]; d != nil && !d.told {
			return vol.ErrNotNow // it would tell whose the block is
		}
		version, slot := byte(0), uint16(0)
		if n.word >= 0 {
			i := c.walk.index.find(n.from)
			if i < 0 {
				return vol.ErrNotNow
			}
			version, slot = c.walk.index.nodes[i].version, uint16(n.word)
		}
		segno, at := c.g.SegmentOf(n.blk), c.g.IndexOf(n.blk)
		if c.s.logOf(segno) < 0 {
			return vol.Patch(c.d, c.g.SummaryOff(segno)+int64(at)*summaryLen, summaryLen, func(b []byte) { summary(b).put(n.from, version, slot) })
		}
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		log := w.logs.headOf(segno)
		if log < 0 {
			return vol.ErrNotNow
		}
		w.logs.heads[log].sum.entry(int(at)).put(n.from, version, slot)
		return nil
	})
}

// summaryKindFix says in a summary whether it is of data or nodes.
func (c *checker) summaryKindFix(n *note) vol.Fix {
	kind, _ := n.want.(byte)
	return c.fix(gradeCount, func(context.Context, vol.Repair) error {
		return vol.Patch(c.d, n.off, 1, func(b []byte) { b[0] = kind })
	})
}

// leakFix gives blocks back that nothing leads to, unless what is left wrong
// may be why.
func (c *checker) leakFix(r *vol.Report) vol.Fix {
	if r.Left(vol.SevError) > 0 {
		return nil
	}
	return c.fix(gradeCount, func(ctx context.Context, _ vol.Repair) error {
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		var failed error
		err = c.leaks(ctx, func(e space.Extent) {
			if failed == nil {
				failed = w.sit.release(c.g.Main+e.Start, e.Len)
			}
		})
		return cmp.Or(failed, err)
	})
}

// totalFix sets a number of the checkpoint.
func (c *checker) totalFix(off int64, want uint64) vol.Fix {
	return c.mended(gradeCount, func(w *writer) {
		switch off {
		case cpValidBlocks:
			w.validBlocks = want
		case cpValidNodes:
			w.validNodes = uint32(want)
		case cpValidInodes:
			w.validInodes = uint32(want)
		}
	})
}

// checkMarks reports the marks that ask for a check. They go when nothing else
// is left that they may have been set for.
func (c *checker) checkMarks(r *vol.Report) {
	for _, f := range []struct {
		bit  uint32
		slug string
	}{{cpFsck, "cp-fsck"}, {cpQuotaFsck, "cp-quota"}} {
		if c.s.cp.flags()&f.bit == 0 {
			continue
		}
		fix := c.flagFix(gradeLost, f.bit)
		if r.Left(vol.SevError) > 0 {
			fix = nil
		}
		r.Found(c.cat.Found(f.slug, c.cpAt(cpFlags, 4)), fix)
	}
}
