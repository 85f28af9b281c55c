package space

// noRun is no unit: more than a map can have.
const noRun = ^uint64(0)

// walk goes over the free runs of an allocator's map in ascending order. It
// locks the group it is at and, while a run reaches from an earlier group into
// this one, the groups of that run: always a range of groups, extended only
// upwards, so that two walks cannot wait for each other.
type walk struct {
	g   *Groups
	min uint64 // shorter runs need not be visited; may change on the way
	all bool   // the caller holds all locks: the walk takes none
	try bool   // pass over groups that are locked

	lo, hi int // the walk holds the locks of groups [lo, hi)
}

// visitor looks at a free run. If the run is open it may go on behind e, and
// comes again when more is known. true ends the walk.
type visitor func(e Extent, open bool) bool

// first finds the first free run at or after goal, going round, that holds f
// and returns the part to use. Then the groups of that part are locked; if
// there is none, nothing is.
func (w *walk) first(f fit, goal uint64) (Extent, bool) {
	var found Extent
	visit := func(e Extent, _ bool) bool {
		start, end := f.usable(e)
		if end-start < f.units {
			return false
		}
		found = span(start, start+f.units)
		return true
	}
	if goal >= w.g.m.Len() {
		goal = 0
	}
	ok := w.runs(goal, w.g.m.Len(), visit) || goal > 0 && w.runs(0, goal, visit)
	return found, ok
}

// runs visits the free runs that begin in [from, limit), w.min units or more
// each; one that spans from counts as beginning there. If visit ended the walk
// it returns true and keeps the locks of the last run's groups.
func (w *walk) runs(from, limit uint64, visit visitor) bool {
	open := noRun // where the run begins that reaches up to this group
	for i := int(from >> w.g.shift); i < len(w.g.groups); i++ {
		gs, ge := w.g.bounds(i)
		pos := max(gs, from)
		if open == noRun {
			if pos >= limit {
				break
			}
			if !w.enter(i) {
				continue
			}
		} else {
			w.lock(i)
			pos = gs + uint64(w.g.groups[i].prefix)
			if visit(span(open, pos), pos == ge) {
				return true
			}
			if pos == ge {
				continue
			}
			w.unlockBefore(i)
		}
		if w.inside(i, pos, limit, visit) {
			return true
		}
		open = w.suffix(i, pos, limit)
		if open != noRun && visit(span(open, ge), true) {
			return true
		}
	}
	if open != noRun && visit(span(open, w.g.m.Len()), false) {
		return true
	}
	w.unlock()
	return false
}

// suffix is where the free run at the end of group i begins, pos or later, or
// noRun.
func (w *walk) suffix(i int, pos, limit uint64) uint64 {
	_, ge := w.g.bounds(i)
	start := max(pos, ge-uint64(w.g.groups[i].suffix))
	if start >= min(ge, limit) {
		return noRun
	}
	return start
}

// inside visits the runs that begin at pos or later and end in group i before
// its suffix. A scan of all the group corrects its summary.
func (w *walk) inside(i int, pos, limit uint64, visit visitor) bool {
	gr := &w.g.groups[i]
	if uint64(gr.largest) < w.min {
		return false
	}
	gs, ge := w.g.bounds(i)
	end := ge - uint64(gr.suffix)
	longest := max(gr.prefix, gr.suffix)
	for at := pos; at < end; {
		e, ok := w.g.m.freeRun(at, end)
		if !ok {
			break
		}
		if uint64(e.Start) >= limit {
			return false
		}
		longest = max(longest, e.Len)
		if uint64(e.Len) >= w.min && visit(e, false) {
			return true
		}
		at = e.End()
	}
	if pos <= gs+uint64(gr.prefix) {
		gr.largest = longest
	}
	return false
}

// enter locks group i, and no other any more. It returns false if the group is
// to be passed over: a busy one when there is a choice. That, too, is taking
// the goal for a hint: waiting for the lock would be worse than a unit farther
// off.
func (w *walk) enter(i int) bool {
	if w.all {
		return true
	}
	w.unlock()
	if w.try {
		if !w.g.groups[i].mu.TryLock() {
			return false
		}
		w.lo, w.hi = i, i+1
		return true
	}
	w.lock(i)
	return true
}

// lock adds group i to the range of locked ones; it is the next, or the first.
func (w *walk) lock(i int) {
	if w.all {
		return
	}
	w.g.groups[i].mu.Lock()
	if w.lo == w.hi {
		w.lo = i
	}
	w.hi = i + 1
}

// unlockBefore gives up the groups before i.
func (w *walk) unlockBefore(i int) {
	for ; w.lo < min(i, w.hi); w.lo++ {
		w.g.groups[w.lo].mu.Unlock()
	}
}

// unlock gives up all groups the walk holds.
func (w *walk) unlock() { w.unlockBefore(w.hi) }
