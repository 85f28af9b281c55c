package lfs

import (
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// What is a directory and what is not is told by the inode, by the entry that
// leads to it, and by what is in it. Where they differ two of them are believed:
// entries of what is no directory are not mended, and a directory is not taken
// for a file, which would lose all names in it.

// modeOf is the type of an inode whose own is not valid or not to be believed.
func (c *checker) modeOf(i int32) uint16 {
	x := &c.walk.inodes[i]
	if !x.isDir() && c.looksLikeDir(i) {
		return modeDir
	}
	if x.entry >= 0 && x.dir >= 0 {
		if m := modeOfKind(c.walk.entries[x.entry].kind); m != 0 {
			return m
		}
	}
	return modeFile
}

// looksLikeDir tells whether what an inode holds are entries of a directory.
func (c *checker) looksLikeDir(i int32) bool {
	x := &c.walk.inodes[i]
	block, err := readBlock(c.d, c.g, c.walk.index.nodes[x.node].addr)
	if err != nil {
		return false
	}
	b := nodeBlock(block)
	switch first := c.g.extraWords(b); {
	case b.inline()&inlineDentry != 0:
		return newDentryBlock(c.g.inlineArea(b)).plausible(c.g, x.nid)
	case b.inline()&inlineData != 0, !c.g.ValidMain(b.word(first)):
		return false
	default:
		block, err := readBlock(c.d, c.g, b.word(first))
		return err == nil && newDentryBlock(block).plausible(c.g, x.nid)
	}
}

// plausible tells whether a block is one of the directory ino: it has its entry
// . , or entries that are all right. Other data are not by chance, as each name
// has its hash beside it.
func (d dentryBlock) plausible(g *Geometry, ino uint32) bool {
	good := 0
	for i, name := range d.all() {
		e := d.entry(i)
		switch {
		case name == nil, e.ino() >= g.NIDs(), modeOfKind(e.fileType()) == 0:
			return false
		case string(name) == "." && e.ino() == ino && e.hash() == 0:
			return true
		case isDots(name) && e.hash() != 0, !isDots(name) && e.hash() != nameHash(name):
			return false
		}
		good++
	}
	return good > 0
}

// settleNotes looks at all notes together before they are reported: what a
// directory that is none has for entries is no fault of a directory.
func (c *checker) settleNotes() {
	w := c.walk
	c.doubled = w.noted["addr-twice"] > 0
	c.unsafe = w.noted["sit-free"] > 0 || !c.g.ReadOnly() && !c.logsRight()
	other := map[int32]string{} // inodes of another type, and why
	nids := map[uint32]bool{}
	for i := range w.inodes {
		if why := c.otherType(int32(i)); why != "" {
			other[int32(i)], nids[w.inodes[i].nid] = why, true
		}
	}
	if len(other) == 0 {
		return
	}
	w.notes = slices.DeleteFunc(w.notes, func(n note) bool {
		drop := other[n.inode] != "" && n.slug != "inode-checksum" && n.slug != "inode-unreachable" || n.slug == "dentry-type" && nids[n.from]
		if drop {
			w.noted[n.slug]--
		}
		return drop
	})
	for i := range w.inodes {
		if why := other[int32(i)]; why != "" {
			w.noteAt(int32(i), "inode-mode", textf("%#o", w.inodes[i].mode), nil, "%s", why)
		}
	}
}

// otherType is why an inode is not of the type that it says, "" where it may be.
func (c *checker) otherType(i int32) string {
	w := c.walk
	x := &w.inodes[i]
	kind := byte(typeUnknown) // as its entry says
	if x.entry >= 0 && x.dir >= 0 {
		kind = w.entries[x.entry].kind
	}
	switch {
	case x.nid == rootIno || kind == typeUnknown && x.reached: // or it is one of the volume's own
	case !x.isDir() && modeOfKind(x.kind()) != 0 && (kind == typeDir || kind == typeUnknown) && c.looksLikeDir(i):
		return "it holds entries of a directory"
	case !x.isDir() || w.bodies[x.body].dots != 0 || w.bodies[x.body].inline&(inlineDots|inlineDentry) != 0:
	case kind == typeUnknown && w.bodies[x.body].pages > 0 && !c.looksLikeDir(i):
		return "it holds no entries of a directory"
	case kind != typeDir && modeOfKind(kind) != 0 && !c.looksLikeDir(i):
		return "its entry says another, and it has no entries . and .."
	}
	return ""
}

func (x *inode) kind() byte { return kindOf(x.fileType()) }

// Ranks of findings of a pass: what gives others back what they lack comes
// first, and what nobody owns last.
const (
	rankFirst = iota
	rankUsual
	rankLost
)

// rankOf is when the repairs of a note are made.
func rankOf(n *note, offer []string) int {
	switch {
	case n.slug == "inode-mode", n.slug == "dentry-name-length" && n.word > 0, n.slug == "node-lost" && slices.Contains(offer, fixRestore):
		return rankFirst
	case n.slug == "node-lost", n.slug == "inode-unreachable":
		return rankLost
	}
	return rankUsual
}

// ranked is a finding to be reported.
type ranked struct {
	f    vol.Finding
	fix  vol.Fix
	rank int
}
