package lfs

import "sort"

// role is what a node is in its file.
type role uint8

const (
	roleNone role = iota // nothing leads to it yet
	roleInode
	roleDirect
	roleIndirect
	roleDouble
	roleXattr
)

// nodeIndex is all nodes that NAT has, by nid.
type nodeIndex struct{ nodes []node }

// find is the position of nid, or -1. Numbers are given out one after the
// other, so it mostly is where it would be if none was missing, or before.
func (x *nodeIndex) find(nid uint32) int {
	n := len(x.nodes)
	if n == 0 || nid < x.nodes[0].nid {
		return -1
	}
	if guess := nid - x.nodes[0].nid; guess < uint32(n) {
		if x.nodes[guess].nid == nid {
			return int(guess)
		}
		n = int(guess)
	}
	i := sort.Search(n, func(i int) bool { return x.nodes[i].nid >= nid })
	if i < n && x.nodes[i].nid == nid {
		return i
	}
	return -1
}

// inodeOf is the inode with a number, as it was read.
func (w *walk) inodeOf(nid uint32) (int32, bool) {
	i := w.index.find(nid)
	if i < 0 {
		return -1, false
	}
	n := &w.index.nodes[i]
	return n.inode, n.role == roleInode && n.inode >= 0
}

// follow is a node that an inode leads to: what it should be there.
type follow struct {
	nid   uint32
	inode int32
	place uint32 // of the node in its file
	role  role
	page  uint64 // first block of the file that it leads to; of attributes their xattrState
	from  uint32 // the node that leads to it, and the byte there
	word  int32
}

// lead is a follow that NAT has as such a node, to be read.
type lead struct {
	follow
	node int32 // in the index
}

// takeNode looks at a node that is no inode.
func (h *harvest) takeNode(l *lead, b nodeBlock) {
	w := h.w
	n := &w.index.nodes[l.node]
	if b.nid() != n.nid || b.ino() != n.ino {
		h.note(note{slug: "node-footer", inode: l.inode, blk: n.addr, from: n.nid, detail: textf("it says node %d of inode %d, NAT node %d of %d", b.nid(), b.ino(), n.nid, n.ino)})
		return
	}
	if b.place() != l.place {
		h.note(note{slug: "node-place", inode: l.inode, blk: n.addr, from: l.place, got: b.place(), want: l.place})
	}
	h.nodeRuns = append(h.nodeRuns, run{addr: n.addr, node: l.node, inode: l.inode, n: 1})
	at := w.inodes[l.inode].body
	f, t := &w.bodies[at], tally{counted: 1}
	per := uint32(w.g.per().nodeSlots())
	step := uint64(f.slotsOf(int(per)))
	switch l.role {
	case roleXattr:
		h.checkXattrs(xattrPart{l.inode, n.addr, 0, b[:len(b)-footerLen]}, xattrState(int32(l.page)), true)
	case roleDirect:
		h.takeWords(origin{f, &t, l.node, l.inode, 0}, b[:4*step], l.page)
	case roleIndirect:
		h.takeNids(b, l, roleDirect, 1, step)
	case roleDouble:
		h.takeNids(b, l, roleIndirect, per+1, step*uint64(per))
	}
	h.tallies = append(h.tallies, leadTally{at, t})
}

// takeNids follows the nodes that a node leads to. Each has a place of its own,
// width after that of the one before, and leads to so many pages.
func (h *harvest) takeNids(b nodeBlock, l *lead, r role, width uint32, pages uint64) {
	for i := range uint32(h.w.g.per().nodeSlots()) {
		h.follow(follow{nid: b.slot(int(i)), inode: l.inode, role: r, place: l.place + 1 + i*width, page: l.page + uint64(i)*pages, from: b.nid(), word: int32(4 * i)})
	}
}

// follow has a node followed, if there is one.
func (h *harvest) follow(f follow) {
	if f.nid != 0 {
		h.follows = append(h.follows, f)
	}
}

// slotsOf is how many of n pointers count: for a compressed file whole
// clusters.
func (f *body) slotsOf(n int) int {
	if f.cluster > 0 && f.cluster != unknownCluster {
		return n >> f.cluster << f.cluster
	}
	return n
}
