package space

import (
	"iter"
	"sync"
	"sync/atomic"
)

// group is a part of the map with a lock of its own and a summary by which a
// search can pass it over without reading its words. Its bounds are multiples
// of 64, so no two groups share a word.
type group struct {
	mu sync.Mutex // guards the rest and the group's words of both maps

	free   uint32 // free units: exact
	prefix uint32 // free units at the start: exact
	suffix uint32 // free units at the end: exact
	// largest is at least the length of the longest free run within the
	// group. Allocating may leave it too high: finding out how much would
	// need a scan each time, so the next scan that sees all of the group
	// lowers it.
	largest uint32

	_ [40]byte // a cache line each, so that neighbours don't disturb
}

// counter counts the free units of all groups. A single number that every
// allocation changes would be the shared state that the groups avoid (it alone
// makes two busy processors half as slow again), so there are several, each
// for some of the groups and on a cache line of its own.
type counter [16]struct {
	n atomic.Uint64
	_ [56]byte
}

// add changes what group i counts. The caller has locked the group, so with
// all groups locked the sum stands still.
func (c *counter) add(i int, n uint64) { c[i%len(c)].n.Add(n) }

func (c *counter) sum() (n uint64) {
	for i := range c {
		n += c[i].n.Load()
	}
	return n
}

// load fills the summary of the units [start, end).
func (gr *group) load(m *Map, start, end uint64) {
	gr.free = uint32(end - start - m.countUsed(start, end))
	gr.prefix = uint32(m.nextUsed(start, end) - start)
	gr.suffix = uint32(end - m.lastUsed(start, end))
	gr.largest = gr.free
}

// bounds is the range [start, end) of group i.
func (g *Groups) bounds(i int) (start, end uint64) {
	start = uint64(i) << g.shift
	return start, min(start+1<<g.shift, g.m.Len())
}

func (g *Groups) lockAll() {
	for i := range g.groups {
		g.groups[i].mu.Lock()
	}
}

func (g *Groups) unlockAll() {
	for i := range g.groups {
		g.groups[i].mu.Unlock()
	}
}

// parts yields the part of e in each group it touches, with the group's number.
func (g *Groups) parts(e Extent) iter.Seq2[int, Extent] {
	return func(yield func(int, Extent) bool) {
		for from, end := uint64(e.Start), e.End(); from < end; {
			next := min(end, (from>>g.shift+1)<<g.shift)
			if !yield(int(from>>g.shift), span(from, next)) {
				return
			}
			from = next
		}
	}
}

// take marks the free run e as used. The caller holds the locks of its groups.
func (g *Groups) take(e Extent) {
	for i, part := range g.parts(e) {
		from, to := uint64(part.Start), part.End()
		g.m.setRange(from, to)
		gs, ge := g.bounds(i)
		gr := &g.groups[i]
		gr.free -= part.Len
		gr.prefix = min(gr.prefix, uint32(from-gs))
		gr.suffix = min(gr.suffix, uint32(ge-to))
		gr.largest = min(gr.largest, gr.free)
		g.free.add(i, -uint64(part.Len))
	}
}

// give marks the used run e as free. The caller holds the locks of its groups.
func (g *Groups) give(e Extent) {
	for i, part := range g.parts(e) {
		from, to := uint64(part.Start), part.End()
		g.m.clearRange(from, to)
		gs, ge := g.bounds(i)
		gr := &g.groups[i]
		gr.free += part.Len
		start, end := g.m.lastUsed(gs, from), g.m.nextUsed(to, ge)
		if start == gs {
			gr.prefix = uint32(end - gs)
		}
		if end == ge {
			gr.suffix = uint32(ge - start)
		}
		gr.largest = max(gr.largest, uint32(end-start))
		g.free.add(i, uint64(part.Len))
	}
}
