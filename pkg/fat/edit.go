package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// patchEntry changes the entry that ref names.
func (c *checker) patchEntry(ref entryRef, change func(e dirEntry)) error {
	return c.patch(c.walk.slotOff(ref.dir, int(ref.slot)), entryLen, func(b []byte) { change(b) })
}

// removeEntry frees the entry's slot and those of its long name.
func (c *checker) removeEntry(ref entryRef) error {
	return c.freeSlots(ref.dir, ref.long, ref.slot-ref.long+1)
}

// freeSlots marks n slots of a directory as free.
func (c *checker) freeSlots(dir, slot, n int32) error {
	return c.eachSlot(dir, slot, n, func(_ int, b []byte) { b[0] = entryDeleted })
}

// eachSlot changes n slots one by one: they need not be adjacent on the disk.
func (c *checker) eachSlot(dir, slot, n int32, change func(i int, b []byte)) error {
	for i := int32(0); i < n; i++ {
		err := c.patch(c.walk.slotOff(dir, int(slot+i)), entryLen, func(b []byte) { change(int(i), b) })
		if err != nil {
			return err
		}
	}
	return nil
}

// noteFix is the repair of what a slot shows by itself; nil where there is
// none.
func (c *checker) noteFix(n *scanNote) vol.Fix {
	free := vol.Always(func() error { return c.freeSlots(n.dir, n.slot, n.n) })
	slots := func(change func(i int, b []byte)) vol.Fix {
		return vol.Always(func() error { return c.eachSlot(n.dir, n.slot, n.n, change) })
	}
	switch n.slug {
	case "lfn-orphan", "lfn-checksum", "lfn-too-long", "dot-misplaced", "label-misplaced", "label-twice":
		return free
	case "lfn-sequence":
		return func(_ context.Context, r vol.Repair) error {
			if r.Name == fixRemove {
				return c.freeSlots(n.dir, n.slot, n.n)
			}
			return c.renumber(n)
		}
	case "lfn-fields":
		return slots(func(_ int, b []byte) { b[offLdirType], b[offLdirClus], b[offLdirClus+1] = 0, 0, 0 })
	case "attr-wrong":
		return slots(func(_ int, b []byte) { b[offAttr] = n.value })
	case "entry-beheaded":
		return slots(func(_ int, b []byte) { b[0] = n.value })
	case "lfn-attr":
		return slots(func(_ int, b []byte) { b[offAttr] = attrLongName })
	case "lfn-padding":
		return slots(func(_ int, b []byte) { pad(b) })
	case "lfn-illegal", "lfn-surrogate", "lfn-trailing":
		return vol.Always(func() error { return c.cleanLong(n) })
	case "name-twice":
		return vol.Always(func() error { return c.renameLong(n) })
	case "short-twice", "short-illegal", "short-lowercase", "short-longchars":
		return vol.Always(func() error { return c.renameShort(n) })
	case "label-clusters":
		return slots(func(_ int, b []byte) { dirEntry(b).setStart(FAT32, 0); dirEntry(b).setSize(0) })
	case "label-invalid":
		return slots(func(_ int, b []byte) { c.cp.cleanLabel(b) })
	case "attr-directory-volume":
		return vol.Always(func() error { return c.oneAttr(n) })
	case "directory-size":
		return slots(func(_ int, b []byte) { dirEntry(b).setSize(0) })
	case "dot-start":
		return slots(func(_ int, b []byte) { dirEntry(b).setStart(c.g.Type, c.walk.dirs[n.dir].start) })
	case "dotdot-start":
		up := c.walk.parentStart(c.walk.dirs[n.dir].parent)
		return slots(func(_ int, b []byte) { dirEntry(b).setStart(c.g.Type, up) })
	case "directory-garbage":
		return func(_ context.Context, r vol.Repair) error {
			if r.Name == fixRejoin {
				return c.patchEntry(c.walk.dirs[n.dir].ref, func(e dirEntry) { e.setStart(c.g.Type, n.head) })
			}
			if r.Name == fixRemove {
				return c.removeHopeless(n)
			}
			return c.dirToFile(n.dir)
		}
	}
	return nil
}

// removeHopeless frees the slots of n that no entry can be made of.
func (c *checker) removeHopeless(n *scanNote) error {
	return c.eachSlot(n.dir, n.slot, n.n, func(_ int, b []byte) {
		if hopeless(c.g, c.cp, b) {
			b[0] = entryDeleted
		}
	})
}

// renumber gives the slots of a long name their numbers and the mark again.
func (c *checker) renumber(n *scanNote) error {
	return c.eachSlot(n.dir, n.slot, n.n, func(i int, b []byte) {
		b[offLdirOrd] = byte(int(n.n) - i)
		if i == 0 {
			b[offLdirOrd] |= ldirLast
		}
	})
}

// pad fills a slot behind the terminator with FFFF.
func pad(b []byte) {
	ended := false
	for i := 0; i < ldirChars; i++ {
		o := ldirOffset(i)
		if ended {
			b[o], b[o+1] = 0xFF, 0xFF
		}
		ended = ended || b[o] == 0 && b[o+1] == 0
	}
}

func (cp codepage) cleanLabel(b []byte) {
	for i, x := range cp.lone(b[:11]) {
		if badLabelByte(x, i) {
			b[i] = '_'
		}
	}
}

// oneAttr settles an entry marked as directory and as label: where its first
// cluster is a directory it is that; without a cluster it is a label, if the
// volume has no other; else a file.
func (c *checker) oneAttr(n *scanNote) error {
	w := c.walk
	off := w.slotOff(n.dir, int(n.slot))
	e := make(dirEntry, entryLen)
	if _, err := c.d.ReadAt(e, off); err != nil {
		return err
	}
	start := e.start(c.g.Type)
	drop := byte(attrVolume | attrDirectory)
	if c.g.Valid(start) {
		isDir, err := w.looksLikeDir(start)
		if err != nil {
			return err
		}
		if isDir {
			drop = attrVolume
		} else if i, ok := w.byStart[start]; ok && w.dirs[i].ref.dir == n.dir && w.dirs[i].ref.slot == n.slot {
			return c.dirToFile(i)
		}
	} else if start == 0 && e.size() == 0 && n.dir == 0 && c.label == nil {
		drop = attrDirectory
	}
	e[offAttr] &^= drop
	_, err := c.d.WriteAt(e, off)
	return err
}

// dirToFile makes a file of a directory whose clusters hold something else. Its
// size is that of the entry if there is one that can be.
func (c *checker) dirToFile(dir int32) error {
	d := &c.walk.dirs[dir]
	var n int64
	for _, e := range d.extents {
		n += int64(e.Len) * c.g.ClusterSize()
	}
	if s := int64(d.size); s > n-c.g.ClusterSize() && s < n {
		n = s
	}
	return c.patchEntry(d.ref, func(e dirEntry) {
		e[offAttr] = e[offAttr]&^(attrDirectory|attrVolume) | attrArchive
		e.setSize(uint32(min(n, maxFileSize)))
	})
}
