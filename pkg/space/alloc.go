package space

import (
	"math/bits"
	"sync/atomic"
)

// Options tunes an allocator; the zero value is good.
type Options struct {
	// GroupUnits is how many units share a lock. It is rounded up to a power
	// of two, 64 at least; 0 gives the most up to 32768 that still makes 16
	// groups.
	GroupUnits uint32
	// Goal is where the first allocation without a goal of its own looks;
	// later ones go on where the one before ended.
	Goal uint32
}

// Groups is an Allocator over a Map. It is built on three things that were
// learned from the Linux kernel's allocators:
//
// 1. Allocate in one batch before a file grows, never unit by unit while it
// grows. FAT's fat_cont_expand() did the latter; one batch took 16 files of
// 256 MiB with 512-byte clusters from 9.6 s to 5.3 s, and 128 files of 64 KiB
// on a sync mount from 31.3 s to 0.43 s. So Alloc takes the whole request.
//
// 2. Where to look next is a hint and not shared state. ext4 kept it
// (s_mb_last_group) under the lock of its freed extents; without, 80
// processes went from 4821 to 9636 fallocates a second. So the units are in
// groups with a lock each, the goal is an atomic that no lock guards, and
// freed runs are on a list with a lock of its own until Commit.
//
// 3. Release whole runs. F2FS' f2fs_do_zero_range() went from 16.4 ms to
// 10.0 ms for 64 MiB that way. So Release and Commit merge what is adjacent
// and handle it a run at a time.
//
// Locks: Alloc takes that of one group for a request served there, those of
// the groups that a run spans, or all for a decision about the whole volume,
// always by ascending number. All else takes one group's at a time, and none
// together with that of the pending list.
type Groups struct {
	m      *Map
	shift  uint // a group is 1<<shift units
	groups []group

	_    [64]byte      // what is above is only read: keep it off busy lines
	goal atomic.Uint64 // where a request without a goal begins: a hint
	_    [64]byte
	free counter

	pending pending
}

var _ Allocator = (*Groups)(nil)

const (
	minGroupShift = 6  // a word of the map: groups must not share one
	maxGroupShift = 15 // default; 4 KiB of bitmap
	minGroups     = 16 // as many as the default size should leave
)

// NewAllocator returns an allocator of the free units of m. From here on m
// belongs to it: the caller may read m while no other call is running, and
// may not change it.
func NewAllocator(m *Map, o Options) *Groups {
	g := &Groups{m: m, shift: groupShift(m.Len(), o.GroupUnits)}
	size := uint64(1) << g.shift
	g.groups = make([]group, (m.Len()+size-1)>>g.shift)
	for i := range g.groups {
		start, end := g.bounds(i)
		g.groups[i].load(m, start, end)
		g.free.add(i, uint64(g.groups[i].free))
	}
	g.goal.Store(uint64(o.Goal))
	return g
}

// groupShift is log2 of the group size for a map of n units.
func groupShift(n uint64, want uint32) uint {
	if want != 0 {
		return max(minGroupShift, uint(bits.Len64(uint64(want)-1)))
	}
	return uint(min(max(minGroupShift, bits.Len64(n/minGroups)-1), maxGroupShift))
}

// Free is how many units can be allocated now. It is exact as of the calls that
// have returned; of those under way at the same time some may be in it.
func (g *Groups) Free() uint64 { return g.free.sum() }

// Alloc serves r in one batch (lesson 1) and appends the extents, in the order
// in which a file should use them, to dst. On an error dst comes back as it was and
// nothing is allocated.
//
// If one free run is long enough, the first such at or after the goal is
// used, going round at the end. Otherwise, unless r is Contiguous, the longest
// runs are, and for the rest the shortest that holds it; these come in
// ascending order from the goal on, going round too.
//
// A request with Goal 0 that is not Exact has no goal: it goes on where the
// last one such ended. An Exact request takes all it can at Goal, then as few
// extents as possible. If it may be split and Goal is not free, it cannot be
// met, and Goal is an ordinary goal. Phase counts modulo Align.
//
// Errors: ErrNoSpace, ErrNotContiguous.
func (g *Groups) Alloc(dst []Extent, r Request) ([]Extent, error) {
	return g.allocFrom(&g.goal, dst, r)
}

// Stream is the allocator with a goal of its own for requests that have none.
// Goroutines that allocate at the same time do it fastest with a stream each:
// they part by themselves, as each leaves a group in which it meets another.
type Stream struct {
	*Groups
	_    [64]byte
	goal atomic.Uint64
	_    [64]byte
}

var _ Allocator = (*Stream)(nil)

// Stream returns a new stream; it begins where g itself would go on.
func (g *Groups) Stream() *Stream {
	s := &Stream{Groups: g}
	s.goal.Store(g.goal.Load())
	return s
}

// Alloc is Groups.Alloc with the goal of the stream.
func (s *Stream) Alloc(dst []Extent, r Request) ([]Extent, error) {
	return s.allocFrom(&s.goal, dst, r)
}

// allocFrom is Alloc where hint is the goal of requests that have none.
func (g *Groups) allocFrom(hint *atomic.Uint64, dst []Extent, r Request) ([]Extent, error) {
	if r.Units == 0 {
		return dst, nil
	}
	if r.Goal != 0 || r.Exact {
		return g.alloc(dst, r, uint64(r.Goal), false)
	}
	es, err := g.alloc(dst, r, hint.Load(), true)
	if err == nil {
		// Another goroutine's goal may be overwritten here. That costs
		// nothing but a longer search, so no lock guards it (lesson 2).
		hint.Store(es[len(es)-1].End())
	}
	return es, err
}

// alloc is Alloc with the goal settled. It tries one run first, with few
// locks, and leaves the rest to allocAll.
func (g *Groups) alloc(dst []Extent, r Request, goal uint64, stream bool) ([]Extent, error) {
	f := newFit(r)
	if r.Exact {
		if e, ok := g.claimAt(goal, goal+f.units); ok {
			return append(dst, e), nil
		}
		if r.Contiguous {
			return dst, g.refusal(r)
		}
		return g.allocAll(dst, r, goal)
	}
	// Only without a goal of its own may a request pass over busy groups.
	w := walk{g: g, min: f.units, try: stream}
	if e, ok := w.first(f, goal); ok {
		g.take(e)
		w.unlock()
		return append(dst, e), nil
	}
	return g.allocAll(dst, r, goal)
}

// claimAt takes the units [from, end) if all are free. The locks are taken as
// far as that is so.
func (g *Groups) claimAt(from, end uint64) (Extent, bool) {
	if end > g.m.Len() {
		return Extent{}, false
	}
	w := walk{g: g}
	defer w.unlock()
	for pos := from; pos < end; {
		i := int(pos >> g.shift)
		w.lock(i)
		_, stop := g.bounds(i)
		stop = min(stop, end)
		if g.m.nextUsed(pos, stop) != stop {
			return Extent{}, false
		}
		pos = stop
	}
	e := span(from, end)
	g.take(e)
	return e, true
}

// allocAll decides with all groups locked: it alone may split a request, or
// say that it cannot be served.
func (g *Groups) allocAll(dst []Extent, r Request, goal uint64) ([]Extent, error) {
	g.lockAll()
	defer g.unlockAll()
	if uint64(r.Units) > g.free.sum() {
		return dst, ErrNoSpace
	}
	f := newFit(r)
	es := dst
	if r.Exact && goal < g.m.Len() {
		end := min(goal+f.units, g.m.Len())
		if head := span(goal, g.m.nextUsed(goal, end)); head.Len > 0 {
			g.take(head)
			es = append(es, head)
			f.units -= uint64(head.Len)
		}
	}
	if f.units == 0 {
		return es, nil
	}
	w := walk{g: g, min: f.units, all: true}
	if e, ok := w.first(f, goal); ok {
		g.take(e)
		return append(es, e), nil
	}
	if !r.Contiguous {
		if all, ok := g.gather(es, f, goal); ok {
			return all, nil
		}
	}
	for _, e := range es[len(dst):] {
		g.give(e)
	}
	return dst, g.refusal(r)
}

// refusal is the error for a request that cannot be served.
func (g *Groups) refusal(r Request) error {
	if uint64(r.Units) > g.free.sum() {
		return ErrNoSpace
	}
	return ErrNotContiguous
}

// fit is what an extent must be like.
type fit struct {
	units        uint64
	align, phase uint64 // align is 1 at least, phase below align
}

func newFit(r Request) fit {
	f := fit{units: uint64(r.Units), align: max(1, uint64(r.Align))}
	f.phase = uint64(r.Phase) % f.align
	return f
}

// usable is what of the free run e may be allocated: from the first unit on
// that is aligned. It may be empty.
func (f fit) usable(e Extent) (start, end uint64) {
	start, end = uint64(e.Start), e.End()
	if f.align > 1 {
		start += (f.phase + f.align - start%f.align) % f.align
	}
	return min(start, end), end
}
