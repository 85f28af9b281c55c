package space

import (
	"iter"
	"math/bits"
)

// NextFree is the first free unit at or after from, or Len if there is none.
func (m *Map) NextFree(from uint64) uint64 { return m.nextFree(from, m.n) }

// NextUsed is the first used unit at or after from, or Len if there is none.
func (m *Map) NextUsed(from uint64) uint64 { return m.nextUsed(from, m.n) }

// FreeRun is the first run of free units at or after from; it goes on to the
// next used unit or the end of the map. A run that began before from is given
// from there on. The next one is FreeRun(e.End()). false: there is none.
func (m *Map) FreeRun(from uint64) (Extent, bool) {
	return m.freeRun(from, m.n)
}

// UsedRun is what FreeRun is, for used units.
func (m *Map) UsedRun(from uint64) (Extent, bool) {
	return m.usedRun(from, m.n)
}

// FreeRuns yields all runs of free units, ascending. Units behind the run
// just yielded may be changed between two steps.
func (m *Map) FreeRuns() iter.Seq[Extent] { return runs(m.freeRun, 0, m.n) }

// UsedRuns yields all runs of used units, ascending.
func (m *Map) UsedRuns() iter.Seq[Extent] { return runs(m.usedRun, 0, m.n) }

// FreeRunsIn yields the runs of free units inside e, cut at its bounds and at
// the map's.
func (m *Map) FreeRunsIn(e Extent) iter.Seq[Extent] {
	from, end := m.clip(e)
	return runs(m.freeRun, from, end)
}

// UsedRunsIn yields the runs of used units inside e, cut at its bounds and at
// the map's.
func (m *Map) UsedRunsIn(e Extent) iter.Seq[Extent] {
	from, end := m.clip(e)
	return runs(m.usedRun, from, end)
}

// LargestFree is the longest run of free units, of equal ones the first. With
// no unit free it is empty.
func (m *Map) LargestFree() Extent {
	var best Extent
	for e := range m.FreeRuns() {
		if e.Len > best.Len {
			best = e
		}
	}
	return best
}

// DiffRuns yields the runs of units that are used in a but not in b, such as
// allocated units that no file claims, without building a third map. Units
// that b does not have count as free in it.
func DiffRuns(a, b *Map) iter.Seq[Extent] {
	find := func(from, end uint64) (Extent, bool) {
		start := nextDiff(a, b, from, end, 0)
		if start >= end {
			return Extent{}, false
		}
		stop := nextDiff(a, b, start, end, ^uint64(0))
		return span(start, stop), true
	}
	return runs(find, 0, a.n)
}

// runs iterates with find, which gives the first run of [from, end).
func runs(find func(from, end uint64) (Extent, bool), from, end uint64) iter.Seq[Extent] {
	return func(yield func(Extent) bool) {
		for pos := from; ; {
			e, ok := find(pos, end)
			if !ok || !yield(e) {
				return
			}
			pos = e.End()
		}
	}
}

// span is the extent [from, end). A map has fewer than 2^32 units, so both
// halves fit.
func span(from, end uint64) Extent {
	return Extent{Start: uint32(from), Len: uint32(end - from)}
}

func (m *Map) freeRun(from, end uint64) (Extent, bool) {
	start := m.nextFree(from, end)
	if start >= end {
		return Extent{}, false
	}
	return span(start, m.nextUsed(start, end)), true
}

func (m *Map) usedRun(from, end uint64) (Extent, bool) {
	start := m.nextUsed(from, end)
	if start >= end {
		return Extent{}, false
	}
	return span(start, m.nextFree(start, end)), true
}

// nextUsed is the first used unit of [from, end), or end. end is at most Len:
// that is what keeps the bits behind Len out of every result.
func (m *Map) nextUsed(from, end uint64) uint64 {
	if from >= end {
		return end
	}
	i := from / wordBits
	if w := m.words[i] >> (from % wordBits); w != 0 {
		return min(end, from+uint64(bits.TrailingZeros64(w)))
	}
	for i++; i*wordBits < end; i++ {
		if w := m.words[i]; w != 0 {
			return min(end, i*wordBits+uint64(bits.TrailingZeros64(w)))
		}
	}
	return end
}

// nextFree is the first free unit of [from, end), or end; end is at most Len.
func (m *Map) nextFree(from, end uint64) uint64 {
	if from >= end {
		return end
	}
	i := from / wordBits
	if w := ^m.words[i] >> (from % wordBits); w != 0 {
		return min(end, from+uint64(bits.TrailingZeros64(w)))
	}
	for i++; i*wordBits < end; i++ {
		if w := ^m.words[i]; w != 0 {
			return min(end, i*wordBits+uint64(bits.TrailingZeros64(w)))
		}
	}
	return end
}

// lastUsed is the last used unit of [from, end) plus one, or from if there is
// none; that is, where the free run that reaches up to end begins.
func (m *Map) lastUsed(from, end uint64) uint64 {
	if from >= end {
		return from
	}
	first, i, head, tail := edges(from, end)
	for w := m.words[i] & tail; ; w = m.words[i] {
		if i == first {
			w &= head
		}
		if w != 0 {
			return i*wordBits + uint64(bits.Len64(w))
		}
		if i == first {
			return from
		}
		i--
	}
}

// nextDiff is the first unit of [from, end) whose bit in (a &^ b) differs
// from those of flip (all 0: the first set one; all 1: the first clear one),
// or end.
func nextDiff(a, b *Map, from, end, flip uint64) uint64 {
	if from >= end {
		return end
	}
	i := from / wordBits
	if w := (a.words[i]&^b.word(i) ^ flip) >> (from % wordBits); w != 0 {
		return min(end, from+uint64(bits.TrailingZeros64(w)))
	}
	for i++; i*wordBits < end; i++ {
		if w := a.words[i]&^b.word(i) ^ flip; w != 0 {
			return min(end, i*wordBits+uint64(bits.TrailingZeros64(w)))
		}
	}
	return end
}

// word is word i with the bits behind Len clear, 0 if the map has no word i.
func (m *Map) word(i uint64) uint64 {
	switch {
	case (i+1)*wordBits <= m.n:
		return m.words[i]
	case i*wordBits >= m.n:
		return 0
	}
	return m.words[i] & (1<<(m.n%wordBits) - 1)
}
