package space

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSparse holds a Sparse against a slice of bools over random runs.
func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 5*pageUnits).Draw(t, "n")
		s, want := NewSparse(n), make([]bool, n)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			e := Extent{Start: uint32(rapid.Uint64Range(0, n-1).Draw(t, "start")), Len: uint32(rapid.Uint64Range(1, 3*pageUnits).Draw(t, "len"))}
			if rapid.Bool().Draw(t, "single") {
				e.Len = 1
			}
			clear := true
			for u := uint64(e.Start); u < min(e.End(), n); u++ {
				clear = clear && !want[u]
			}
			if got := s.IsClear(e); got != clear {
				t.Fatalf("%v of %d: clear is %v", e, n, got)
			}
			got, set := uint32(0), uint32(0)
			if e.Len == 1 {
				if s.SetNew(e.Start) {
					got = 1
				}
			} else {
				got = s.SetRunNew(e)
			}
			for u := uint64(e.Start); u < min(e.End(), n) && !want[u]; u++ {
				want[u] = true
				set++
			}
			if got != set {
				t.Fatalf("set %v of %d: %d units, should be %d", e, n, got, set)
			}
		}
		used, runs := uint64(0), map[uint32]uint32{}
		for u, w := range want {
			if s.Used(uint32(u)) != w {
				t.Fatalf("unit %d is %v", u, !w)
			}
			if w {
				used++
				if u == 0 || !want[u-1] {
					k := u
					for k < len(want) && want[k] {
						k++
					}
					runs[uint32(u)] = uint32(k - u)
				}
			}
		}
		if s.CountUsed() != used {
			t.Fatalf("%d are used, should be %d", s.CountUsed(), used)
		}
		s.Runs(Extent{Len: uint32(n)}, func(e Extent) bool {
			if runs[e.Start] != e.Len {
				t.Fatalf("run %v, should be %d long", e, runs[e.Start])
			}
			delete(runs, e.Start)
			return true
		})
		if len(runs) > 0 {
			t.Fatalf("runs missing: %v", runs)
		}
	})
}
