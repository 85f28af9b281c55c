package lfs

import (
	"bytes"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// always is for fixes that need neither.
func (c *checker) always(fn func() error) vol.Fix {
	return func(context.Context, vol.Repair) error { return fn() }
}

// dentryNoteFix is for entries of directories.
func (c *checker) dentryNoteFix(n *note) vol.Fix {
	edit := func(fn func(d dentryBlock, i int)) vol.Fix {
		return c.fix(gradeShape, c.always(func() error { return c.editDentry(n, fn) }))
	}
	switch n.slug {
	case "dentry-type":
		return c.typeFix(n)
	case "dentry-name-length":
		return c.fix(gradeShape, func(_ context.Context, rep vol.Repair) error {
			return c.editDentry(n, func(d dentryBlock, i int) {
				if rep.Name == fixRemove {
					d.dropBroken(i)
					return
				}
				e := d.entry(i)
				e.put(e.hash(), e.ino(), int(n.word), e.fileType())
			})
		})
	case "dentry-name":
		return edit(func(d dentryBlock, i int) { c.cleanName(n.inode, d, i) })
	case "dentry-hash":
		return edit(func(d dentryBlock, i int) { c.rehash(n.inode, d, i) })
	case "dentry-bitmap":
		return edit(func(d dentryBlock, i int) {
			for k := range nameSlots(d.entry(i).nameLen()) {
				d.setUsed(i + k)
			}
		})
	case "dir-twice":
		return edit(n.dropEntry)
	case "dentry-position":
		return c.fix(gradePlace, func(ctx context.Context, _ vol.Repair) error { return c.moveEntry(ctx, n, false) })
	case "dentry-twice":
		return c.fix(gradePlace, func(ctx context.Context, _ vol.Repair) error { return c.moveEntry(ctx, n, true) })
	case "dot", "dotdot":
		return c.dotFix(n, edit)
	}
	return nil
}

// editDentry changes an entry of a directory where it is.
func (c *checker) editDentry(n *note, fn func(d dentryBlock, i int)) error {
	if n.len == 0 {
		return vol.ErrNotNow
	}
	change := func(d dentryBlock, base int64) {
		if i := int(n.off-base-int64(d.entries)) / dentryLen; i >= 0 && i < d.slots && d.used(i) {
			fn(d, i)
		}
	}
	if c.inlineDir(n.inode) {
		return c.editInode(n.inode, func(b nodeBlock) { change(newDentryBlock(c.g.inlineArea(b)), c.g.inlineOff(b)) })
	}
	if c.disputes[n.blk] != nil { // it may be no block of a directory
		return vol.ErrNotNow
	}
	return vol.Patch(c.d, c.g.BlockOff(n.blk), c.g.BlockSize, func(b []byte) { change(newDentryBlock(b), 0) })
}

func (c *checker) inlineDir(i int32) bool {
	return c.walk.bodies[c.walk.inodes[i].body].inline&inlineDentry != 0
}

// hashOf is the hash of a name in a directory, the one that it has where that
// cannot be told.
func (c *checker) hashOf(dir int32, name []byte, old uint32) uint32 {
	x := &c.walk.inodes[dir]
	fold := c.walk.bodies[x.body].casefold && c.g.Has(featCasefold)
	if fold {
		folded, ok := foldName(nil, name)
		if !ok || x.advise&adviseEncrypted != 0 {
			return old
		}
		name = folded
	}
	return nameHash(name)
}

func (c *checker) rehash(dir int32, d dentryBlock, i int) {
	e := d.entry(i)
	e.put(c.hashOf(dir, d.name(i, e.nameLen()), e.hash()), e.ino(), e.nameLen(), e.fileType())
}

// cleanName replaces what no name can have.
func (c *checker) cleanName(dir int32, d dentryBlock, i int) {
	name := d.name(i, d.entry(i).nameLen())
	for k, b := range name {
		if b == 0 || b == '/' {
			name[k] = '_'
		}
	}
	c.rehash(dir, d, i)
}

// typeFix sets the type of the inode in the entry.
func (c *checker) typeFix(n *note) vol.Fix {
	i, ok := c.walk.inodeOf(n.from)
	if !ok {
		return nil
	}
	kind := kindOf(c.walk.inodes[i].fileType())
	if kind == typeUnknown {
		return nil // the inode is mended first
	}
	return c.fix(gradeShape, c.always(func() error {
		return c.editDentry(n, func(d dentryBlock, i int) { d.entry(i)[dentryType] = kind })
	}))
}

// danglingFix is for an entry that leads to nothing: the inode is looked for,
// and else the entry is removed.
func (c *checker) danglingFix(n *note) (vol.Fix, []string) {
	if n.from >= firstNid && n.from < c.g.NIDs() && c.walk.index.find(n.from) < 0 {
		strays, err := c.findStrays()
		if err != nil {
			return nil, nil // what cannot be read may be it
		}
		if s, ok := strays[n.from]; ok && s.ino == n.from {
			return c.natFix(n.from, s.ino, s.addr), []string{fixRestore}
		}
	}
	return c.fix(gradeShape, c.always(func() error {
		if c.m.back[n.from] {
			return vol.ErrNotNow
		}
		return c.editDentry(n, n.dropEntry)
	})), []string{fixRemove}
}

// dropEntry removes the entry that a note is about, which has the length that the walk
// went by. The one in the entry may be wrong, and would take others with it.
func (n *note) dropEntry(d dentryBlock, i int) { d.dropSlots(i, nameSlots(int(n.word))) }

// rawName is the name of an entry.
func (c *checker) rawName(e *dirEntry) ([]byte, error) {
	d, _, err := c.walk.dentriesOf(e)
	if err != nil || int(e.off) >= d.slots {
		return nil, err
	}
	return d.name(int(e.off), int(e.nameLen)), nil
}

// nameFix has an inode note the name that its entry has.
func (c *checker) nameFix(i int32) vol.Fix {
	x := &c.walk.inodes[i]
	if x.entry < 0 || x.dir < 0 {
		if x.nid == rootIno || x.reached {
			return c.inodeFix(gradeCount, i, func(b nodeBlock) { b.put32(inodeNameLen, 0) })
		}
		return nil
	}
	return c.fix(gradeCount, c.always(func() error {
		name, err := c.rawName(&c.walk.entries[x.entry])
		if err != nil {
			return err
		}
		return c.editInode(i, func(b nodeBlock) { b.putName(name) })
	}))
}

// putName sets the name that an inode notes of itself.
func (n nodeBlock) putName(name []byte) {
	n.put32(inodeNameLen, uint32(len(name)))
	clear(n[inodeName : inodeName+maxNameLen])
	copy(n[inodeName:inodeName+maxNameLen], name)
}

// dotFix is for the entries . and .. .
func (c *checker) dotFix(n *note, edit func(func(d dentryBlock, i int)) vol.Fix) vol.Fix {
	x := &c.walk.inodes[n.inode]
	which, ino := 1, x.nid
	if n.slug == "dotdot" {
		which, ino = 2, rootIno
		if x.dir >= 0 {
			ino = c.walk.inodes[x.dir].nid
		}
	}
	if n.word == 1 { // one too many
		return edit(func(d dentryBlock, i int) { d.dropSlots(i, 1) })
	}
	if ps := c.pagesOf(n.inode); !c.inlineDir(n.inode) && len(ps) > 0 && ps[0].page >= bucketBlocks {
		return c.fix(gradePlace, func(ctx context.Context, _ vol.Repair) error { return c.addDot(ctx, x.nid, which, ino) })
	}
	return c.fix(gradeShape, c.always(func() error { return c.setDot(n.inode, which, ino) }))
}

// addDot makes an entry . or .. where the first bucket, in which it is looked for, is a
// hole, and other blocks of the directory are there.
func (c *checker) addDot(ctx context.Context, dir uint32, which int, ino uint32) error {
	if err := c.spare(ctx, repairBlocks); err != nil {
		return err
	}
	h, err := c.handle(ctx, dir)
	if err != nil {
		return err
	}
	return notNow(h.addHashed(&dirName{name: []byte("..."[:which])}, ino, typeDir))
}

// isDot tells whether slot i has the entry . or .. , whatever length that has.
func (d dentryBlock) isDot(i int, name []byte) bool {
	e := d.entry(i)
	if e.hash() != 0 {
		return bytes.Equal(d.name(i, e.nameLen()), name)
	}
	first, _, _ := bytes.Cut(d.name(i, nameSlotLen), []byte{0})
	return bytes.Equal(first, name)
}

// setDot writes an entry . or .. where it is, or into a free slot of the first
// bucket, where it is looked for.
func (c *checker) setDot(dir int32, which int, ino uint32) error {
	name := dirName{name: []byte("..."[:which])}
	put := func(d dentryBlock, add bool) bool {
		i := -1
		for k := 0; k < d.slots; k++ {
			if d.used(k) && d.isDot(k, name.name) {
				i = k
				break
			}
		}
		if i < 0 && add {
			i = d.room(1)
		}
		if i < 0 {
			return false
		}
		d.put(i, &name, ino, typeDir)
		return true
	}
	if c.inlineDir(dir) {
		done := false
		err := c.editInode(dir, func(b nodeBlock) { done = put(newDentryBlock(c.g.inlineArea(b)), true) })
		if err == nil && !done {
			err = vol.ErrNotNow
		}
		return err
	}
	for _, add := range []bool{false, true} {
		for _, p := range c.pagesOf(dir) {
			if p.page >= bucketBlocks {
				break
			}
			if c.disputes[p.addr] != nil {
				return vol.ErrNotNow
			}
			done := false
			if err := vol.Patch(c.d, c.g.BlockOff(p.addr), c.g.BlockSize, func(b []byte) { done = put(newDentryBlock(b), add) }); err != nil || done {
				return err
			}
		}
	}
	return vol.ErrNotNow
}

// pagesOf are the blocks of a directory, in order.
func (c *checker) pagesOf(dir int32) []filePage {
	if c.pages == nil {
		c.pages = map[int32][]filePage{}
		for _, p := range c.walk.dirBlocks {
			c.pages[p.inode] = append(c.pages[p.inode], p)
		}
	}
	ps := c.pages[dir]
	slices.SortFunc(ps, func(a, b filePage) int { return int(int64(a.page) - int64(b.page)) })
	return ps
}

// moveEntry puts an entry where it is looked for, with another name if its own
// is taken.
func (c *checker) moveEntry(ctx context.Context, n *note, rename bool) error {
	if err := c.spare(ctx, repairBlocks); err != nil {
		return err
	}
	if n.len == 0 {
		return vol.ErrNotNow
	}
	h, err := c.handle(ctx, c.walk.inodes[n.inode].nid)
	if err != nil {
		return err
	}
	page, slot, old, err := c.entryAt(h, n)
	if err != nil {
		return err
	}
	e := *old
	if rename {
		if e.n, err = h.unused(e.n.name); err != nil {
			return notNow(err)
		}
	} else {
		e.n.hash = c.hashOf(n.inode, e.n.name, e.n.hash)
	}
	if h.b.inline()&inlineDentry != 0 {
		newDentryBlock(c.g.inlineArea(h.b)).drop(slot)
		return h.add(&e.n, e.ino, e.kind)
	}
	if err := h.add(&e.n, e.ino, e.kind); err != nil {
		return notNow(err)
	}
	b, err := h.readPage(page)
	if err != nil {
		return err
	}
	newDentryBlock(b).drop(slot)
	return h.writePage(page, b)
}

// namedEntry is an entry to be made.
type namedEntry struct {
	n    dirName
	ino  uint32
	kind byte
}

// entryAt reads the entry that a note is about, through the handle of its
// directory, and says where it is.
func (c *checker) entryAt(h *handle, n *note) (page uint64, slot int, _ *namedEntry, err error) {
	var d dentryBlock
	base := int64(0)
	if h.b.inline()&inlineDentry != 0 {
		d, base = newDentryBlock(c.g.inlineArea(h.b)), c.g.inlineOff(h.b)
	} else {
		i := slices.IndexFunc(c.pagesOf(n.inode), func(p filePage) bool { return p.addr == n.blk })
		if i < 0 {
			return 0, 0, nil, vol.ErrNotNow
		}
		page = c.pagesOf(n.inode)[i].page
		b, err := h.readPage(page)
		if err != nil || b == nil {
			return 0, 0, nil, notNow(err)
		}
		d = newDentryBlock(b)
	}
	slot = int(n.off-base-int64(d.entries)) / dentryLen
	if slot < 0 || slot >= d.slots || !d.used(slot) {
		return 0, 0, nil, vol.ErrNotNow
	}
	e := d.entry(slot)
	return page, slot, &namedEntry{dirName{name: slices.Clone(d.name(slot, e.nameLen())), hash: e.hash()}, e.ino(), e.fileType()}, nil
}

// unused is a name like the one given that the directory does not have.
func (h *handle) unused(name []byte) (dirName, error) {
	for k := 1; ; k++ {
		tail := textf("~%d", k)
		n, err := h.nameIn(string(name[:min(len(name), maxNameLen-len(tail))]) + tail)
		if err != nil {
			return n, err
		}
		if ino, _, err := h.lookup(&n); err != nil || ino == 0 {
			return n, err
		}
	}
}
