package vol

import "math/rand/v2"

// NameKeys are what the names of a volume are compared by. A hash is the sum of all
// units, each times a random number that its place has: whoever does not know the
// numbers cannot make names that have the same hash, and no unit waits for the one
// before it. (The NameHash of exFAT would not do: it has 16 bits, and names that
// differ in a number collide in it.)
//
// For who has no slice of units to give to Hash: add up Unit of each, then Sum.
type NameKeys struct {
	key   [256]uint64
	fold  func(uint16) uint16
	ascii bool // fold does nothing to ASCII but make small letters large
}

// NewNameKeys makes keys by chance; fold maps a unit to the one it is compared as.
func NewNameKeys(fold func(uint16) uint16) *NameKeys {
	k := &NameKeys{fold: fold, ascii: true}
	for i := range k.key {
		k.key[i] = rand.Uint64()
	}
	for c := range uint16(0x80) {
		k.ascii = k.ascii && fold(c) == large(c)
	}
	return k
}

// large is the capital of a small letter of ASCII; c may be anything.
func large(c uint16) uint16 {
	if c-'a' < 26 {
		c -= 'a' - 'A'
	}
	return c
}

// Unit is what unit c in place i adds; it has to be folded already, and is not 0.
func (k *NameKeys) Unit(i int, c uint16) uint64 { return k.key[uint8(i)] * uint64(c) }

// Sum is the hash of a name whose units add up to sum.
func (k *NameKeys) Sum(sum uint64) uint32 { return uint32(sum >> 32) }

// Hash is the hash of a name.
func (k *NameKeys) Hash(u []uint16) uint32 {
	sum := uint64(0)
	for i, c := range u {
		if k.ascii && c < 0x80 {
			c = large(c)
		} else {
			c = k.fold(c)
		}
		sum += k.Unit(i, c)
	}
	return k.Sum(sum)
}

// EqualFolded tells whether two names are one where fold maps each unit to the one
// it is compared as.
func EqualFolded(a, b []uint16, fold func(uint16) uint16) bool {
	if len(a) != len(b) {
		return false
	}
	for i, u := range a {
		if u != b[i] && fold(u) != fold(b[i]) {
			return false
		}
	}
	return true
}

// NameTable finds the names of a directory, and equal ones among them, in linear
// time: an open hash table of eight bytes a name, and as much again that is empty.
// Names are not kept but made again where two hashes are equal.
type NameTable struct {
	*NameKeys
	units func(id int32, dst []uint16) []uint16
	same  func(a, b int32) bool
	cells []nameCell
	n     int
	a, b  []uint16 // names that are being compared
}

type nameCell struct {
	hash uint32
	ref  int32 // id+1; 0 is an empty cell
}

// fewNames is what a new table has room for before it grows.
const fewNames = 32

// NewNameTable makes an empty table. units appends the UTF-16 of a name to dst; ids
// are the caller's, 0 or above. same, which may be nil, says of two ids that they are
// names of one entry, which may be equal. Tables of one volume can have the same
// keys.
func NewNameTable(keys *NameKeys, units func(id int32, dst []uint16) []uint16, same func(a, b int32) bool) *NameTable {
	t := &NameTable{NameKeys: keys, units: units, same: same}
	t.Reset(fewNames)
	return t
}

// Reset empties the table and makes room for n names, in the memory it has
// where that is enough.
func (t *NameTable) Reset(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if size > cap(t.cells) {
		t.cells = make([]nameCell, size)
	}
	t.cells, t.n = t.cells[:size], 0
	clear(t.cells)
}

// Find is what this name, in whatever case, was entered for first.
func (t *NameTable) Find(name []uint16) (id int32, ok bool) {
	h, mask := t.Hash(name), uint32(len(t.cells)-1)
	for k := h & mask; ; k = (k + 1) & mask {
		switch c := &t.cells[k]; {
		case c.ref == 0:
			return 0, false
		case c.hash == h && t.is(name, c):
			return c.ref - 1, true
		}
	}
}

func (t *NameTable) is(name []uint16, c *nameCell) bool {
	t.b = t.units(c.ref-1, t.b[:0])
	return EqualFolded(name, t.b, t.fold)
}

// Add enters the name id, and returns the one that is equal to it and was
// entered first, which goes on to count, or -1.
func (t *NameTable) Add(id int32) int32 {
	t.a = t.units(id, t.a[:0])
	return t.AddHash(id, t.Hash(t.a))
}

// AddHash is Add for a name whose Hash is known already: the name itself is only
// made where another has the same.
func (t *NameTable) AddHash(id int32, h uint32) int32 {
	if 4*t.n >= 3*len(t.cells) {
		t.grow()
	}
	mask := uint32(len(t.cells) - 1)
	for k := h & mask; ; k = (k + 1) & mask {
		c := &t.cells[k]
		if c.ref == 0 {
			*c = nameCell{hash: h, ref: id + 1}
			t.n++
			return -1
		}
		if c.hash != h || t.same != nil && t.same(id, c.ref-1) {
			continue
		}
		if t.a = t.units(id, t.a[:0]); t.is(t.a, c) {
			return c.ref - 1
		}
	}
}

func (t *NameTable) grow() {
	old := t.cells
	t.cells = make([]nameCell, 2*len(old))
	mask := uint32(len(t.cells) - 1)
	for _, c := range old {
		if c.ref == 0 {
			continue
		}
		k := c.hash & mask
		for t.cells[k].ref != 0 {
			k = (k + 1) & mask
		}
		t.cells[k] = c
	}
}
