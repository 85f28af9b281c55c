package space

import (
	"errors"
	"math/bits"
)

// wordBits is how many units one word of a Map holds.
const wordBits = 64

// ErrRange: an extent does not lie inside the map.
var ErrRange = errors.New("extent outside the map")

// Map is a bitmap of allocation units: a set bit is a unit in use. All ranges
// are handled a word (64 units) at a time.
//
// A Map has no lock. Calls that change units of different words may run at
// the same time: goroutines that each own a range whose bounds are multiples
// of 64 need no lock between them. Everything else needs one.
type Map struct {
	words []uint64
	n     uint64
}

// NewMap returns a map of n units, all free. It takes n/8 bytes.
func NewMap(n uint32) *Map {
	return &Map{
		words: make([]uint64, (uint64(n)+wordBits-1)/wordBits),
		n:     uint64(n),
	}
}

// Len is how many units the map has, 0 … 2^32-1.
func (m *Map) Len() uint64 { return m.n }

// Words is the bitmap itself, for loading and storing in bulk: unit u is bit
// u%64 of word u/64, the lowest bit first, which is exFAT's order read as
// little-endian words. The bits of the last word from Len on are nobody's:
// whatever is loaded there is neither counted nor ever found free.
func (m *Map) Words() []uint64 { return m.words }

// Clone returns a copy that shares nothing with m.
func (m *Map) Clone() *Map {
	return &Map{words: append([]uint64(nil), m.words...), n: m.n}
}

// Used tells whether unit u is in use. u must be below Len: this is a hot
// path, and a value read from a volume has to be checked by the caller.
func (m *Map) Used(u uint32) bool {
	return m.words[u/wordBits]>>(u%wordBits)&1 != 0
}

// Set marks unit u as used. u must be below Len.
func (m *Map) Set(u uint32) { m.words[u/wordBits] |= 1 << (u % wordBits) }

// Clear marks unit u as free. u must be below Len.
func (m *Map) Clear(u uint32) { m.words[u/wordBits] &^= 1 << (u % wordBits) }

// SetNew marks unit u as used and tells whether it was free before: one test
// and set, for marking chains unit by unit. u must be below Len.
func (m *Map) SetNew(u uint32) bool {
	w, b := &m.words[u/wordBits], uint64(1)<<(u%wordBits)
	if *w&b != 0 {
		return false
	}
	*w |= b
	return true
}

// Contains tells whether e lies inside the map. An empty extent does if it
// starts at Len or before.
func (m *Map) Contains(e Extent) bool { return e.End() <= m.n }

// SetRun marks e as used, whatever it was before. Out of range it is ErrRange
// and nothing changes.
func (m *Map) SetRun(e Extent) error {
	if !m.Contains(e) {
		return ErrRange
	}
	m.setRange(uint64(e.Start), e.End())
	return nil
}

// ClearRun marks e as free, whatever it was before. Out of range it is
// ErrRange and nothing changes.
func (m *Map) ClearRun(e Extent) error {
	if !m.Contains(e) {
		return ErrRange
	}
	m.clearRange(uint64(e.Start), e.End())
	return nil
}

// SetRunNew marks e unit by unit, as SetNew would, up to the first unit that
// is already used or outside the map. It returns how many units it marked; ok
// tells that these are all. If not, unit e.Start+marked is the one in the way
// (or, if that is Len or more, there is no such unit).
func (m *Map) SetRunNew(e Extent) (marked uint32, ok bool) {
	from, end := m.clip(e)
	if from < end {
		end = m.nextUsed(from, end)
		m.setRange(from, end)
		marked = uint32(end - from)
	}
	return marked, marked == e.Len
}

// CountUsed is how many units are used.
func (m *Map) CountUsed() uint64 { return m.countUsed(0, m.n) }

// CountFree is how many units are free.
func (m *Map) CountFree() uint64 { return m.n - m.countUsed(0, m.n) }

// CountUsedIn is how many units of e are used; what is outside the map does
// not count.
func (m *Map) CountUsedIn(e Extent) uint64 { return m.countUsed(m.clip(e)) }

// clip returns e as the half-open range [from, end) inside the map.
func (m *Map) clip(e Extent) (from, end uint64) {
	return min(uint64(e.Start), m.n), min(e.End(), m.n)
}

// edges describes the range [from, end), from < end, in words: the first and
// the last word it touches and the bits of each that belong to it. If first
// equals last, both masks apply to that word.
func edges(from, end uint64) (first, last uint64, head, tail uint64) {
	head = ^uint64(0) << (from % wordBits)
	tail = ^uint64(0) >> ((wordBits - end%wordBits) % wordBits)
	return from / wordBits, (end - 1) / wordBits, head, tail
}

func (m *Map) setRange(from, end uint64) {
	if from >= end {
		return
	}
	first, last, head, tail := edges(from, end)
	if first == last {
		m.words[first] |= head & tail
		return
	}
	m.words[first] |= head
	body := m.words[first+1 : last]
	for i := range body {
		body[i] = ^uint64(0)
	}
	m.words[last] |= tail
}

func (m *Map) clearRange(from, end uint64) {
	if from >= end {
		return
	}
	first, last, head, tail := edges(from, end)
	if first == last {
		m.words[first] &^= head & tail
		return
	}
	m.words[first] &^= head
	clear(m.words[first+1 : last])
	m.words[last] &^= tail
}

func (m *Map) countUsed(from, end uint64) uint64 {
	if from >= end {
		return 0
	}
	first, last, head, tail := edges(from, end)
	if first == last {
		return uint64(bits.OnesCount64(m.words[first] & head & tail))
	}
	n := bits.OnesCount64(m.words[first]&head) + bits.OnesCount64(m.words[last]&tail)
	for _, w := range m.words[first+1 : last] {
		n += bits.OnesCount64(w)
	}
	return uint64(n)
}
