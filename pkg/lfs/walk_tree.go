package lfs

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// tree settles what follows from all entries together: link counts, parents,
// equal names, and what can be reached from the root.
func (w *walk) tree() {
	sortByKey(w.chunks, nil, func(c *chunk) uint32 { return uint32(c.dir) })
	w.twins()
	w.reach()
	h := newHarvest(w)
	for i := range w.inodes {
		w.judge(h, int32(i))
	}
	w.takeNotes(h, 0)
}

func (w *walk) entryNote(e *dirEntry, slug, format string, args ...any) {
	n := note{slug: slug, inode: e.dir, blk: e.blk, from: e.ino, word: int32(e.nameLen)}
	if w.noted[slug] >= maxNotes {
		w.note(n)
		return
	}
	n.detail = textf(format, args...)
	if d, base, err := w.dentriesOf(e); err == nil && int(e.off) < d.slots {
		n.name = nameText(d.name(int(e.off), int(e.nameLen)))
		n.off, n.len = base+int64(d.entries+dentryLen*int(e.off)), dentryLen
	}
	w.note(n)
}

// dentriesOf reads the block that an entry is in again, and gives the part that
// holds entries and where that starts.
func (w *walk) dentriesOf(e *dirEntry) (dentryBlock, int64, error) {
	b, err := readBlock(w.d, w.g, e.blk)
	if w.bodies[w.inodes[e.dir].body].inline&inlineDentry != 0 {
		return newDentryBlock(w.g.inlineArea(nodeBlock(b))), w.g.inlineOff(nodeBlock(b)), err
	}
	return newDentryBlock(b), 0, err
}

// entryName reads the name of an entry again.
func (w *walk) entryName(e *dirEntry) string {
	d, _, err := w.dentriesOf(e)
	if err != nil || int(e.off) >= d.slots {
		return ""
	}
	return nameText(d.name(int(e.off), int(e.nameLen)))
}

// kindOf is the type in a directory entry for a mode.
func kindOf(mode uint16) byte {
	switch mode {
	case modeFile:
		return typeFile
	case modeDir:
		return typeDir
	case modeChar:
		return typeChar
	case modeBlock:
		return typeBlock
	case modeFIFO:
		return typeFIFO
	case modeSocket:
		return typeSocket
	case modeSymlink:
		return typeSymlink
	}
	return typeUnknown
}

// linkAll counts the entries that were not counted yet.
func (w *walk) linkAll() {
	for ; w.linked < len(w.entries); w.linked++ {
		w.link(int32(w.linked))
	}
}

// link counts an entry for the inode that it leads to.
func (w *walk) link(at int32) {
	e := &w.entries[at]
	i, ok := w.inodeOf(e.ino)
	if !ok || e.ino < rootIno {
		w.entryNote(e, "dentry-ino", "%d", e.ino)
		return
	}
	x := &w.inodes[i]
	if want := kindOf(x.fileType()); e.kind != want {
		w.entryNote(e, "dentry-type", "%d, should be %d", e.kind, want)
	}
	if x.isDir() && (x.names > 0 || e.ino == rootIno) {
		w.entryNote(e, "dir-twice", "inode %d", e.ino)
		return
	}
	if x.names++; x.names == 1 {
		x.dir, x.entry = e.dir, at
	}
	if x.isDir() {
		w.bodies[w.inodes[e.dir].body].subdirs++
		w.dirsIn = append(w.dirsIn, dirIn{e.dir, i})
	}
	if x.names == 1 && x.links <= 1 || x.isDir() {
		w.ownName(i, x, e)
	}
}

// ownName compares the name and parent that an inode has noted of itself, which
// recovery after a crash goes by, with its entry. [Linux] behaviour: a file that
// was renamed over another, or lost a name, is marked as one whose notes do not
// count; mayBeOld says what becomes of the mark. A directory is never recovered
// that way: of one that was renamed over another the name is left as it was.
func (w *walk) ownName(i int32, x *inode, e *dirEntry) {
	if x.advise&adviseLostParent != 0 {
		return
	}
	parent := w.inodes[e.dir].nid
	if x.parent != parent {
		slug := "inode-parent-file"
		if x.isDir() {
			slug = "inode-parent"
		}
		w.noteAt(i, slug, x.parent, parent, "")
	}
	if x.isDir() || x.advise&adviseEncryptedName != 0 || x.nameLen > maxNameLen || x.oldName && x.parent == parent {
		return
	}
	if x.nameLen != uint16(e.nameLen) || x.nameHash != e.nameHash {
		w.noteAt(i, "inode-name", nil, nil, "the entry is %q", w.entryName(e))
	}
}

// twins looks for equal names, directory by directory. In one that folds case
// those are equal that are when they are folded.
func (w *walk) twins() {
	var table nameTable
	same := func(a, b uint32) bool {
		x, y := &w.entries[a], &w.entries[b]
		return x.nameHash == y.nameHash && x.nameLen == y.nameLen
	}
	alike := func(a, b uint32) bool { return w.folded[a] == w.folded[b] }
	for from := 0; from < len(w.chunks); {
		to, n := from, 0
		for ; to < len(w.chunks) && w.chunks[to].dir == w.chunks[from].dir; to++ {
			n += int(w.chunks[to].n)
		}
		table.reset(n)
		for _, c := range w.chunks[from:to] {
			for i := range c.n {
				e := &w.entries[c.from+i]
				var met bool
				if c.folds > 0 {
					at := c.folds - 1 + i
					met = table.has(w.folded[at], at, alike)
				} else {
					met = table.has(e.nameHash, c.from+i, same)
				}
				if met {
					w.entryNote(e, "dentry-twice", "")
				}
			}
		}
		from = to
	}
}

// nameTable finds equal names in one directory.
type nameTable struct {
	slots []uint32 // numbers of names, plus 1
}

// reset empties the table, and makes room for n names.
func (t *nameTable) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if cap(t.slots) < size {
		t.slots = make([]uint32, size)
	}
	t.slots = t.slots[:size]
	clear(t.slots)
}

// has tells whether name at was met, and keeps it if not. Names are the same
// where their hashes are, of 64 bits and with a seed that nobody knows.
func (t *nameTable) has(hash uint64, at uint32, same func(a, b uint32) bool) bool {
	for i := hash; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if *s == 0 {
			*s = at + 1
			return false
		}
		if same(*s-1, at) {
			return true
		}
	}
}

// dirIn is a directory in another one.
type dirIn struct{ up, dir int32 }

// reach marks what can be reached from the root, and the files that the volume
// itself has: quotas. What is on the list of orphans is marked before.
func (w *walk) reach() {
	if root, ok := w.inodeOf(rootIno); ok {
		w.reachDirs(root)
	}
	for i := range w.entries {
		e := &w.entries[i]
		if !w.inodes[e.dir].reached {
			continue
		}
		if c, ok := w.inodeOf(e.ino); ok {
			w.inodes[c].reached = true
		}
	}
	for _, q := range w.g.QuotaInos {
		if i, ok := w.inodeOf(q); ok && q != 0 {
			w.inodes[i].reached, w.inodes[i].names = true, 1
		}
	}
}

// reachDirs marks the directories below one.
func (w *walk) reachDirs(root int32) {
	sortByKey(w.dirsIn, nil, func(d *dirIn) uint32 { return uint32(d.up) })
	w.inodes[root].reached = true
	for queue := []int32{root}; len(queue) > 0; {
		up := queue[0]
		queue = queue[1:]
		i := sort.Search(len(w.dirsIn), func(k int) bool { return w.dirsIn[k].up >= up })
		for ; i < len(w.dirsIn) && w.dirsIn[i].up == up; i++ {
			if x := &w.inodes[w.dirsIn[i].dir]; !x.reached {
				x.reached = true
				queue = append(queue, w.dirsIn[i].dir)
			}
		}
	}
}

// judge compares what an inode says with what was found.
func (w *walk) judge(h *harvest, i int32) {
	x := &w.inodes[i]
	if !x.reached {
		h.at(i, x, "inode-unreachable", nil, nil, "inode %d", x.nid)
	}
	want := x.names
	if x.isDir() {
		want = 2 + w.bodies[x.body].subdirs
	}
	if x.links != want && x.reached {
		h.at(i, x, "inode-links", x.links, want, "")
	}
	if x.body < 0 {
		return // the rest was judged when it was read
	}
	f := &w.bodies[x.body]
	h.judgeBody(i, x, f)
	if x.isDir() {
		w.judgeDir(h, i, x, f)
	}
}

// judgeBody compares the blocks of a file with what its inode says of them.
func (h *harvest) judgeBody(i int32, x *inode, f *body) {
	if f.counted != f.blocks {
		h.at(i, x, "inode-blocks", f.blocks, f.counted, "")
	}
	if f.cluster > 0 && f.cluster != unknownCluster && f.savedSays != f.saved {
		h.at(i, x, "inode-saved", f.savedSays, f.saved, "")
	}
	h.judgeSize(i, x, f)
	if h.w.refusesExtent(x, f) {
		h.at(i, x, "inode-extent-range", nil, nil, "%d blocks from block %d on", f.extLen, f.extBlk)
	} else if f.extLen > 0 && f.extSeen != f.extLen {
		h.at(i, x, "inode-extent", f.extLen, f.extSeen, "blocks of it are so mapped")
	}
}

// refusesExtent tells whether Linux does not open a file as its remembered extent begins
// or ends at no block that is in use: [Linux] behaviour sanity_check_extent_cache(). It
// looks at regular files, and of those that are compressed at what nothing writes to
// alone. What the pointers of the file lead to as well is a matter of SIT.
func (w *walk) refusesExtent(x *inode, f *body) bool {
	if x.fileType() != modeFile || f.extLen == 0 || f.extSeen == f.extLen || f.cluster > 0 && !w.g.ReadOnly() {
		return false
	}
	for _, blk := range []uint64{uint64(f.extBlk), uint64(f.extBlk) + uint64(f.extLen) - 1} {
		if blk > math.MaxUint32 || !w.g.ValidMain(uint32(blk)) || !w.sit.valid.Used(uint32(blk)-w.g.Main) {
			return true
		}
	}
	return false
}

// maxFilePages is how many blocks a file's pointers reach, for any block size.
func (g *Geometry) maxFilePages() uint64 {
	per := uint64(g.per().nodeSlots())
	return uint64(g.per().inodeSlots()) + 2*per + 2*per*per + per*per*per
}

// judgeSize: blocks beyond the end are what preallocation leaves. Mostly the inode
// says so, or the file is pinned, but that is not sure, [Linux] behaviour: a write
// that was to be atomic and is given up leaves reservations, f2fs_preallocate_blocks(),
// which read as zeros and hide nothing; a file that is pinned no longer keeps what was
// allocated up to the end of its section, expand_inode_data().
func (h *harvest) judgeSize(i int32, x *inode, f *body) {
	g := h.w.g
	bs := uint64(g.BlockSize)
	pages := f.size/bs + min(1, f.size%bs)
	if pages > g.maxFilePages() {
		h.at(i, x, "inode-size", f.size, f.pages*bs, "")
		return
	}
	if f.pages <= pages {
		return
	}
	switch {
	case x.isDir():
		h.at(i, x, "inode-dir-size", f.size, f.pages*bs, "")
	case f.held > pages && x.advise&adviseKeepSize == 0 && f.inline&(inlinePinned|inlineData) == 0 && f.cluster == 0 && x.fileType() == modeFile:
		h.at(i, x, "inode-size-short", f.size, f.held*bs, "")
	}
}

func (w *walk) judgeDir(h *harvest, i int32, x *inode, f *body) {
	if f.inline&inlineDots == 0 {
		if f.dots&1 == 0 {
			h.at(i, x, "dot", nil, nil, "missing")
		}
		if f.dots&2 == 0 {
			h.at(i, x, "dotdot", nil, nil, "missing")
		}
	}
	up := uint32(rootIno)
	if x.dir >= 0 {
		up = w.inodes[x.dir].nid
	}
	if f.dots&2 != 0 && f.up != up && x.reached {
		h.at(i, x, "dotdot", f.up, up, "")
	}
	if f.inline&inlineDentry == 0 && (f.depth < f.deepest || f.depth > maxDirDepth) {
		h.at(i, x, "inode-depth", f.depth, f.deepest, "")
	}
}

// path of an inode, by the first names that lead to it. Of one that is long the
// beginning is left out, as is all but its number where many were asked for.
func (w *walk) path(i int32) string {
	if w.inodes[i].nid == rootIno {
		return "/"
	}
	names := []string{}
	up, head, size := i, "", 0
	for w.inodes[up].nid != rootIno {
		x := &w.inodes[up]
		p, ok := w.paths[up]
		// A directory may be its own ancestor.
		if x.dir < 0 || size+len(p) > maxPathLen || w.pathBytes > maxPathBytes {
			p, ok = textf("<inode %d>", x.nid), true
		}
		if ok {
			head = p
			break
		}
		names = append(names, w.entryName(&w.entries[x.entry]))
		size += 1 + len(names[len(names)-1])
		up = x.dir
	}
	slices.Reverse(names)
	p := strings.Join(append([]string{head}, names...), "/")
	w.pathBytes += len(p)
	if w.inodes[i].isDir() {
		w.paths[i] = p
	}
	if last := len(names) - 1; last >= 0 {
		w.paths[w.inodes[i].dir] = p[:len(p)-len(names[last])-1] // the next one is likely to be beside it
	}
	return p
}

// maxPathLen is how long a path is; one that would be longer begins with the
// number of a directory. Linux takes no longer one from a program. maxPathBytes is
// how much of paths is kept in all.
const (
	maxPathLen   = 4096
	maxPathBytes = 64 << 20
)
