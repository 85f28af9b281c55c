package space

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// bigUnits is about the most clusters FAT32 can have.
const bigUnits = 1 << 28

// checked fails b on an error: an allocator that refuses is quick.
func checked(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAlloc allocates 256 MiB in clusters of 512 bytes (512 Ki units) out
// of a map with fragments, at once and cluster by cluster (lesson 1).
func BenchmarkAlloc(b *testing.B) {
	const units = 512 << 10
	for _, c := range []struct {
		name string
		m    *Map
	}{
		{"empty", NewMap(4 * units)},
		{"fragmented", fragmented(4*units, 64, 1)},
	} {
		b.Run(c.name+"/batch", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				g := NewAllocator(c.m.Clone(), Options{})
				b.StartTimer()
				_, err := g.Alloc(nil, Request{Units: units})
				checked(b, err)
			}
		})
		b.Run(c.name+"/unitwise", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				a := newNaive(c.m.Clone())
				b.StartTimer()
				for range units {
					_, err := a.one()
					checked(b, err)
				}
			}
		})
	}
}

// BenchmarkParallelAlloc has goroutines allocate and release small runs in a
// half-full map: groups with a lock each and a goal without one, the same with
// a goal for each goroutine, and one mutex for all of it (lesson 2).
func BenchmarkParallelAlloc(b *testing.B) {
	for _, kind := range []string{"groups", "streams", "mutex"} {
		for _, workers := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("%s/%d", kind, workers), func(b *testing.B) {
				g := NewAllocator(fragmented(1<<22, 200, 1), Options{})
				one := &oneLock{g: g}
				var wg sync.WaitGroup
				b.ResetTimer()
				for id := range workers {
					var a Allocator
					switch kind {
					case "groups":
						a = g
					case "streams":
						a = g.Stream()
					case "mutex":
						a = one
					}
					wg.Go(func() {
						if err := churn(a, (b.N+id)/workers, uint64(id)); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// churn does n allocations of 1 … 16 units. Every 64 they are released, every
// 1024 the releases are committed.
func churn(a Allocator, n int, seed uint64) error {
	r := rand.New(rand.NewPCG(1, seed))
	var held []Extent
	for i := range n {
		var err error
		if held, err = a.Alloc(held, Request{Units: 1 + r.Uint32N(16)}); err != nil {
			return err
		}
		if i%64 == 63 {
			if err := a.Release(held); err != nil {
				return err
			}
			held = held[:0]
		}
		if i%1024 == 1023 {
			a.Commit()
		}
	}
	return nil
}

// BenchmarkRelease releases 512 Ki units, that are one run in lists of 64, and
// makes them reusable: run by run and unit by unit (lesson 3).
func BenchmarkRelease(b *testing.B) {
	const units = 512 << 10
	g := NewAllocator(NewMap(2*units), Options{})
	var list []Extent
	for u := uint32(0); u < units; u += 64 {
		list = append(list, Extent{u, 64})
	}
	all := Request{Units: units, Exact: true}
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			_, err := g.Alloc(nil, all)
			checked(b, err)
			checked(b, g.Release(list))
			g.Commit()
		}
	})
	b.Run("unitwise", func(b *testing.B) {
		a := newNaive(NewMap(2 * units))
		for b.Loop() {
			checked(b, a.m.SetRun(Extent{0, units}))
			for _, e := range list {
				for u := uint64(e.Start); u < e.End(); u++ {
					checked(b, a.release(uint32(u)))
				}
			}
		}
	})
}

// BenchmarkFindRun looks for a contiguous run behind 2^28 units of which none
// is long enough: after the first time the groups' summaries say so.
func BenchmarkFindRun(b *testing.B) {
	for _, c := range []struct {
		name string
		run  uint32
	}{{"checkered", 1}, {"fragmented", 1000}} {
		m := fragmented(bigUnits, c.run, 1)
		m.clearRange(bigUnits-1<<20, bigUnits)
		g := NewAllocator(m, Options{})
		r := Request{Units: 1 << 19, Goal: 1, Contiguous: true}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				es, err := g.Alloc(nil, r)
				checked(b, err)
				checked(b, g.Cancel(es))
			}
		})
	}
}

// BenchmarkGather splits a request that takes half the free units of a big
// map in which every second unit is used: as many extents as can be.
func BenchmarkGather(b *testing.B) {
	const units = 1 << 24
	g := NewAllocator(fragmented(units, 1, 1), Options{})
	b.Run("checkered", func(b *testing.B) {
		for b.Loop() {
			es, err := g.Alloc(nil, Request{Units: units / 4, Goal: units / 2})
			checked(b, err)
			checked(b, g.Cancel(es))
		}
	})
}

func BenchmarkNewAllocator(b *testing.B) {
	m := fragmented(bigUnits, 1000, 1)
	for b.Loop() {
		NewAllocator(m, Options{})
	}
}

// BenchmarkMap measures scans of 2^28 units (32 MiB of bitmap).
func BenchmarkMap(b *testing.B) {
	empty, full := NewMap(bigUnits), NewMap(bigUnits)
	full.setRange(0, bigUnits)
	frag := fragmented(bigUnits, 1000, 1)
	scan := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bigUnits / 8)
			for b.Loop() {
				f()
			}
		})
	}
	scan("CountFree", func() { frag.CountFree() })
	scan("CountFree/bitwise", func() {
		n := 0
		for u := range uint32(bigUnits) {
			if !frag.Used(u) {
				n++
			}
		}
		runtime.KeepAlive(n)
	})
	scan("NextFree", func() { full.NextFree(0) })
	scan("NextUsed", func() { empty.NextUsed(0) })
	scan("FreeRuns", func() {
		for range frag.FreeRuns() {
		}
	})
	scan("DiffRuns/same", func() {
		for range DiffRuns(frag, frag) {
		}
	})
	scan("DiffRuns/fragmented", func() {
		for range DiffRuns(frag, empty) {
		}
	})
	scan("SetRun", func() { checked(b, empty.SetRun(Extent{0, bigUnits})) })
}

// BenchmarkSetNew marks the units of a map, one after the other or at random,
// and clears it again.
func BenchmarkSetNew(b *testing.B) {
	const units = 1 << 24
	m := NewMap(units)
	for _, c := range []struct {
		name string
		step uint32
	}{{"sequential", 1}, {"scattered", 7654321}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for u := uint32(0); n < units && m.SetNew(u); n++ {
					u = (u + c.step) % units
				}
				if n != units {
					b.Fatal(n)
				}
				clear(m.words)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/units, "ns/unit")
		})
	}
}
