package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// claimant is a pointer to a block, or a node there.
type claimant struct {
	nid  uint32
	addr uint32 // of the node
	off  int    // byte of the pointer; -1 for the node itself
	slot uint16
}

// findClaimants looks once more through all nodes for the pointers to blocks
// that belong to two.
func (c *checker) findClaimants(blks map[uint32]bool) (map[uint32][]claimant, error) {
	out := map[uint32][]claimant{}
	for i := range c.walk.index.nodes {
		x := &c.walk.index.nodes[i]
		leads := x.role == roleInode || x.role == roleDirect
		if x.role == roleNone || !c.g.ValidMain(x.addr) || !leads && !blks[x.addr] {
			continue
		}
		if err := c.walk.ctx.Err(); err != nil {
			return nil, err
		}
		b, err := readBlock(c.d, c.g, x.addr)
		if err != nil {
			return nil, err
		}
		if n := nodeBlock(b); n.nid() != x.nid || n.ino() != x.ino {
			continue // NAT is wrong, or the node is: it claimed nothing
		}
		if blks[x.addr] {
			out[x.addr] = append(out[x.addr], claimant{nid: x.nid, addr: x.addr, off: -1})
		}
		if !leads {
			continue
		}
		from, to := c.g.pointersOf(nodeBlock(b), x.role)
		for off := from; off < to; off += 4 {
			if a := nodeBlock(b).u32(off); blks[a] {
				out[a] = append(out[a], claimant{nid: x.nid, addr: x.addr, off: off, slot: uint16((off - from) / 4)})
			}
		}
	}
	return out, nil
}

// pointersOf are the bytes of a node that hold pointers to blocks.
func (g *Geometry) pointersOf(b nodeBlock, r role) (from, to int) {
	if r == roleDirect {
		return 0, 4 * g.per().nodeSlots()
	}
	t := b.fileType()
	inline := b.inline()&inlineDentry != 0 && t == modeDir || b.inline()&inlineData != 0 && t != modeDir && b.word(g.extraWords(b)) == 0
	if inline || t != modeFile && t != modeDir && t != modeSymlink {
		return 0, 0
	}
	return inodeAddrs + 4*g.extraWords(b), inodeAddrs + 4*(b.words()-g.xattrWords(b))
}

// dispute is a block that belongs to two or more, and who is to have it.
type dispute struct {
	list []claimant
	own  []uint32 // of each of them the block that is its own by the summaries, and lost
	keep int      // who has it
	// told: something says so. Else each of the others may have lost what it had, and
	// gets a copy.
	told bool
}

// twiceFix leaves a block to one of those who claim it. The others get back what is
// theirs, if that is found, or have a hole there; where nothing tells whose the block
// is they can have a copy.
func (c *checker) twiceFix(n *note) (vol.Fix, []string) {
	if err := c.findDisputes(); err != nil {
		return nil, nil
	}
	d := c.disputes[n.blk]
	if d == nil {
		return nil, nil
	}
	leave := c.fix(gradeShape, c.always(func() error { return c.leaveTo(n.blk, d) }))
	if d.told || !c.copies(d) {
		return leave, []string{fixClear}
	}
	share := c.fix(gradePlace, func(ctx context.Context, _ vol.Repair) error { return c.copyBlock(ctx, n.blk, d) })
	return func(ctx context.Context, r vol.Repair) error {
		if r.Name == fixCopy {
			return share(ctx, r)
		}
		return leave(ctx, r)
	}, []string{fixCopy, fixClear}
}

// findDisputes looks for all who claim blocks that belong to two, once for a round.
func (c *checker) findDisputes() error {
	if c.disputes != nil {
		return nil
	}
	blks := map[uint32]bool{}
	for i := range c.walk.notes {
		if n := &c.walk.notes[i]; n.slug == "addr-twice" {
			blks[n.blk] = true
		}
	}
	found, err := c.findClaimants(blks)
	if err != nil {
		return err
	}
	out := make(map[uint32]*dispute, len(found))
	for blk, list := range found {
		if out[blk], err = c.judgeDispute(blk, list); err != nil {
			return err
		}
	}
	c.disputes = out
	return nil
}

// judgeDispute looks for what tells whose a block is: a node lies there, the summary
// names one of them, all others have lost another block by the summaries, what it
// holds, or what the pointers beside lead to.
func (c *checker) judgeDispute(blk uint32, list []claimant) (*dispute, error) {
	d := &dispute{list: list, own: make([]uint32, len(list)), told: true}
	sum, err := c.summaryOf(c.g.SegmentOf(blk))
	if err != nil {
		return nil, err
	}
	var open []int // who has no other block
	for i, x := range list {
		if x.off >= 0 {
			if d.own[i], err = c.ownBlock(x.nid, x.slot); err != nil {
				return nil, err
			}
		}
		if d.own[i] == nullAddr {
			open = append(open, i)
		}
	}
	if d.keep = winner(list, sum.entry(int(c.g.IndexOf(blk)))); d.keep >= 0 {
		return d, nil
	}
	if len(open) == 1 {
		d.keep = open[0]
		return d, nil
	}
	if d.keep, err = c.byContents(blk, list); err != nil || d.keep >= 0 {
		return d, err
	}
	if d.keep, err = c.likelier(list, blk); err != nil || d.keep >= 0 {
		return d, err
	}
	d.keep, d.told = 0, false
	if len(open) > 0 {
		d.keep = open[0]
	}
	return d, nil
}

// inodeOfClaim is the inode of who claims a block.
func (c *checker) inodeOfClaim(x *claimant) *inode {
	i := c.walk.index.find(x.nid)
	if i < 0 || c.walk.index.nodes[i].inode < 0 {
		return nil
	}
	return &c.walk.inodes[c.walk.index.nodes[i].inode]
}

// byContents is which of a directory and files has a block, by whether it holds
// entries of that directory; -1 where that does not tell.
func (c *checker) byContents(blk uint32, list []claimant) (keep int, err error) {
	b, err := readBlock(c.d, c.g, blk)
	if err != nil {
		return -1, err
	}
	entries := newDentryBlock(b)
	var dirs, files []int
	for i := range list {
		x := c.inodeOfClaim(&list[i])
		switch {
		case x == nil:
			return -1, nil
		case !x.isDir():
			files = append(files, i)
		case x.advise&adviseEncrypted != 0 || c.walk.bodies[x.body].casefold:
			return -1, nil // hashes of names do not tell
		case entries.plausible(c.g, x.nid):
			dirs = append(dirs, i)
		}
	}
	switch {
	case len(dirs) == 1:
		return dirs[0], nil
	case len(dirs) == 0 && len(files) == 1:
		return files[0], nil
	}
	return -1, nil
}

// copies tells whether those who lose a block can have a copy: not of what a directory
// has, as names would be there twice, and not where no block can be given out.
func (c *checker) copies(d *dispute) bool {
	if c.g.ReadOnly() {
		return false
	}
	for i := range d.list {
		x := c.inodeOfClaim(&d.list[i])
		if x == nil || x.isDir() || c.g.isQuota(x.nid) {
			return false
		}
	}
	return true
}

// leaveTo has all pointers to a block but that of one lead elsewhere.
func (c *checker) leaveTo(blk uint32, d *dispute) error {
	for i, x := range d.list {
		if i == d.keep || x.off < 0 {
			continue
		}
		if err := c.leadFrom(blk, &x, d.own[i]); err != nil {
			return err
		}
	}
	d.list = nil // settled for all who were reported
	return nil
}

// leadFrom has a pointer lead from a block to another.
func (c *checker) leadFrom(blk uint32, x *claimant, to uint32) error {
	return c.editNode(x.addr, func(b nodeBlock) {
		if b.u32(x.off) == blk {
			b.put32(x.off, to)
		}
	})
}

// copyBlock gives all who claim a block but one what is theirs, or a copy.
func (c *checker) copyBlock(ctx context.Context, blk uint32, d *dispute) error {
	if c.unsafe {
		return vol.NotNow(whyUnsafe)
	}
	if err := c.roomFor(ctx, repairBlocks+uint64(len(d.list))); err != nil {
		return err
	}
	w := c.m.w
	b, err := readBlock(c.d, c.g, blk)
	if err != nil {
		return err
	}
	for i, x := range d.list {
		if i == d.keep || x.off < 0 {
			continue
		}
		to := d.own[i]
		if to == nullAddr {
			version := c.walk.index.nodes[c.walk.index.find(x.nid)].version
			if to, err = w.logs.alloc(warmData, x.nid, version, x.slot); err != nil {
				return err
			}
			w.validBlocks++
			if err := w.write(to, b); err != nil {
				return err
			}
		}
		if err := c.leadFrom(blk, &x, to); err != nil {
			return err
		}
	}
	d.list = nil
	return nil
}

// winner is which of those who claim a block has it: a node that lies there, or who
// the summary names; -1 for none.
func winner(list []claimant, e summary) (keep int) {
	for i, x := range list {
		if x.off < 0 {
			return i
		}
	}
	for i, x := range list {
		if x.nid == e.nid() && x.slot == e.offset() {
			return i
		}
	}
	return -1
}

// likelier is which of those who claim a block has it where the summary names none:
// the only one whose pointer beside this leads to the block beside it, as a log writes
// them; -1 where there is none, or where two share more than one block.
func (c *checker) likelier(list []claimant, blk uint32) (keep int, err error) {
	keep = -1
	for i, x := range list {
		beside, err := c.isBeside(&x, blk)
		switch {
		case err != nil:
			return -1, err
		case beside && keep >= 0:
			return -1, nil
		case beside:
			keep = i
		}
	}
	return keep, nil
}

// isBeside tells whether the pointer before that of x, or the one after it, leads to the
// block before blk, or after it.
func (c *checker) isBeside(x *claimant, blk uint32) (bool, error) {
	b, err := readBlock(c.d, c.g, x.addr)
	if err != nil || x.off < 0 {
		return false, err
	}
	n, role := nodeBlock(b), roleDirect
	if n.isInode() {
		role = roleInode
	}
	from, to := c.g.pointersOf(n, role)
	before, after := x.off-4, x.off+4
	return before >= from && n.u32(before) == blk-1 || after < to && n.u32(after) == blk+1, nil
}
