package fat

import "github.com/fatkit/fatkit/pkg/vol"

// reportSpills reports the directories that go on behind their end mark with whole
// clusters in which nothing is an entry, before all others that have something behind
// their end. What lies there may be the contents of a file to which a damaged link
// leads, so that it must not be zeroed: the chain ends before it, and whose it is
// shows when all entries are known. rest are the notes that are left.
func (c *checker) reportSpills(r *vol.Report) (rest []*layoutNote, err error) {
	for i := range c.walk.layout {
		n := &c.walk.layout[i]
		last := uint32(0)
		if n.slug == "after-end" {
			if last, err = c.spillsFrom(n); err != nil {
				return nil, err
			}
		}
		if last == 0 {
			rest = append(rest, n)
			continue
		}
		loc := vol.Location{Path: c.walk.path(n.dir), Cluster: c.walk.dirs[n.dir].start}
		loc.Range.Off, loc.Range.Len = c.walk.slotOff(n.dir, int(n.slot)), entryLen
		f := c.cat.Found(n.slug, loc, vol.Detail("its clusters behind number %d hold no entries", last), vol.Offer(fixRemove))
		r.Found(f, c.walk.ifSettled(n.dir, 0, maxDirEntries, vol.Always(func() error {
			c.spilled = true
			return c.walk.tab.set(last, entryLast)
		})))
	}
	return rest, nil
}

// spillsFrom is the cluster in which a directory has its end mark, if what it has in
// those behind is in use and nothing of it leads to what is lost; else 0. Where all of it
// is entries of empty files it is the mark that is wrong, see hiddenAreReal.
func (c *checker) spillsFrom(n *layoutNote) (uint32, error) {
	d := &c.walk.dirs[n.dir]
	if d.start == 0 && c.g.Type != FAT32 {
		return 0, nil // the root has no clusters
	}
	buf, err := c.walk.read(n.dir)
	if err != nil {
		return 0, err
	}
	per := int(c.g.ClusterSize() / entryLen)
	at := endOf(buf) / per
	behind := buf[min(len(buf), (at+1)*per*entryLen):]
	if allFree(behind) {
		return 0, nil
	}
	real, other, err := c.countReal(behind)
	if err != nil || real > 0 {
		return 0, err
	}
	if empty, _, err := c.realBehind(behind, 0); err != nil || other == 0 && len(empty) > 0 {
		return 0, err
	}
	for _, e := range d.extents {
		if at < int(e.Len) {
			return e.Start + uint32(at), nil
		}
		at -= int(e.Len)
	}
	return 0, nil
}
