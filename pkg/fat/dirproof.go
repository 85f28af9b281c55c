package fat

// dirProof is what a cluster says of itself, taken for the start of a directory:
// [FAT] "FAT Directory Structure" gives every directory but the root a first
// entry that leads to itself and a second that leads to its parent.
type dirProof int

const (
	noProof     dirProof = iota
	parentProof          // .. leads to the parent that it is to have
	selfProof            // . leads to the cluster itself
)

// proofOf is the proof for a directory at cluster c whose parent is directory dir.
// One of the two dot entries is proof enough: the other may be what is damaged.
func (w *walk) proofOf(c uint32, dir int32) (dirProof, error) {
	b := make([]byte, 2*entryLen)
	if _, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(c)); err != nil {
		return noProof, err
	}
	t := w.c.g.Type
	if namesItself(w.c.g, b, c) {
		return selfProof, nil
	}
	up := dirEntry(b[entryLen:])
	if string(up.name()) == dotdotName && up.isDir() && up.start(t) == w.parentStart(dir) {
		return parentProof, nil
	}
	return noProof, nil
}

// looksLikeDir reports whether cluster c starts with a dot entry that leads to
// c itself.
func (w *walk) looksLikeDir(c uint32) (bool, error) {
	e := make(dirEntry, entryLen)
	if _, err := w.c.d.ReadAt(e, w.c.g.ClusterOff(c)); err != nil {
		return false, err
	}
	return namesItself(w.c.g, e, c), nil
}

// dirAt reports whether cluster c starts a directory that names itself, and
// which parent it names.
func (w *walk) dirAt(c uint32) (up uint32, ok bool, err error) {
	b := make([]byte, 2*entryLen)
	if _, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(c)); err != nil {
		return 0, false, err
	}
	dot, dotdot := dirEntry(b[:entryLen]), dirEntry(b[entryLen:])
	t := w.c.g.Type
	ok = string(dot.name()) == dotName && dot.isDir() && dot.start(t) == c && string(dotdot.name()) == dotdotName && dotdot.isDir()
	return dotdot.start(t), ok, nil
}

// namedParent is what the .. entry of the directory at cluster c holds.
func (w *walk) namedParent(c uint32) (up uint32, ok bool, err error) {
	e := make(dirEntry, entryLen)
	if _, err := w.c.d.ReadAt(e, w.c.g.ClusterOff(c)+entryLen); err != nil {
		return 0, false, err
	}
	return e.start(w.c.g.Type), string(e.name()) == dotdotName, nil
}

// inside reports whether directory dir lies in or is directory top.
func (w *walk) inside(dir, top int32) bool {
	for dir != top && dir != 0 {
		dir = w.dirs[dir].parent
	}
	return dir == top
}

// hangsOn reports whether the entry ref stands in directory dir at slot or behind
// it, or below an entry that does: it is only there if those slots are.
func (w *walk) hangsOn(ref entryRef, dir, slot int32) bool {
	for ref.dir != dir {
		if ref.dir == 0 {
			return false
		}
		ref = w.dirs[ref.dir].ref
	}
	return ref.slot >= slot
}

// dotRemains reports whether e, in slot k of the directory that starts at self and
// whose parent starts at up, is what damage left of its dot entry there: it leads
// where that leads, which no file and no other directory can, and has no size. 0
// is where all empty files lead, so for that the name must show it, too.
func dotRemains(t Type, k int, e dirEntry, self, up uint32) bool {
	if k > 1 || e.isFree() || e.isLong() || e.size() != 0 || isDotName(e.name()) {
		return false
	}
	start := e.start(t)
	if k == 0 {
		return start == self
	}
	return start == up && (up != 0 || e[0] == '.' || e[1] == '.')
}
