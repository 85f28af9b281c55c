package vol

// NameIndex finds the entry of a name in a directory that entries are added to: an
// open hash table of eight bytes a name. Names are not kept but made again from the
// directory where two hashes are equal. (The NameHash of exFAT would not do: it has
// 16 bits, and names that differ in a number collide in it.)
type NameIndex struct {
	keys  *NameKeys
	fold  func(uint16) uint16
	units func(ref int32, dst []uint16) []uint16
	cells []nameCell
	n     int
	a, b  []uint16 // names that are being compared
}

// NewNameIndex makes an empty index. fold maps a unit to the one that it is compared
// as; units appends to dst the UTF-16 of the name that ref, 0 or above, stands for.
// Indices of one volume can have the same keys.
func NewNameIndex(keys *NameKeys, fold func(uint16) uint16, units func(ref int32, dst []uint16) []uint16) *NameIndex {
	return &NameIndex{keys: keys, fold: fold, units: units, cells: make([]nameCell, 64)}
}

func (x *NameIndex) hash(name []uint16) uint32 {
	sum := uint64(0)
	for i, u := range name {
		sum += x.keys.Unit(i, x.fold(u))
	}
	return x.keys.Sum(sum)
}

// Find is what this name, in whatever case, was entered for.
func (x *NameIndex) Find(name []uint16) (ref int32, ok bool) {
	c := x.cell(x.hash(name), name)
	return c.ref - 1, c.ref != 0
}

// cell is the cell of name, or the empty one where it would go.
func (x *NameIndex) cell(hash uint32, name []uint16) *nameCell {
	mask := uint32(len(x.cells) - 1)
	for k := hash & mask; ; k = (k + 1) & mask {
		c := &x.cells[k]
		if c.ref == 0 || c.hash == hash && x.same(name, c) {
			return c
		}
	}
}

func (x *NameIndex) same(name []uint16, c *nameCell) bool {
	x.b = x.units(c.ref-1, x.b[:0])
	return equalFolded(name, x.b, x.fold)
}

// Add enters the name that ref stands for. Of two equal ones the first counts.
func (x *NameIndex) Add(ref int32) {
	if 4*x.n >= 3*len(x.cells) {
		x.grow()
	}
	x.a = x.units(ref, x.a[:0])
	h := x.hash(x.a)
	if c := x.cell(h, x.a); c.ref == 0 {
		*c = nameCell{hash: h, ref: ref + 1}
		x.n++
	}
}

func (x *NameIndex) grow() {
	old := x.cells
	x.cells = make([]nameCell, 2*len(old))
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
