package exfat

import (
	"math/rand/v2"
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
