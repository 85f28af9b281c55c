package fat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// The entries must be what a model says, in every FAT, for runs of all lengths
// in any order, over holes and over data, next to and over each other.
func TestSetRuns(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, g, err := readBoot(m)
			must(t, err)
			rnd := rand.New(rand.NewPCG(5, 5))
			model := map[uint32]uint32{}
			for c := uint32(0); c <= g.Last(); c++ {
				v, err := newTable(m, g, 0).get(c)
				must(t, err)
				model[c] = v
			}
			tab := newTable(m, g, 0)
			for round := range 30 {
				var runs []link
				for range 1 + rnd.IntN(40) {
					c := firstCluster + rnd.Uint32N(g.Clusters)
					n := min(1+rnd.Uint32N(1<<rnd.IntN(12)), g.Last()-c+1)
					runs = append(runs, link{first: c, n: n, next: []uint32{entryLast, 2, g.Last(), entryBad}[rnd.IntN(4)], free: rnd.IntN(4) == 0})
				}
				if round%2 == 0 {
					slices.SortFunc(runs, func(a, b link) int { return int(a.first) - int(b.first) })
				}
				for _, r := range runs {
					for i := range r.n {
						model[r.first+i] = r.value(i)
					}
				}
				must(t, tab.setRuns(runs))
				last := runs[len(runs)-1]
				if at, err := tab.mismatch(last); at != 0 || err != nil {
					t.Fatalf("round %d: cluster %d of %+v reads back as another: %v", round, at, last, err)
				}
				for _, k := range g.targets() {
					check := newTable(m, g, k)
					for c := uint32(0); c <= g.Last(); c++ {
						if v, err := check.get(c); err != nil || v != model[c] {
							t.Fatalf("round %d, FAT %d: entry %d is %#x, want %#x, %v", round, k, c, v, model[c], err)
						}
					}
				}
			}
		})
	}
}

// mismatch finds the one entry that is wrong, wherever in a window it is.
func TestMismatch(t *testing.T) {
	m := formatted(t, "fat32", 60<<20, 512)
	_, g, err := readBoot(m)
	must(t, err)
	tab := newTable(m, g, 0)
	run := link{first: 10, n: 60_000, next: entryLast}
	must(t, tab.setRuns([]link{run}))
	for _, c := range []uint32{10, 11, dev.WindowLen/4 - 1, dev.WindowLen / 4, 3*dev.WindowLen/4 + 7, 60_008, 60_009} {
		was, err := tab.get(c)
		must(t, err)
		must(t, tab.set(c, 7))
		if at, err := tab.mismatch(run); at != c || err != nil {
			t.Errorf("cluster %d is wrong, found %d, %v", c, at, err)
		}
		must(t, tab.set(c, was))
	}
	if at, err := tab.mismatch(run); at != 0 || err != nil {
		t.Errorf("found %d, %v", at, err)
	}
}

// Changes that are far apart do not stage what lies between them.
func TestSetRunsStagesLittle(t *testing.T) {
	m := formatted(t, "fat32", 8<<30, 512)
	tx := dev.Begin(m)
	_, g, err := readBoot(tx)
	must(t, err)
	var runs []link
	for c := uint32(100); c < g.Clusters; c += 1 << 20 {
		runs = append(runs, link{first: c, n: 2, next: entryLast})
	}
	must(t, newTable(tx, g, 0).setRuns(runs))
	if n, most := tx.DirtyBytes(), int64(len(runs)*2*2*4096); n > most {
		t.Errorf("%d bytes are staged for %d changes", n, len(runs))
	}
}
