package space

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMapSizes(t *testing.T) {
	for _, n := range []uint32{0, 1, 63, 64, 65, 127, 128, 1000} {
		m := NewMap(n)
		for i := range m.Words() {
			m.Words()[i] = ^uint64(0) // with the bits behind the end
		}
		if err := m.ClearRun(Extent{0, n}); err != nil {
			t.Fatal(err)
		}
		all := []Extent{{0, n}}
		if n == 0 {
			all = nil
		}
		if got := slices.Collect(m.FreeRuns()); !slices.Equal(got, all) {
			t.Errorf("%d units: free runs %v", n, got)
		}
		if m.CountFree() != uint64(n) || m.CountUsed() != 0 || m.NextUsed(0) != uint64(n) {
			t.Errorf("%d units: %d free, %d used", n, m.CountFree(), m.CountUsed())
		}
		if err := m.SetRun(Extent{0, n}); err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(m.UsedRuns()); !slices.Equal(got, all) {
			t.Errorf("%d units: used runs %v", n, got)
		}
		if m.CountFree() != 0 || m.NextFree(0) != uint64(n) || m.LargestFree().Len != 0 {
			t.Errorf("%d units, all used: %d free, next %d", n, m.CountFree(), m.NextFree(0))
		}
	}
}

func TestMapOutOfRange(t *testing.T) {
	m := NewMap(70)
	for _, e := range []Extent{{70, 1}, {69, 2}, {0, 71}, {1 << 31, 1 << 31}, {^uint32(0), ^uint32(0)}} {
		if err := m.SetRun(e); !errors.Is(err, ErrRange) {
			t.Errorf("SetRun(%v): %v", e, err)
		}
		if err := m.ClearRun(e); !errors.Is(err, ErrRange) {
			t.Errorf("ClearRun(%v): %v", e, err)
		}
		if n := m.CountUsed(); n != 0 {
			t.Errorf("%v: %d units used afterwards", e, n)
		}
		want := uint32(max(0, 70-int64(e.Start)))
		if n, ok := m.SetRunNew(e); ok || n != want {
			t.Errorf("SetRunNew(%v): %d, %v", e, n, ok)
		}
		clear(m.Words())
	}
	if m.NextFree(1<<40) != 70 || m.NextUsed(1<<40) != 70 {
		t.Error("a search from beyond the end does not end at Len")
	}
	if e, ok := m.FreeRun(70); ok {
		t.Errorf("a free run behind the end: %v", e)
	}
}

func TestSetNew(t *testing.T) {
	m := NewMap(130)
	for _, u := range []uint32{0, 63, 64, 129} {
		if !m.SetNew(u) || m.SetNew(u) || !m.Used(u) {
			t.Errorf("unit %d", u)
		}
	}
	if n := m.CountUsed(); n != 4 {
		t.Errorf("%d used", n)
	}
	m.Clear(63)
	if n, ok := m.SetRunNew(Extent{1, 100}); n != 63 || ok {
		t.Errorf("SetRunNew: %d, %v", n, ok)
	}
	if n, ok := m.SetRunNew(Extent{65, 64}); n != 64 || !ok {
		t.Errorf("SetRunNew: %d, %v", n, ok)
	}
	if n, ok := m.SetRunNew(Extent{5, 0}); n != 0 || !ok {
		t.Errorf("SetRunNew of nothing: %d, %v", n, ok)
	}
}

func TestRunsStop(t *testing.T) {
	m := parse("..X..X..").toMap()
	for e := range m.FreeRuns() {
		if e.Start > 0 {
			break
		}
		if err := m.SetRun(Extent{3, 2}); err != nil { // behind the run: allowed
			t.Fatal(err)
		}
	}
	if e, _ := m.FreeRun(2); e != (Extent{6, 2}) {
		t.Errorf("%v", e)
	}
}

// genBools draws a map whose runs are about as long as words, or shorter.
func genBools(t *rapid.T) bools {
	n := rapid.IntRange(0, 400).Draw(t, "units")
	b := make(bools, n)
	run := rapid.SampledFrom([]int{1, 5, 70, 300}).Draw(t, "run")
	used := rapid.Bool().Draw(t, "used")
	for u := 0; u < n; {
		l := rapid.IntRange(1, run).Draw(t, "len")
		if used {
			b.fill(Extent{uint32(u), uint32(min(l, n-u))}, true)
		}
		u, used = u+l, !used
	}
	return b
}

func genExtent(t *rapid.T, n int) Extent {
	from := rapid.IntRange(0, n).Draw(t, "from")
	return Extent{uint32(from), uint32(rapid.IntRange(0, n-from).Draw(t, "n"))}
}

func TestMapModel(t *testing.T) { rapid.Check(t, mapModel) }
func FuzzMap(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(mapModel)) }
func mapModel(t *rapid.T) {
	b := genBools(t)
	m := b.toMap()
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		e := genExtent(t, len(b))
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			b.fill(e, true)
			same(t, "SetRun", m.SetRun(e), nil)
		case 1:
			b.fill(e, false)
			same(t, "ClearRun", m.ClearRun(e), nil)
		case 2:
			var want uint32
			for want < e.Len && !b[e.Start+want] {
				b[e.Start+want] = true
				want++
			}
			n, ok := m.SetRunNew(e)
			same(t, "SetRunNew", n, want)
			same(t, "SetRunNew ok", ok, want == e.Len)
		}
		same(t, "map", fromMap(m).String(), b.String())
		checkScans(t, m, b)
	}
}

func checkScans(t *rapid.T, m *Map, b bools) {
	e := genExtent(t, len(b))
	from, end := int(e.Start), int(e.End())
	same(t, "CountUsed", m.CountUsed(), b.count(true))
	same(t, "CountFree", m.CountFree(), b.count(false))
	same(t, "CountUsedIn", m.CountUsedIn(e), b[from:end].count(true))
	same(t, "FreeRuns", slices.Collect(m.FreeRuns()), b.runs(false, 0, len(b)))
	same(t, "UsedRuns", slices.Collect(m.UsedRuns()), b.runs(true, 0, len(b)))
	same(t, "FreeRunsIn", slices.Collect(m.FreeRunsIn(e)), b.runs(false, from, end))
	same(t, "UsedRunsIn", slices.Collect(m.UsedRunsIn(e)), b.runs(true, from, end))
	next := func(used bool) uint64 {
		u := from
		for u < len(b) && b[u] != used {
			u++
		}
		return uint64(u)
	}
	same(t, "NextFree", m.NextFree(uint64(from)), next(false))
	same(t, "NextUsed", m.NextUsed(uint64(from)), next(true))
	if e, ok := m.UsedRun(uint64(from)); ok {
		same(t, "UsedRun", e, b.runs(true, from, len(b))[0])
	} else {
		same(t, "NextUsed without UsedRun", next(true), m.Len())
	}
	last := end
	for last > from && !b[last-1] {
		last--
	}
	same(t, "lastUsed", m.lastUsed(uint64(from), uint64(end)), uint64(last))
	var largest Extent
	for _, e := range b.runs(false, 0, len(b)) {
		if e.Len > largest.Len {
			largest = e
		}
	}
	same(t, "LargestFree", m.LargestFree(), largest)
}

func TestDiffRunsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genBools(t), genBools(t)
		diff := slices.Clone(a)
		for u := range diff {
			diff[u] = a[u] && (u >= len(b) || !b[u])
		}
		same(t, "DiffRuns", slices.Collect(DiffRuns(a.toMap(), b.toMap())), diff.runs(true, 0, len(diff)))
	})
}

func TestClone(t *testing.T) {
	m := NewMap(100)
	c := m.Clone()
	c.Set(7)
	if m.Used(7) || !c.Used(7) || c.Len() != 100 {
		t.Error("a clone shares its units")
	}
}

// fragmented is a map of n units with random runs of up to run units.
func fragmented(n, run uint32, seed uint64) *Map {
	r := rand.New(rand.NewPCG(seed, 0))
	m := NewMap(n)
	for u := uint64(0); u < uint64(n); {
		l := 1 + r.Uint64N(uint64(run))
		m.setRange(u, min(u+l, uint64(n)))
		u += l + 1 + r.Uint64N(uint64(run))
	}
	return m
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func same[T any](t fataler, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}
