package space

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// holed is an allocator of n units in which every unit in used is taken.
func holed(n uint32, used ...Extent) *Groups {
	m := NewMap(n)
	for _, e := range used {
		if err := m.SetRun(e); err != nil {
			panic(err)
		}
	}
	return NewAllocator(m, Options{})
}

func TestAllocEach(t *testing.T) {
	ctx := context.Background()
	// What goes on behind a file is served before what could go anywhere.
	g := holed(100, Extent{0, 10})
	got, err := g.AllocEach(ctx, []Request{{Units: 20}, {Units: 5, Goal: 10, Exact: true}})
	if err != nil || !slices.Equal(got[1], []Extent{{10, 5}}) || !slices.Equal(got[0], []Extent{{15, 20}}) {
		t.Errorf("%v, %v", got, err)
	}
	// The long one needs the run that the short ones would have broken.
	g = holed(70, Extent{10, 10}) // 10 and 50 free
	got, err = g.AllocEach(ctx, []Request{{Units: 5, Goal: 20, Contiguous: true}, {Units: 0}, {Units: 50, Contiguous: true}})
	if err != nil || len(got[0]) != 1 || got[1] != nil || !slices.Equal(got[2], []Extent{{20, 50}}) {
		t.Errorf("%v, %v", got, err)
	}
	// One that cannot be served gives all back.
	g = holed(70, Extent{10, 10})
	for want, rs := range map[error][]Request{
		ErrNoSpace:       {{Units: 30}, {Units: 31}},
		ErrNotContiguous: {{Units: 5}, {Units: 51, Contiguous: true}},
	} {
		_, err := g.AllocEach(ctx, rs)
		var u *Unserved
		if !errors.As(err, &u) || !errors.Is(err, want) || u.Index != 1 || u.Request != rs[1] || u.Error() != want.Error() || g.Free() != 60 {
			t.Errorf("%v, %d free", err, g.Free())
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := g.AllocEach(stopped, []Request{{Units: 1}}); !errors.Is(err, context.Canceled) || g.Free() != 60 {
		t.Errorf("%v, %d free", err, g.Free())
	}
}

// Whatever is asked for: all of it, or none, and nothing twice.
func TestAllocEachRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for range 400 {
		m := NewMap(2000)
		for u := uint32(0); u < 2000; u++ {
			if rnd.IntN(8) == 0 {
				m.Set(u)
			}
		}
		g := NewAllocator(m, Options{})
		free := g.Free()
		var rs []Request
		for range 1 + rnd.IntN(20) {
			rs = append(rs, Request{Units: rnd.Uint32N(200), Contiguous: rnd.IntN(6) == 0, Exact: rnd.IntN(5) == 0, Goal: rnd.Uint32N(2000)})
		}
		got, err := g.AllocEach(context.Background(), rs)
		if err != nil {
			if g.Free() != free {
				t.Fatalf("%v: %d of %d free", err, g.Free(), free)
			}
			continue
		}
		var all []Extent
		for i, es := range got {
			if Units(es) != uint64(rs[i].Units) || rs[i].Contiguous && len(es) > 1 {
				t.Fatalf("%v for %+v", es, rs[i])
			}
			all = append(all, es...)
		}
		total := Units(all)
		joined := Join(all)
		for i := 1; i < len(joined); i++ {
			if joined[i-1].End() >= uint64(joined[i].Start) {
				t.Fatalf("%v and %v", joined[i-1], joined[i])
			}
		}
		if g.Free() != free-total {
			t.Fatalf("%d free", g.Free())
		}
	}
}

func TestAppend(t *testing.T) {
	var es []Extent
	for _, e := range []Extent{{5, 2}, {7, 3}, {3, 2}, {1<<32 - 2, 1}, {1<<32 - 1, 1}} {
		es = Append(es, e)
	}
	if !slices.Equal(es, []Extent{{5, 5}, {3, 2}, {1<<32 - 2, 2}}) || Units(es) != 9 {
		t.Errorf("%v", es)
	}
	if got := Join(es); !slices.Equal(got, []Extent{{3, 7}, {1<<32 - 2, 2}}) {
		t.Errorf("%v", got)
	}
	// A run of 2^32 units has no length.
	if es := Append([]Extent{{0, 1<<32 - 1}}, Extent{1<<32 - 1, 1}); len(es) != 2 {
		t.Errorf("%v", es)
	}
}

// The alignment in units must name exactly the units that lie on the boundary.
func TestBoundary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	solved := 0
	for range 2000 {
		unit := uint64(512) << rnd.IntN(8)
		if rnd.IntN(4) == 0 {
			unit = 1 + rnd.Uint64N(9999)
		}
		base := 512 * rnd.Uint64N(3000)
		align := uint64(512) << rnd.IntN(12)
		if rnd.IntN(3) == 0 {
			align = rnd.Uint64N(100_000)
		}
		every, phase, ok := Boundary(unit, base, align)
		const units = 200_000
		first := uint64(0)
		for align > 1 && first < units && (base+first*unit)%align != 0 {
			first++
		}
		if !ok {
			if first < units {
				t.Fatalf("%d from %d at %d: unit %d is on it", unit, base, align, first)
			}
			continue
		}
		solved++
		for u := first; u < first+2000; u++ {
			on := align <= 1 || (base+u*unit)%align == 0
			if on != (u%uint64(every) == uint64(phase)) {
				t.Fatalf("%d from %d at %d: unit %d with %d mod %d", unit, base, align, u, phase, every)
			}
		}
	}
	if solved < 300 {
		t.Errorf("only %d could be met", solved)
	}
	if _, _, ok := Boundary(512, 0, 1<<62); ok {
		t.Error("2^62 bytes")
	}
	if _, _, ok := Boundary(0, 0, 5); ok {
		t.Error("units of no bytes")
	}
}
