package lfs

import (
	"slices"
	"sort"
	"strings"
)

// tree settles what follows from all entries together: link counts, parents,
// equal names, and what can be reached from the root.
func (w *walk) tree() error {
	sortByKey(w.entries, func(e *dirEntry) uint32 { return e.hash })
	sortByKey(w.entries, func(e *dirEntry) uint32 { return uint32(e.dir) })
	for i := range w.entries {
		w.link(int32(i))
	}
	if err := w.twins(); err != nil {
		return err
	}
	w.reach()
	for i := range w.inodes {
		w.judge(int32(i))
	}
	return nil
}

func (w *walk) entryNote(e *dirEntry, slug, format string, args ...any) {
	n := note{slug: slug, inode: e.dir, blk: e.blk, detail: textf(format, args...)}
	if w.enough(slug) {
		w.note(n)
		return
	}
	if d, base, err := w.dentriesOf(e); err == nil && int(e.off) < d.slots {
		n.name = printable(d.name(int(e.off), int(e.nameLen)))
		n.off, n.len = base+int64(d.entries+dentryLen*int(e.off)), dentryLen
	}
	w.note(n)
}

// dentriesOf reads the block that an entry is in again, and gives the part that
// holds entries and where that starts.
func (w *walk) dentriesOf(e *dirEntry) (dentryBlock, int64, error) {
	b, err := readBlock(w.d, w.g, e.blk)
	if w.inodes[e.dir].inline&inlineDentry != 0 {
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
	return printable(d.name(int(e.off), int(e.nameLen)))
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
		w.inodes[e.dir].subdirs++
	}
	if x.names == 1 && x.links <= 1 || x.isDir() {
		w.ownName(i, x, e)
	}
}

// ownName compares the name and parent that an inode has noted of itself, which
// recovery after a crash goes by, with its entry. [Linux] behaviour: a file that
// was renamed over another, or lost a name, is marked as one whose notes do not
// count. A directory is never recovered that way: of one that was renamed over
// another the name is left as it was.
func (w *walk) ownName(i int32, x *inode, e *dirEntry) {
	if x.advise&adviseLostParent != 0 {
		return
	}
	if parent := w.inodes[e.dir].nid; x.parent != parent {
		slug := "inode-parent-file"
		if x.isDir() {
			slug = "inode-parent"
		}
		w.at(i, slug, x.parent, parent, "")
	}
	if !x.isDir() && x.advise&adviseEncryptedName == 0 && x.nameLen <= maxNameLen && (x.nameLen != uint32(e.nameLen) || x.nameHash != e.nameHash) {
		w.at(i, "inode-name", nil, nil, "the entry is %q", w.entryName(e))
	}
}

// twins looks for equal names: neighbours in the order of hashes.
func (w *walk) twins() error {
	for i := 1; i < len(w.entries); i++ {
		e := &w.entries[i]
		for k := i - 1; k >= 0; k-- {
			o := &w.entries[k]
			if o.dir != e.dir || o.hash != e.hash {
				break
			}
			if o.nameHash == e.nameHash && o.nameLen == e.nameLen {
				w.entryNote(e, "dentry-twice", "")
				break
			}
			if i-k > 64 {
				break // no honest directory has so many names of one hash
			}
		}
	}
	return nil
}

// reach marks what can be reached from the root, and the files that the volume
// itself has: quotas, and what is on the list of orphans.
func (w *walk) reach() {
	var queue []int32
	if root, ok := w.inodeOf(rootIno); ok {
		w.inodes[root].reached = true
		queue = append(queue, root)
	}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		for i := w.entriesOf(dir); i < len(w.entries) && w.entries[i].dir == dir; i++ {
			c, ok := w.inodeOf(w.entries[i].ino)
			if !ok || w.inodes[c].reached {
				continue
			}
			w.inodes[c].reached = true
			if w.inodes[c].isDir() {
				queue = append(queue, c)
			}
		}
	}
	for _, q := range w.g.QuotaInos {
		if i, ok := w.inodeOf(q); ok && q != 0 {
			w.inodes[i].reached, w.inodes[i].names = true, 1
		}
	}
}

// judge compares what an inode says with what was found.
func (w *walk) judge(i int32) {
	x := &w.inodes[i]
	if !x.reached {
		slug := "inode-unreachable"
		w.at(i, slug, nil, nil, "inode %d", x.nid)
	}
	w.judgeLinks(i, x)
	if x.counted != x.blocks {
		w.at(i, "inode-blocks", x.blocks, x.counted, "")
	}
	if x.cluster > 0 && x.saved != x.savedSeen {
		w.at(i, "inode-saved", x.saved, x.savedSeen, "")
	}
	w.judgeSize(i, x)
	if x.extLen > 0 && x.extSeen != x.extLen && x.inline&(inlineData|inlineDentry) == 0 {
		w.at(i, "inode-extent", x.extLen, x.extSeen, "blocks of it are so mapped")
	}
	if x.isDir() {
		w.judgeDir(i, x)
	}
}

func (w *walk) judgeLinks(i int32, x *inode) {
	want := x.names
	if x.isDir() {
		want = 2 + x.subdirs
	}
	if x.links != want && x.reached {
		w.at(i, "inode-links", x.links, want, "")
	}
}

// maxFilePages is how many blocks a file's pointers reach, for any block size.
func (w *walk) maxFilePages() uint64 {
	per := uint64(w.g.per().nodeSlots())
	return uint64(w.g.per().inodeSlots()) + 2*per + 2*per*per + per*per*per
}

// judgeSize: blocks beyond the end are what preallocation leaves, and then the
// inode says so, or the file is pinned.
func (w *walk) judgeSize(i int32, x *inode) {
	bs := uint64(w.g.BlockSize)
	pages := x.size/bs + min(1, x.size%bs)
	if pages > w.maxFilePages() {
		w.at(i, "inode-size", x.size, nil, "")
		return
	}
	if x.pages <= pages {
		return
	}
	switch {
	case x.isDir():
		w.at(i, "inode-dir-size", x.size, x.pages*bs, "")
	case x.advise&adviseKeepSize == 0 && x.inline&(inlinePinned|inlineData) == 0 && x.cluster == 0 && x.fileType() == modeFile:
		w.at(i, "inode-size-short", x.size, x.pages*bs, "")
	}
}

func (w *walk) judgeDir(i int32, x *inode) {
	if x.inline&inlineDots == 0 {
		if x.dots&1 == 0 {
			w.at(i, "dot", nil, nil, "missing")
		}
		if x.dots&2 == 0 {
			w.at(i, "dotdot", nil, nil, "missing")
		}
	}
	up := uint32(rootIno)
	if x.dir >= 0 {
		up = w.inodes[x.dir].nid
	}
	if x.dots&2 != 0 && x.up != up && x.reached {
		w.at(i, "dotdot", x.up, up, "")
	}
	if x.inline&inlineDentry == 0 && (x.depth < x.deepest || x.depth > maxDirDepth) {
		w.at(i, "inode-depth", x.depth, x.deepest, "")
	}
}

// path of an inode, by the first names that lead to it.
func (w *walk) path(i int32) string {
	if w.inodes[i].nid == rootIno {
		return "/"
	}
	names := []string{}
	up, head := i, ""
	for w.inodes[up].nid != rootIno {
		x := &w.inodes[up]
		p, ok := w.paths[up]
		if !ok && (x.dir < 0 || len(names) > maxPathDepth) { // a directory may be its own ancestor
			p, ok = textf("<inode %d>", x.nid), true
		}
		if ok {
			head = p
			break
		}
		names = append(names, w.entryName(&w.entries[x.entry]))
		up = x.dir
	}
	slices.Reverse(names)
	p := strings.Join(append([]string{head}, names...), "/")
	if w.inodes[i].isDir() {
		w.paths[i] = p
	}
	if last := len(names) - 1; last >= 0 {
		w.paths[w.inodes[i].dir] = p[:len(p)-len(names[last])-1] // the next one is likely to be beside it
	}
	return p
}

// maxPathDepth is how many directories of a path are named; what is deeper
// begins with a number.
const maxPathDepth = 1000

// entriesOf is the position of the first entry of a directory, among all.
func (w *walk) entriesOf(dir int32) int {
	return sort.Search(len(w.entries), func(k int) bool { return w.entries[k].dir >= dir })
}
