package vol

import (
	"slices"
	"strconv"
	"unicode/utf16"
)

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
