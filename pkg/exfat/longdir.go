package exfat

import (
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// shortenDir ends a directory of more than 256 MiB behind its last entry, and
// gives the clusters behind it back.
func (c *checker) shortenDir(ref setRef) error {
	set, err := c.readSet(ref)
	if err != nil {
		return err
	}
	i, ok := c.walk.byStart[streamOf(set).first()]
	if !ok || c.walk.dirs[i].ref != ref {
		return vol.ErrNotNow
	}
	s := newDirScan(c.walk, i)
	if err := s.fill(); err != nil {
		return err
	}
	n := uint32((int64(s.end)*entryLen + c.g.ClusterSize - 1) / c.g.ClusterSize)
	keep, rest := splitExtents(c.walk.dirs[i].extents, max(1, n))
	if len(rest) == 0 && c.walk.dirs[i].length <= maxDirBytes {
		return vol.ErrNotNow // its clusters are not sound either
	}
	if err := c.markAll(rest, false); err != nil {
		return err
	}
	d := &c.walk.dirs[i]
	last := keep[len(keep)-1]
	st := stream{ref: ref, at: ref.slot + 1, isDir: true, start: d.start, length: d.length, noFat: d.noFat}
	return c.cutStream(&st, max(1, n), last.Start+last.Len-1)
}

// splitExtents are the first n clusters of es, and the others.
func splitExtents(es []space.Extent, n uint32) (first, rest []space.Extent) {
	for _, e := range es {
		k := min(n, e.Len)
		if k > 0 {
			first = append(first, space.Extent{Start: e.Start, Len: k})
		}
		if k < e.Len {
			rest = append(rest, space.Extent{Start: e.Start + k, Len: e.Len - k})
		}
		n -= k
	}
	return first, rest
}
