package space

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is what an allocator should be like: a map, the units released but
// not committed, and all that is allocated.
type model struct {
	g       *Groups
	used    bools
	pending bools
	held    []Extent // allocated through g
}

func TestAllocModel(t *testing.T) { rapid.Check(t, allocModel) }
func FuzzAlloc(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(allocModel)) }

func allocModel(t *rapid.T) {
	b := genBools(t)
	d := &model{
		g:       NewAllocator(b.toMap(), Options{GroupUnits: rapid.SampledFrom([]uint32{0, 64, 128}).Draw(t, "group")}),
		used:    slices.Clone(b),
		pending: make(bools, len(b)),
		held:    b.runs(true, 0, len(b)),
	}
	t.Repeat(map[string]func(*rapid.T){
		"alloc":    d.alloc,
		"release":  d.release,
		"cancel":   d.cancel,
		"badGive":  d.badGive,
		"commit":   d.commit,
		"rollback": d.rollback,
		"":         d.check,
	})
}

func (d *model) check(t *rapid.T) {
	same(t, "map", fromMap(d.g.m).String(), d.used.String())
	same(t, "pending", d.g.Pending(), d.pending.count(true))
	checkSummary(t, d.g)
}

func (d *model) genRequest(t *rapid.T) Request {
	r := Request{
		Units:      uint32(rapid.IntRange(0, rapid.SampledFrom([]int{3, 80, 400}).Draw(t, "most")).Draw(t, "units")),
		Goal:       uint32(rapid.IntRange(0, len(d.used)+5).Draw(t, "goal")),
		Exact:      rapid.Bool().Draw(t, "exact"),
		Contiguous: rapid.Bool().Draw(t, "contiguous"),
	}
	if rapid.Bool().Draw(t, "aligned") {
		r.Align = uint32(rapid.IntRange(0, 70).Draw(t, "align"))
		r.Phase = uint32(rapid.IntRange(0, 70).Draw(t, "phase"))
	}
	return r
}

func (d *model) alloc(t *rapid.T) {
	r := d.genRequest(t)
	goal := int(r.Goal)
	if r.Goal == 0 && !r.Exact {
		goal = int(d.g.goal.Load())
	}
	if goal >= len(d.used) && !r.Exact {
		goal = 0
	}
	es, err := d.g.Alloc(nil, r)
	want, wantErr := d.expect(r, goal)
	if !errors.Is(err, wantErr) || err != nil && es != nil {
		t.Fatalf("%+v: %v, error %v, want %v", r, es, err, wantErr)
	}
	if err != nil {
		return
	}
	if len(es) != want.extents {
		t.Fatalf("%+v: %v in\n%v\nwant %d extents", r, es, d.used, want.extents)
	}
	if want.single && es[len(es)-1].Start != uint32(want.start) {
		t.Fatalf("%+v: %v, want the last to start at %d", r, es, want.start)
	}
	d.accept(t, r, es)
}

// expected is what is certain about an allocation that can be made.
type expected struct {
	extents int
	single  bool // the last extent, wherever it is, holds all but the head
	start   int  // where it starts
}

// expect works the outcome of a request out, the naive way.
func (d *model) expect(r Request, goal int) (expected, error) {
	switch {
	case r.Units == 0:
		return expected{}, nil
	case uint64(r.Units) > d.used.count(false):
		return expected{}, ErrNoSpace
	}
	b, rest, head := slices.Clone(d.used), r, 0
	if r.Exact {
		if whole := (Extent{r.Goal, r.Units}); b.all(whole, false) {
			return expected{extents: 1, single: true, start: goal}, nil
		}
		if r.Contiguous {
			return expected{}, ErrNotContiguous
		}
		for goal < len(b) && !b[goal] {
			b[goal] = true
			rest.Units--
			goal, head = goal+1, 1
		}
		if goal >= len(b) {
			goal = 0
		}
	}
	if u, ok := b.firstFit(rest, goal); ok {
		return expected{extents: head + 1, single: true, start: u}, nil
	}
	if n := b.fewest(rest); n > 0 && !r.Contiguous {
		return expected{extents: head + n}, nil
	}
	return expected{}, ErrNotContiguous
}

// accept checks an allocation by itself and notes it.
func (d *model) accept(t *rapid.T, r Request, es []Extent) {
	var n uint64
	for i, e := range es {
		if e.Len == 0 || !d.used.all(e, false) {
			t.Fatalf("%+v: %v are not all free, or given twice", r, es)
		}
		head := r.Exact && i == 0 && e.Start == r.Goal
		if r.Align > 1 && e.Start%r.Align != r.Phase%r.Align && !head {
			t.Fatalf("%+v: %v is not aligned", r, e)
		}
		d.used.fill(e, true)
		n += uint64(e.Len)
	}
	if n != uint64(r.Units) {
		t.Fatalf("%+v: %v are %d units", r, es, n)
	}
	d.held = append(d.held, es...)
}

// some removes extents from the held ones, perhaps splitting one.
func (d *model) some(t *rapid.T) (es []Extent) {
	for range rapid.IntRange(0, min(4, len(d.held))).Draw(t, "extents") {
		i := rapid.IntRange(0, len(d.held)-1).Draw(t, "extent")
		e := d.held[i]
		d.held = slices.Delete(d.held, i, i+1)
		if e.Len > 1 && rapid.Bool().Draw(t, "split") {
			n := uint32(rapid.IntRange(1, int(e.Len)-1).Draw(t, "at"))
			d.held = append(d.held, Extent{e.Start + n, e.Len - n})
			e.Len = n
		}
		es = append(es, e, Extent{})
	}
	return es
}

func (d *model) release(t *rapid.T) {
	es := d.some(t)
	if err := d.g.Release(es); err != nil {
		t.Fatalf("Release(%v): %v", es, err)
	}
	for _, e := range es {
		d.pending.fill(e, true)
	}
}

func (d *model) cancel(t *rapid.T) {
	es := d.some(t)
	if err := d.g.Cancel(es); err != nil {
		t.Fatalf("Cancel(%v): %v", es, err)
	}
	for _, e := range es {
		d.used.fill(e, false)
	}
}

// badGive gives back random extents. Unless that happens to be right it is an
// error and changes nothing.
func (d *model) badGive(t *rapid.T) {
	n := len(d.used)
	es := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Extent {
		return Extent{uint32(rapid.IntRange(0, n+1).Draw(t, "start")), uint32(rapid.IntRange(0, 5).Draw(t, "len"))}
	}), 1, 4).Draw(t, "extents")
	seen, bad := make(bools, n), false
	for _, e := range es {
		if e.Len == 0 {
			continue
		}
		if !d.used.all(e, true) || !d.pending.all(e, false) || !seen.all(e, false) {
			bad = true
			break
		}
		seen.fill(e, true)
	}
	give := d.g.Release
	if rapid.Bool().Draw(t, "cancel") {
		give = d.g.Cancel
	}
	if !bad {
		return
	}
	if err := give(es); err == nil {
		t.Fatalf("%v were given back in\n%v\npending\n%v", es, d.used, d.pending)
	}
}

func (d *model) commit(t *rapid.T) {
	d.g.Commit()
	for u, p := range d.pending {
		if p {
			d.used[u] = false
		}
	}
	clear(d.pending)
}

func (d *model) rollback(t *rapid.T) {
	d.g.Rollback()
	d.held = append(d.held, d.pending.runs(true, 0, len(d.pending))...)
	clear(d.pending)
}
