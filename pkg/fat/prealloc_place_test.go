package fat

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// A long run must not be lost to what could have gone elsewhere.
func TestPreallocateContiguousOrder(t *testing.T) {
	m := formatted(t, "fat16", 40<<20, 2048)
	tx, v := begun(t, m)
	for c := uint32(firstCluster); c <= v.g.Last(); c++ {
		if c < 10 || c > 100 && c < 150 { // 50 free below 10..99, 8 at the start
			continue
		}
		if err := v.t.set(c, entryBad); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, tx)
	r := newFiles(map[string]int64{"small": 5 * 2048, "also": 5 * 2048, "large": 49 * 2048}, "small", "also", "large")
	r.Contiguous = true
	refused(t, m, r, vol.ErrRequest) // 59 of 57
	r.Files[1].Length = 3 * 2048
	res := preallocated(t, m, r)
	for _, f := range res.Files {
		if len(f.Extents) != 1 {
			t.Errorf("%+v", f)
		}
	}
	sound(t, m)
}

// The alignment in units must name exactly the clusters that lie on the
// boundary.
func TestPlacement(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	solved := 0
	for range 500 {
		g := &Geometry{
			Type: FAT16, SectorSize: 512 << rnd.IntN(4), SectorsPerCluster: 1 << rnd.IntN(8), Reserved: 1 + rnd.Int64N(40),
			Fats: 1 + rnd.IntN(2), FatSectors: 1 + rnd.Int64N(300), RootEntries: 16 * (1 + rnd.Int64N(32)), Clusters: 60000,
		}
		align := int64(512) << rnd.IntN(12)
		if rnd.IntN(3) == 0 {
			align = 1 + rnd.Int64N(100_000)
		}
		o, err := vol.NewPlacement(false, align, g.ClusterSize(), g.DataOff())
		first := uint32(0)
		for ; first < g.Clusters && g.ClusterOff(first+firstCluster)%align != 0; first++ {
		}
		if err != nil {
			if !errors.Is(err, vol.ErrUsage) || first < g.Clusters {
				t.Fatalf("%+v at %d: %v, but cluster %d is on it", g, align, err, first+firstCluster)
			}
			continue
		}
		solved++
		for u := uint32(0); u < g.Clusters; u++ {
			if on := g.ClusterOff(u+firstCluster)%align == 0; on != (u%o.Every == o.Phase) {
				t.Fatalf("%+v at %d: unit %d with %d mod %d", g, align, u, o.Phase, o.Every)
			}
		}
	}
	if solved < 50 {
		t.Errorf("only %d alignments could be met", solved)
	}
}
