package lfs

import (
	"context"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkSpace compares SIT with what nodes lead to, and the checkpoint with
// both.
func (c *checker) checkSpace(ctx context.Context, r *vol.Report) error {
	if err := c.checkLeaks(ctx, r); err != nil {
		return err
	}
	c.checkTypes(r)
	c.checkLogs(r)
	c.checkTotals(r)
	c.checkMarks(r)
	used := c.sit.valid.CountUsed()
	c.stats.Used, c.stats.Free, c.stats.Counted = used, c.g.MainBlocks()-used, true
	return nil
}

// leaks passes on the runs of blocks that SIT has as valid and nothing leads to.
// (The reverse was noted when the block was met.) There can be as many as half of
// the blocks.
func (c *checker) leaks(ctx context.Context, fn func(space.Extent)) error {
	valid, own := c.sit.valid, c.walk.claimed
	var run space.Extent
	for i := 0; i < valid.Pages(); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, o := valid.Page(i), own.Page(i)
		if v == nil {
			continue
		}
		for k, word := range v {
			if o != nil {
				word &^= o[k]
			}
			for base := uint32(i)<<15 + uint32(k)<<6; word != 0; word &= word - 1 {
				unit := base + uint32(bits.TrailingZeros64(word))
				if run.Len > 0 && run.Start+run.Len == unit {
					run.Len++
					continue
				}
				if run.Len > 0 {
					fn(run)
				}
				run = space.Extent{Start: unit, Len: 1}
			}
		}
	}
	if run.Len > 0 {
		fn(run)
	}
	return nil
}

// maxRelated bounds how many places one finding names.
const maxRelated = 64

func (c *checker) checkLeaks(ctx context.Context, r *vol.Report) error {
	var n, runs uint64
	var where []vol.Location
	err := c.leaks(ctx, func(e space.Extent) {
		n += uint64(e.Len)
		if runs++; runs <= maxRelated {
			where = append(where, vol.Location{Cluster: c.g.Main + e.Start, Range: c.g.BlockRange(c.g.Main+e.Start, e.Len)})
		}
	})
	if err == nil && runs > 0 {
		r.Found(c.cat.Found("sit-leak", where[0], vol.Detail("%d blocks in %d runs", n, runs), vol.Related(where...)), c.leakFix(r))
	}
	return err
}

// checkTypes: data and nodes never share a segment, and SIT says which of them
// it has; hot, warm and cold are only a policy.
func (c *checker) checkTypes(r *vol.Report) {
	w := c.walk
	for segno := uint32(0); segno < c.g.MainSegments; segno++ {
		data, nodes := w.segData.Used(segno), w.segNode.Used(segno)
		if !data && !nodes || c.sit.kind[segno] >= logCount {
			continue
		}
		isNode := c.sit.kind[segno] >= hotNode
		if data && isNode || nodes && !isNode {
			r.Found(c.cat.Found("sit-type", c.sitAt(segno, 2), vol.Detail("segment %d has type %d; it holds data: %v, nodes: %v", segno, c.sit.kind[segno], data, nodes)), c.kindFix(segno, data, nodes))
		}
	}
}

// checkLogs looks at what is in use where the six logs write next.
func (c *checker) checkLogs(r *vol.Report) {
	for _, f := range append(c.s.usedLogs(c.sit), c.s.summaryFaults()...) {
		r.Found(c.cat.Found(f.slug, c.cpAt(f.off, f.len), vol.Detail("log %d: %s", f.log, f.detail)), c.logFix(gradeCount, &f))
	}
	for i := range logCount {
		segno := c.s.cp.logSegment(i)
		if !c.s.logPlaced(i) || c.s.logOf(segno) != i || int(c.sit.kind[segno]) == i {
			continue
		}
		if other := c.sit.kind[segno]; other >= logCount || int(other)/logsPerKind != i/logsPerKind && c.sit.count[segno] > 0 {
			continue // reported as what the segment has
		}
		// [f2fs-tools] behaviour fsck_chk_curseg_info().
		r.Found(c.cat.Found("log-type", c.sitAt(segno, 2), vol.GotWant(c.sit.kind[segno], i), vol.Detail("log %d: segment %d", i, segno)),
			c.mended(gradeCount, func(w *writer) { w.sit.setKind(segno, i) }))
	}
}

// checkTotals holds the numbers in the checkpoint against what was counted.
func (c *checker) checkTotals(r *vol.Report) {
	cp, w := c.s.cp, c.walk
	refused := map[int64]bool{}
	for _, f := range c.s.countFaults(c.sit) {
		r.Found(c.cat.Found("cp-counts", c.cpAt(f.off, f.len), vol.Detail("%s", f.detail), vol.GotWant(f.got, f.want)), c.totalFix(f.off, f.want))
		refused[f.off] = true
	}
	data, sitNodes := c.sit.totals()
	total := func(off, n int64, what string, got, want uint64) {
		if got == want || refused[off] {
			return
		}
		fix := c.totalFix(off, want)
		if off == cpValidNodes && want != sitNodes || off == cpValidBlocks && want < data+sitNodes {
			fix = nil // SIT says otherwise, and the kernel goes by that: it comes first
		}
		r.Found(c.cat.Found("cp-totals", c.cpAt(off, n), vol.Detail("%s", what), vol.GotWant(got, want)), fix)
	}
	nodes := uint64(0)
	for i := range w.index.nodes {
		if c.g.ValidMain(w.index.nodes[i].addr) {
			nodes++
		}
	}
	total(cpValidBlocks, 8, "blocks in use", cp.validBlocks(), c.sit.valid.CountUsed()+w.reserved)
	total(cpValidNodes, 4, "nodes", uint64(cp.validNodes()), nodes)
	total(cpValidInodes, 4, "inodes", uint64(cp.validInodes()), uint64(len(w.inodes)))
	if free := c.s.freeSegments(c.sit, nil).segments; free != cp.freeSegments() {
		r.Found(c.cat.Found("cp-free-segments", c.cpAt(cpFreeSegments, 4), vol.GotWant(cp.freeSegments(), free)), c.mended(gradeCount, func(w *writer) { w.carry.free = 0 }))
	}
	// A number that is in use is only looked past; sload.f2fs leaves such.
	if next := cp.nextNid(); next >= c.g.NIDs() || next < firstNid && next != 0 {
		r.Found(c.cat.Found("cp-next-nid", c.cpAt(cpNextNid, 4), vol.GotWant(next, nil)), c.mended(gradeCount, func(w *writer) { w.carry.nextNid = 0 }))
	}
}
