package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// nameIndex finds the set of a name in a directory: an open hash table of eight
// bytes a name, which are not kept but read from the slots where two hashes are
// equal. The NameHash of the format has 16 bits, and names that differ in a
// number collide massively in it, so that it would not be linear to go by that.
type nameIndex struct {
	up    *upcaseTable
	slots *vol.Slots
	cells []nameRef
	n     int
	a, b  []uint16 // names that are being compared
	start foldHash
}

type nameRef struct {
	hash uint32
	ref  int32 // slot+1; 0 is an empty cell
}

func newNameIndex(up *upcaseTable, slots *vol.Slots) *nameIndex {
	return &nameIndex{up: up, slots: slots, cells: make([]nameRef, 64), start: newFoldHash()}
}

// hash is the foldHash of name.
func (x *nameIndex) hash(name []uint16) uint32 {
	h := x.start
	for _, u := range name {
		h = h.add(x.up.fold(u))
	}
	return h.stirred()
}

// find is the slot of the set with this name, in whatever case.
func (x *nameIndex) find(name []uint16) (slot int, ok bool) {
	c := x.cell(x.hash(name), name)
	return int(c.ref) - 1, c.ref != 0
}

// cell is the cell of name, or the empty one where it would go.
func (x *nameIndex) cell(hash uint32, name []uint16) *nameRef {
	mask := uint32(len(x.cells) - 1)
	for k := hash & mask; ; k = (k + 1) & mask {
		c := &x.cells[k]
		if c.ref == 0 || c.hash == hash && x.same(name, c) {
			return c
		}
	}
}

func (x *nameIndex) same(name []uint16, c *nameRef) bool {
	x.b = setAt(x.slots, int(c.ref-1)).units(x.b[:0])
	return x.up.equalFold(name, x.b)
}

// add enters the set in slot. Of two with the same name the first counts.
func (x *nameIndex) add(slot int) {
	if 2*x.n >= len(x.cells) {
		x.grow()
	}
	x.a = setAt(x.slots, slot).units(x.a[:0])
	h := x.hash(x.a)
	if c := x.cell(h, x.a); c.ref == 0 {
		*c = nameRef{hash: h, ref: int32(slot) + 1}
		x.n++
	}
}

func (x *nameIndex) grow() {
	old := x.cells
	x.cells = make([]nameRef, 2*len(old))
	mask := uint32(len(x.cells) - 1)
	for _, c := range old {
		if c.ref == 0 {
			continue
		}
		k := c.hash & mask
		for x.cells[k].ref != 0 {
			k = (k + 1) & mask
		}
		x.cells[k] = c
	}
}
