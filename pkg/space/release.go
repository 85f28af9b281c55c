package space

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
)

// ErrNotAllocated: units are given back that are free.
// ErrReleasedTwice: units are given back that were given back before, or that
// one call lists twice.
var (
	ErrNotAllocated  = errors.New("units are not allocated")
	ErrReleasedTwice = errors.New("units are released twice")
)

// pending is what was released since the last Commit. Its lock guards the list
// alone and is held for no longer than it takes to extend it.
type pending struct {
	mu   sync.Mutex
	runs []Extent // disjoint, in order of release
	n    uint64   // how many units they are

	// marks has a bit for each unit that is in runs or on its way into or out
	// of it: the question whether a unit is released already must be quick
	// even with millions of runs. The locks of the groups guard it. A marked
	// unit is used and stays so until whoever marked it frees it and takes
	// the mark away, both in one go.
	marks *Map
	once  sync.Once // makes marks: most allocators never release
}

// Release gives extents back. They become reusable at Commit; until then they
// are neither free nor any longer the caller's. Adjacent ones are handled as
// one run, and empty ones do not end a run. On an error nothing is released:
// ErrRange, ErrNotAllocated or ErrReleasedTwice, with the run in question.
func (g *Groups) Release(es []Extent) error {
	if err := g.mark(es); err != nil {
		return err
	}
	p := &g.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	for run := range merged(es) {
		p.runs = append(p.runs, run)
		p.n += uint64(run.Len)
	}
	return nil
}

// Cancel gives back extents of which nothing was used yet, such as those of
// the other files when one of a batch could not be served: they are free again
// at once. Errors are those of Release; with one nothing is cancelled.
func (g *Groups) Cancel(es []Extent) error {
	if err := g.mark(es); err != nil {
		return err
	}
	for run := range merged(es) {
		g.reuse(run)
	}
	return nil
}

// Commit makes the released units reusable, run by run.
func (g *Groups) Commit() {
	runs := g.pending.takeAll()
	// Files deleted one by one often make one long run together.
	slices.SortFunc(runs, func(a, b Extent) int { return cmp.Compare(a.Start, b.Start) })
	for run := range merged(runs) {
		g.reuse(run)
	}
}

// Rollback takes back all releases since the last Commit: the units stay
// allocated.
func (g *Groups) Rollback() {
	for _, run := range g.pending.takeAll() {
		g.unmark(run)
	}
}

// Pending is how many units are released but not yet reusable: Commit adds as
// many to Free.
func (g *Groups) Pending() uint64 {
	g.pending.mu.Lock()
	defer g.pending.mu.Unlock()
	return g.pending.n
}

// takeAll empties the list and returns what it had.
func (p *pending) takeAll() []Extent {
	p.mu.Lock()
	defer p.mu.Unlock()
	runs := p.runs
	p.runs, p.n = nil, 0
	return runs
}

// merged yields the extents of es, in their order, with each that begins where
// the one before ends joined to that, and without the empty ones.
func merged(es []Extent) iter.Seq[Extent] {
	return func(yield func(Extent) bool) {
		var run Extent
		for _, e := range es {
			switch {
			case e.Len == 0:
			case run.Len == 0:
				run = e
			case run.End() == uint64(e.Start) && e.Len <= math.MaxUint32-run.Len:
				run.Len += e.Len
			default:
				if !yield(run) {
					return
				}
				run = e
			}
		}
		if run.Len > 0 {
			yield(run)
		}
	}
}

// mark checks extents and marks them as given back, all or none. A run is
// marked before the next is looked at, which is how a unit listed twice is
// noticed (lesson 3).
func (g *Groups) mark(es []Extent) error {
	g.pending.once.Do(func() { g.pending.marks = NewMap(uint32(g.m.Len())) })
	done := 0
	for run := range merged(es) {
		err := g.markRun(run)
		if err == nil {
			done++
			continue
		}
		for run := range merged(es) {
			if done == 0 {
				break
			}
			g.unmark(run)
			done--
		}
		return fmt.Errorf("%w: %v", err, run)
	}
	return nil
}

// markRun checks and marks one run, all or none of it.
func (g *Groups) markRun(run Extent) error {
	if !g.m.Contains(run) {
		return ErrRange
	}
	for i, part := range g.parts(run) {
		g.groups[i].mu.Lock()
		err := g.markPart(part)
		g.groups[i].mu.Unlock()
		if err != nil {
			g.unmark(span(uint64(run.Start), uint64(part.Start)))
			return err
		}
	}
	return nil
}

// markPart is markRun inside a group that the caller has locked.
func (g *Groups) markPart(e Extent) error {
	from, end := uint64(e.Start), e.End()
	switch marks := g.pending.marks; {
	case g.m.nextFree(from, end) != end:
		return ErrNotAllocated
	case marks.nextUsed(from, end) != end:
		return ErrReleasedTwice
	default:
		marks.setRange(from, end)
		return nil
	}
}

// unmark takes the marks of run away; the units stay used.
func (g *Groups) unmark(run Extent) {
	for i, part := range g.parts(run) {
		g.groups[i].mu.Lock()
		g.pending.marks.clearRange(uint64(part.Start), part.End())
		g.groups[i].mu.Unlock()
	}
}

// reuse makes the marked run free, group by group.
func (g *Groups) reuse(run Extent) {
	for i, part := range g.parts(run) {
		g.groups[i].mu.Lock()
		g.pending.marks.clearRange(uint64(part.Start), part.End())
		g.give(part)
		g.groups[i].mu.Unlock()
	}
}
