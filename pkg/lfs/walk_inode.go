package lfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/fatkit/fatkit/pkg/dev"
)

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// takeInode looks at the inode at position at of the index, and at what it
// leads to.
func (h *harvest) takeInode(at int32, block []byte) {
	h.fresh = true
	w, b := h.w, nodeBlock(block)
	n := &w.index.nodes[at]
	if b.nid() != n.nid || b.ino() != n.nid {
		h.note(note{slug: "node-footer", inode: -1, blk: n.addr, from: n.nid, detail: textf("it says node %d of inode %d, NAT inode %d", b.nid(), b.ino(), n.nid)})
		h.lost = append(h.lost, at)
		return
	}
	i := int32(len(h.inodes))
	h.inodes = append(h.inodes, inode{
		nid: n.nid, node: at, mode: b.mode(), advise: b.advise(), dir: -1, body: -1,
		links: b.links(), parent: b.parent(), nameLen: uint16(min(b.nameLen(), 1<<16-1)), nameHash: w.hashName(b.name()), oldName: b.mayBeOld(),
	})
	x := &h.inodes[i]
	h.nodeRuns = append(h.nodeRuns, run{addr: n.addr, node: at, inode: i, n: 1})
	f := body{inode: i, inline: b.inline(), size: b.size(), blocks: b.blocks(), tally: tally{counted: 1}}
	f.extAt, f.extBlk, f.extLen = b.extent()
	isQuota := w.quotas && w.g.isQuota(x.nid)
	switch {
	case x.isDir():
		h.dirs++
		f.keeps, f.dirLevel, f.depth, f.casefold = keepDir, b.dirLevel(), b.depth(), b.flags()&flagCasefold != 0
	case isQuota:
		f.keeps = keepQuota
	case x.fileType() == modeFile:
		h.files++
	}
	h.checkInode(i, &f, b)
	follows := len(h.follows)
	h.takeContents(i, &f, b)
	if x.isDir() || len(h.follows) > follows {
		x.body = int32(len(h.bodies))
		h.bodies = append(h.bodies, f)
	} else {
		h.judgeBody(i, x, &f)
	}
	if w.quotas {
		o := owner{ids: [quotaKinds]uint32{b.uid(), b.gid()}, blocks: f.counted}
		if b.hasExtraField(inodeProject + 4) {
			o.ids[2] = b.project()
		}
		h.owners = append(h.owners, o)
	}
}

// mayBeOld tells whether the name that an inode has noted of itself may be one
// that its file had before. [Linux] behaviour: a file that is renamed over
// another, or loses the name that it got last, is marked as one whose notes do
// not count. When it is synced with one name left, Linux notes its parent anew and
// takes the mark away, and leaves the name. That is done to regular files alone,
// and what changes their names sets their change time, to the nanosecond. So it was
// not done to a file whose three times are one, of whole seconds, as tools make it.
func (n nodeBlock) mayBeOld() bool {
	made := n.time(inodeCtime, inodeCtimeNsec)
	untouched := made.Nanosecond() == 0 && made.Equal(n.time(inodeMtime, inodeMtimeNsec)) && made.Equal(n.time(inodeAtime, inodeAtimeNsec))
	return n.fileType() == modeFile && !untouched && n.nameLen() > 0 && !bytes.ContainsAny(n.name(), "\x00/")
}

func (w *walk) hashName(b []byte) uint64 { return maphash.Bytes(w.hash, b) }

// at is a note about an inode's field.
func (h *harvest) at(i int32, x *inode, slug string, got, want any, format string, args ...any) {
	h.note(note{slug: slug, inode: i, blk: h.w.index.nodes[x.node].addr, got: got, want: want, detail: textf(format, args...)})
}

// checkInode looks at the fields of an inode that need nothing else.
func (h *harvest) checkInode(i int32, f *body, b nodeBlock) {
	w, x := h.w, &h.inodes[i]
	switch x.fileType() {
	case modeFIFO, modeChar, modeDir, modeBlock, modeFile, modeSymlink, modeSocket:
	default:
		h.at(i, x, "inode-mode", textf("%#o", x.mode), nil, "")
	}
	h.checkExtra(i, f, b)
	h.checkInline(i, f, b)
	if w.g.Has(featInodeChecksum) && b.hasSum() {
		if want := inodeSum(w.seed, b); b.checksum() != want {
			h.at(i, x, "inode-checksum", hex(b.checksum()), hex(want), "")
		}
	}
	if x := b.flags() &^ flagsKnown; x != 0 {
		h.at(i, &h.inodes[i], "inode-flags", hex(x), nil, "")
	}
	if b.flags()&flagCasefold != 0 && !w.g.Has(featCasefold) {
		h.at(i, x, "inode-casefold", nil, nil, "")
	}
	if b.flags()&flagCompressed != 0 && !w.g.Has(featCompression) {
		f.lost = w.g.lostCluster(b)
		h.at(i, x, "inode-compression", nil, nil, "")
	}
	if n := b.nameLen(); n > maxNameLen {
		h.at(i, x, "inode-name-length", n, nil, "")
	}
	for _, off := range []int{inodeAtimeNsec, inodeCtimeNsec, inodeMtimeNsec} {
		if ns := b.u32(off); ns >= 1e9 {
			h.at(i, x, "inode-time", ns, nil, "nanoseconds")
			break
		}
	}
	if x.fileType() == modeSymlink && f.size == 0 {
		h.at(i, x, "symlink-empty", nil, nil, "")
	}
}

// checkExtra bounds the extra attributes: what else is in the words of the
// inode lies behind them.
func (h *harvest) checkExtra(i int32, f *body, b nodeBlock) {
	w, x := h.w, &h.inodes[i]
	if b.hasExtra() && (!w.g.Has(featExtraAttr) || !b.extraOK()) {
		if b.extraOK() {
			h.extra++
		}
		h.at(i, x, "inode-extra", b.extraLen(), nil, "the feature extra_attr is %v", w.g.Has(featExtraAttr))
		return
	}
	if c := w.g.clusterLog(b); c > 0 {
		f.cluster, f.savedSays = c, b.u64(inodeComprBlocks)
	}
	if !w.g.compressionOK(b) {
		h.at(i, x, "inode-compress", nil, nil, "clusters of 2^%d blocks, algorithm %d", b.logCluster(), b[inodeComprAlgo])
		if f.cluster == 0 && x.fileType() == modeFile {
			f.cluster = unknownCluster
		}
	}
	h.signs.takeWords(w.g, b)
	if w.g.Has(featFlexXattr) && b.hasExtraField(inodeXattrWords+2) && w.g.xattrWords(b) != int(b.xattrWords()) {
		h.at(i, x, "inode-inline-xattr", int(b.xattrWords()), nil, "words; it can be %d to %d", minXattrWords, maxXattrWords(b))
	}
}

// minXattrWords is how many words of an inode with attributes there are for them at
// least, [Linux] behaviour sanity_check_inode(): the header of the list is not cut in
// two. Versions before the one that checks it take any but 0; none ever made fewer, see
// parse_options().
const minXattrWords = xattrHeaderLen / 4

// maxXattrWords is how many words of an inode may hold attributes, [Linux]
// include/linux/f2fs_fs.h MAX_INLINE_XATTR_SIZE: what all extra attributes, the
// reserved word and the smallest inline directory leave.
func maxXattrWords(b nodeBlock) int {
	const smallest = 40 // bytes
	return b.words() - maxExtraLen/4 - inlineReserved - smallest/4
}

// xattrWords is how many words at the end of an inode are for attributes. Where
// what the inode says cannot be believed it is what the list of them shows or else
// the usual number, or none where it has no attributes there: [Linux] behaviour
// f2fs_new_inode(). With the feature what it says counts even where there is no
// attribute.
func (g *Geometry) xattrWords(b nodeBlock) int {
	if g.Has(featFlexXattr) && b.hasExtraField(inodeXattrWords+2) {
		n := int(b.xattrWords())
		switch inline := b.inline()&inlineXattr != 0; {
		case inline && (n < minXattrWords || n > maxXattrWords(b)):
			return b.xattrWordsOfList()
		case n > maxXattrWords(b):
			return 0
		}
		return n
	}
	if b.inline()&(inlineXattr|inlineDentry) != 0 {
		return defaultXattrWords
	}
	return 0
}

// xattrWordsOfList is how many words from the end of an inode the header of a list of
// attributes stands, with its reserved words, which are zeros; the usual number where
// there is none.
func (n nodeBlock) xattrWordsOfList() int {
	for words := maxXattrWords(n); words >= minXattrWords; words-- {
		head := n[inodeAddrs+4*(n.words()-words):][:xattrHeaderLen]
		if binary.LittleEndian.Uint32(head) == xattrMagic && dev.AllZero(head[xattrHeaderReserved:]) {
			return words
		}
	}
	return defaultXattrWords
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
func (h *harvest) checkInline(i int32, f *body, b nodeBlock) {
	w, x := h.w, &h.inodes[i]
	data, dentry := f.inline&inlineData != 0, f.inline&inlineDentry != 0
	inlineable := x.fileType() == modeFile || x.fileType() == modeSymlink
	switch {
	case data && dentry, data && !inlineable, dentry && !x.isDir():
		h.at(i, x, "inode-inline", hex(f.inline), nil, "of a file of mode %#o", x.mode)
		return
	case (data || dentry) && b.word(w.g.extraWords(b)) != 0:
		h.at(i, x, "inode-inline", hex(b.word(w.g.extraWords(b))), nil, "the reserved word before the contents is a block address")
		return
	}
	if !data {
		return
	}
	area := w.g.inlineArea(b)
	if f.size > uint64(len(area)) {
		h.at(i, x, "inode-inline", f.size, len(area), "the size is more than fits")
	} else if f.inline&inlineExist != 0 && x.fileType() == modeFile && !dev.AllZero(area[f.size:]) {
		h.at(i, x, "inline-tail", nil, nil, "")
	}
	if f.inline&inlineExist == 0 && !dev.AllZero(area) {
		h.at(i, x, "inline-exist", nil, nil, "")
	}
}

// takeContents follows what an inode holds: pointers, inline entries, nodes.
func (h *harvest) takeContents(i int32, f *body, b nodeBlock) {
	g, x := h.w.g, &h.inodes[i]
	h.takeXattrs(i, b)
	switch {
	case x.fileType() != modeFile && x.fileType() != modeDir && x.fileType() != modeSymlink:
		return // the words of a device hold its number
	case f.inline&inlineDentry != 0 && x.isDir():
		h.scanDentries(dirSource{i, f, x.advise, h.w.index.nodes[x.node].addr, g.inlineOff(b)}, newDentryBlock(g.inlineArea(b)), 0, true)
		return
	case f.inline&inlineData != 0 && !x.isDir() && b.word(g.extraWords(b)) == 0:
		return
	}
	from := g.extraWords(b)
	slots := f.slotsOf(max(0, b.words()-from-g.xattrWords(b)))
	h.takeWords(origin{f, &f.tally, x.node, i, int32(inodeAddrs + 4*from)}, b[inodeAddrs+4*from:][:4*slots], 0)
	h.takeChildren(i, f, b, uint64(slots))
}

// takeChildren follows the five nodes of an inode; page is the first block that
// they lead to. Their places are fixed, [Linux] behaviour get_node_path().
func (h *harvest) takeChildren(i int32, f *body, b nodeBlock, page uint64) {
	per := uint32(h.w.g.per().nodeSlots())
	step := uint64(f.slotsOf(int(per)))
	at := func(k uint32) int32 { return int32(inodeAddrs + 4*(b.words()+int(k))) }
	for k := range uint32(2) {
		h.follow(follow{b.child(int(k)), i, 1 + k, roleDirect, page, b.nid(), at(k)})
		page += step
	}
	for k := range uint32(2) {
		h.follow(follow{b.child(int(2 + k)), i, 3 + k*(per+1), roleIndirect, page, b.nid(), at(2 + k)})
		page += step * uint64(per)
	}
	h.follow(follow{b.child(4), i, 3 + 2*(per+1), roleDouble, page, b.nid(), at(4)})
}

// takeXattrs checks the attributes in an inode, and follows the list to the node
// that has the rest.
func (h *harvest) takeXattrs(i int32, b nodeBlock) {
	n := 0
	if b.inline()&inlineXattr != 0 {
		n = h.w.g.xattrWords(b)
	}
	nid := b.xattrNid()
	base := int64(inodeAddrs + 4*(b.words()-n))
	part := b[base : inodeAddrs+4*b.words()]
	state := h.checkXattrs(xattrPart{i, h.w.index.nodes[h.inodes[i].node].addr, base, part}, xattrNew, nid == 0)
	h.follow(follow{nid, i, xattrPlace, roleXattr, uint64(uint32(state)), b.nid(), inodeXattrNid})
}
