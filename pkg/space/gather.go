package space

import (
	"cmp"
	"maps"
	"slices"
)

// gather serves f from several runs: the longest, which makes the fewest
// extents, and for what is then left the shortest run that holds it, so that
// a long one is not broken for a small rest. It appends them to dst, ascending
// from the goal on. false: the runs do not suffice, and nothing is taken. The
// caller holds all locks and knows that no single run is enough.
func (g *Groups) gather(dst []Extent, f fit, goal uint64) ([]Extent, bool) {
	origin := g.origin(goal)
	c, ok := g.choose(f, origin)
	if !ok {
		return dst, false
	}
	first := len(dst)
	dst, last := g.pick(slices.Grow(dst, c.runs), f, c, origin)
	rest := f
	for _, e := range dst[first:] {
		g.take(e)
		rest.units -= uint64(e.Len)
	}
	// Only now: what is taken does not come up again.
	last = g.shortest(rest, last, origin)
	g.take(last)

	// Differences wrap: what is below origin comes last, and stays sorted.
	at, _ := slices.BinarySearchFunc(dst[first:], last, func(a, b Extent) int {
		return cmp.Compare(a.Start-uint32(origin), b.Start-uint32(origin))
	})
	return slices.Insert(dst, first+at, last), true
}

// origin is where to begin so that no run is cut in two: the beginning of the
// free run that holds the goal, or the goal if that is not free.
func (g *Groups) origin(goal uint64) uint64 {
	switch {
	case goal >= g.m.Len():
		return 0
	case g.m.Used(uint32(goal)):
		return goal
	}
	return g.m.lastUsed(0, goal)
}

// eachUsable visits the usable parts of the free runs of w.min or more units,
// once each, from origin on, going round. visit returns true to end it.
func (w *walk) eachUsable(f fit, origin uint64, visit func(e Extent) bool) {
	closed := func(run Extent, open bool) bool {
		if open {
			return false
		}
		e := span(f.usable(run))
		return e.Len > 0 && visit(e)
	}
	if !w.runs(origin, w.g.m.Len(), closed) {
		w.runs(0, origin, closed)
	}
}

// choice says which runs serve a request: all longer than atLeast, and of
// those exactly as long as many as make it runs in all.
type choice struct {
	atLeast uint32
	equal   int // how many are exactly that long: 1 at least
	runs    int
}

// choose decides which runs serve f, the longest first. false: all together
// do not.
func (g *Groups) choose(f fit, origin uint64) (choice, bool) {
	t := tally{need: f.units, low: 1}
	w := walk{g: g, all: true, min: 1}
	w.eachUsable(f, origin, func(e Extent) bool {
		t.add(e.Len)
		w.min = uint64(t.low)
		return false
	})
	return t.choice()
}

// pick appends the chosen parts to dst, from origin on, but for the last of
// the shortest: that is returned for itself, as the rest may fit better
// elsewhere.
func (g *Groups) pick(dst []Extent, f fit, c choice, origin uint64) (es []Extent, last Extent) {
	w := walk{g: g, all: true, min: uint64(c.atLeast)}
	left := c.runs
	w.eachUsable(f, origin, func(e Extent) bool {
		switch {
		case e.Len < c.atLeast || e.Len == c.atLeast && c.equal == 0:
			return false
		case e.Len == c.atLeast:
			c.equal--
			if c.equal == 0 {
				last = e
				break
			}
			dst = append(dst, e)
		default:
			dst = append(dst, e)
		}
		left--
		return left == 0
	})
	return dst, last
}

// shortest is where to put f: the beginning of the shortest usable part that
// holds it, of equal ones the first from origin on, or that of best, which
// does.
func (g *Groups) shortest(f fit, best Extent, origin uint64) Extent {
	if uint64(best.Len) > f.units {
		w := walk{g: g, all: true, min: f.units}
		w.eachUsable(f, origin, func(e Extent) bool {
			if n := uint64(e.Len); n >= f.units && n < uint64(best.Len) {
				best = e
			}
			return uint64(best.Len) == f.units
		})
	}
	best.Len = uint32(f.units)
	return best
}

// tally counts runs by length, as far as they may be among the longest that
// make need units together. So a choice among millions of runs takes neither
// a list of them nor a sort; lengths that differ are few (23 thousand in 2^28
// units at most, as they add up).
type tally struct {
	need  uint64
	sum   uint64 // units of all runs that count
	low   uint32 // shorter ones don't
	small [1024]uint32
	large map[uint32]uint32
}

// add counts a run of n units, n > 0.
func (t *tally) add(n uint32) {
	if n < t.low {
		return
	}
	t.sum += uint64(n)
	if int(n) >= len(t.small) {
		if t.large == nil {
			t.large = make(map[uint32]uint32)
		}
		t.large[n]++
	} else {
		t.small[n]++
	}
	// Once the longer ones suffice, the shortest don't count: the walk may
	// then pass over whole groups.
	for int(t.low) < len(t.small) && t.sum-t.units(t.low) >= t.need {
		t.sum -= t.units(t.low)
		t.low++
	}
}

// units is how many units are in the runs of n units, n < len(t.small).
func (t *tally) units(n uint32) uint64 { return uint64(n) * uint64(t.small[n]) }

// choice decides. false: the runs do not make need units.
func (t *tally) choice() (choice, bool) {
	if t.sum < t.need {
		return choice{}, false
	}
	left, c := t.need, choice{}
	serve := func(n, count uint32) bool {
		if n == 0 || count == 0 {
			return false
		}
		c.atLeast = n
		c.equal = int(min(uint64(count), (left+uint64(n)-1)/uint64(n)))
		c.runs += c.equal
		left -= min(left, uint64(c.equal)*uint64(n))
		return left == 0
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(t.large))) {
		if serve(n, t.large[n]) {
			return c, true
		}
	}
	for n := len(t.small) - 1; !serve(uint32(n), t.small[n]); n-- {
	}
	return c, true
}
