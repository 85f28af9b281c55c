package lfs

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortByKey: as a stable sort by comparing does.
func TestSortByKey(t *testing.T) {
	type item struct {
		key uint32
		at  int
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 255, 256, 257, 5000} {
		for _, mask := range []uint32{0, 7, 0x7FF, 0xFFFF, 0xFFE00000, 0xFFFFFFFF} {
			got := make([]item, n)
			for i := range got {
				got[i] = item{rnd.Uint32() & mask, i}
			}
			want := slices.Clone(got)
			slices.SortStableFunc(want, func(a, b item) int { return int(int64(a.key) - int64(b.key)) })
			sortByKey(got, nil, func(x *item) uint32 { return x.key })
			if !slices.Equal(got, want) {
				t.Errorf("%d items with bits %#x are in another order", n, mask)
			}
		}
	}
}

// BenchmarkSortPointers sorts a full batch of pointers beside the usual way.
func BenchmarkSortPointers(b *testing.B) {
	ps := make([]run, 1<<18)
	rnd := rand.New(rand.NewPCG(1, 2))
	fill := func() {
		for i := range ps {
			ps[i] = run{addr: rnd.Uint32() >> 10}
		}
	}
	b.Run("by key", func(b *testing.B) {
		for b.Loop() {
			fill()
			sortByKey(ps, nil, func(p *run) uint32 { return p.addr })
		}
	})
	b.Run("by comparing", func(b *testing.B) {
		for b.Loop() {
			fill()
			slices.SortFunc(ps, func(a, b run) int { return int(int64(a.addr) - int64(b.addr)) })
		}
	})
}
