package space

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func rep(s string, n int) string { return strings.Repeat(s, n) }

func TestAlloc(t *testing.T) {
	long := rep(".", 200) // spans four groups of 64
	for _, c := range []struct {
		name, m string
		r       Request
		want    []Extent
		err     error
	}{
		{"one unit", ".", Request{Units: 1}, []Extent{{0, 1}}, nil},
		{"nothing", "X", Request{}, nil, nil},
		{"no unit", "", Request{Units: 1}, nil, ErrNoSpace},
		{"full", "X", Request{Units: 1}, nil, ErrNoSpace},
		{"too much", "..", Request{Units: 3}, nil, ErrNoSpace},
		{"63", rep(".", 63), Request{Units: 63}, []Extent{{0, 63}}, nil},
		{"64", rep(".", 64), Request{Units: 64}, []Extent{{0, 64}}, nil},
		{"65", rep(".", 65), Request{Units: 65}, []Extent{{0, 65}}, nil},
		{"bits behind the end", rep("X", 65), Request{Units: 1}, nil, ErrNoSpace},
		{"huge", "..", Request{Units: ^uint32(0)}, nil, ErrNoSpace},

		{"first fit at goal", "....X....", Request{Units: 2, Goal: 2}, []Extent{{2, 2}}, nil},
		{"after goal", "....X....", Request{Units: 3, Goal: 2}, []Extent{{5, 3}}, nil},
		{"going round", "....X..", Request{Units: 3, Goal: 3}, []Extent{{0, 3}}, nil},
		{"across goal", "X....XX", Request{Units: 4, Goal: 3}, []Extent{{1, 4}}, nil},
		{"goal behind the end", "X..", Request{Units: 1, Goal: 77}, []Extent{{1, 1}}, nil},
		{"spans groups", "X" + long + "X", Request{Units: 199}, []Extent{{1, 199}}, nil},
		{"spans groups to the end", "X" + long, Request{Units: 200, Goal: 150}, []Extent{{1, 200}}, nil},
		{"spans groups from goal", rep(".", 300), Request{Units: 100, Goal: 60}, []Extent{{60, 100}}, nil},

		{"fewest", "..X...X.X....", Request{Units: 6}, []Extent{{0, 2}, {9, 4}}, nil},
		{"shortest rest", "..X...X.X....", Request{Units: 5}, []Extent{{7, 1}, {9, 4}}, nil},
		{"shortest rest, first of equal ones", "....X...X...X....", Request{Units: 6}, []Extent{{0, 4}, {5, 2}}, nil},
		{"order from goal", "..X...X.X....", Request{Units: 7, Goal: 8}, []Extent{{9, 4}, {3, 3}}, nil},
		{"of equal ones from goal", "..X..X..X..", Request{Units: 4, Goal: 5}, []Extent{{6, 2}, {9, 2}}, nil},
		{"all there is", ".X.X.", Request{Units: 3, Goal: 1}, []Extent{{2, 1}, {4, 1}, {0, 1}}, nil},
		{"groups and gaps", long + "X" + long, Request{Units: 300}, []Extent{{0, 200}, {201, 100}}, nil},

		{"contiguous", "..X...", Request{Units: 3, Contiguous: true}, []Extent{{3, 3}}, nil},
		{"not contiguous", "..X...", Request{Units: 4, Contiguous: true}, nil, ErrNotContiguous},
		{"contiguous, no space", "..X...", Request{Units: 6, Contiguous: true}, nil, ErrNoSpace},

		{"aligned", "..........", Request{Units: 2, Goal: 1, Align: 4}, []Extent{{4, 2}}, nil},
		{"phase", "..........", Request{Units: 2, Goal: 1, Align: 4, Phase: 3}, []Extent{{3, 2}}, nil},
		{"phase modulo align", "..........", Request{Units: 2, Goal: 1, Align: 4, Phase: 7}, []Extent{{3, 2}}, nil},
		{"aligned across groups", "X" + long, Request{Units: 64, Goal: 1, Align: 128, Phase: 5}, []Extent{{5, 64}}, nil},
		{"aligned in a later group", "X" + long, Request{Units: 9, Goal: 6, Align: 128, Phase: 5}, []Extent{{133, 9}}, nil},
		{"two aligned", "XX......X.X......", Request{Units: 7, Align: 4}, []Extent{{4, 2}, {12, 5}}, nil},
		{"nothing aligned", "X...X...", Request{Units: 1, Align: 4}, nil, ErrNotContiguous},
		{"not enough aligned", "X...X.......", Request{Units: 7, Align: 4}, nil, ErrNotContiguous},

		{"exact", "X....", Request{Units: 2, Goal: 2, Exact: true}, []Extent{{2, 2}}, nil},
		{"exact at 0", "....", Request{Units: 2, Exact: true}, []Extent{{0, 2}}, nil},
		{"exact, unaligned", "X....", Request{Units: 2, Goal: 3, Exact: true, Align: 8}, []Extent{{3, 2}}, nil},
		{"exact, contiguous", "X....", Request{Units: 4, Goal: 1, Exact: true, Contiguous: true}, []Extent{{1, 4}}, nil},
		{"exact, not contiguous", "..X....", Request{Units: 3, Exact: true, Contiguous: true}, nil, ErrNotContiguous},
		{"exact, goal used", "..X....", Request{Units: 1, Goal: 2, Exact: true, Contiguous: true}, nil, ErrNotContiguous},
		{"exact, beyond the end", "..X....", Request{Units: 2, Goal: 6, Exact: true, Contiguous: true}, nil, ErrNotContiguous},
		{"exact, then more", "....X...", Request{Units: 4, Goal: 2, Exact: true}, []Extent{{2, 2}, {5, 2}}, nil},
		{"exact, then before", "....X.", Request{Units: 4, Goal: 2, Exact: true}, []Extent{{2, 2}, {0, 2}}, nil},
		{"exact, then several", "..X..X.", Request{Units: 5, Goal: 1, Exact: true}, []Extent{{1, 1}, {3, 2}, {6, 1}, {0, 1}}, nil},
		{"exact cannot be", "..X.X..", Request{Units: 2, Goal: 2, Exact: true}, []Extent{{5, 2}}, nil},
		{"exact from nowhere", "..X.X..", Request{Units: 2, Goal: 99, Exact: true}, []Extent{{0, 2}}, nil},
		{"exact, rest not aligned", "...X.X", Request{Units: 3, Goal: 1, Exact: true, Align: 8, Phase: 7}, nil, ErrNotContiguous},
		{"exact across groups", long, Request{Units: 130, Goal: 63, Exact: true}, []Extent{{63, 130}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parse(c.m)
			m := b.toMap()
			g := NewAllocator(m, Options{GroupUnits: 64})
			before := []Extent{{7, 7}}
			got, err := g.Alloc(before, c.r)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			same(t, "extents", got, append(before, c.want...))
			for _, e := range c.want {
				b.fill(e, true)
			}
			same(t, "map", fromMap(m).String(), b.String())
			checkSummary(t, g)
		})
	}
}

func TestStreamGoal(t *testing.T) {
	g := NewAllocator(NewMap(1000), Options{Goal: 500})
	for i, want := range []Extent{{500, 10}, {510, 10}, {520, 10}} {
		es, err := g.Alloc(nil, Request{Units: 10})
		if err != nil || es[0] != want {
			t.Errorf("request %d: %v, %v", i, es, err)
		}
		// A request with a goal of its own does not lead the others away.
		if _, err := g.Alloc(nil, Request{Units: 1, Goal: 1}); err != nil {
			t.Error(err)
		}
	}
}

// TestStreamsPart: a stream that meets another moves on and stays apart.
func TestStreamsPart(t *testing.T) {
	g := NewAllocator(NewMap(1000), Options{GroupUnits: 64, Goal: 10})
	a, b := g.Stream(), g.Stream()
	alloc := func(s *Stream, want Extent) {
		t.Helper()
		es, err := s.Alloc(nil, Request{Units: 5})
		if err != nil || es[0] != want {
			t.Errorf("%v, %v, want %v", es, err, want)
		}
	}
	alloc(a, Extent{10, 5})
	g.groups[0].mu.Lock() // as if a were at it
	alloc(b, Extent{64, 5})
	g.groups[0].mu.Unlock()
	alloc(b, Extent{69, 5})
	alloc(a, Extent{15, 5})
}

// TestGoalPassesBusyGroup: while somebody holds the group of the goal, a
// request without a goal is served elsewhere at once.
func TestGoalPassesBusyGroup(t *testing.T) {
	g := NewAllocator(NewMap(256), Options{GroupUnits: 64})
	g.groups[0].mu.Lock()
	es, err := g.Alloc(nil, Request{Units: 3})
	g.groups[0].mu.Unlock()
	if err != nil || es[0] != (Extent{64, 3}) {
		t.Errorf("%v, %v", es, err)
	}
}

func TestRelease(t *testing.T) {
	for _, c := range []struct {
		name string
		es   []Extent
		runs []Extent // pending afterwards
		err  error
	}{
		{"nothing", nil, nil, nil},
		{"one", []Extent{{10, 5}}, []Extent{{10, 5}}, nil},
		{"adjacent", []Extent{{10, 5}, {15, 5}}, []Extent{{10, 10}}, nil},
		{"a gap in the list", []Extent{{10, 5}, {99, 0}, {15, 5}}, []Extent{{10, 10}}, nil},
		{"a gap in the units", []Extent{{10, 5}, {16, 4}}, []Extent{{10, 5}, {16, 4}}, nil},
		{"downwards", []Extent{{15, 5}, {10, 5}}, []Extent{{15, 5}, {10, 5}}, nil},
		{"across groups", []Extent{{0, 100}, {100, 100}}, []Extent{{0, 200}}, nil},
		{"out of range", []Extent{{10, 5}, {400, 1}}, nil, ErrRange},
		{"out of range by merging", []Extent{{10, ^uint32(0) - 10}, {^uint32(0), 12}}, nil, ErrRange},
		{"far out of range", []Extent{{10, 5}, {^uint32(0), ^uint32(0)}}, nil, ErrRange},
		{"free", []Extent{{10, 5}, {299, 2}}, nil, ErrNotAllocated},
		{"twice", []Extent{{10, 5}, {30, 1}, {10, 5}}, nil, ErrReleasedTwice},
		{"twice in a row", []Extent{{10, 5}, {10, 5}}, nil, ErrReleasedTwice},
		{"overlap", []Extent{{10, 5}, {30, 1}, {9, 2}}, nil, ErrReleasedTwice},
		{"overlap across groups", []Extent{{64, 1}, {60, 10}}, nil, ErrReleasedTwice},
		{"twice by merging", []Extent{{10, 5}, {30, 1}, {8, 2}, {10, 1}}, nil, ErrReleasedTwice},
	} {
		t.Run(c.name, func(t *testing.T) {
			used := parse(rep("X", 300) + rep(".", 100)).toMap()
			g := NewAllocator(used.Clone(), Options{GroupUnits: 64})
			if err := g.Release(c.es); !errors.Is(err, c.err) {
				t.Fatalf("Release: error %v, want %v", err, c.err)
			}
			if !slices.Equal(g.pending.runs, c.runs) {
				t.Errorf("pending %v, want %v", g.pending.runs, c.runs)
			}
			same(t, "pending units", slices.Collect(g.pending.marks.UsedRuns()), byStart(c.runs))
			same(t, "free before Commit", g.Free(), 100)
			g.Commit()
			want := used.Clone()
			for _, e := range c.runs {
				want.clearRange(uint64(e.Start), e.End())
			}
			same(t, "map after Commit", fromMap(g.m).String(), fromMap(want).String())
			checkSummary(t, g)

			g = NewAllocator(used.Clone(), Options{GroupUnits: 64})
			if err := g.Cancel(c.es); !errors.Is(err, c.err) {
				t.Fatalf("Cancel: error %v, want %v", err, c.err)
			}
			same(t, "map after Cancel", fromMap(g.m).String(), fromMap(want).String())
			same(t, "pending after Cancel", g.Pending(), 0)
			checkSummary(t, g)
		})
	}
}

// byStart sorts and merges runs.
func byStart(runs []Extent) []Extent {
	runs = slices.SortedFunc(slices.Values(runs), func(a, b Extent) int { return int(a.Start) - int(b.Start) })
	return slices.Collect(merged(runs))
}

func TestPending(t *testing.T) {
	g := NewAllocator(NewMap(100), Options{})
	es, err := g.Alloc(nil, Request{Units: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Release([]Extent{{20, 10}}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Alloc(nil, Request{Units: 1}); !errors.Is(err, ErrNoSpace) {
		t.Errorf("released units were reused before Commit: %v", err)
	}
	for name, give := range map[string]func([]Extent) error{"Release": g.Release, "Cancel": g.Cancel} {
		if err := give(es); !errors.Is(err, ErrReleasedTwice) {
			t.Errorf("%s of pending units: %v", name, err)
		}
	}
	g.Rollback()
	g.Commit()
	same(t, "free after Rollback", g.Free(), 0)
	if err := g.Release(es); err != nil {
		t.Fatal(err)
	}
	g.Commit()
	same(t, "free after Commit", g.Free(), 100)
	if err := g.Release(es); !errors.Is(err, ErrNotAllocated) {
		t.Errorf("release after Commit: %v", err)
	}
	checkSummary(t, g)
}

// TestTally compares the choice among run lengths, beyond those counted in an
// array too, with sorting them.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{3, 1030, 5000}).Draw(t, "most")
		lens := rapid.SliceOfN(rapid.Uint32Range(1, uint32(most)), 1, 60).Draw(t, "lengths")
		need := rapid.Uint64Range(1, uint64(len(lens)*most)).Draw(t, "need")
		ta := tally{need: need, low: 1}
		for _, n := range lens {
			ta.add(n)
		}
		var want choice
		var sum uint64
		slices.SortFunc(lens, func(a, b uint32) int { return int(b) - int(a) })
		for i := 0; i < len(lens) && sum < need; i++ {
			if lens[i] != want.atLeast {
				want.atLeast, want.equal = lens[i], 0
			}
			want.equal++
			want.runs++
			sum += uint64(lens[i])
		}
		if sum < need {
			want = choice{}
		}
		got, ok := ta.choice()
		if got != want || ok != (sum >= need) {
			t.Fatalf("%+v, %v, want %+v", got, ok, want)
		}
	})
}

func TestGroupShift(t *testing.T) {
	for _, c := range []struct {
		units uint64
		want  uint32
		shift uint
	}{
		{0, 0, 6}, {1, 0, 6}, {1 << 10, 0, 6}, {1 << 12, 0, 8}, {1<<12 - 1, 0, 7},
		{1 << 28, 0, 15}, {1 << 28, 1, 6}, {1 << 28, 64, 6}, {1 << 28, 65, 7},
		{100, 1 << 20, 20}, {100, ^uint32(0), 32},
	} {
		same(t, "shift", groupShift(c.units, c.want), c.shift)
	}
}

// checkSummary compares what the groups remember with their words.
func checkSummary(t fataler, g *Groups) {
	t.Helper()
	var free uint64
	for i := range g.groups {
		gs, ge := g.bounds(i)
		gr, want := &g.groups[i], group{}
		want.load(g.m, gs, ge)
		var longest uint32
		for e := range g.m.FreeRunsIn(span(gs, ge)) {
			longest = max(longest, e.Len)
		}
		if gr.free != want.free || gr.prefix != want.prefix || gr.suffix != want.suffix ||
			gr.largest < longest || gr.largest > gr.free {
			t.Fatalf("group %d: free %d (%d), prefix %d (%d), suffix %d (%d), largest %d (%d)", i,
				gr.free, want.free, gr.prefix, want.prefix, gr.suffix, want.suffix, gr.largest, longest)
		}
		if !gr.mu.TryLock() {
			t.Fatalf("group %d was left locked", i)
		}
		gr.mu.Unlock()
		free += uint64(want.free)
	}
	if g.Free() != free {
		t.Fatalf("Free is %d, %d units are", g.Free(), free)
	}
}
