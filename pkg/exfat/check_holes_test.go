package exfat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestCheckAroundHoles: where a volume begins at an odd byte of its file, the holes
// in that begin within words of the bitmap and within entries of the FAT. What lies
// behind them is seen where it is.
func TestCheckAroundHoles(t *testing.T) {
	m := formatted(t, 1<<30, 512)
	const file, bad, lost = 1_500_000, 1_600_001, 1_700_002
	grab(t, m, "LATE.BIN", []space.Extent{{Start: file, Len: 40}})
	_, v := begun(t, m)
	g := v.g
	patched(t, m, g.FatOff()+4*bad, 4, func(b []byte) { copy(b, "\xF7\xFF\xFF\xFF") })
	patched(t, m, g.HeapOff()+(lost-firstCluster)/8, 1, func(b []byte) { b[0] |= 1 << ((lost - firstCluster) % 8) })
	for _, shift := range []int64{0, 3, 1001} {
		big := dev.NewMem(shift + m.Size())
		d, err := dev.Section(big, dev.Range{Off: shift, Len: m.Size()})
		must(t, err)
		for r := m.NextData(0); !r.Empty(); r = m.NextData(r.End()) {
			b := make([]byte, r.Len)
			_, err := m.ReadAt(b, r.Off)
			must(t, err)
			_, err = d.WriteAt(b, r.Off)
			must(t, err)
		}
		at := map[string]uint32{}
		for _, o := range fsck(t, d, nil).Outcomes {
			at[o.Slug] = o.Loc.Cluster
		}
		if len(at) != 2 || at["bad-free"] != bad || at["lost-clusters"] != lost {
			t.Errorf("at byte %d of a file: %v", shift, at)
		}
		res := fsck(t, d, voltest.Choose("lost-clusters", fixRescue))
		if !voltest.Mended(res, "lost-clusters", fixRescue) {
			t.Errorf("at byte %d of a file: %v", shift, res.Outcomes)
		}
	}
}
