package fat

import (
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// follow is the first n clusters of the chain from start on, in runs, or all of
// it where it ends before, and what the FAT says of the last of them. What is no
// sound cluster is vol.ErrDamaged of path.
func (t *table) follow(path string, start uint32, n int64) (es []space.Extent, last uint32, err error) {
	var loop space.LoopFinder // n may be more than the volume has
	for c := start; n > 0 && !isEOC(last); n-- {
		if !t.g.Valid(c) {
			return nil, 0, vol.DamagedAt(path, "its chain leads to cluster %d of %d", c, t.g.Last())
		}
		if last, err = t.get(c); err != nil {
			return nil, 0, err
		}
		if last == entryFree || last == entryBad {
			return nil, 0, vol.DamagedAt(path, "its cluster %d is marked as free or bad", c)
		}
		if loop.Met(c) {
			return nil, 0, vol.DamagedAt(path, "its chain comes back to cluster %d", c)
		}
		es = space.Append(es, space.Extent{Start: c, Len: 1})
		c = last
	}
	return es, last, nil
}

// dirClusters are the clusters of the directory at path, which starts in start.
func (t *table) dirClusters(path string, start uint32) ([]space.Extent, error) {
	most := maxDirEntries*entryLen/t.g.ClusterSize() + 1
	es, last, err := t.follow(path, start, most)
	if err == nil && !isEOC(last) {
		// More than 65536 entries ([FAT]), or a loop.
		err = vol.DamagedAt(path, "its chain does not end after %d clusters", most)
	}
	return es, err
}

// fileClusters are the clusters that size bytes of the file at path take, which
// starts in start, and what the FAT says of the last of them.
func (t *table) fileClusters(path string, start uint32, size int64) (es []space.Extent, last uint32, err error) {
	n := vol.DivUp(size, t.g.ClusterSize())
	es, last, err = t.follow(path, start, n)
	if have := int64(space.Units(es)); err == nil && have < n {
		err = vol.DamagedAt(path, "it has %d clusters where its %d bytes take %d", have, size, n)
	}
	return es, last, err
}
