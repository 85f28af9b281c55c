package lfs

import (
	"context"
	"errors"

	"github.com/fatkit/fatkit/pkg/vol"
)

// unreachableFix puts a file without a name into lost+found, or frees it.
func (c *checker) unreachableFix(i int32) vol.Fix {
	return c.fix(gradeLost, func(ctx context.Context, r vol.Repair) error {
		x := &c.walk.inodes[i]
		if err := c.placeable(); err != nil {
			return err
		}
		if r.Name == fixFree {
			if x.isDir() {
				return vol.ErrNotNow // what is in it comes first
			}
			return c.freeInode(ctx, x.nid)
		}
		if x.names > 0 && !c.breaks(i) {
			return vol.ErrNotNow // with the directory that it is in
		}
		return c.rescue(ctx, i)
	})
}

// breaks tells whether a directory is the one of a ring of directories at which
// that is cut: there is nothing else that is lost and has no entry.
func (c *checker) breaks(i int32) bool {
	if c.ring == nil {
		ring := int32(-1)
		for k := range c.walk.inodes {
			x := &c.walk.inodes[k]
			switch {
			case x.reached:
			case x.names == 0:
				ring = -2
			case ring == -1 && x.isDir():
				ring = int32(k)
			}
		}
		c.ring = &ring
	}
	return *c.ring == i
}

// rescue links an inode in lost+found, under its number.
func (c *checker) rescue(ctx context.Context, i int32) error {
	x := &c.walk.inodes[i]
	if err := c.spare(ctx, repairBlocks); err != nil {
		return err
	}
	to, err := c.lostFound(ctx)
	if err != nil {
		return err
	}
	n, err := to.freeName(textf("#%d", x.nid))
	if err != nil {
		return notNow(err)
	}
	if err := to.add(&n, x.nid, kindOf(x.fileType())); err != nil {
		return notNow(err)
	}
	if x.isDir() {
		to.b.put32(inodeLinks, to.b.links()+1)
		if err := c.setDot(i, 2, to.nid); err != nil && !errors.Is(err, vol.ErrNotNow) {
			return err
		}
	}
	if x.names > 0 {
		e := &c.walk.entries[x.entry]
		if err := c.dropEntry(e); err != nil {
			return err
		}
	}
	return c.editInode(i, func(b nodeBlock) {
		if !x.isDir() {
			b.put32(inodeLinks, 1)
		}
		b.put32(inodeParent, to.nid)
		b.putName(n.name)
		b[inodeAdvise] &^= adviseLostParent | adviseEncryptedName
	})
}

// dropEntry removes an entry where it is.
func (c *checker) dropEntry(e *dirEntry) error {
	n := nameSlots(int(e.nameLen))
	if c.inlineDir(e.dir) {
		return c.editInode(e.dir, func(b nodeBlock) { newDentryBlock(c.g.inlineArea(b)).dropSlots(int(e.off), n) })
	}
	return vol.Patch(c.d, c.g.BlockOff(e.blk), c.g.BlockSize, func(b []byte) { newDentryBlock(b).dropSlots(int(e.off), n) })
}

// lostFound opens the directory for what was lost, which is made if it is not
// there, whatever the features say.
func (c *checker) lostFound(ctx context.Context) (*handle, error) {
	if c.m.lostFound != nil {
		return c.m.lostFound, nil
	}
	root, err := c.handle(ctx, rootIno)
	if err != nil {
		return nil, err
	}
	name := "lost+found"
	for k := 1; ; k++ {
		n, err := root.nameIn(name)
		if err != nil {
			return nil, notNow(err)
		}
		ino, kind, err := root.lookup(&n)
		if err != nil {
			return nil, notNow(err)
		}
		var h *handle
		switch {
		case ino == 0:
			h, err = root.create(&n, modeDir|0o700)
			if err != nil {
				return nil, notNow(err)
			}
			c.m.handles[h.nid] = h
		case kind != typeDir:
			name = textf("lost+found~%d", k)
			continue
		default:
			if h, err = c.handle(ctx, ino); err != nil {
				return nil, err
			}
		}
		c.m.lostFound = h
		return h, nil
	}
}

// freeInode gives all blocks and nodes of a file back, as deleting it does.
func (c *checker) freeInode(ctx context.Context, ino uint32) error {
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	b, err := w.node(ino, ino)
	if err != nil {
		return notNow(err)
	}
	before := w.validBlocks
	f := newFreer(w, b)
	if from, to := c.g.pointersOf(b, roleInode); to > from {
		if err := f.contents(b, b[from:to]); err != nil {
			return err
		}
	}
	if err := f.inode(b); err != nil {
		return err
	}
	w.charge(b, -(int64(before-w.validBlocks)-1)*c.g.BlockSize, -1)
	return nil
}

// reportOrphans reports the files that were deleted while they were open.
func (c *checker) reportOrphans(r *vol.Report) {
	if len(c.orphans) == 0 {
		return
	}
	from, to := c.s.orphanBlocks()
	loc := vol.Location{Range: c.g.BlockRange(from, to-from), Same: "orphans"}
	f := c.cat.Found("orphans", loc, vol.GotWant(len(c.orphans), nil))
	r.Found(f, c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error {
		if err := c.placeable(); err != nil {
			return err
		}
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		for _, ino := range c.pending {
			if err := c.freeInode(ctx, ino); err != nil {
				return err
			}
		}
		w.orphans = nil
		c.m.counted = c.usageRight
		return nil
	}))
}
