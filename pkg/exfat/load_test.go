package exfat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// scattered is a bitmap in runs of clusters all over a volume, of which every
// bit is random in some way, and the same as a slice.
func scattered(t testing.TB, clusters uint32, runs int, seed uint64, at int64) (*bitmap, []bool) {
	t.Helper()
	g := &Geometry{SectorSize: 512, ClusterSize: 512, Clusters: clusters, HeapOffset: 100, FatOffset: 24, FatSectors: 10}
	big := dev.NewMem(at + g.HeapOff() + int64(clusters)*512)
	d, err := dev.Section(big, dev.Range{Off: at, Len: big.Size() - at})
	must(t, err)
	rnd := rand.New(rand.NewPCG(seed, 1))
	need, _ := g.ClustersFor(uint64(g.BitmapBytes()))
	var es []space.Extent
	for left := need; left > 0; {
		n := min(left, need/uint32(runs)+1)
		es = append(es, space.Extent{Len: n})
		left -= n
	}
	for i, k := range rnd.Perm(len(es)) { // apart from each other, and not in order
		es[i].Start = firstCluster + uint32(k)*(need/uint32(runs)+2)
	}
	b := newBitmap(d, g, es)
	want := make([]bool, clusters)
	bytes := make([]byte, g.BitmapBytes())
	for u := 0; u < len(want); {
		n := 1 + rnd.IntN([]int{1, 3, 70, 3000, 400_000}[rnd.IntN(5)])
		used := rnd.IntN(2) == 0
		for ; n > 0 && u < len(want); n-- {
			want[u] = used
			if used {
				bytes[u/8] |= 1 << (u % 8)
			}
			u++
		}
	}
	if clusters%8 != 0 {
		bytes[len(bytes)-1] |= 0xFF << (clusters % 8) // means nothing
	}
	for _, p := range b.parts {
		part := bytes[p.from : p.from+p.r.Len]
		if dev.AllZero(part) {
			continue
		}
		_, err := d.WriteAt(part, p.r.Off)
		must(t, err)
	}
	return b, want
}

func countFree(used []bool) (f freeSpace) {
	run := uint64(0)
	for i := 0; i <= len(used); i++ {
		if i < len(used) && !used[i] {
			run++
			continue
		}
		if run > 0 {
			f.clusters, f.runs, f.longest = f.clusters+run, f.runs+1, max(f.longest, run)
		}
		run = 0
	}
	return f
}

// The map and the count must say of each cluster what its bit says, whatever
// the window, in how many pieces the bitmap lies, and where.
func TestLoadBitmap(t *testing.T) {
	for _, clusters := range []uint32{1, 7, 8, 63, 64, 65, 4095, 4096, 70_001, 1 << 20, 3_000_017} {
		for _, runs := range []int{1, 3, 20} {
			if clusters < 4096 && runs > 1 {
				continue // the bitmap is in one cluster
			}
			for _, at := range []int64{0, 512, 3} {
				t.Run(fmt.Sprint(clusters, runs, at), func(t *testing.T) {
					size := max(clusters, 4096)
					b, want := scattered(t, size, runs, uint64(clusters)*31+uint64(runs), at)
					b.g.Clusters = clusters
					b = newBitmap(b.d, b.g, extentsOf(b))
					want = want[:clusters]
					for _, window := range []int64{-1, 0, 4096, 1 << 20} {
						m, stats, err := b.loadMap(context.Background(), window)
						must(t, err)
						for u, used := range want {
							if m.Used(uint32(u)) != used {
								t.Fatalf("window %d: cluster %d: used is %v", window, u+2, !used)
							}
						}
						free, stats2, err := b.count(context.Background(), window)
						must(t, err)
						if wanted := countFree(want); free != wanted || stats != stats2 {
							t.Errorf("window %d: %+v, want %+v; %+v, %+v", window, free, wanted, stats, stats2)
						}
						if free.clusters != m.CountFree() {
							t.Errorf("window %d: %d and %d are free", window, free.clusters, m.CountFree())
						}
					}
				})
			}
		}
	}
}

// Short runs of all lengths, in words that come in pieces.
func TestFreeCounter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for round := range 3000 {
		n := 1 + rnd.IntN(700)
		most := 1 + round%70
		used := make([]bool, n)
		p := make([]byte, (n+7)/8)
		for u := 0; u < n; {
			u += rnd.IntN(most)
			for k := 1 + rnd.IntN(1+rnd.IntN(most)); k > 0 && u < n; k-- {
				used[u] = true
				p[u/8] |= 1 << (u % 8)
				u++
			}
		}
		c := newFreeCounter(uint32(n))
		for rest := p; len(rest) > 0; {
			k := 1 + rnd.IntN(len(rest))
			if dev.AllZero(rest[:k]) && rnd.IntN(2) == 0 {
				c.hole(int64(k))
			} else {
				c.bytes(rest[:k])
			}
			rest = rest[k:]
		}
		c.finish()
		if want := countFree(used); c.freeSpace != want {
			t.Fatalf("%x of %d: %+v, want %+v", p, n, c.freeSpace, want)
		}
	}
}

// extentsOf are the clusters that hold a bitmap.
func extentsOf(b *bitmap) (es []space.Extent) {
	for _, p := range b.parts {
		es = append(es, space.Extent{Start: uint32((p.r.Off-b.g.HeapOff())/b.g.ClusterSize) + firstCluster, Len: uint32((p.r.Len + b.g.ClusterSize - 1) / b.g.ClusterSize)})
	}
	return es
}

// What is written back is what has been changed, and nothing else.
func TestPutBitmap(t *testing.T) {
	for _, runs := range []int{1, 5, 40} {
		b, _ := scattered(t, 700_003, runs, uint64(runs), 0)
		m, _, err := b.loadMap(context.Background(), 0)
		must(t, err)
		rnd := rand.New(rand.NewPCG(9, uint64(runs)))
		var es []space.Extent
		for range 60 {
			es = append(es, space.Extent{Start: rnd.Uint32N(700_003), Len: 1 + rnd.Uint32N(200)})
		}
		u := uint32(0)
		var apart []space.Extent
		for _, e := range space.Join(es) {
			if e.Start >= u && e.End() <= m.Len() {
				apart = append(apart, e)
				u = uint32(e.End())
				must(t, m.SetRun(e))
			}
		}
		tx := dev.Begin(b.d)
		b.d = tx
		must(t, b.put(m, apart))
		again, _, err := b.loadMap(context.Background(), 0)
		must(t, err)
		for e := range space.DiffRuns(m, again) {
			t.Errorf("%v is not there", e)
		}
		for e := range space.DiffRuns(again, m) {
			t.Errorf("%v is there", e)
		}
		must(t, b.put(m, nil))
	}
}

func TestLoadBitmapErrors(t *testing.T) {
	b, _ := scattered(t, 1<<20, 3, 1, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := b.loadMap(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled load: %v", err)
	}
	b.parts[2].r.Off = b.d.Size() - 100
	if _, _, err := b.count(context.Background(), 0); !errors.Is(err, dev.ErrRange) {
		t.Errorf("a part outside: %v", err)
	}
}

// A volume whose bitmap lies in pieces, as §7.1.3 allows, is used like any
// other; only Linux would misread it.
func TestFragmentedBitmap(t *testing.T) {
	m := formatted(t, 64<<20, 512) // a bitmap of 32 clusters
	preallocated(t, m, one("before", 50_000))
	moveBitmap(t, m, 5)
	s, err := mountScan(context.Background(), m, vol.ScanOptions{})
	must(t, err)
	if !hasReason(s, "bitmap-pieces") || len(s.Reasons) != 1 || !s.Counted || s.Mountable != "rw" {
		t.Errorf("%+v", s)
	}
	_, v := begun(t, m)
	if len(v.bits.parts) < 4 || v.alloc.Free() != s.FreeClusters {
		t.Errorf("%d parts", len(v.bits.parts))
	}
	preallocated(t, m, newFiles(map[string]int64{"D/F": 40 << 20, "before": 100_000}, "D/F", "before"))
	spoiled(t, m, 9)
	preallocated(t, m, allValid(one("D/G", 300_000)))
	sound(t, m)
}

// moveBitmap lays the bitmap out anew, in pieces of n clusters.
func moveBitmap(t testing.TB, m dev.Device, n uint32) {
	t.Helper()
	tx, v := begun(t, m)
	old := v.tables.bitmap.extents
	var es []space.Extent
	for left := uint32(space.Units(old)); left > 0; {
		k := min(n, left)
		es = append(es, space.Extent{Start: 40_000 + left*20, Len: k})
		left -= k
	}
	tab := newTable(tx, v.g)
	must(t, tab.link(es))
	for _, e := range es {
		must(t, v.m.SetRun(space.Extent{Start: e.Start - firstCluster, Len: e.Len}))
	}
	for _, e := range old {
		must(t, v.m.ClearRun(space.Extent{Start: e.Start - firstCluster, Len: e.Len}))
	}
	must(t, newBitmap(tx, v.g, es).put(v.m, []space.Extent{{Start: 0, Len: v.g.Clusters}}))
	eachRootEntry(tx, v.g, 4096, func(e entry, off int64) bool {
		if e.kind() == typeBitmap {
			e.put32(offFirstCluster, es[0].Start)
			_, err := tx.WriteAt(e, off)
			must(t, err)
		}
		return true
	})
	commit(t, tx)
}

// countUsed agrees with the map, wherever a run begins and ends.
func TestCountUsed(t *testing.T) {
	for _, runs := range []int{1, 30} {
		b, want := scattered(t, 600_011, runs, 77, 0)
		rnd := rand.New(rand.NewPCG(8, 8))
		for range 300 {
			e := space.Extent{Start: firstCluster + rnd.Uint32N(600_011)}
			e.Len = 1 + rnd.Uint32N([]uint32{9, 100, 600_011}[rnd.IntN(3)])
			e.Len = min(e.Len, 600_011+firstCluster-e.Start)
			n := uint32(0)
			for _, used := range want[e.Start-firstCluster:][:e.Len] {
				if used {
					n++
				}
			}
			if got, err := b.countUsed(e); err != nil || got != n {
				t.Fatalf("%v: %d, %v, want %d", e, got, err, n)
			}
		}
		if _, err := b.countUsed(space.Extent{Start: 600_011, Len: 100}); !errors.Is(err, dev.ErrRange) {
			t.Errorf("behind the end: %v", err)
		}
	}
}
