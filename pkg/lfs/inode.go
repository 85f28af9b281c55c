package lfs

import (
	"fmt"
	"hash/maphash"
)

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// takeInode looks at the inode at position at of the index, and at what it
// leads to.
func (w *walk) takeInode(at int32, b nodeBlock) error {
	n := &w.index.nodes[at]
	if b.nid() != n.nid || b.ino() != n.nid {
		w.note(note{slug: "node-footer", inode: -1, blk: n.addr, detail: textf("it says node %d of inode %d, NAT inode %d", b.nid(), b.ino(), n.nid)})
		n.role = roleNone
		return nil
	}
	ino := int32(len(w.inodes))
	w.inodes = append(w.inodes, inode{
		nid: n.nid, node: at, mode: b.mode(), inline: b.inline(), advise: b.advise(), dirLevel: b.dirLevel(), dir: -1,
		links: b.links(), parent: b.parent(), depth: b.depth(), uid: b.uid(), gid: b.gid(), nameLen: b.nameLen(), nameHash: w.hashName(b.name()),
		size: b.size(), blocks: b.blocks(), casefold: b.flags()&flagCasefold != 0,
	})
	n.inode = ino
	x := &w.inodes[ino]
	x.extAt, x.extBlk, x.extLen = b.extent()
	x.counted = 1
	if b.hasExtraField(inodeProject + 4) {
		x.project = b.project()
	}
	w.takeNodeBlock(n, ino)
	w.checkInode(ino, b)
	switch {
	case x.isDir():
		w.dirs++
	case x.fileType() == modeFile && !w.isQuota(x.nid):
		w.files++
	}
	w.takeContents(ino, n, b)
	return w.flushFull()
}

func (w *walk) hashName(b []byte) uint64 { return maphash.Bytes(w.hash, b) }

// at is a note about an inode's field.
func (w *walk) at(ino int32, slug string, got, want any, format string, args ...any) {
	x := &w.inodes[ino]
	w.note(note{slug: slug, inode: ino, blk: w.index.nodes[x.node].addr, got: got, want: want, detail: textf(format, args...)})
}

// checkInode looks at the fields of an inode that need nothing else.
func (w *walk) checkInode(ino int32, b nodeBlock) {
	x := &w.inodes[ino]
	switch x.fileType() {
	case modeFIFO, modeChar, modeDir, modeBlock, modeFile, modeSymlink, modeSocket:
	default:
		w.at(ino, "inode-mode", textf("%#o", x.mode), nil, "")
	}
	w.checkExtra(ino, b)
	w.checkInline(ino, b)
	if w.g.Has(featInodeChecksum) && b.hasSum() {
		if want := inodeSum(w.seed, b); b.checksum() != want {
			w.at(ino, "inode-checksum", hex(b.checksum()), hex(want), "")
		}
	}
	if x.casefold && !w.g.Has(featCasefold) {
		w.at(ino, "inode-casefold", nil, nil, "")
	}
	if b.flags()&flagCompressed != 0 && !w.g.Has(featCompression) {
		w.at(ino, "inode-compression", nil, nil, "")
	}
	if x.nameLen > maxNameLen {
		w.at(ino, "inode-name-length", x.nameLen, nil, "")
	}
	for _, off := range []int{inodeAtimeNsec, inodeCtimeNsec, inodeMtimeNsec} {
		if ns := b.u32(off); ns >= 1e9 {
			w.at(ino, "inode-time", ns, nil, "nanoseconds")
			break
		}
	}
	if x.fileType() == modeSymlink && x.size == 0 {
		w.at(ino, "symlink-empty", nil, nil, "")
	}
}

// checkExtra bounds the extra attributes: what else is in the words of the
// inode lies behind them.
func (w *walk) checkExtra(ino int32, b nodeBlock) {
	n := b.extraLen()
	if b.hasExtra() && (!w.g.Has(featExtraAttr) || n%4 != 0 || n < 4 || n > maxExtraLen) {
		w.at(ino, "inode-extra", n, nil, "the feature extra_attr is %v", w.g.Has(featExtraAttr))
		return
	}
	if b.hasExtraField(inodeLogCluster+1) && b.flags()&flagCompressed != 0 && w.g.Has(featCompression) {
		if c := b.logCluster(); c >= 2 && c <= 8 {
			w.inodes[ino].cluster, w.inodes[ino].saved = c, b.u64(inodeComprBlocks)
		}
	}
	if w.g.Has(featFlexXattr) && b.hasExtraField(inodeXattrWords+2) && b.inline()&inlineXattr != 0 {
		if words := int(b.xattrWords()); words == 0 || words > maxXattrWords(b) {
			w.at(ino, "inode-inline-xattr", words, nil, "words; it can be 1 to %d", maxXattrWords(b))
		}
	}
}

// maxXattrWords is how many words of an inode may hold attributes, [Linux]
// include/linux/f2fs_fs.h MAX_INLINE_XATTR_SIZE: what all extra attributes, the
// reserved word and the smallest inline directory leave.
func maxXattrWords(b nodeBlock) int {
	const smallest = 40 // bytes
	return b.words() - maxExtraLen/4 - inlineReserved - smallest/4
}

// extraWords is how many words the extra attributes take: none where the volume
// has no such, and where their length cannot be believed as many as its features
// need.
func (g *Geometry) extraWords(b nodeBlock) int {
	n := b.extraLen()
	switch {
	case !b.hasExtra() || !g.Has(featExtraAttr):
		return 0
	case n%4 != 0 || n < 4 || n > maxExtraLen:
		return extraLen(g.Features) / 4
	}
	return n / 4
}

// xattrWords is how many words at the end of an inode are for attributes; the
// usual number where what the inode says cannot be believed. [Linux] behaviour:
// with the feature they are kept free even where there is no such attribute.
func (g *Geometry) xattrWords(b nodeBlock) int {
	if g.Has(featFlexXattr) && b.hasExtraField(inodeXattrWords+2) {
		n := int(b.xattrWords())
		if n > maxXattrWords(b) || n == 0 && b.inline()&inlineXattr != 0 {
			return defaultXattrWords
		}
		return n
	}
	if b.inline()&(inlineXattr|inlineDentry) != 0 {
		return defaultXattrWords
	}
	return 0
}

// inlineArea is the part of an inode that holds inline data or entries;
// inlineOff is where that starts.
func (g *Geometry) inlineArea(b nodeBlock) []byte {
	from, to := g.inlineOff(b), int64(inodeAddrs+4*(b.words()-g.xattrWords(b)))
	return b[from:max(from, to)]
}

func (g *Geometry) inlineOff(b nodeBlock) int64 {
	return int64(inodeAddrs + 4*(g.extraWords(b)+inlineReserved))
}

// checkInline looks at the flags for what is kept in the inode itself.
func (w *walk) checkInline(ino int32, b nodeBlock) {
	x := &w.inodes[ino]
	data, dentry := x.inline&inlineData != 0, x.inline&inlineDentry != 0
	inlineable := x.fileType() == modeFile || x.fileType() == modeSymlink
	switch {
	case data && dentry, data && !inlineable, dentry && !x.isDir():
		w.at(ino, "inode-inline", hex(x.inline), nil, "of a file of mode %#o", x.mode)
		return
	case (data || dentry) && b.word(w.g.extraWords(b)) != 0:
		w.at(ino, "inode-inline", hex(b.word(w.g.extraWords(b))), nil, "the reserved word before the contents is a block address")
		return
	}
	if !data {
		return
	}
	area := w.g.inlineArea(b)
	if x.size > uint64(len(area)) {
		w.at(ino, "inode-inline", x.size, len(area), "the size is more than fits")
	}
	if x.inline&inlineExist == 0 && !allZero(area) {
		w.at(ino, "inline-exist", nil, nil, "")
	}
}

// takeContents follows what an inode holds: pointers, inline entries, nodes.
func (w *walk) takeContents(ino int32, n *node, b nodeBlock) {
	x := &w.inodes[ino]
	w.takeXattrs(ino, b)
	switch {
	case x.fileType() != modeFile && x.fileType() != modeDir && x.fileType() != modeSymlink:
		return // the words of a device hold its number
	case x.inline&inlineDentry != 0 && x.isDir():
		w.scanDentries(ino, n.addr, w.g.inlineOff(b), newDentryBlock(w.g.inlineArea(b)), 0, true)
		return
	case x.inline&inlineData != 0 && !x.isDir() && b.word(w.g.extraWords(b)) == 0:
		return
	}
	from := w.g.extraWords(b)
	slots := w.slotsOf(ino, max(0, b.words()-from-w.g.xattrWords(b)))
	w.takeWords(ino, n, b[inodeAddrs+4*from:][:4*slots], 0)
	w.takeChildren(ino, b, uint64(slots))
}

// takeChildren follows the five nodes of an inode; page is the first block that
// they lead to. Their places are fixed, [Linux] behaviour get_node_path().
func (w *walk) takeChildren(ino int32, b nodeBlock, page uint64) {
	per := uint32(w.g.per().nodeSlots())
	step := uint64(w.slotsOf(ino, int(per)))
	for i := range uint32(2) {
		w.follow(b.child(int(i)), ino, roleDirect, 1+i, page)
		page += step
	}
	for i := range uint32(2) {
		w.follow(b.child(int(2+i)), ino, roleIndirect, 3+i*(per+1), page)
		page += step * uint64(per)
	}
	w.follow(b.child(4), ino, roleDouble, 3+2*(per+1), page)
}

// takeXattrs checks the attributes in an inode, and follows the list to the node
// that has the rest.
func (w *walk) takeXattrs(ino int32, b nodeBlock) {
	n := 0
	if b.inline()&inlineXattr != 0 {
		n = w.g.xattrWords(b)
	}
	nid := b.xattrNid()
	part := b[inodeAddrs+4*(b.words()-n) : inodeAddrs+4*b.words()]
	state := w.checkXattrs(ino, w.index.nodes[w.inodes[ino].node].addr, part, xattrNew, nid == 0)
	w.follow(nid, ino, roleXattr, xattrPlace, uint64(uint32(state)))
}
