package exfat

import (
	"context"
	"fmt"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestManyOnOneChain: hundreds of files that lead to one long chain do not have it
// followed hundreds of times, whether they start with it or run into it.
func TestManyOnOneChain(t *testing.T) {
	const files, long = 400, 100_000
	for name, own := range map[string]uint32{"from its start": 0, "from clusters of their own": 1} {
		t.Run(name, func(t *testing.T) {
			m := formatted(t, 160<<20, 512)
			g, err := soundRegion(m)
			must(t, err)
			tab := newTable(m, g)
			chain := brokenUp(t, m, g, 20_000, long)
			var sets []byte
			for i := range uint32(files) {
				first, n := chain, uint64(long+own)
				if own > 0 {
					first = 10_000 + 2*i
					must(t, tab.set(first, chain))
				}
				path := fmt.Sprintf("/F%d", i)
				sets = append(sets, newSetOf(path, 0x20, 0, []uint32{first}, n*512, n*512)...)
			}
			const dir = 5000
			_, err = m.WriteAt(sets, g.ClusterOff(dir))
			must(t, err)
			n := uint64(len(sets)+511) / 512 * 512
			_, err = m.WriteAt(newSetOf("/D", 0x10, noFat, []uint32{dir}, n, n), g.ClusterOff(g.RootCluster)+3*entryLen)
			must(t, err)
			x, err := readTables(tab)
			must(t, err)
			bits, err := x.findBitmap(tab)
			must(t, err)
			b := make([]byte, 30_000)
			for i := range b {
				b[i] = 0xFF
			}
			_, err = m.WriteAt(b, bits.parts[0].r.Off)
			must(t, err)

			reads := 0
			f := devtest.NewFault(m)
			f.Where(func(o devtest.Op) bool {
				reads++
				return false
			}, nil)
			res, err := vol.Fsck(context.Background(), f, Driver(), vol.CheckOptions{}, nil, nil)
			must(t, err)
			shared := 0
			for _, o := range res.Outcomes {
				if o.Slug == "cross-linked" {
					shared++
				}
			}
			if shared != files-1 {
				t.Errorf("%d files share the chain", shared)
			}
			if reads > 10_000 {
				t.Errorf("%d reads", reads)
			}
		})
	}
}
