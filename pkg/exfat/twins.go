package exfat

import "github.com/fatkit/fatkit/pkg/space"

// findShortTwins adds directories to found, by where their entries lie, to which
// another entry leads that has more: it goes on with clusters that nobody has.
// Who was reached first would keep the directory without those.
func (c *checker) findShortTwins(found map[int64]bool) error {
	for i := range c.walk.twice {
		t := &c.walk.twice[i]
		first := &c.walk.dirs[t.first]
		need, _ := c.g.ClustersFor(first.length)
		if t.first == 0 || t.trust > unmarked || t.need <= need || c.lookedTooLong() {
			continue
		}
		off := c.walk.slotOff(first.ref.dir, first.ref.slot+1)
		if c.yielding[off] {
			continue
		}
		c.fruitless += uint64(t.need)
		longer, err := c.goesBeyond(&t.stream, need)
		if err != nil {
			return err
		}
		if longer {
			found[off] = true
		}
	}
	return nil
}

// goesBeyond reports whether nobody has claimed what a directory has behind its
// first n clusters.
func (c *checker) goesBeyond(s *stream, n uint32) (bool, error) {
	es := []space.Extent{{Start: s.start, Len: s.need}}
	if !s.noFat {
		var err error
		if es, err = c.tab.follow(s.start, s.need, s.need); err != nil {
			return false, err
		}
	}
	_, rest := splitExtents(es, n)
	for _, e := range rest {
		if !c.walk.isFree(e.Start, e.Len) {
			return false, nil
		}
	}
	return true, nil
}
