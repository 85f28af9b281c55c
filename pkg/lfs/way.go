package lfs

// Where the nodes of a file are: an inode leads to two direct nodes, two indirect
// ones and a double indirect one, and each of them has a place by which its footer
// knows it. [Linux] behaviour get_node_path().

// step is a pointer to a node on the way to a page: word of the node before it,
// and where the node it leads to has its place in the file.
type step struct {
	word  int
	place uint32
}

// way is how a page is found.
type way struct {
	steps [3]step
	depth int    // how many of them there are: 0 for a page of the inode itself
	slot  int    // of the page in the last node
	next  uint64 // the first page beyond that node
	skip  uint64 // the first page beyond the node that is missing, where one is
}

// wayTo is the way to a page. ok is false beyond what pointers reach.
func (h *handle) wayTo(page uint64) (p way, ok bool) {
	first, n := h.slots()
	if page < uint64(n) {
		return way{slot: first + int(page), next: uint64(n)}, true
	}
	leaf := uint64(h.leafSlots())
	node := (page - uint64(n)) / leaf
	place, ok := h.w.g.directPlace(node)
	if !ok {
		return p, false
	}
	p.slot, p.next = int((page-uint64(n))%leaf), uint64(n)+(node+1)*leaf
	p.steps, p.depth = h.w.g.stepsTo(place)
	return p, true
}

// directPlace is the place of a direct node, which are counted in the order of the
// file. ok is false where a file has none.
func (g *Geometry) directPlace(node uint64) (place uint32, ok bool) {
	per := uint64(g.per().nodeSlots())
	switch single, double := node-2, node-2-2*per; {
	case node < 2:
		return 1 + uint32(node), true
	case single < 2*per:
		return uint32(4 + single/per*(per+1) + single%per), true
	case double < per*per:
		return uint32(5 + 2*per + 1 + double/per*(per+1) + 1 + double%per), true
	}
	return 0, false
}

// directAt is directPlace the other way round, [Linux] behaviour
// f2fs_start_bidx_of_node(). ok is false for nodes of other kinds.
func (g *Geometry) directAt(place uint32) (node uint64, ok bool) {
	per := uint32(g.per().nodeSlots())
	if place == 0 || place == xattrPlace || isIndirect(place, per) {
		return 0, false
	}
	switch double := 5 + 2*per; {
	case place <= 2:
		return uint64(place - 1), true
	case place <= 3+per:
		return uint64(place - 2), true
	case place < double:
		return uint64(place - 3), true
	default:
		rest := place - double - 1
		return uint64(2 + 2*per + rest/(per+1)*per + rest%(per+1) - 1), true
	}
}

// firstPage is the first page that the direct node at a place of the file has; ok
// is false for other nodes.
func (h *handle) firstPage(place uint32) (page uint64, ok bool) {
	node, ok := h.w.g.directAt(place)
	_, n := h.slots()
	return uint64(n) + node*uint64(h.leafSlots()), ok
}

// stepsTo is the way to the node at a place of its file; depth is 0 where there
// can be none.
func (g *Geometry) stepsTo(place uint32) (steps [3]step, depth int) {
	per := uint32(g.per().nodeSlots())
	child := g.per().inodeSlots()
	double := 5 + 2*per
	switch {
	case place == 0, place == xattrPlace:
		return steps, 0
	case place <= 2:
		return [3]step{{child + int(place) - 1, place}}, 1
	case place == 3, place == 4+per:
		return [3]step{{child + 2 + int(place/(4+per)), place}}, 1
	case place < 4+per:
		return [3]step{{child + 2, 3}, {int(place - 4), place}}, 2
	case place < double:
		return [3]step{{child + 3, 4 + per}, {int(place - 5 - per), place}}, 2
	case place == double:
		return [3]step{{child + 4, place}}, 1
	}
	i, at := (place-double-1)/(per+1), (place-double-1)%(per+1)
	if i >= per {
		return steps, 0
	}
	steps = [3]step{{child + 4, double}, {int(i), double + 1 + i*(per+1)}}
	if at == 0 {
		return steps, 2
	}
	steps[2] = step{int(at - 1), place}
	return steps, 3
}

// isIndirect tells whether the node at a place of a file leads to nodes,
// [Linux] behaviour IS_DNODE().
func isIndirect(place, per uint32) bool {
	switch first := 6 + 2*per; {
	case place == xattrPlace:
		return false
	case place == 3, place == 4+per, place == 5+2*per:
		return true
	default:
		return place >= first && (place-first)%(per+1) == 0
	}
}
