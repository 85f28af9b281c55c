package vol

import "strconv"

// NameTable finds equal names in a directory in linear time: an open hash of
// the folded names. Names are not kept: they are made again where two hashes
// are equal. Ids are the caller's, 0 or above.
type NameTable struct {
	fold  func(uint16) uint16
	units func(id int32, dst []uint16) []uint16
	same  func(a, b int32) bool
	mask  uint32
	cells []nameCell
	a, b  []uint16
}

type nameCell struct {
	hash uint32
	ref  int32 // id+1; 0 is an empty cell
}

// NewNameTable makes a table for n names. units appends the UTF-16 of a name
// to dst; fold maps a unit to the one it is compared as; same, which may be
// nil, says of two ids that they are names of one entry, which may be equal.
func NewNameTable(n int, fold func(uint16) uint16, units func(id int32, dst []uint16) []uint16, same func(a, b int32) bool) *NameTable {
	size := uint32(16)
	for int(size) < 2*n {
		size *= 2
	}
	return &NameTable{fold: fold, units: units, same: same, mask: size - 1, cells: make([]nameCell, size)}
}

// Add enters the name id, and returns the one that is equal to it and was
// entered first, or -1. At most n names may be added.
func (t *NameTable) Add(id int32) int32 {
	t.a = t.units(id, t.a[:0])
	h := t.hash(t.a)
	for k := h & t.mask; ; k = (k + 1) & t.mask {
		c := &t.cells[k]
		if c.ref == 0 {
			*c = nameCell{hash: h, ref: id + 1}
			return -1
		}
		if c.hash != h || t.same != nil && t.same(id, c.ref-1) {
			continue
		}
		if t.b = t.units(c.ref-1, t.b[:0]); t.equal() {
			return c.ref - 1
		}
	}
}

// hash is FNV-1a over the folded units, stirred.
func (t *NameTable) hash(u []uint16) uint32 {
	h := uint32(2166136261)
	for _, c := range u {
		if c-'a' < 26 {
			c -= 'a' - 'A'
		} else if c >= 0x80 {
			c = t.fold(c)
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h ^ h>>15
}

func (t *NameTable) equal() bool {
	if len(t.a) != len(t.b) {
		return false
	}
	for i, u := range t.a {
		if u != t.b[i] && t.fold(u) != t.fold(t.b[i]) {
			return false
		}
	}
	return true
}

// NameSet is all names of a directory, folded, for repairs that rename. It is
// kept up to date by its users, so that many renames stay linear.
type NameSet struct {
	fold func(uint16) uint16
	have map[string]bool
	// next tail to try for a name, so that thousands of equal names do not
	// each try all tails again.
	next map[string]int
}

// NewNameSet makes an empty set.
func NewNameSet(fold func(uint16) uint16) *NameSet {
	return &NameSet{fold: fold, have: map[string]bool{}, next: map[string]int{}}
}

func (s *NameSet) key(u []uint16) string {
	b := make([]byte, 0, 2*len(u))
	for _, c := range u {
		f := s.fold(c)
		b = append(b, byte(f), byte(f>>8))
	}
	return string(b)
}

// Has, Add and Drop look a name up, enter it and take it out.
func (s *NameSet) Has(u []uint16) bool { return s.have[s.key(u)] }
func (s *NameSet) Add(u []uint16)      { s.have[s.key(u)] = true }
func (s *NameSet) Drop(u []uint16)     { delete(s.have, s.key(u)) }

// Unique is u, or u with ~N before its extension, of at most limit units; it
// is entered.
func (s *NameSet) Unique(u []uint16, limit int) []uint16 {
	if !s.Has(u) {
		s.Add(u)
		return u
	}
	key := s.key(u)
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
		s.next[key]++
		var tail []uint16
		for _, r := range "~" + strconv.Itoa(s.next[key]) {
			tail = append(tail, uint16(r))
		}
		stem := max(0, min(dot, limit-len(tail)-(len(u)-dot)))
		if stem > 0 && u[stem-1]&0xFC00 == 0xD800 {
			stem-- // a pair is not cut in two
		}
		v := append(append(append([]uint16{}, u[:stem]...), tail...), u[dot:]...)
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
