package lfs

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// inode is what the check keeps of one.
type inode struct {
	nid                      uint32
	node                     int32 // position in the index
	mode                     uint16
	inline, advise, dirLevel byte
	cluster                  byte // log2 of the blocks of a compressed cluster, 0 for none
	casefold                 bool
	links, parent, depth     uint32
	uid, gid, project        uint32
	nameLen                  uint32
	nameHash                 uint64
	size, blocks             uint64 // as they are stored
	counted                  uint64 // nodes and blocks found
	pages                    uint64 // behind the last block found
	extAt, extBlk, extLen    uint32
	extSeen                  uint32 // blocks of the extent that fit the map
	saved, savedSeen         uint64 // blocks that compression saved, as stored and as found
	header                   uint64 // block behind the last mark of a compressed cluster, 0 for none

	names, subdirs uint32 // entries that lead to it; directories among its own
	dir, entry     int32  // the first entry, and the inode of its directory, -1 for none
	dots           byte   // of a directory: 1 has ".", 2 has ".."
	up             uint32 // what its .. says
	deepest        uint32 // level in use, plus 1
	reached        bool
}

func (n *inode) fileType() uint16 { return n.mode & modeType }
func (n *inode) isDir() bool      { return n.fileType() == modeDir }

// note is something found, to be reported with a path when all is known.
type note struct {
	slug      string
	inode     int32 // whose path it has, -1 for none
	name      string
	blk       uint32 // 0 for none
	off, len  int64  // bytes, where blk is not enough
	detail    string
	got, want any
}

// pointer is a block that is to be held against SSA: who leads to it.
type pointer struct {
	addr, nid uint32
	inode     int32
	slot      uint16
	version   byte // of the node, in NAT
	node      bool // it is a node itself
}

// filePage is a block of a file that is to be read.
type filePage struct {
	page  uint64
	addr  uint32
	inode int32
}

// walk reads all nodes in order of address, one kind after another: inodes,
// then what they lead to. Each node gets the role that what leads to it says,
// so one whose own marks are wrong is still read for what it is.
type walk struct {
	ctx  context.Context
	d    dev.Device
	g    *Geometry
	s    *state
	sit  *segments
	seed uint32
	hash maphash.Seed // of names; hashes are compared, never stored

	index  nodeIndex
	inodes []inode
	// A bit for each block of the main area that a node leads to, and for each
	// segment what was found in it.
	claimed     *space.Sparse
	segData     *space.Map
	segNode     *space.Map
	reserved    uint64 // pointers that count as blocks and have none
	notes       []note
	noted       map[string]int // how many of each row
	pointers    []pointer      // gathered, to be held against SSA
	spare       []pointer      // memory for as many
	comparing   *comparison    // of the batch before, under way
	alone       bool           // nothing is done beside something else
	dirBlocks   []filePage
	quota       []filePage
	entries     []dirEntry
	leads       []lead
	paths       map[int32]string // of directories, as far as they were asked for
	bytesRead   int64
	files       uint64
	dirs        uint64
	progress    func(done, total int64)
	done, total int64 // nodes and blocks of directories, for it
}

func newWalk(ctx context.Context, d dev.Device, s *state, sit *segments, uuid []byte) *walk {
	return &walk{
		ctx: ctx, d: d, g: s.g, s: s, sit: sit, seed: inodeSeed(uuid), hash: maphash.MakeSeed(), noted: map[string]int{}, paths: map[int32]string{},
		claimed: space.NewSparse(s.g.MainBlocks()), segData: space.NewMap(s.g.MainSegments), segNode: space.NewMap(s.g.MainSegments),
	}
}

// maxNotes bounds how much is kept of a row on a volume that is damaged
// throughout. What is beyond is counted.
const maxNotes = 10_000

func (w *walk) note(n note) {
	if w.noted[n.slug]++; w.noted[n.slug] <= maxNotes {
		w.notes = append(w.notes, n)
	}
}

// enough tells whether of a row no more will be kept, so that nobody needs to
// find out the rest of what a note would say.
func (w *walk) enough(slug string) bool { return w.noted[slug] >= maxNotes }

// claim takes the block at addr, which must be ValidMain, for one owner.
func (w *walk) claim(addr uint32, ino int32, isNode bool) bool {
	unit := addr - w.g.Main
	if !w.claimed.SetNew(unit) {
		w.note(note{slug: "addr-twice", inode: ino, blk: addr})
		return false
	}
	seg := unit / segmentBlocks
	if isNode {
		w.segNode.Set(seg)
	} else {
		w.segData.Set(seg)
	}
	if !w.sit.valid.Used(unit) {
		w.note(note{slug: "sit-free", inode: ino, blk: addr})
	}
	return true
}

// run reads inodes, then nodes by kind, and has what they lead to compared.
func (w *walk) run() error {
	err := w.readNodes()
	if err == nil {
		err = w.flushPointers()
	}
	return errors.Join(err, w.awaitSummaries())
}

func (w *walk) readNodes() error {
	var refs []blockRef
	for i := range w.index.nodes {
		n := &w.index.nodes[i]
		if n.ino == n.nid && w.g.ValidMain(n.addr) && n.nid >= rootIno {
			n.role = roleInode
			refs = append(refs, blockRef{n.addr, int32(i)})
		}
	}
	w.total = int64(len(w.index.nodes))
	w.inodes = make([]inode, 0, len(refs))
	if err := w.readBlocks(refs, func(at int32, b []byte) error { return w.takeInode(at, b) }); err != nil {
		return err
	}
	// Double indirect nodes lead to indirect ones, those to direct ones.
	for wave := 0; len(w.leads) > 0 && wave < 4; wave++ {
		leads := w.leads
		w.leads = nil
		if err := w.readLeads(leads, w.takeNode); err != nil {
			return err
		}
	}
	return nil
}

// follow adds the node nid, which inode ino leads to, to those to be read.
func (w *walk) follow(nid uint32, ino int32, r role, place uint32, page uint64) {
	if nid == 0 {
		return
	}
	owner := w.inodes[ino].nid
	bad := func(slug, detail string) {
		w.note(note{slug: slug, inode: ino, got: nid, detail: detail})
	}
	if nid >= w.g.NIDs() {
		bad("node-pointer", "the number is out of range")
		return
	}
	i := w.index.find(nid)
	switch {
	case i < 0:
		bad("node-pointer", "NAT has no such node")
		return
	case w.index.nodes[i].ino == nid:
		bad("node-pointer", "it is an inode")
		return
	case w.index.nodes[i].ino != owner:
		bad("node-pointer", "it is another file's")
		return
	case w.index.nodes[i].role != roleNone:
		bad("node-twice", "")
		return
	}
	w.index.nodes[i].role = r
	if !w.g.ValidMain(w.index.nodes[i].addr) {
		return // reported with NAT
	}
	w.leads = append(w.leads, lead{node: int32(i), inode: ino, role: r, place: place, page: page})
}

// takeNode looks at a node that is no inode.
func (w *walk) takeNode(l *lead, b nodeBlock) error {
	n := &w.index.nodes[l.node]
	if b.nid() != n.nid || b.ino() != n.ino {
		w.note(note{slug: "node-footer", inode: l.inode, blk: n.addr, detail: textf("it says node %d of inode %d, NAT node %d of %d", b.nid(), b.ino(), n.nid, n.ino)})
		return nil
	}
	if b.place() != l.place {
		w.note(note{slug: "node-place", inode: l.inode, blk: n.addr, got: b.place(), want: l.place})
	}
	w.takeNodeBlock(n, l.inode)
	x := &w.inodes[l.inode]
	x.counted++
	per := uint32(w.g.per().nodeSlots())
	step := uint64(w.slotsOf(l.inode, int(per)))
	switch l.role {
	case roleXattr:
		w.checkXattrs(l.inode, n.addr, b[:len(b)-footerLen], xattrState(int32(l.page)), true)
	case roleDirect:
		w.takeWords(l.inode, n, b[:4*step], l.page)
	case roleIndirect:
		for i := uint32(0); i < per; i++ {
			w.follow(b.slot(int(i)), l.inode, roleDirect, l.place+1+i, l.page+uint64(i)*step)
		}
	case roleDouble:
		for i := uint32(0); i < per; i++ {
			w.follow(b.slot(int(i)), l.inode, roleIndirect, l.place+1+i*(per+1), l.page+uint64(i)*step*uint64(per))
		}
	}
	return w.flushFull()
}

// takeNodeBlock claims the block of a node, and has its summary checked.
func (w *walk) takeNodeBlock(n *node, ino int32) {
	if w.claim(n.addr, ino, true) {
		w.point(pointer{addr: n.addr, nid: n.nid, inode: ino, node: true})
	}
}

// slotsOf is how many of n pointers count: for a compressed file whole
// clusters.
func (w *walk) slotsOf(ino int32, n int) int {
	if c := w.inodes[ino].cluster; c > 0 {
		return n >> c << c
	}
	return n
}

// takeWords takes the pointers in b, from block page of the file on. Holes are
// most of what nodes hold, so they are skipped in large steps.
func (w *walk) takeWords(ino int32, n *node, b []byte, page uint64) {
	const step = 512
	for i := 0; i < len(b); {
		if i+step <= len(b) && allZero(b[i:i+step]) {
			i += step
			continue
		}
		for end := min(i+step, len(b)); i < end; i += 4 {
			if a := binary.LittleEndian.Uint32(b[i:]); a != nullAddr {
				w.takePointer(ino, n, uint16(i/4), page+uint64(i/4), a)
			}
		}
	}
}

// takePointer takes one pointer of a file that is no hole.
func (w *walk) takePointer(ino int32, n *node, slot uint16, page uint64, addr uint32) {
	x := &w.inodes[ino]
	switch {
	case addr == newAddr:
		w.reserved++
		if x.header > 0 && page-x.header < 1<<x.cluster && x.inline&inlineReleased == 0 {
			x.savedSeen++
		}
	case addr == compressAddr:
		if x.cluster == 0 || page%(1<<x.cluster) != 0 {
			w.note(note{slug: "addr-compress", inode: ino, detail: textf("block %d of the file", page)})
			return
		}
		if x.inline&inlineReleased != 0 {
			return
		}
		w.reserved++
		x.savedSeen++
		x.header = page + 1
	case !w.g.ValidMain(addr):
		w.note(note{slug: "addr-range", inode: ino, got: hex(addr), detail: textf("block %d of the file", page)})
		return
	default:
		if w.claim(addr, ino, false) {
			w.point(pointer{addr: addr, nid: n.nid, inode: ino, slot: slot, version: n.version})
			w.keepPage(x, filePage{page, addr, ino})
		}
	}
	x.counted++
	x.pages = max(x.pages, page+1)
	if at := page - uint64(x.extAt); at < uint64(x.extLen) && addr == x.extBlk+uint32(at) {
		x.extSeen++
	}
}

// keepPage keeps a block of a file that is to be read. What belongs to two is
// read for the first: else a volume could have one block read without end.
func (w *walk) keepPage(x *inode, p filePage) {
	if x.isDir() {
		w.dirBlocks = append(w.dirBlocks, p)
	} else if w.isQuota(x.nid) {
		w.quota = append(w.quota, p)
	}
}

func (w *walk) isQuota(nid uint32) bool {
	for _, q := range w.g.QuotaInos {
		if q == nid && q != 0 {
			return true
		}
	}
	return false
}
