package space

import (
	"cmp"
	"slices"
	"sync"
)

// bools is a map the naive way: true is used.
type bools []bool

// parse reads a picture of a map: '.' is free, anything else used.
func parse(s string) bools {
	b := make(bools, len(s))
	for i := range s {
		b[i] = s[i] != '.'
	}
	return b
}

func (b bools) toMap() *Map {
	m := NewMap(uint32(len(b)))
	for u, used := range b {
		if used {
			m.Set(uint32(u))
		}
	}
	// Whatever is behind the end must not matter.
	if n := len(b) % wordBits; n != 0 {
		m.words[len(m.words)-1] |= 0xAAAA_AAAA_AAAA_AAAA << n
	}
	return m
}

func fromMap(m *Map) bools {
	b := make(bools, m.Len())
	for u := range b {
		b[u] = m.Used(uint32(u))
	}
	return b
}

func (b bools) String() string {
	s := make([]byte, len(b))
	for i, used := range b {
		s[i] = '.'
		if used {
			s[i] = 'X'
		}
	}
	return string(s)
}

func (b bools) fill(e Extent, used bool) {
	for u := uint64(e.Start); u < e.End(); u++ {
		b[u] = used
	}
}

// all tells whether the units of e exist and are all used, or all free.
func (b bools) all(e Extent, used bool) bool {
	if e.End() > uint64(len(b)) {
		return false
	}
	for u := uint64(e.Start); u < e.End(); u++ {
		if b[u] != used {
			return false
		}
	}
	return true
}

func (b bools) count(used bool) (n uint64) {
	for _, u := range b {
		if u == used {
			n++
		}
	}
	return n
}

// runs lists the maximal runs of used or of free units in [from, end).
func (b bools) runs(used bool, from, end int) (es []Extent) {
	for u := from; u < end; u++ {
		if b[u] != used {
			continue
		}
		if n := len(es); n > 0 && es[n-1].End() == uint64(u) {
			es[n-1].Len++
		} else {
			es = append(es, Extent{uint32(u), 1})
		}
	}
	return es
}

// firstFit is the first aligned place for r from goal on, going round.
func (b bools) firstFit(r Request, goal int) (int, bool) {
	align := max(1, int(r.Align))
	try := func(from, to int) (int, bool) {
		for u := from; u < to; u++ {
			if u%align == int(r.Phase)%align && b.all(Extent{uint32(u), r.Units}, false) {
				return u, true
			}
		}
		return 0, false
	}
	if u, ok := try(goal, len(b)); ok {
		return u, true
	}
	return try(0, len(b))
}

// fewest is the least number of extents that can hold r's units, or 0 if
// they cannot be held.
func (b bools) fewest(r Request) int {
	var lens []uint64
	for _, e := range b.runs(false, 0, len(b)) {
		start, end := newFit(r).usable(e)
		lens = append(lens, end-start)
	}
	slices.SortFunc(lens, func(x, y uint64) int { return cmp.Compare(y, x) })
	var sum uint64
	for i, n := range lens {
		if sum += n; sum >= uint64(r.Units) {
			return i + 1
		}
	}
	return 0
}

// naive allocates as file systems did: one unit a call, under one lock that
// also guards where to look next, bit by bit.
type naive struct {
	mu   sync.Mutex
	m    *Map
	free uint64
	next uint32
}

func newNaive(m *Map) *naive { return &naive{m: m, free: m.CountFree()} }

// one allocates the next free unit.
func (a *naive) one() (uint32, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := uint32(a.m.Len())
	for range n {
		if a.next >= n {
			a.next = 0
		}
		u := a.next
		a.next++
		if !a.m.Used(u) {
			a.m.Set(u)
			a.free--
			return u, nil
		}
	}
	return 0, ErrNoSpace
}

func (a *naive) release(u uint32) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.m.Used(u) {
		return ErrNotAllocated
	}
	a.m.Clear(u)
	a.free++
	return nil
}

// oneLock is the same allocator as Groups, but behind a single mutex that
// guards units, goal and freed runs alike.
type oneLock struct {
	mu sync.Mutex
	g  *Groups
}

func (a *oneLock) Alloc(dst []Extent, r Request) ([]Extent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.g.Alloc(dst, r)
}

func (a *oneLock) Release(es []Extent) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.g.Release(es)
}

func (a *oneLock) Commit() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.g.Commit()
}

func (a *oneLock) Free() uint64 { return a.g.Free() }
