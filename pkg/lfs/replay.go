package lfs

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// settle has the next checkpoint end the log of synced nodes.
func (c *checker) settle(change func(ctx context.Context) error) vol.Fix {
	if c.o.NoReplay {
		return nil
	}
	return c.fix(gradeShape, func(ctx context.Context, _ vol.Repair) error {
		c.m.unsettled = false
		if change != nil {
			return change(ctx)
		}
		_, err := c.writer(ctx)
		return err
	})
}

// discardFix gives the log of synced nodes up: a new checkpoint has another
// version, so that nothing follows it.
func (c *checker) discardFix() vol.Fix { return c.settle(nil) }

// replayFix carries the log of synced nodes out, or gives it up. One that is
// damaged can only be given up.
func (c *checker) replayFix(sound bool) (vol.Fix, []string) {
	if c.o.NoReplay {
		return nil, nil
	}
	if c.o.DiscardLog || !sound {
		return c.discardFix(), []string{fixDiscard}
	}
	fix := c.settle(func(ctx context.Context) error { return c.replay(ctx) })
	return func(ctx context.Context, r vol.Repair) error {
		if r.Name == fixDiscard {
			return c.discardFix()(ctx, r)
		}
		return fix(ctx, r)
	}, nil
}

// replay carries the log of synced nodes out as a mount does, [Linux] behaviour
// f2fs_recover_fsync_data(): of each file that has a node with the mark of a sync,
// what its nodes say up to the last of those counts.
type replay struct {
	c     *checker
	ctx   context.Context
	w     *writer
	files map[uint32]*replayed
	owner map[uint32]fileBlock // of the blocks that were taken over
}

// replayed is a file of which there are synced nodes.
type replayed struct {
	last   uint32 // block of the last node with the mark
	dentry uint32 // of the last inode with the mark of a new name
	born   uint32 // of the first one of these, where there was no file at the checkpoint; else 0
	done   bool
	skip   bool
}

type fileBlock struct {
	ino  uint32
	page uint64
}

func (c *checker) replay(ctx context.Context) error {
	if c.m.w != nil {
		return vol.ErrNotNow
	}
	if err := c.needSIT(ctx); err != nil {
		return err
	}
	// Where the log and its blocks are nothing else is written.
	c.m.avoid = c.rec.segments
	c.m.placing = map[int]bool{}
	for i := range logCount {
		if segno := c.s.cp.logSegment(i); segno < c.g.MainSegments && c.rec.segments.Used(segno) {
			c.m.placing[i] = true
		}
	}
	for _, f := range c.wrongPlaces() {
		c.m.placing[f.log] = true // nothing is replayed without, see checkReplay
	}
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	r := &replay{c: c, ctx: ctx, w: w, files: map[uint32]*replayed{}, owner: map[uint32]fileBlock{}}
	if err := r.each(r.mark); err != nil {
		return err
	}
	// [Linux] behaviour: quotas are on while the log is replayed, and count.
	c.m.counted = !c.s.cp.has(cpQuotaFsck)
	return r.each(r.apply)
}

// each calls fn with every node of the log, and notes the one that it came to.
func (r *replay) each(fn func(blk uint32, n nodeBlock) error) error {
	blk := r.c.rec.first
	for range r.c.rec.nodes {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		b, err := readBlock(r.c.d, r.c.g, blk)
		if err == nil {
			r.c.rec.badAt = blk
			err = fn(blk, nodeBlock(b))
		}
		if err != nil {
			return err
		}
		blk = nodeBlock(b).next()
	}
	return nil
}

// mark notes which files were synced, [Linux] behaviour find_fsync_dnodes().
func (r *replay) mark(blk uint32, n nodeBlock) error {
	if n.nodeFlag()&footerFsync == 0 {
		return nil
	}
	named := n.isInode() && n.nodeFlag()&footerDentry != 0
	f := r.files[n.ino()]
	if f == nil {
		var err error
		if f, err = r.begin(blk, n.ino(), named); err != nil || f == nil {
			return err
		}
		r.files[n.ino()] = f
	}
	if f.last = blk; named {
		f.dentry = blk
	}
	return nil
}

// begin is for the first node of a file. One that is new counts from its inode
// on: nodes are written in the order of their numbers, so that others of it may
// come before that. Its number is taken at once, as what is replayed is given
// numbers that are free.
func (r *replay) begin(blk, ino uint32, named bool) (*replayed, error) {
	if ino <= rootIno || ino >= r.c.g.NIDs() || slices.Contains(r.c.orphans, ino) {
		return &replayed{skip: true}, nil
	}
	e, err := r.w.nat.get(ino)
	switch {
	case err != nil:
		return nil, err
	case r.c.g.ValidMain(e.addr()):
		return &replayed{}, nil
	case !named:
		return nil, nil
	}
	return &replayed{born: blk}, r.w.takeInode(ino)
}

// apply takes over what a node says, [Linux] behaviour recover_data().
func (r *replay) apply(blk uint32, n nodeBlock) error {
	f := r.files[n.ino()]
	if f == nil || f.skip || f.done {
		return nil
	}
	h, err := r.file(f, n.ino())
	if err != nil {
		return err
	}
	if h.b.isDir() || n.isInode() && n.fileType() != h.b.fileType() {
		return damagedf("the log of synced files has inode %d, which is no regular file", h.nid)
	}
	if n.isInode() {
		r.takeInode(h, n)
	}
	if f.dentry == blk {
		if err := r.link(h, n); err != nil {
			return err
		}
	}
	if err := r.takeData(h, n); err != nil {
		return err
	}
	if f.done = f.last == blk; !f.done {
		return nil
	}
	// Nothing of it is to come, and there may be very many.
	delete(r.c.m.handles, h.nid)
	return h.store()
}

// file opens a file, or makes the one that was new, [Linux] behaviour
// f2fs_recover_inode_page(): without a block.
func (r *replay) file(f *replayed, ino uint32) (*handle, error) {
	if f.born == 0 || r.c.m.handles[ino] != nil {
		return r.c.handle(r.ctx, ino)
	}
	b, err := readBlock(r.c.d, r.c.g, f.born)
	if err != nil {
		return nil, err
	}
	n := nodeBlock(b)
	if n.inline()&(inlineData|inlineDentry) == 0 {
		clear(n[inodeAddrs+4*r.c.g.extraWords(n) : inodeAddrs+4*(n.words()-r.c.g.xattrWords(n))])
	}
	n.clearChildren()
	n.put32(inodeXattrNid, 0)
	n.put64(inodeBlocks, 1)
	n.put32(inodeLinks, 1)
	clear(n[inodeExtent:inodeAddrs])
	h := &handle{w: r.w, path: textf("<inode %d>", ino), nid: ino, b: n}
	r.w.charge(n, 0, 1)
	r.c.m.handles[ino] = h
	return h, nil
}

// takeInode takes the fields of an inode over, and the attributes in it; not
// its names, links and pointers. [Linux] behaviour recover_inode(),
// recover_inline_xattr().
func (r *replay) takeInode(h *handle, n nodeBlock) {
	const names = inodeDepth
	// It may come to belong to others: [Linux] behaviour recover_quota_data().
	space := int64(h.b.blocks()-1) * r.c.g.BlockSize
	r.w.charge(h.b, -space, -1)
	defer func() { r.w.charge(h.b, space, 1) }()
	for _, f := range [][2]int{{inodeMode, inodeInline}, {inodeUID, inodeLinks}, {inodeSize, inodeBlocks}, {inodeAtime, names}, {inodeFlags, inodeParent}} {
		copy(h.b[f[0]:f[1]], n[f[0]:f[1]])
	}
	const taken = inlineXattr | inlineExtra | inlinePinned
	h.b[inodeInline] = h.b[inodeInline]&^taken | n.inline()&taken
	if first := r.c.g.extraWords(n); first > 0 {
		copy(h.b[inodeAddrs:inodeAddrs+4*first], n[inodeAddrs:inodeAddrs+4*first])
	}
	if n.inline()&inlineXattr != 0 {
		from, to := inodeAddrs+4*(n.words()-r.c.g.xattrWords(n)), inodeAddrs+4*n.words()
		copy(h.b[from:to], n[from:to])
	}
}

// takeData takes over what a node holds or leads to, [Linux] behaviour
// do_recover_data().
func (r *replay) takeData(h *handle, n nodeBlock) error {
	if !n.isInode() && n.place() == xattrPlace {
		return r.takeXattrs(h, n)
	}
	if n.isInode() {
		if t := n.fileType(); t != modeFile && t != modeSymlink {
			return nil
		}
		inline, err := r.takeInline(h, n)
		if inline || err != nil {
			return err
		}
		first, count := h.slots()
		return r.takePointers(h, 0, n[inodeAddrs+4*first:][:4*count])
	}
	page, ok := h.firstPage(n.place())
	if !ok {
		return nil // an indirect node is none of the log
	}
	return r.takePointers(h, page, n[:4*h.leafSlots()])
}

// takeInline takes data over that is in the inode, [Linux] behaviour
// f2fs_recover_inline_data().
func (r *replay) takeInline(h *handle, n nodeBlock) (bool, error) {
	const flags = inlineData | inlineExist
	if n.inline()&inlineData == 0 {
		if h.b.inline()&inlineData != 0 {
			clear(h.w.g.inlineArea(h.b))
			h.b[inodeInline] &^= flags
		}
		return false, nil
	}
	if h.b.inline()&inlineData == 0 {
		if err := h.eachNode(0, h.w.g.pages(int64(min(h.b.size(), 1<<60)))+1, false, func(p *pointers, page uint64, first, end int) error {
			for word := first; word < end; word++ {
				if err := r.set(h, p, word, page+uint64(word-first), nullAddr); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return true, err
		}
	}
	h.b[inodeInline] = h.b[inodeInline]&^flags | n.inline()&flags
	from := inodeAddrs + 4*r.c.g.extraWords(n)
	to := inodeAddrs + 4*(n.words()-r.c.g.xattrWords(n))
	copy(h.b[from:to], n[from:to])
	return true, nil
}

// takePointers takes the pointers of a node over, one by one, so that blocks
// that are no longer led to are given back.
func (r *replay) takePointers(h *handle, page uint64, words nodeBlock) error {
	for i := 0; i < len(words); {
		at := page + uint64(i/4)
		p, way, err := h.at(at, false)
		if err != nil {
			return err
		}
		n := min(len(words)/4-i/4, int(way.next-at))
		if p == nil {
			if dev.AllZero(words[i : i+4*n]) {
				i += 4 * n
				continue
			}
			if p, way, err = h.at(at, true); err != nil {
				return err
			}
		}
		for k := range n {
			if err := r.set(h, p, way.slot+k, at+uint64(k), words.u32(i+4*k)); err != nil {
				return err
			}
		}
		if err := p.store(); err != nil {
			return err
		}
		i += 4 * n
	}
	return nil
}

// set has a pointer lead to another block.
func (r *replay) set(h *handle, p *pointers, word int, page uint64, to uint32) error {
	w := r.w
	from := p.get(word)
	if from == to {
		return nil
	}
	h.forget(page, page+1)
	if from != nullAddr {
		if w.g.ValidMain(from) {
			if err := w.sit.release(from, 1); err != nil {
				return err
			}
			delete(r.owner, from)
		}
		w.validBlocks--
		h.addBlocks(-1)
	}
	p.set(word, to)
	if to == nullAddr {
		return nil
	}
	h.reach(page)
	w.validBlocks++
	h.addBlocks(1)
	if !w.g.ValidMain(to) {
		return nil
	}
	return r.take(h, p, word, page, to)
}

// reach has a file reach as far as a block that a log gives it, [Linux] behaviour
// do_recover_data(): also where that is a reservation beyond the size that its synced
// inode has, unless that says that it is meant to be so.
func (h *handle) reach(page uint64) {
	bs := uint64(h.w.g.BlockSize)
	if !h.has(adviseKeepSize) && h.b.size() <= page*bs {
		h.b.put64(inodeSize, (page+1)*bs)
	}
}

// take has SIT and SSA know whose a block is. One that the log gave to another
// file before was given up by that.
func (r *replay) take(h *handle, p *pointers, word int, page uint64, addr uint32) error {
	w := r.w
	if w.sit.valid(addr) {
		o, ok := r.owner[addr]
		if !ok {
			return damagedf("the log of synced files leads to block %d, which is in use", addr)
		}
		if err := r.dropBlock(o); err != nil {
			return err
		}
	}
	segno := w.g.SegmentOf(addr)
	kind := w.sit.kindOf(segno)
	if w.sit.count[segno] == 0 || kind >= hotNode {
		kind = h.dataLog()
		end := w.g.SummaryOff(segno) + w.g.SummaryBytes
		if err := vol.Patch(w.d, end-summaryFooterLen, 1, func(b []byte) { b[0] = summaryData }); err != nil {
			return err
		}
	}
	w.sit.take(addr, 1, kind)
	r.owner[addr] = fileBlock{h.nid, page}
	return vol.Patch(w.d, w.g.SummaryOff(segno)+int64(w.g.IndexOf(addr))*summaryLen, summaryLen, func(b []byte) {
		summary(b).put(p.nid, p.version, p.slot(word))
	})
}

// dropBlock takes a block from a file that had it.
func (r *replay) dropBlock(o fileBlock) error {
	h, err := r.c.handle(r.ctx, o.ino)
	if err != nil {
		return err
	}
	p, way, err := h.at(o.page, false)
	if err != nil || p == nil {
		return err
	}
	if err := r.set(h, p, way.slot, o.page, nullAddr); err != nil {
		return err
	}
	return p.store()
}
