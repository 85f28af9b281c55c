package lfs

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// inode is what the check keeps of one. There are many, so what is known to be
// right when the inode has been read is not kept.
type inode struct {
	nameHash      uint64 // of the name that it has noted of itself
	nid           uint32
	node          int32 // position in the index
	links, parent uint32
	names         uint32 // entries that lead to it
	dir, entry    int32  // the first entry, and the inode of its directory, -1 for none
	body          int32  // position in walk.bodies, -1 for none
	mode          uint16
	nameLen       uint16
	advise        byte
	reached       bool
	oldName       bool // the name may be one that it had, see mayBeOld
}

func (n *inode) fileType() uint16 { return n.mode & modeType }
func (n *inode) isDir() bool      { return n.fileType() == modeDir }

// owner is whom the blocks of an inode belong to, where there are quotas.
type owner struct {
	ids    [quotaKinds]uint32
	blocks uint64 // of one without a body
}

// body is what is kept besides of a directory, and of a file that has nodes.
type body struct {
	tally
	inode                 int32
	inline, cluster       byte   // log2 of the blocks of a compressed cluster, 0 for none, or unknownCluster
	lost                  byte   // that of one that is compressed where the volume has no compression
	keeps                 byte   // what becomes of its blocks
	size, blocks          uint64 // as they are stored
	savedSays             uint64 // blocks that compression saved, as it is stored
	extAt, extBlk, extLen uint32

	// Of a directory.
	dirLevel, dots byte // dots: 1 has ".", 2 has ".."
	casefold       bool
	depth, deepest uint32 // level in use, plus 1
	up, subdirs    uint32 // what its .. says; how many are in it
}

// What becomes of the blocks of a file, beside being counted.
const (
	keepNone = iota
	keepDir
	keepQuota
)

// tally is what was found of a file, in an inode or in another node.
type tally struct {
	counted uint64 // nodes and blocks
	pages   uint64 // behind the last block
	held    uint64 // behind the last one that is no mere reservation
	saved   uint64 // blocks that compression saved
	extSeen uint32 // blocks of the extent that fit the map
}

func (t *tally) add(u *tally) {
	t.counted += u.counted
	t.pages = max(t.pages, u.pages)
	t.held = max(t.held, u.held)
	t.saved += u.saved
	t.extSeen += u.extSeen
}

// leadTally is what a node gave to a body.
type leadTally struct {
	body int32
	tally
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
	ctx     context.Context
	d       dev.Device
	g       *Geometry
	s       *state
	sit     *segments
	seed    uint32
	hash    maphash.Seed // of names; hashes are compared, never stored
	quotas  bool         // there are some
	workers int          // 0: as many as are of use
	scratch []*scratch   // of workers
	idle    []*harvest   // merged, to be used again

	ssa []atomic.Pointer[[]byte] // what was read of it, where all of it may be kept

	index  nodeIndex
	inodes []inode
	owners []owner
	bodies []body
	// A bit for each block of the main area that a node leads to, and for each
	// segment what was found in it.
	claimed     *space.Sparse
	segData     *space.Map
	segNode     *space.Map
	reserved    uint64 // pointers that count as blocks and have none
	notes       []note
	noted       map[string]int  // how many of each row
	full        map[string]bool // rows of which no more are kept; not changed, but made anew
	dirBlocks   []filePage
	quota       []filePage
	chunks      []chunk
	entries     []dirEntry
	folded      []uint64 // see harvest.folds
	linked      int      // how many of them are counted
	dirsIn      []dirIn  // which directory is in which, as far as is known
	leads       []lead
	paths       map[int32]string // of directories, as far as they were asked for
	pathBytes   int              // of all that were made
	bytesRead   int64
	files, dirs uint64
	signs       signs
	progress    func(done, total int64)
	done, total int64 // nodes and blocks of directories, for it
}

func newWalk(ctx context.Context, d dev.Device, s *state, sit *segments, uuid []byte) *walk {
	return &walk{
		ctx: ctx, d: d, g: s.g, s: s, sit: sit, quotas: s.g.QuotaInos != [quotaKinds]uint32{}, seed: inodeSeed(uuid), hash: maphash.MakeSeed(), noted: map[string]int{}, paths: map[int32]string{},
		ssa:     keptSummaries(s.g),
		claimed: space.NewSparse(s.g.MainBlocks()), segData: space.NewMap(s.g.MainSegments), segNode: space.NewMap(s.g.MainSegments),
	}
}

// run reads inodes, then nodes by kind.
func (w *walk) run() error {
	refs := make([]blockRef, 0, len(w.index.nodes))
	for i := range w.index.nodes {
		n := &w.index.nodes[i]
		if n.ino == n.nid && w.g.ValidMain(n.addr) && n.nid >= rootIno {
			n.role = roleInode
			refs = append(refs, blockRef{n.addr, int32(i)})
		}
	}
	w.total = int64(len(w.index.nodes))
	w.inodes = dev.MakeLarge[inode](len(refs))
	if w.quotas {
		w.owners = make([]owner, 0, len(refs))
	}
	if err := w.sweep(refs, sweepPiece, (*harvest).takeInode, w.gather); err != nil {
		return err
	}
	// Double indirect nodes lead to indirect ones, those to direct ones.
	piece := int64(sweepNodePiece)
	if w.ssa != nil {
		piece = sweepPiece
	}
	for wave := 0; len(w.leads) > 0 && wave < 4; wave++ {
		leads := w.leads
		w.leads = nil
		refs := make([]blockRef, len(leads))
		for i := range leads {
			refs[i] = blockRef{w.index.nodes[leads[i].node].addr, int32(i)}
		}
		take := func(h *harvest, at int32, b []byte) { h.takeNode(&leads[at], b) }
		if err := w.sweep(refs, piece, take, w.gather); err != nil {
			return err
		}
	}
	return nil
}

// gather takes over what a piece of nodes gave.
func (w *walk) gather(h *harvest) error {
	base := int32(0)
	if h.fresh {
		base = w.gatherInodes(h)
	}
	for _, at := range h.lost {
		w.index.nodes[at].role = roleNone
	}
	for i := range h.tallies {
		w.bodies[h.tallies[i].body].add(&h.tallies[i].tally)
	}
	w.reserved += h.reserved
	w.files, w.dirs = w.files+h.files, w.dirs+h.dirs
	w.signs.add(&h.signs)
	for i := range h.follows {
		f := &h.follows[i]
		f.inode += base
		w.follow(f)
	}
	c := claims{w: w}
	c.runs(h.nodeRuns, w.segNode)
	c.runs(h.dataRuns, w.segData)
	w.dirBlocks = c.pages(w.dirBlocks, h.dirBlocks, base)
	w.quota = c.pages(w.quota, h.quota, base)
	c.settle(h, base)
	w.gatherEntries(h, base)
	w.takeNotes(h, base)
	return nil
}

// gatherInodes takes over new inodes, and returns where they are now.
func (w *walk) gatherInodes(h *harvest) int32 {
	base, bodies := int32(len(w.inodes)), int32(len(w.bodies))
	for i := range h.inodes {
		x := &h.inodes[i]
		if x.body >= 0 {
			x.body += bodies
		}
		w.index.nodes[x.node].inode = base + int32(i)
	}
	for i := range h.bodies {
		h.bodies[i].inode += base
	}
	w.inodes = append(w.inodes, h.inodes...)
	w.owners = append(w.owners, h.owners...)
	w.bodies = append(w.bodies, h.bodies...)
	return base
}

// follow adds a node that an inode leads to, to those to be read.
func (w *walk) follow(f *follow) {
	owner := w.inodes[f.inode].nid
	bad := func(slug, detail string) {
		w.note(note{slug: slug, inode: f.inode, got: f.nid, detail: detail, from: f.from, word: f.word, place: f.place})
	}
	if f.nid >= w.g.NIDs() {
		bad("node-pointer", "the number is out of range")
		return
	}
	i := w.index.find(f.nid)
	if i < 0 {
		bad("node-pointer", "NAT has no such node")
		return
	}
	n := &w.index.nodes[i]
	switch {
	case n.ino == f.nid:
		bad("node-pointer", "it is an inode")
		return
	case n.ino != owner:
		bad("node-pointer", "it is another file's")
		return
	case n.role != roleNone:
		bad("node-twice", "")
		return
	}
	n.role, n.inode = f.role, f.inode
	if !w.g.ValidMain(n.addr) {
		return // reported with NAT
	}
	w.leads = append(w.leads, lead{*f, int32(i)})
}
