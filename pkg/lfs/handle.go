package lfs

import (
	"bytes"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/vol"
)

// handle is a file or directory that a change has in hand: its inode in memory,
// which store writes. There is one at a time for an inode.
type handle struct {
	w    *writer
	path string
	nid  uint32
	b    nodeBlock
	// The nodes on the way to the last page: most often the next one is near.
	// Where the way ends the memory is used again.
	inner [2]nodeBlock
	leaf  nodeBlock
	// Nodes are held against their place in the file, so that damage leads to no
	// node twice, and the way through all of them ends.
	strict bool
}

// open reads the inode of a file.
func (w *writer) open(path string, nid uint32) (*handle, error) {
	b, err := w.node(nid, nid)
	if err != nil {
		return nil, err
	}
	return &handle{w: w, path: path, nid: nid, b: b}, nil
}

// store writes the inode.
func (h *handle) store() error { return h.w.putNode(h.b) }

// touch sets the times of a change.
func (h *handle) touch() {
	for _, off := range []int{inodeCtime, inodeMtime} {
		h.b.put64(off, uint64(h.w.now))
	}
	for _, off := range []int{inodeCtimeNsec, inodeMtimeNsec} {
		h.b.put32(off, 0)
	}
}

// slots is how many pointers the inode has, and the word that is the first.
func (h *handle) slots() (first, n int) {
	first = h.w.g.extraWords(h.b)
	return first, h.whole(max(0, h.b.words()-first-h.w.g.xattrWords(h.b)))
}

// leafSlots is how many pages a node leads to that has pages.
func (h *handle) leafSlots() int { return h.whole(h.w.g.per().nodeSlots()) }

// whole is how many of n pointers have pages: of a compressed file whole clusters,
// [Linux] behaviour addrs_per_inode(), addrs_per_block().
func (h *handle) whole(n int) int {
	c := h.w.g.clusterLog(h.b)
	return n >> c << c
}

// addBlocks counts n more blocks of the file, nodes or data, reserved or not.
func (h *handle) addBlocks(n int64) {
	h.b.put64(inodeBlocks, uint64(int64(h.b.blocks())+n))
	h.w.charge(h.b, n*h.w.g.BlockSize, 0)
}

// isPinned and has look at the marks of the file.
func (h *handle) isPinned() bool       { return h.b.inline()&inlinePinned != 0 }
func (h *handle) has(advise byte) bool { return h.b.advise()&advise != 0 }

// dataLog is the log of what the file holds, [Linux] behaviour
// __get_segment_type_6(): a policy, but for directories, which are hot.
func (h *handle) dataLog() int {
	switch {
	case h.b.isDir() || h.has(adviseHot) || h.w.g.isQuota(h.nid):
		return hotData
	case h.has(adviseCold):
		return coldData
	}
	return warmData
}

// pointers are those of one node.
type pointers struct {
	h       *handle
	n       nodeBlock // the inode, or a node of its own
	nid     uint32
	version byte
	base    int // the word of the first pointer
	words   int // where words start in the node
	dirty   bool
}

// nodeOffset is where the words of a node start: behind the fields of an inode.
func nodeOffset(n nodeBlock) int {
	if n.isInode() {
		return inodeAddrs
	}
	return 0
}

func (p *pointers) get(word int) uint32 { return p.n.u32(p.words + 4*word) }

// set changes a pointer. See forget for the extent that the inode remembers.
func (p *pointers) set(word int, addr uint32) {
	p.n.put32(p.words+4*word, addr)
	p.dirty = true
}

// same tells whether pointers first … end-1 are all equal, as they mostly are in
// what is reserved or a hole: then none of them needs a look of its own.
func (p *pointers) same(first, end int) (addr uint32, ok bool) {
	b := p.n[p.words+4*first : p.words+4*end]
	if len(b) == 0 {
		return 0, false
	}
	return p.get(first), bytes.Equal(b[4:], b[:len(b)-4])
}

// holes counts those of pointers first … end-1 that are.
func (p *pointers) holes(first, end int) (n uint64) {
	if a, ok := p.same(first, end); ok {
		if a == nullAddr {
			n = uint64(end - first)
		}
		return n
	}
	for word := first; word < end; word++ {
		if p.get(word) == nullAddr {
			n++
		}
	}
	return n
}

// fill sets pointers first … end-1.
func (p *pointers) fill(first, end int, addr uint32) {
	b := p.n[p.words+4*first : p.words+4*end]
	binary.LittleEndian.PutUint32(b, addr)
	for n := 4; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	p.dirty = true
}

// slot is what the summary has of a pointer.
func (p *pointers) slot(word int) uint16 { return uint16(word - p.base) }

// store writes the node, if it changed.
func (p *pointers) store() error {
	if !p.dirty || p.n.isInode() {
		return nil // the inode is written with the handle
	}
	p.dirty = false
	return p.h.w.putNode(p.n)
}

// at is the node that has a page, good until the next call. Without create it is nil where that does not
// exist; with create the nodes on the way are made.
func (h *handle) at(page uint64, create bool) (*pointers, way, error) {
	p, ok := h.wayTo(page)
	if !ok {
		return nil, p, vol.Refusef("%s: a file has no block %d", h.path, page)
	}
	n := h.b
	for i, st := range p.steps[:p.depth] {
		nid := n.u32(nodeOffset(n) + 4*st.word)
		if nid != 0 {
			child, err := h.child(nid, i, i == p.depth-1)
			if err != nil {
				return nil, p, pathError(h.path, err)
			}
			if h.strict && child.place() != st.place {
				return nil, p, damagedf("%s: its node %d says that it is number %d and not %d; run check -y", h.path, nid, child.place(), st.place)
			}
			n = child
			continue
		}
		if !create {
			p.skip = p.next + beyond(p, i, uint64(h.w.g.per().nodeSlots()), uint64(h.leafSlots()))
			if i == p.depth-1 && i > 0 { // the nodes beside it that are missing, too
				for k := st.word + 1; k < h.w.g.per().nodeSlots() && n.u32(4*k) == 0; k++ {
					p.skip += uint64(h.leafSlots())
				}
			}
			return nil, p, nil
		}
		child, err := h.newNode(n, st, i == p.depth-1)
		if err != nil {
			return nil, p, err
		}
		if i < p.depth-1 { // the last one is written when it holds something
			if err := h.w.putNode(child); err != nil {
				return nil, p, err
			}
			h.inner[i] = child
		}
		n = child
	}
	out, err := h.pointersOf(n)
	return out, p, err
}

// leafBlock is the memory for the node at the end of a way.
func (h *handle) leafBlock() nodeBlock {
	if h.leaf == nil {
		h.leaf = make(nodeBlock, h.w.g.BlockSize)
	}
	return h.leaf
}

// child reads node i on the way to a page; the last of them is good until the
// next call.
func (h *handle) child(nid uint32, i int, last bool) (nodeBlock, error) {
	if last {
		return h.leafBlock(), h.w.readPart(nid, h.nid, h.leafBlock())
	}
	if n := h.inner[i]; n != nil && n.nid() == nid {
		return n, nil
	}
	n, err := h.w.part(nid, h.nid)
	h.inner[i] = n
	return n, err
}

// beyond is how many pages follow the direct node of a way under node i of it;
// nodes have per children, and leaf pages.
func beyond(p way, i int, per, leaf uint64) (n uint64) {
	for k, size := p.depth-1, leaf; k > i; k, size = k-1, size*per {
		n += (per - 1 - uint64(p.steps[k].word)) * size
	}
	return n
}

// newNode makes the node that word st of parent is to lead to, and writes the
// parent. The last one on the way is good until the next call of at.
func (h *handle) newNode(parent nodeBlock, st step, last bool) (nodeBlock, error) {
	child, err := h.leafBlock(), error(nil)
	if last {
		err = h.w.initNode(child, h.nid, st.place, h.b.isDir())
	} else {
		child, err = h.w.newNode(h.nid, st.place, h.b.isDir())
	}
	if err != nil {
		return nil, err
	}
	h.addBlocks(1)
	parent.put32(nodeOffset(parent)+4*st.word, child.nid())
	if parent.isInode() {
		return child, nil
	}
	return child, h.w.putNode(parent)
}

func (h *handle) pointersOf(n nodeBlock) (*pointers, error) {
	e, err := h.w.nat.get(n.nid())
	if err != nil {
		return nil, err
	}
	p := &pointers{h: h, n: n, nid: n.nid(), version: e.version(), words: nodeOffset(n)}
	if n.isInode() {
		p.base, _ = h.slots()
	}
	// A node that was just made has no address yet: it must be written even if
	// nothing is put into it.
	p.dirty = e.addr() == newAddr
	return p, nil
}

// eachNode calls fn with each node that has pages of from … to-1, and with
// which of its words have them. Where a node does not exist it is made, or, if
// create is false, left out. What fn changes is written.
func (h *handle) eachNode(from, to uint64, create bool, fn func(p *pointers, page uint64, first, end int) error) error {
	for page := from; page < to; {
		p, way, err := h.at(page, create)
		if err != nil {
			return err
		}
		next := min(max(way.next, way.skip), to)
		if p != nil {
			if err := fn(p, page, way.slot, way.slot+int(next-page)); err != nil {
				return err
			}
			if err := p.store(); err != nil {
				return err
			}
		}
		page = next
	}
	return nil
}

// missing counts what pages from … to-1 lack: holes, and nodes on the way.
func (h *handle) missing(from, to uint64) (holes, nodes uint64, err error) {
	planned := map[uint32]bool{}
	for page := from; page < to; {
		p, way, err := h.at(page, false)
		if err != nil {
			return 0, 0, err
		}
		next := min(way.next, to)
		if p == nil {
			n, err := h.missingNodes(&way, planned)
			if err != nil {
				return 0, 0, err
			}
			nodes += n
			holes += next - page
		} else {
			holes += p.holes(way.slot, way.slot+int(next-page))
		}
		page = next
	}
	return holes, nodes, nil
}

// missingNodes counts the nodes of a way that do not exist and are not planned.
func (h *handle) missingNodes(p *way, planned map[uint32]bool) (n uint64, err error) {
	b := h.b
	for i, st := range p.steps[:p.depth] {
		if b != nil {
			if nid := b.u32(nodeOffset(b) + 4*st.word); nid != 0 {
				if i == p.depth-1 {
					break
				}
				if b, err = h.child(nid, i, false); err != nil {
					return 0, pathError(h.path, err)
				}
				continue
			}
			b = nil
		}
		if !planned[st.place] {
			n++
		}
		if i < p.depth-1 {
			planned[st.place] = true
		}
	}
	return n, nil
}

// forget has the inode forget the extent that it remembers, if that has a page
// of from … to-1: it must be as the map is, [Linux] behaviour struct f2fs_extent.
func (h *handle) forget(from, to uint64) {
	at, _, n := h.b.extent()
	if n > 0 && uint64(at) < to && from < uint64(at)+uint64(n) {
		clear(h.b[inodeExtent:inodeAddrs])
	}
}
