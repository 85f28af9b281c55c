package lfs

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// natFault is an entry of NAT that cannot be.
type natFault struct {
	n    node
	slug string
}

// stray is a node that SIT has as valid and NAT does not lead to.
type stray struct {
	addr, ino uint32
	sure      bool // its summary names it, too
}

// findStrays reads the blocks of nodes that NAT does not lead to: what was lost
// when NAT was damaged is among them. Of two with the same number the one counts
// that its summary names.
func (c *checker) findStrays() (map[uint32]stray, error) {
	if c.m.strays != nil {
		return c.m.strays, nil
	}
	led := map[uint32]bool{}
	for i := range c.walk.index.nodes {
		led[c.walk.index.nodes[i].addr] = true
	}
	strays := map[uint32]stray{}
	for segno := range c.g.MainSegments {
		valid := c.sit.segment(segno)
		if kind := c.sit.kind[segno]; kind < hotNode || kind >= logCount || valid == nil {
			continue
		}
		if err := c.straysOf(segno, valid, led, strays); err != nil {
			return nil, err
		}
	}
	c.m.strays = strays
	return strays, nil
}

func (c *checker) straysOf(segno uint32, valid []uint64, led map[uint32]bool, strays map[uint32]stray) error {
	if err := c.walk.ctx.Err(); err != nil {
		return err
	}
	var sum summaryBlock
	for at := range uint32(segmentBlocks) {
		blk := c.g.SegmentBlock(segno) + at
		if valid[at/64]>>(at%64)&1 == 0 || led[blk] || c.walk.claimed.Used(blk-c.g.Main) {
			continue
		}
		if sum == nil {
			var err error
			if sum, err = c.summaryOf(segno); err != nil {
				return err
			}
		}
		b, err := readBlock(c.d, c.g, blk)
		if err != nil {
			return err
		}
		n := nodeBlock(b)
		if n.nid() < rootIno || n.nid() >= c.g.NIDs() || n.ino() < rootIno || n.ino() >= c.g.NIDs() {
			continue
		}
		s := stray{blk, n.ino(), sum.entry(int(at)).nid() == n.nid()}
		if old, ok := strays[n.nid()]; !ok || s.sure || !old.sure {
			strays[n.nid()] = s
		}
	}
	return nil
}

// summaryOf is the summary of a segment, from the pack where a log writes there.
func (c *checker) summaryOf(segno uint32) (summaryBlock, error) {
	if log := c.s.logOf(segno); log >= 0 && c.s.logs[log] != nil {
		return c.s.logs[log], nil
	}
	sum := make(summaryBlock, c.g.SummaryBytes)
	if c.g.ReadOnly() {
		return sum, nil
	}
	_, err := c.d.ReadAt(sum, c.g.SummaryOff(segno))
	return sum, err
}

// checkEntries reports what is wrong with entries of NAT: the node is taken
// from where it is, if it is found, or the entry goes.
func (c *checker) checkEntries(r *vol.Report) error {
	for _, f := range c.entries {
		loc := c.natAt(f.n.nid)
		detail := vol.Detail("node %d of inode %d: %#x", f.n.nid, f.n.ino, f.n.addr)
		if f.slug == "nat-reserved" {
			addr := min(f.n.nid, 1)
			r.Found(c.cat.Found(f.slug, loc, vol.Detail("entry %d: inode %d, address %#x", f.n.nid, f.n.ino, f.n.addr)),
				c.natFix(f.n.nid, f.n.nid, addr))
			continue
		}
		strays, err := c.findStrays()
		if err != nil {
			return err
		}
		s, ok := strays[f.n.nid]
		if !ok && f.slug == "nat-owner" && c.g.ValidMain(f.n.addr) {
			if s, ok, err = c.ownerOf(&f.n); err != nil {
				return err
			}
		}
		fd := c.cat.Found(f.slug, loc, detail)
		switch {
		case ok && f.slug == "nat-address":
			fd.Offer = []string{fixRestore}
		case f.slug == "nat-address":
			fd.Offer = []string{fixRemove}
		}
		r.Found(fd, c.natFix(f.n.nid, s.ino, s.addr))
	}
	return nil
}

// ownerOf looks at the node that an entry without an owner leads to.
func (c *checker) ownerOf(n *node) (stray, bool, error) {
	b, err := readBlock(c.d, c.g, n.addr)
	if err != nil {
		return stray{}, false, err
	}
	x := nodeBlock(b)
	if x.nid() != n.nid || x.ino() < rootIno || x.ino() >= c.g.NIDs() {
		return stray{}, false, nil
	}
	return stray{addr: n.addr, ino: x.ino()}, true, nil
}

// natFix sets an entry of NAT; 0, 0 removes it.
func (c *checker) natFix(nid, ino, addr uint32) vol.Fix {
	return c.fix(gradeShape, func(ctx context.Context, _ vol.Repair) error { return c.setNAT(ctx, nid, ino, addr) })
}

// rootFix finds the root directory again.
func (c *checker) rootFix() vol.Fix {
	strays, err := c.findStrays()
	if err != nil {
		return nil
	}
	if s, ok := strays[rootIno]; ok && s.ino == rootIno {
		return c.natFix(rootIno, rootIno, s.addr)
	}
	if addr, ok := c.rootUnowned(); ok {
		return c.natFix(rootIno, rootIno, addr)
	}
	if i, ok := c.walk.inodeOf(rootIno); ok {
		return c.inodeFix(gradeShape, i, func(n nodeBlock) { n.put16(inodeMode, n.mode()&^modeType|modeDir) })
	}
	return nil
}

// rootUnowned is where the inode of the root directory is, if its entry of NAT is
// wrong in the owner alone: findStrays leaves out what an entry leads to.
func (c *checker) rootUnowned() (addr uint32, ok bool) {
	i := c.walk.index.find(rootIno)
	if i < 0 {
		return nullAddr, false
	}
	n := c.walk.index.nodes[i]
	if n.ino == rootIno || !c.g.ValidMain(n.addr) {
		return nullAddr, false
	}
	s, ok, err := c.ownerOf(&n)
	return n.addr, err == nil && ok && s.ino == rootIno
}

// footerFix mends an entry of NAT that leads to another node, or to one with a
// damaged footer: that one is told by its summary.
func (c *checker) footerFix(n *note) (vol.Fix, []string) {
	i := c.walk.index.find(n.from)
	if i < 0 {
		return nil, nil
	}
	x := c.walk.index.nodes[i]
	at, err := c.exchanged(&x)
	switch {
	case err != nil:
		return nil, nil
	case at != nullAddr:
		return c.backFix(x.nid, c.natFix(x.nid, x.ino, at)), []string{fixRestore}
	}
	sum, err := c.summaryOf(c.g.SegmentOf(x.addr))
	if err != nil {
		return nil, nil
	}
	may, err := c.mayBeNode(&x)
	if err != nil {
		return nil, nil
	}
	if may && sum.entry(int(c.g.IndexOf(x.addr))).nid() == x.nid && !c.walk.claimed.Used(x.addr-c.g.Main) {
		return c.backFix(x.nid, c.fix(gradeShape, func(context.Context, vol.Repair) error {
			return c.editNode(x.addr, func(b nodeBlock) {
				b.put32(len(b)-footerNid, x.nid)
				b.put32(len(b)-footerIno, x.ino)
			})
		})), []string{fixSet}
	}
	strays, err := c.findStrays()
	if err != nil {
		return nil, nil
	}
	if s, ok := strays[x.nid]; ok {
		return c.backFix(x.nid, c.natFix(x.nid, s.ino, s.addr)), []string{fixRestore}
	}
	return c.natFix(x.nid, 0, 0), []string{fixRemove}
}

// backFix notes which node a fix has brought back: what leads to it is right then,
// and is looked at again in the next round.
func (c *checker) backFix(nid uint32, fix vol.Fix) vol.Fix {
	return func(ctx context.Context, r vol.Repair) error {
		err := fix(ctx, r)
		if err == nil {
			c.m.back[nid] = true
		}
		return err
	}
}

// mayBeNode tells whether a block without the footer of a node may be that node: it is
// no copy of another one, and an inode has other fields, of which one may be damaged,
// too. What is none would lead to the blocks of others.
func (c *checker) mayBeNode(x *node) (bool, error) {
	b, err := readBlock(c.d, c.g, x.addr)
	if err != nil {
		return false, err
	}
	if copied, err := c.isCopy(x, b); copied || err != nil {
		return false, err
	}
	if x.nid != x.ino {
		return true, nil
	}
	n, good := nodeBlock(b), 0
	for _, ok := range []bool{
		modeOfKind(kindOf(n.fileType())) != 0,
		n.nameLen() <= maxNameLen && (n.nameLen() > 0 || x.nid == rootIno || c.g.isQuota(x.nid)),
		n.blocks() > 0 && n.blocks() <= c.g.maxFilePages(),
		n.size()/uint64(c.g.BlockSize) <= c.g.maxFilePages(),
	} {
		if ok {
			good++
		}
	}
	return good >= 3, nil
}

// isCopy tells whether a block that should be a node is the copy of another one, which
// is where NAT says.
func (c *checker) isCopy(x *node, b nodeBlock) (bool, error) {
	k := c.walk.index.find(b.nid())
	if k < 0 {
		return false, nil
	}
	y := &c.walk.index.nodes[k]
	if y.nid == x.nid || y.addr == x.addr || y.ino != b.ino() || !c.g.ValidMain(y.addr) {
		return false, nil
	}
	there, err := readBlock(c.d, c.g, y.addr)
	return err == nil && nodeBlock(there).nid() == y.nid && nodeBlock(there).ino() == y.ino, err
}

// exchanged is the block of a node where that and another one stand in the place of
// each other, nullAddr where they do not. Both are whole, and say who they are; with
// footers that say what NAT does each file would hold what the other one has.
func (c *checker) exchanged(x *node) (uint32, error) {
	b, err := readBlock(c.d, c.g, x.addr)
	if err != nil {
		return nullAddr, err
	}
	k := c.walk.index.find(nodeBlock(b).nid())
	if k < 0 {
		return nullAddr, nil
	}
	y := &c.walk.index.nodes[k]
	if y.nid == x.nid || y.ino != nodeBlock(b).ino() || !c.g.ValidMain(y.addr) {
		return nullAddr, nil
	}
	if b, err = readBlock(c.d, c.g, y.addr); err != nil || nodeBlock(b).nid() != x.nid || nodeBlock(b).ino() != x.ino {
		return nullAddr, err
	}
	return y.addr, nil
}

// lostFrom is the node of an inode that belongs to a place of the file and that
// nothing leads to.
func (c *checker) lostFrom(ino, place uint32) (nid uint32, ok bool, err error) {
	w := c.walk
	if c.lost == nil {
		lost := map[uint64]uint32{}
		for i := range w.index.nodes {
			x := &w.index.nodes[i]
			if x.role != roleNone || !w.g.ValidMain(x.addr) {
				continue
			}
			if err := w.ctx.Err(); err != nil {
				return 0, false, err
			}
			b, err := readBlock(c.d, c.g, x.addr)
			if err != nil {
				return 0, false, err
			}
			if n := nodeBlock(b); n.nid() == x.nid && n.ino() == x.ino {
				lost[uint64(x.ino)<<32|uint64(n.place())] = x.nid
			}
		}
		c.lost = lost
	}
	nid, ok = c.lost[uint64(ino)<<32|uint64(place)]
	return nid, ok, nil
}

// pointerFix mends a pointer to a node: by an entry of NAT that was lost, by the
// node that belongs there, or by clearing it.
func (c *checker) pointerFix(n *note) (vol.Fix, []string) {
	nid, _ := n.got.(uint32)
	ino := c.walk.inodes[n.inode].nid
	if n.slug == "node-pointer" && nid < c.g.NIDs() && c.walk.index.find(nid) < 0 {
		strays, err := c.findStrays()
		if err != nil {
			return nil, nil // what cannot be read may be it
		}
		if s, ok := strays[nid]; ok && s.ino == ino {
			return c.natFix(nid, s.ino, s.addr), []string{fixRestore}
		}
	}
	right, ok, err := c.lostFrom(ino, n.place)
	switch {
	case err != nil:
		return nil, nil
	case ok:
		return c.wordFix(n, right), []string{fixRestore}
	}
	return c.wordFix(n, 0), []string{fixClear}
}

// wordFix sets the pointer that a note is about.
func (c *checker) wordFix(n *note, v uint32) vol.Fix {
	i := c.walk.index.find(n.from)
	if i < 0 {
		return nil
	}
	addr := c.walk.index.nodes[i].addr
	return c.fix(gradeShape, func(context.Context, vol.Repair) error {
		return c.editNode(addr, func(b nodeBlock) { b.put32(int(n.word), v) })
	})
}

// reservedNodes looks for the entries of NAT that stand for the address spaces
// of nodes and metadata, which are always there.
func (c *checker) reservedNodes(nodes []node) {
	for nid := uint32(nodeIno); nid <= metaIno; nid++ {
		if !slices.ContainsFunc(nodes[:min(len(nodes), rootIno)], func(n node) bool { return n.nid == nid }) {
			c.entries = append(c.entries, natFault{node{nid: nid}, "nat-reserved"})
		}
	}
}

// takeXattrs takes over the node with attributes, [Linux] behaviour
// f2fs_recover_xattr_data().
func (r *replay) takeXattrs(h *handle, n nodeBlock) error {
	var x nodeBlock
	var err error
	if nid := h.b.xattrNid(); nid != 0 {
		x, err = r.w.part(nid, h.nid)
	} else if x, err = r.w.newNode(h.nid, xattrPlace, false); err == nil {
		h.addBlocks(1)
		h.b.put32(inodeXattrNid, x.nid())
	}
	if err != nil {
		return err
	}
	copy(x[:len(x)-footerLen], n)
	return r.w.putNode(x)
}
