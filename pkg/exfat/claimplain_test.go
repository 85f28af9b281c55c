package exfat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/space"
)

// TestBitmapWord: words of a bitmap, also of one in pieces that end anywhere, say
// what bits do, whatever else is read in between.
func TestBitmapWord(t *testing.T) {
	const units = 600_011
	for _, runs := range []int{1, 30} {
		b, want := scattered(t, units, runs, 77, 0)
		rnd := rand.New(rand.NewPCG(8, 9))
		for range 3000 {
			u := rnd.Uint32N(units) &^ 63
			got, err := b.word(u)
			must(t, err)
			for i := uint32(0); i < 64 && u+i < units; i++ {
				if (got>>i&1 != 0) != want[u+i] {
					t.Fatalf("%d runs: unit %d of the word at %d", runs, i, u)
				}
			}
			if rnd.IntN(3) == 0 {
				_, err = b.used(firstCluster + rnd.Uint32N(units))
				must(t, err)
			}
		}
	}
}

// TestMayHave: a run may be had if all of it is marked as used and none of it is
// claimed, wherever it begins and ends.
func TestMayHave(t *testing.T) {
	const units = 600_011
	b, want := scattered(t, units, 30, 77, 0)
	w := &walk{c: &checker{bits: b, g: b.g}, claimed: space.NewSparse(units)}
	rnd := rand.New(rand.NewPCG(8, 10))
	claimed := make([]bool, units)
	for range 200 {
		e := space.Extent{Start: rnd.Uint32N(units - 5000), Len: 1 + rnd.Uint32N(60)}
		w.claimed.SetRunNew(e)
		for u := e.Start; u < e.Start+e.Len && !claimed[u]; u++ {
			claimed[u] = true
		}
	}
	yes := 0
	for range 30000 {
		e := space.Extent{Start: rnd.Uint32N(units - 5000), Len: 1 + rnd.Uint32N([]uint32{3, 130, 5000}[rnd.IntN(3)])}
		ok := true
		for u := e.Start; u < e.Start+e.Len; u++ {
			ok = ok && want[u] && !claimed[u]
		}
		got, err := w.mayHave(e)
		must(t, err)
		if got != ok {
			t.Fatalf("%v: %v", e, got)
		}
		if ok {
			yes++
		}
	}
	if yes < 100 {
		t.Errorf("only %d runs may be had", yes)
	}
}

// TestRunsOf: a chain is taken as one exactly where follow does, and as the same
// clusters, also where it runs out of the heap into entries of the FAT that stand
// for no cluster.
func TestRunsOf(t *testing.T) {
	m := formatted(t, 96<<20, 512)
	g, err := soundRegion(m)
	must(t, err)
	if g.FatBytes() == g.EntryBytes() {
		t.Fatal("the FAT has no entries to spare")
	}
	rnd := rand.New(rand.NewPCG(8, 11))
	spare := uint32(g.FatBytes()/4) - g.Last() - 1
	whole := 0
	for range 4000 {
		tab := newTable(m, g)
		start := firstCluster + rnd.Uint32N(g.Clusters)
		if rnd.IntN(3) == 0 {
			start = g.Last() - rnd.Uint32N(20)
		}
		need, c := uint32(0), start
		for range 1 + rnd.IntN(12) {
			n := min(1+rnd.Uint32N(40), g.Last()+spare-c+1)
			next := []uint32{fatEOC, fatEOC, 0, fatBad, g.Last() + 1, start, firstCluster + rnd.Uint32N(g.Clusters), firstCluster + rnd.Uint32N(g.Clusters),
				firstCluster + rnd.Uint32N(g.Clusters)}[rnd.IntN(9)]
			b := make([]byte, 4*n)
			for i := range n {
				v := c + i + 1
				if i+1 == n {
					v = next
				}
				put32(b[4*i:], v)
			}
			_, err := m.WriteAt(b, g.FatOff()+4*int64(c))
			must(t, err)
			if need += n; !g.Valid(next) {
				break
			}
			c = next
		}
		need = max(1, need+rnd.Uint32N(3)-1)
		want, werr := tab.follow(start, need, need)
		got, ok, err := tab.runsOf(start, need, nil)
		must(t, err)
		if ok != (werr == nil) || ok && !slices.Equal(got, want) {
			t.Fatalf("%d clusters from %d on: %v %v, follow says %v %v", need, start, ok, got, want, werr)
		}
		if ok {
			whole++
		}
	}
	if whole < 300 {
		t.Errorf("only %d chains are whole", whole)
	}
}
