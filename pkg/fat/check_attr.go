package fat

import (
	"slices"
	"strings"
)

// One damaged attribute byte makes a file or a label of a directory, and a label or
// a part of a long name of a file: its clusters belong to nobody then, and what is
// mended by the attribute would give all of them back. What an entry leads to
// tells: a directory names itself and its parent, and a file has as many clusters
// as its size takes, that nothing else leads to.

// trueAttr is the attribute that says of the entry e of directory dir what it is, or
// 0 where it cannot be told.
func (c *checker) trueAttr(e dirEntry, dir int32) (byte, error) {
	const kept = attrReadOnly | attrHidden | attrSystem
	start := e.start(c.g.Type)
	if !c.g.Valid(start) || e.isFree() {
		return 0, nil
	}
	if e.size() == 0 {
		ok, err := c.isLostDir(start, dir, e.attr()&attrArchive == 0)
		if err != nil || !ok {
			return 0, err
		}
		return e.attr()&kept | attrDirectory, nil
	}
	lost, err := c.lostChains()
	if err != nil || !lost.isHead(start) {
		return 0, err
	}
	need := c.g.clustersFor(e.size())
	n, ok, err := lost.length(start, need)
	if err != nil || !ok || n != need {
		return 0, err
	}
	return e.attr()&kept | attrArchive, nil
}

// isLostDir reports whether cluster cl starts a directory that belongs into dir: by
// both its dot entries, and by what it holds, as for entries behind an end mark. One
// that was removed leaves as much behind, but its entries lead nowhere. With empty
// one without entries will do.
func (c *checker) isLostDir(cl uint32, dir int32, empty bool) (bool, error) {
	up, ok, err := c.walk.dirAt(cl)
	if err != nil || !ok || up != c.walk.parentStart(dir) {
		return false, err
	}
	if v, err := c.walk.tab.get(cl); err != nil || v == entryFree || v == entryBad {
		return false, err
	}
	buf, err := c.readSome(c.g.ClusterRange(cl, 1), c.g.ClusterSize())
	if err != nil || buf == nil {
		return false, err
	}
	real, other, err := c.countReal(buf[:endOf(buf)*entryLen])
	return real > other || empty && real == 0 && other == 0, err
}

// attrNote is the finding that the entry in the last slot of n has the wrong
// attribute, or nil.
func (c *checker) attrNote(n *scanNote) (*scanNote, error) {
	slot := n.slot + n.n - 1
	e := make(dirEntry, entryLen)
	if _, err := c.d.ReadAt(e, c.walk.slotOff(n.dir, int(slot))); err != nil {
		return nil, err
	}
	switch {
	case e.isLong() && !plainShort(e.name()):
		return nil, nil // it is what it says
	case n.slug == "label-clusters" && e.size() > 0 && c.isOnlyLabel(e):
		return nil, nil
	}
	want, err := c.trueAttr(e, n.dir)
	if err != nil || want == 0 {
		return nil, err
	}
	return wrongAttr(n.dir, slot, e, c.cp.decode(e.name(), 0), want), nil
}

// isOnlyLabel reports whether e is the only label that there is, and the one that the
// boot sector has.
func (c *checker) isOnlyLabel(e dirEntry) bool {
	return len(c.walk.labels) == 1 && c.boot.hasExt() && labelText(c.boot.label()) == labelText(e.name())
}

func wrongAttr(dir, slot int32, e dirEntry, name string, want byte) *scanNote {
	return &scanNote{slug: "attr-wrong", dir: dir, slot: slot, n: 1, name: name,
		detail: textf("attributes %#x, should be %#x", e.attr(), want), value: want, was: e.attr()}
}

// lostDirFault reports whether what is wrong with an entry is that it is marked as a
// file of no bytes and leads to a directory.
func (c *checker) lostDirFault(f *chainFault) (*scanNote, error) {
	if f.isDir || f.size != 0 || f.n == 0 || f.root {
		return nil, nil
	}
	e := make(dirEntry, entryLen)
	if _, err := c.d.ReadAt(e, c.walk.slotOff(f.ref.dir, int(f.ref.slot))); err != nil {
		return nil, err
	}
	want, err := c.trueAttr(e, f.ref.dir)
	if err != nil || want == 0 {
		return nil, err
	}
	return wrongAttr(f.ref.dir, f.ref.slot, e, f.name, want), nil
}

// beheaded notes an end mark in slot k that may be an entry of which the first byte
// was zeroed: all behind it in the slot is as in an entry. What its clusters say
// decides, see attrNotes. Of a name with a long one the byte can be worked out.
func (s *dirScan) beheaded(k int) {
	e := dirEntry(slices.Clone(s.slot(k)))
	e[0] = '_'
	st := e.start(s.w.c.g.Type)
	if s.w.quiet || e.attr()&(attrVolume|attrReserved) != 0 || !plainShort(e.name()) || !s.w.c.g.Valid(st) {
		return
	}
	if r := &s.run; r.n > 0 && r.broken == "" && !r.mixedSums && r.next == 0 {
		for b := byte('!'); b < 0x7F; b++ {
			if e[0] = b; nameSum(e.name()) == r.sum && plainShort(e.name()) {
				break
			}
			e[0] = '_'
		}
	}
	n := s.note("entry-beheaded", k, 1, s.w.c.cp.decode(e.name(), e[offNTRes]), "")
	n.value = e[0]
}

// attrNotes replaces those notes that take a damaged attribute for what it says.
// What stands beside such an entry is not judged in the same round: a second label
// may be the only one then, and slots without an entry its long name.
func (c *checker) attrNotes() error {
	w := c.walk
	labels, at := false, map[[2]int32]bool{}
	for i := range w.scans {
		n := &w.scans[i]
		switch n.slug {
		case "label-twice", "label-misplaced", "label-clusters":
		case "lfn-orphan", "lfn-checksum", "lfn-sequence", "entry-beheaded":
		default:
			continue
		}
		wrong, err := c.attrNote(n)
		if err != nil {
			return err
		}
		if n.slug == "entry-beheaded" {
			if wrong == nil || (wrong.value^wrong.was)&attrDirectory != 0 {
				n.slug = "" // it is the end mark
				continue
			}
			at[[2]int32{n.dir, n.slot}] = true
			continue
		}
		if wrong != nil {
			labels = labels || strings.HasPrefix(n.slug, "label")
			at[[2]int32{wrong.dir, wrong.slot}] = true
			*n = *wrong
		}
	}
	w.scans = slices.DeleteFunc(w.scans, func(n scanNote) bool {
		return n.slug == "" || n.slug == "label-twice" && labels || n.slug == "lfn-orphan" && at[[2]int32{n.dir, n.slot + n.n}]
	})
	return nil
}
