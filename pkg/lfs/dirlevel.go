package lfs

import (
	"maps"
	"slices"
)

// dirLevels is how many levels that a directory may begin its buckets with differ:
// from the last one on there are as many as there can be on every level, see
// dirBuckets.
const dirLevels = maxDirDepth/2 + 1

// levelCount counts the entries of a directory, and how many of them stand where they
// are looked for with each level to begin with.
type levelCount struct {
	entries int
	right   [dirLevels]int
}

// take counts the entries in a block of a directory.
func (n *levelCount) take(d dentryBlock, page uint64) {
	var bucket, buckets [dirLevels]uint64 // none where the page is beyond all levels
	for l := range dirLevels {
		if level, at, ok := levelOf(page, l); ok {
			bucket[l], buckets[l] = at, dirBuckets(level, l)
		}
	}
	for i, name := range d.all() {
		if name == nil || isDots(name) {
			continue
		}
		n.entries++
		for l := range dirLevels {
			if buckets[l] > 0 && uint64(d.entry(i).hash())%buckets[l] == bucket[l] {
				n.right[l]++
			}
		}
	}
}

// shown is the level by which the entries were put where they are, if that is not the
// one that the directory says: nearly all are right with it, and with the other they
// are not. Few entries may be right by chance, so nothing is made of them where the
// level is the usual one, 0.
func (n *levelCount) shown(level int) (int, bool) {
	const few = 8
	level = min(level, dirLevels-1)
	best := 0
	for l, right := range n.right {
		if right > n.right[best] {
			best = l
		}
	}
	nearly := func(right int) bool { return 10*right >= 9*n.entries }
	return best, nearly(n.right[best]) && !nearly(n.right[level]) && (level > 0 || n.entries >= few)
}

// settleLevels finds the directories whose level is wrong, not their entries: those
// would be moved to where nobody has put any, at worst terabytes behind the others.
func (c *checker) settleLevels() error {
	w := c.walk
	counts := map[int32]*levelCount{}
	for i := range w.notes {
		if n := &w.notes[i]; n.slug == "dentry-position" {
			counts[n.inode] = &levelCount{}
		}
	}
	for i := range w.dirBlocks {
		p := &w.dirBlocks[i]
		n := counts[p.inode]
		if n == nil {
			continue
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
		b, err := readBlock(c.d, c.g, p.addr)
		if err != nil {
			return err
		}
		n.take(newDentryBlock(b), p.page)
	}
	for i, n := range counts {
		level := int(w.bodies[w.inodes[i].body].dirLevel)
		if _, wrong := n.shown(level); !wrong {
			delete(counts, i)
			continue
		}
		w.noted["dentry-position"] -= n.entries - n.right[min(level, dirLevels-1)]
	}
	c.replaceLevels(counts)
	return nil
}

// replaceLevels reports wrong levels instead of what follows from them.
func (c *checker) replaceLevels(counts map[int32]*levelCount) {
	w := c.walk
	if len(counts) == 0 {
		return
	}
	w.notes = slices.DeleteFunc(w.notes, func(n note) bool {
		if counts[n.inode] == nil {
			return false
		}
		if n.slug == "inode-depth" { // counted by the wrong level
			w.noted[n.slug]--
		}
		return n.slug == "dentry-position" || n.slug == "inode-depth"
	})
	kept := 0
	for i := range w.notes {
		if w.notes[i].slug == "dentry-position" {
			kept++
		}
	}
	w.noted["dentry-position"] = max(w.noted["dentry-position"], kept)
	for _, i := range slices.Sorted(maps.Keys(counts)) {
		n, level := counts[i], w.bodies[w.inodes[i].body].dirLevel
		best, _ := n.shown(int(level))
		w.noteAt(i, "inode-dir-level", level, byte(best), "with the other %d of %d entries are where they are looked for", n.right[best], n.entries)
	}
}
