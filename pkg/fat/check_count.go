package fat

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkFewClusters reports a FAT32 that by its cluster count would be a FAT16.
// Where the FAT has entries for more and the space behind the volume is there
// and blank, the volume was cut short by a wrong total, and can have it back.
func (c *checker) checkFewClusters(r *vol.Report) error {
	g := c.g
	fit := min(g.FatBytes()/4-firstCluster, (c.d.Size()-g.DataOff())/g.ClusterSize())
	offers, fix := []string{}, vol.Fix(nil)
	if fit >= maxFAT16 {
		end := g.DataOff() + fit*g.ClusterSize()
		blank, err := c.isBlank(dev.Range{Off: g.VolumeBytes(), Len: end - g.VolumeBytes()})
		if err != nil {
			return err
		}
		if blank {
			blank, err = c.isBlank(dev.Range{Off: g.FatOff(0) + g.entryBytes(), Len: fit*4 + 8 - g.entryBytes()})
		}
		if err != nil {
			return err
		}
		if blank {
			sectors := end / g.SectorSize
			offers, fix = []string{fixGrow}, vol.Always(func() error { return c.setTotal(sectors) })
		}
	}
	r.Found(c.cat.Found("few-clusters", vol.At(offTotSec32, 4), vol.GotWant(g.Clusters, "65525 or more"), vol.Offer(offers...)), fix)
	return nil
}

// isBlank reports whether r reads as zeros. Holes are not read.
func (c *checker) isBlank(r dev.Range) (bool, error) {
	buf := make([]byte, 64<<10)
	for off := r.Off; off < r.End(); {
		data := c.d.NextData(off)
		if data.Empty() || data.Off >= r.End() {
			return true, nil
		}
		off = max(off, data.Off)
		n := min(int64(len(buf)), r.End()-off, data.End()-off)
		if _, err := c.d.ReadAt(buf[:n], off); err != nil {
			return false, err
		}
		if !dev.AllZero(buf[:n]) {
			return false, nil
		}
		off += n
	}
	return true, nil
}
