package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// room is the first of n adjacent free slots, or -1.
func (d dentryBlock) room(n int) int {
	for i, run := 0, 0; i < d.slots; i++ {
		if d.used(i) {
			run = 0
			continue
		}
		if run++; run == n {
			return i - n + 1
		}
	}
	return -1
}

// put makes an entry at slot i.
func (d dentryBlock) put(i int, n *dirName, ino uint32, kind byte) {
	d.entry(i).put(n.hash, ino, len(n.name), kind)
	copy(d.b[d.names+nameSlotLen*i:], n.name)
	for k := range nameSlots(len(n.name)) {
		if d.setUsed(i + k); k > 0 {
			clear(d.entry(i + k)) // only the first slot of a name has an entry
		}
	}
}

// drop removes the entry in slot i.
func (d dentryBlock) drop(i int) { d.dropSlots(i, nameSlots(d.entry(i).nameLen())) }

// dropSlots removes an entry of n slots, whatever it says of its length.
func (d dentryBlock) dropSlots(i, n int) {
	for k := i; k < min(d.slots, i+max(1, n)); k++ {
		d.b[k>>3] &^= 1 << (k & 7)
	}
}

// dropBroken removes an entry whose length is not known, and the rest of its
// name.
func (d dentryBlock) dropBroken(i int) {
	d.b[i>>3] &^= 1 << (i & 7)
	for k := i + 1; k < d.slots && d.used(k) && dev.AllZero(d.entry(k)); k++ {
		d.b[k>>3] &^= 1 << (k & 7)
	}
}

// add makes an entry in a directory: in its inode while there is room, else in
// the first level that has some. The inode is changed, and not stored.
func (h *handle) add(n *dirName, ino uint32, kind byte) error {
	if h.b.inline()&inlineDentry != 0 {
		d := newDentryBlock(h.w.g.inlineArea(h.b))
		if i := d.room(nameSlots(len(n.name))); i >= 0 {
			d.put(i, n, ino, kind)
			return nil
		}
		if err := h.moveEntries(d); err != nil {
			return err
		}
	}
	return h.addHashed(n, ino, kind)
}

// addHashed makes an entry in the blocks of a directory, [Linux] behaviour
// f2fs_add_regular_entry().
func (h *handle) addHashed(n *dirName, ino uint32, kind byte) error {
	if n.room > 0 {
		if done, err := h.addTo(n.room-1, n, ino, kind); err != nil || done {
			return err
		}
	}
	for level, page := range bucketPages(maxDirDepth, int(h.b.dirLevel()), n.hash) {
		if done, err := h.addTo(page, n, ino, kind); err != nil || done {
			h.b.put32(inodeDepth, max(h.b.depth(), uint32(level)+1))
			return err
		}
	}
	return vol.Refusef("%s: the directory is full", h.path)
}

// addTo makes an entry in a page of a directory, if that has room.
func (h *handle) addTo(page uint64, n *dirName, ino uint32, kind byte) (done bool, err error) {
	b := make([]byte, h.w.g.BlockSize)
	ok, err := h.readInto(page, b)
	if err != nil {
		return false, err
	}
	d := newDentryBlock(b)
	i := d.room(nameSlots(len(n.name)))
	if i < 0 {
		return false, nil
	}
	if !ok {
		if err := h.roomFor(page); err != nil {
			return false, err
		}
	}
	d.put(i, n, ino, kind)
	h.b.put64(inodeSize, max(h.b.size(), (page+1)*uint64(h.w.g.BlockSize)))
	return true, h.writePage(page, b)
}

// roomFor refuses to write a page that the volume has no room for: a block, and
// nodes on the way to it.
func (h *handle) roomFor(page uint64) error {
	holes, nodes, err := h.missing(page, page+1)
	if err != nil {
		return err
	}
	return h.w.room(h.path, holes+nodes)
}

// moveEntries moves the entries of a directory from its inode to blocks, [Linux]
// behaviour f2fs_convert_inline_dir(): with a level of its own each goes where
// its hash says; else all go to the first block, slot by slot.
func (h *handle) moveEntries(d dentryBlock) error {
	area := append([]byte(nil), d.b...)
	old := newDentryBlock(area)
	clear(d.b)
	h.b.clearChildren() // none were led to, whatever stands there
	h.b[inodeInline] &^= inlineDentry
	h.b.put64(inodeSize, 0)
	h.b.put32(inodeDepth, 0)
	if h.b.dirLevel() == 0 {
		if err := h.roomFor(0); err != nil {
			return err
		}
		b := make([]byte, h.w.g.BlockSize)
		to := newDentryBlock(b)
		copy(b, area[:old.bitmap])
		copy(b[to.entries:], area[old.entries:old.entries+dentryLen*old.slots])
		copy(b[to.names:], area[old.names:old.names+nameSlotLen*old.slots])
		h.b.put64(inodeSize, uint64(h.w.g.BlockSize))
		h.b.put32(inodeDepth, 1)
		return h.writePage(0, b)
	}
	for i, name := range old.all() {
		e := old.entry(i)
		if name == nil {
			return damagedf("%s: an entry has a name of %d bytes; run check -y", h.path, e.nameLen())
		}
		if err := h.addHashed(&dirName{name: name, hash: e.hash()}, e.ino(), e.fileType()); err != nil {
			return err
		}
	}
	return nil
}

// remove takes an entry out of a directory, if that has it. The inode is changed,
// and not stored.
func (h *handle) remove(n *dirName) error {
	if h.b.inline()&inlineDentry != 0 {
		d := newDentryBlock(h.w.g.inlineArea(h.b))
		if i := d.find(n); i >= 0 {
			d.drop(i)
		}
		return nil
	}
	b := make([]byte, h.w.g.BlockSize)
	for _, page := range h.pagesFor(n.hash) {
		ok, err := h.readInto(page, b)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		d := newDentryBlock(b)
		if i := d.find(n); i >= 0 {
			d.drop(i)
			return h.writePage(page, b)
		}
	}
	return nil
}
