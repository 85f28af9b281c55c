package fat

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

func TestPreallocateContiguous(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			cs := v.g.ClusterSize()
			spoiled(t, m, 10)
			r := one("F", 10*cs)
			r.Contiguous = true
			if msg := refused(t, m, r, vol.ErrRequest); !strings.Contains(msg, "longest free run has 9") {
				t.Errorf("message %q", msg)
			}
			r.Files[0].Length = 9 * cs
			if f := preallocated(t, m, r).Files[0]; len(f.Extents) != 1 {
				t.Errorf("%+v", f)
			}
			// It cannot grow where it is, and is not moved.
			r.Files[0].Length++
			refused(t, m, r, vol.ErrRequest)
			r.Contiguous = false
			if f := preallocated(t, m, r).Files[0]; len(f.Extents) != 2 {
				t.Errorf("%+v", f)
			}
			// What is in two extents is not contiguous, even with nothing to do.
			r.Contiguous = true
			refused(t, m, r, vol.ErrRequest)
			res := preallocated(t, m, one("many", 40*cs))
			if n := len(res.Files[0].Extents); n != 5 {
				t.Errorf("40 clusters in runs of 9 make %d extents", n)
			}
			sound(t, m)
		})
	}
}

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

func TestPreallocateAlign(t *testing.T) {
	const align = 64 << 10
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			for i := range 3 {
				r := one(fmt.Sprintf("F%d", i), 100_000)
				r.Align, r.Contiguous = align, true
				f := preallocated(t, m, r).Files[0]
				if len(f.Extents) != 1 || f.Extents[0].Off%align != 0 {
					t.Errorf("%+v is not on %d", f, align)
				}
			}
			// Growing in place makes no new extent.
			r := one("F2", 110_000)
			r.Align = align
			if f := preallocated(t, m, r).Files[0]; len(f.Extents) != 1 {
				t.Errorf("%+v", f)
			}
			sound(t, m)
		})
	}
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
