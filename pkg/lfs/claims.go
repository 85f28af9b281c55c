package lfs

import "github.com/fatkit/fatkit/pkg/space"

// claims takes blocks for their owners, for one piece of a sweep. What comes
// second has lost.
type claims struct {
	w    *walk
	lost map[claim]bool
}

// claim is a block and who claims it.
type claim struct {
	addr  uint32
	inode int32
}

// runs claims runs of blocks; kinds has a bit for each segment that has some.
func (c *claims) runs(rs []run, kinds *space.Map) {
	w := c.w
	for i := range rs {
		r := &rs[i]
		unit, n := r.addr-w.g.Main, uint32(r.n)
		for n > 0 {
			done := w.claimed.SetRunNew(space.Extent{Start: unit, Len: n})
			if done > 0 {
				kinds.Set(unit / segmentBlocks)
			}
			if done == n {
				break
			}
			c.twice(w.g.Main+unit+done, w.index.nodes[r.node].inode)
			unit, n = unit+done+1, n-done-1
		}
	}
}

// pages claims blocks that are to be read, and adds them to those. What belongs
// to two is read for the first: else a volume could have one block read without
// end.
func (c *claims) pages(to, from []filePage, base int32) []filePage {
	w := c.w
	for _, p := range from {
		p.inode += base
		unit := p.addr - w.g.Main
		if !w.claimed.SetNew(unit) {
			c.twice(p.addr, p.inode)
			continue
		}
		w.segData.Set(unit / segmentBlocks)
		to = append(to, p)
	}
	return to
}

func (c *claims) twice(addr uint32, inode int32) {
	c.w.note(note{slug: "addr-twice", inode: inode, blk: addr})
	if c.lost == nil {
		c.lost = map[claim]bool{}
	}
	c.lost[claim{addr, inode}] = true
}

// settle takes back what was noted of blocks for those who lost them: that SIT
// and SSA know them as another's is the same again.
func (c *claims) settle(h *harvest, base int32) {
	if c.lost == nil {
		return
	}
	kept := h.notes[:0]
	for _, n := range h.notes {
		if (n.slug == "ssa-entry" || n.slug == "sit-free") && c.lost[claim{n.blk, n.inode + base}] {
			h.noted[n.slug]--
			continue
		}
		kept = append(kept, n)
	}
	h.notes = kept
}
