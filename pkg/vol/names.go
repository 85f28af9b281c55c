package vol

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode/utf16"
)

// NameTable finds equal names in a directory in linear time: an open hash of
// the folded names. Names are not kept: they are made again where two hashes
// are equal. Ids are the caller's, 0 or above.
type NameTable struct {
	fold  func(uint16) uint16
	units func(id int32, dst []uint16) []uint16
	same  func(a, b int32) bool
	keys  *NameKeys
	mask  uint32
	cells []nameCell
	a, b  []uint16
}

type nameCell struct {
	hash uint32
	ref  int32 // id+1; 0 is an empty cell
}

// NewNameTable makes a table for up to n names. units appends the UTF-16 of a
// name to dst; fold maps a unit to the one it is compared as; same, which may be
// nil, says of two ids that they are names of one entry, which may be equal.
func NewNameTable(n int, fold func(uint16) uint16, units func(id int32, dst []uint16) []uint16, same func(a, b int32) bool) *NameTable {
	t := &NameTable{fold: fold, units: units, same: same, keys: NewNameKeys()}
	t.Reset(n)
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
	t.cells, t.mask = t.cells[:size], uint32(size-1)
	clear(t.cells)
}

// Add enters the name id, and returns the one that is equal to it and was
// entered first, or -1. At most n names may be added.
func (t *NameTable) Add(id int32) int32 {
	t.a = t.units(id, t.a[:0])
	return t.AddHash(id, t.Hash(t.a))
}

// AddHash is Add for a name whose Hash is known already: the name itself is only
// made where another has the same.
func (t *NameTable) AddHash(id int32, h uint32) int32 {
	for k := h & t.mask; ; k = (k + 1) & t.mask {
		c := &t.cells[k]
		if c.ref == 0 {
			*c = nameCell{hash: h, ref: id + 1}
			return -1
		}
		if c.hash != h || t.same != nil && t.same(id, c.ref-1) {
			continue
		}
		t.a, t.b = t.units(id, t.a[:0]), t.units(c.ref-1, t.b[:0])
		if equalFolded(t.a, t.b, t.fold) {
			return c.ref - 1
		}
	}
}

// Hash is the hash of a name for AddHash. Small letters of ASCII are folded
// without asking fold.
func (t *NameTable) Hash(u []uint16) uint32 {
	sum := uint64(0)
	for i, c := range u {
		if c-'a' < 26 {
			c -= 'a' - 'A'
		} else if c >= 0x80 {
			c = t.fold(c)
		}
		sum += t.keys.Unit(i, c)
	}
	return t.keys.Sum(sum)
}

// Keys are what the hash of this table is made with.
func (t *NameTable) Keys() *NameKeys { return t.keys }

// NameKeys make hashes of names: the sum of all units, each times a random number
// that its place has. Whoever does not know the numbers cannot make names that
// have the same hash, and no unit waits for the one before it.
//
// For who has no slice of units to give to Hash: add up Unit of each, then Sum.
type NameKeys [256]uint64

// NewNameKeys makes keys by chance.
func NewNameKeys() *NameKeys {
	k := new(NameKeys)
	for i := range k {
		k[i] = rand.Uint64()
	}
	return k
}

// Unit is what unit c in place i adds; it has to be folded already, and is not 0.
func (k *NameKeys) Unit(i int, c uint16) uint64 { return k[uint8(i)] * uint64(c) }

// Sum is the hash of a name whose units add up to sum.
func (k *NameKeys) Sum(sum uint64) uint32 { return uint32(sum >> 32) }

func equalFolded(a, b []uint16, fold func(uint16) uint16) bool {
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

// NameSet is all names of a directory, folded, with how many entries have
// each, for repairs that rename. It is kept up to date by its users, so that
// many renames stay linear.
type NameSet struct {
	fold func(uint16) uint16
	have map[string]int
	// next tail to try for a name, so that thousands of equal names do not
	// each try all tails again.
	next map[string]int
}

// NewNameSet makes an empty set.
func NewNameSet(fold func(uint16) uint16) *NameSet {
	return &NameSet{fold: fold, have: map[string]int{}, next: map[string]int{}}
}

func (s *NameSet) key(u []uint16) string {
	b := make([]byte, 0, 2*len(u))
	for _, c := range u {
		f := s.fold(c)
		b = append(b, byte(f), byte(f>>8))
	}
	return string(b)
}

// Has tells whether an entry has the name u.
func (s *NameSet) Has(u []uint16) bool { return s.have[s.key(u)] > 0 }

// Add and Drop enter the name of one entry and take it out; those of others
// that have the same stay.
func (s *NameSet) Add(u []uint16)  { s.have[s.key(u)]++ }
func (s *NameSet) Drop(u []uint16) { s.have[s.key(u)]-- }

// Same tells whether a and b are one name.
func (s *NameSet) Same(a, b []uint16) bool { return s.key(a) == s.key(b) }

// Tail is the next tail to try for the name u, "~1" and so on.
func (s *NameSet) Tail(u []uint16) string {
	key := s.key(u)
	s.next[key]++
	return "~" + strconv.Itoa(s.next[key])
}

// Unique is u, or u with ~N before its extension, of at most limit units; it
// is entered.
func (s *NameSet) Unique(u []uint16, limit int) []uint16 {
	if !s.Has(u) {
		s.Add(u)
		return u
	}
	dot := len(u)
	for i := len(u) - 1; i > 0; i-- {
		if u[i] == '.' {
			dot = i
			break
		}
	}
	if len(u)-dot > limit/2 {
		dot = len(u) // so long an ending is none
	}
	for {
		tail := utf16.Encode([]rune(s.Tail(u)))
		stem := max(0, min(dot, limit-len(tail)-(len(u)-dot)))
		if stem > 0 && u[stem-1]&0xFC00 == 0xD800 {
			stem-- // a pair is not cut in two
		}
		v := slices.Concat(u[:stem], tail, u[dot:])
		if !s.Has(v) {
			s.Add(v)
			return v
		}
	}
}

// LoneSurrogate is the index of the first half of a surrogate pair that stands
// alone in u, or -1.
func LoneSurrogate(u []uint16) int {
	for i := 0; i < len(u); i++ {
		if u[i]&0xF800 != 0xD800 {
			continue
		}
		if u[i] < 0xDC00 && i+1 < len(u) && u[i+1]&0xFC00 == 0xDC00 {
			i++
			continue
		}
		return i
	}
	return -1
}
