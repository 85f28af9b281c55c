package exfat

import (
	"encoding/binary"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// brokenUp writes a chain of n clusters, no two of which are neighbours, from
// cluster from on, and returns its first.
func brokenUp(t testing.TB, m *dev.Mem, g *Geometry, from uint32, n int) uint32 {
	t.Helper()
	b := make([]byte, 8*n)
	for i := range n {
		v := from + 2*uint32(i) + 2
		if i == n-1 {
			v = fatEOC
		}
		binary.LittleEndian.PutUint32(b[8*i:], v)
	}
	_, err := m.WriteAt(b, g.FatOff()+4*int64(from))
	must(t, err)
	return from
}

// TestRootTooLong: the chain of the root is followed in time that grows with its
// length, up to the 256 MiB that [exFAT] §7.4 allows.
func TestRootTooLong(t *testing.T) {
	m := formatted(t, 700<<20, 4096)
	g, err := soundRegion(m)
	must(t, err)
	most, _ := g.ClustersFor(maxDirBytes)
	from := brokenUp(t, m, g, g.RootCluster+100, int(most)+50)
	must(t, newTable(m, g).set(g.RootCluster, from))
	res := fsckAll(t, m)
	if !mendedBy(res, &injury{slug: "directory-too-long", fix: fixTruncate}) {
		report(t, res)
		t.Error("the root was not ended")
	}
	es, err := newTable(m, g).rootClusters()
	must(t, err)
	if len(es) != int(most) {
		t.Errorf("the root has %d runs now, may have %d", len(es), most)
	}
	if res := fsck(t, m, voltest.Always); res.Repaired {
		t.Error("repaired again")
	}
}
