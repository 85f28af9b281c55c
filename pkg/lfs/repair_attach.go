package lfs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// lostFile is what is left of a file whose inode is gone: its nodes, which say
// where in the file they are.
type lostFile struct {
	nodes  []lostNode
	direct bool // there is one with data
	done   bool
}

// goneBlock is a block that nothing leads to, and which pointer of its node did.
type goneBlock struct {
	slot uint16
	blk  uint32
}

type lostNode struct {
	nid, place uint32
	blocks     uint64 // itself, and what it leads to
	pages      uint64 // behind the last block in it, from its first page
}

// lostNodeFix is for a node that nothing leads to: its file leads to it again,
// or what is left of the file goes to lost+found.
func (c *checker) lostNodeFix(n *note) (vol.Fix, []string) {
	free := c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error { return c.setNAT(ctx, n.from, 0, nullAddr) })
	b, ok, err := c.soundNode(n.from)
	switch {
	case err != nil:
		return nil, nil // it may be one that can be had again
	case !ok:
		return free, []string{fixFree}
	}
	if i, ok := c.walk.inodeOf(b.ino()); ok {
		if fix := c.attachFix(i, b); fix != nil {
			return chosen(fix, free), []string{fixRestore, fixFree}
		}
		return free, []string{fixFree}
	}
	f := c.lostFile(b.ino())
	if f == nil || !f.direct || b.place() == xattrPlace {
		return free, []string{fixFree}
	}
	rescue := c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error { return c.rescueNodes(ctx, b.ino(), f) })
	return chosen(rescue, free), []string{fixRescue, fixFree}
}

// chosen is the first fix, or the second where that is what is asked for: to
// free.
func chosen(keep, free vol.Fix) vol.Fix {
	return func(ctx context.Context, r vol.Repair) error {
		if r.Name == fixFree {
			return free(ctx, r)
		}
		return keep(ctx, r)
	}
}

// soundNode reads a node that nothing leads to. ok tells whether it is the one
// that NAT says, and valid to SIT.
func (c *checker) soundNode(nid uint32) (b nodeBlock, ok bool, err error) {
	i := c.walk.index.find(nid)
	if i < 0 {
		return nil, false, c.walk.ctx.Err()
	}
	x := &c.walk.index.nodes[i]
	if x.nid == x.ino || !c.g.ValidMain(x.addr) || !c.sit.valid.Used(x.addr-c.g.Main) || c.walk.claimed.Used(x.addr-c.g.Main) {
		return nil, false, c.walk.ctx.Err()
	}
	block, err := readBlock(c.d, c.g, x.addr)
	b = block
	return b, err == nil && b.nid() == x.nid && b.ino() == x.ino, err
}

// attachFix has an inode, or the node on the way, lead to a node again, if there
// is a pointer for it that leads nowhere.
func (c *checker) attachFix(i int32, b nodeBlock) vol.Fix {
	x := &c.walk.inodes[i]
	if x.fileType() != modeFile && x.fileType() != modeDir && (x.fileType() != modeSymlink || b.place() != xattrPlace) {
		return nil
	}
	block, err := readBlock(c.d, c.g, c.walk.index.nodes[x.node].addr)
	if err != nil {
		return nil
	}
	n, addr := nodeBlock(block), c.walk.index.nodes[x.node].addr
	if b.place() == xattrPlace {
		if n.xattrNid() != 0 {
			return nil
		}
		return c.inodeFix(gradeShape, i, func(n nodeBlock) { n.put32(inodeXattrNid, b.nid()) })
	}
	way, depth := c.g.stepsTo(b.place())
	if depth == 0 || n.inline()&(inlineData|inlineDentry) != 0 {
		return nil
	}
	for k, st := range way[:depth] {
		off := 4 * st.word
		if k == 0 {
			off += inodeAddrs
		}
		next := n.u32(off)
		switch {
		case k == depth-1 && next != 0:
			return nil
		case k == depth-1:
			return c.fix(gradeShape, func(context.Context, vol.Repair) error {
				return c.editNode(addr, func(n nodeBlock) { n.put32(off, b.nid()) })
			})
		case next == 0: // the nodes on the way are made
			return c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error { return c.attachTo(ctx, x.nid, b) })
		}
		at := c.walk.index.find(next)
		if at < 0 || c.walk.index.nodes[at].role == roleNone || !c.g.ValidMain(c.walk.index.nodes[at].addr) {
			return nil
		}
		addr = c.walk.index.nodes[at].addr
		if block, err = readBlock(c.d, c.g, addr); err != nil {
			return nil
		}
		n = block
	}
	return nil
}

// attachTo has a file lead to a node that it lost together with the one on the
// way.
func (c *checker) attachTo(ctx context.Context, ino uint32, b nodeBlock) error {
	if err := c.spare(ctx, repairBlocks); err != nil {
		return err
	}
	h, err := c.handle(ctx, ino)
	if err != nil {
		return err
	}
	return notNow(h.attach(b.nid(), b.place()))
}

// attach has the file lead to a node at a place of it, and makes those on the
// way that are missing. What is taken stays: then nothing is changed.
func (h *handle) attach(nid, place uint32) error {
	way, depth := h.w.g.stepsTo(place)
	if depth == 0 {
		return damagedf("%s: a file has no node at place %d", h.path, place)
	}
	n := h.b
	for k, st := range way[:depth] {
		off := nodeOffset(n) + 4*st.word
		next := n.u32(off)
		switch {
		case k == depth-1 && next == nid:
			return nil
		case k == depth-1 && next != 0:
			return damagedf("%s: it leads to node %d where node %d was", h.path, next, nid)
		case k == depth-1:
			n.put32(off, nid)
			if n.isInode() {
				return nil
			}
			return h.w.putNode(n)
		}
		child, err := nodeBlock(nil), error(nil)
		if next != 0 {
			child, err = h.w.part(next, h.nid)
		} else if err = h.w.room(h.path, uint64(depth)); err == nil {
			if child, err = h.newNode(n, st, false); err == nil {
				err = h.w.putNode(child)
			}
		}
		if err != nil {
			return err
		}
		n = child
	}
	return nil
}

// lostFile is what is left of a file, by the number that its inode had; nil
// where that cannot be had again.
func (c *checker) lostFile(ino uint32) *lostFile {
	if c.lostFiles == nil {
		c.lostFiles = map[uint32]*lostFile{}
		for i := range c.walk.index.nodes {
			x := &c.walk.index.nodes[i]
			if x.role != roleNone || x.ino < firstNid || x.ino >= c.g.NIDs() || c.walk.index.find(x.ino) >= 0 {
				continue
			}
			if b, ok, err := c.soundNode(x.nid); err == nil && ok && b.place() != xattrPlace {
				c.takeLost(b)
			}
		}
	}
	return c.lostFiles[ino]
}

// takeLost adds a node to what is left of its file.
func (c *checker) takeLost(b nodeBlock) {
	per := c.g.per().nodeSlots()
	f := c.lostFiles[b.ino()]
	if f == nil {
		f = &lostFile{}
		c.lostFiles[b.ino()] = f
	}
	n := lostNode{nid: b.nid(), place: b.place(), blocks: 1}
	if !isIndirect(b.place(), uint32(per)) {
		for i := range per {
			if b.slot(i) != nullAddr {
				n.blocks++
				n.pages = uint64(i) + 1
			}
		}
		f.direct = f.direct || n.pages > 0 && !c.ofDirectory(b)
	}
	f.nodes = append(f.nodes, n)
}

// ofDirectory tells whether a direct node is one of a directory: what was in
// that is a file without a name by now.
func (c *checker) ofDirectory(b nodeBlock) bool {
	if b.nodeFlag()&footerCold != 0 {
		return false
	}
	for i := range c.g.per().nodeSlots() {
		if a := b.slot(i); c.g.ValidMain(a) {
			block, err := readBlock(c.d, c.g, a)
			return err == nil && newDentryBlock(block).plausible(c.g, b.ino())
		}
	}
	return false
}

// rescueNodes makes an inode with the number of the one that is gone, which is
// what the nodes say of whose they are, and links it in lost+found.
func (c *checker) rescueNodes(ctx context.Context, ino uint32, f *lostFile) error {
	if f.done {
		return nil
	}
	if err := c.spare(ctx, uint64(4*len(f.nodes)+repairBlocks)); err != nil {
		return err
	}
	to, err := c.lostFound(ctx)
	if err != nil {
		return err
	}
	name, err := to.freeName(textf("#%d", ino))
	if err != nil {
		return notNow(err)
	}
	w := to.w
	if err := w.takeInode(ino); err != nil {
		return err
	}
	h := &handle{w: w, path: name.path(to), nid: ino, b: to.newInode(ino, name.name, modeFile|0o600)}
	if err := to.add(&name, ino, typeFile); err != nil {
		return err
	}
	if err := c.fillInode(h); err != nil {
		return err
	}
	if err := h.attachAll(f); err != nil {
		return err
	}
	c.m.handles[ino], f.done = h, true
	return nil
}

// fillInode has the inode of a file that was lost lead to the blocks whose
// summaries say that it did.
func (c *checker) fillInode(h *handle) error {
	if _, err := c.ownBlock(h.nid, 0); err != nil { // its search fills goneBlocks
		return err
	}
	first, n := h.slots()
	for _, x := range c.goneBlocks[h.nid] {
		if int(x.slot) >= n { // so it had no room for attributes
			h.b[inodeInline] &^= inlineXattr
			first, n = h.slots()
		}
	}
	for _, x := range c.goneBlocks[h.nid] {
		if int(x.slot) < n && h.b.word(first+int(x.slot)) == nullAddr {
			h.b.putWord(first+int(x.slot), x.blk)
			h.addBlocks(1)
			h.b.put64(inodeSize, max(h.b.size(), (uint64(x.slot)+1)*uint64(h.w.g.BlockSize)))
		}
	}
	return nil
}

// attachAll has a file lead to all that is left of its nodes: those that lead to
// others first. What finds its place taken stays lost.
func (h *handle) attachAll(f *lostFile) error {
	g := h.w.g
	order := func(n lostNode) int {
		_, depth := g.stepsTo(n.place)
		if !isIndirect(n.place, uint32(g.per().nodeSlots())) {
			return len(h.inner) + 2 + depth
		}
		return depth
	}
	slices.SortFunc(f.nodes, func(a, b lostNode) int {
		return cmp.Or(order(a)-order(b), cmp.Compare(a.place, b.place))
	})
	for _, n := range f.nodes {
		if err := h.attach(n.nid, n.place); err != nil {
			if !errors.Is(notNow(err), vol.ErrNotNow) {
				return err
			}
			continue
		}
		h.addBlocks(int64(n.blocks))
		if page, ok := h.firstPage(n.place); ok && n.pages > 0 {
			h.b.put64(inodeSize, max(h.b.size(), (page+n.pages)*uint64(g.BlockSize)))
		}
	}
	return nil
}

// freeName is a name that the directory does not have: the one given if it can
// be.
func (h *handle) freeName(name string) (dirName, error) {
	n, err := h.nameIn(name)
	if err != nil {
		return n, err
	}
	if ino, _, err := h.lookup(&n); err != nil || ino == 0 {
		return n, err
	}
	return h.unused(n.name)
}

func (n *dirName) path(dir *handle) string { return vol.JoinPath(dir.path, string(n.name)) }
