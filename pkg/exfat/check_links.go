package exfat

import (
	"context"
	"sort"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkLinks judges clusters that two streams lead to, and directories that
// two entries lead to. The walk has claimed in order of plausibility, so the
// later claimant is the one that something speaks against, if anything does.
func (c *checker) checkLinks(_ context.Context, r *vol.Report) error {
	for i := range c.walk.twice {
		if err := c.reportTwice(r, &c.walk.twice[i]); err != nil {
			return err
		}
	}
	sort.SliceStable(c.walk.shared, func(i, j int) bool { return c.walk.shared[i].stop < c.walk.shared[j].stop })
	for i := range c.walk.shared {
		if err := c.reportShared(r, &c.walk.shared[i]); err != nil {
			return err
		}
	}
	return nil
}

// reportTwice reports an entry that leads to a directory already reached. The
// entry reached first keeps it: it stands nearer to the root, and a directory
// of exFAT does not say where it belongs.
func (c *checker) reportTwice(r *vol.Report, t *twiceDir) error {
	f := streamFault{stream: t.stream}
	offers := []string{fixRemove}
	run, err := c.lost.match(&f)
	if err != nil {
		return err
	}
	if len(run) > 0 {
		offers = []string{fixRejoin, fixRemove}
	}
	fd := c.cat.Found("directory-twice", c.streamLoc(&t.stream, t.start), vol.Offer(offers...),
		vol.Detail("it is %q", c.walk.path(t.first)), vol.Related(vol.Location{Path: c.walk.path(t.first), Cluster: t.start}))
	r.Found(fd, c.ofSettled(&t.stream, func(_ context.Context, rep vol.Repair) error {
		if rep.Name == fixRejoin {
			return c.rejoin(&f, run)
		}
		return c.removeSlots(t.ref.dir, t.ref.slot, t.ref.n)
	}))
	return nil
}

// reportShared reports a stream that ran into clusters of another.
func (c *checker) reportShared(r *vol.Report, f *streamFault) error {
	loc := c.streamLoc(&f.stream, f.stop)
	if f.kind == ofVendor {
		r.Found(c.cat.Found("vendor-clusters", loc, vol.Detail("cluster %d belongs to another", f.stop)),
			c.ofSettled(&f.stream, c.dropVendor(&f.stream)))
		return nil
	}
	var offers []string
	run, err := c.lost.match(f)
	if err != nil {
		return err
	}
	if len(run) > 0 {
		offers = append(offers, fixRejoin)
	}
	tail := f.need - min(f.need, f.n)
	copied, err := c.canCopy(f, tail)
	if err != nil {
		return err
	}
	if copied {
		offers = append(offers, fixCopy)
	}
	if f.isDir && f.n == 0 {
		offers = append(offers, fixRemove)
	} else {
		offers = append(offers, fixTruncate)
	}
	fd := c.cat.Found("cross-linked", loc, vol.Offer(offers...), vol.Detail("from its cluster %d on it shares clusters with another", f.n+1))
	fd.Loc.Range = c.g.ClusterRange(f.stop, 1)
	r.Found(fd, c.ofSettled(&f.stream, func(ctx context.Context, rep vol.Repair) error {
		switch rep.Name {
		case fixRejoin:
			return c.rejoin(f, run)
		case fixCopy:
			return c.copyTail(ctx, f, tail)
		case fixRemove:
			return c.removeSlots(f.ref.dir, f.ref.slot, f.ref.n)
		}
		return c.cutStream(&f.stream, f.n, f.last)
	}))
	return nil
}

// canCopy reports whether the shared clusters of a file can be copied: all are
// in the heap, the file's own claim is not refuted by the bitmap, and there is
// room.
func (c *checker) canCopy(f *streamFault, tail uint32) (bool, error) {
	if f.isDir || tail == 0 || f.need > c.g.Clusters || uint64(tail) > c.stats.Free {
		return false, nil
	}
	return c.walk.plausible(&f.stream)
}

// copyTail gives a file clusters of its own for those it shares.
func (c *checker) copyTail(ctx context.Context, f *streamFault, tail uint32) error {
	es, err := c.takeRoom(tail)
	if err != nil {
		return err
	}
	buf := make([]byte, c.g.ClusterSize)
	from := f.stop
	for _, e := range es {
		for i := uint32(0); i < e.Len; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !c.g.Valid(from) {
				return vol.ErrNotNow
			}
			if _, err := c.d.ReadAt(buf, c.g.ClusterOff(from)); err != nil {
				return err
			}
			if _, err := c.d.WriteAt(buf, c.g.ClusterOff(e.Start+i)); err != nil {
				return err
			}
			if from, err = c.after(f, from); err != nil {
				return err
			}
		}
	}
	return c.giveExtents(f, es)
}

// after is the cluster that follows in a stream.
func (c *checker) after(f *streamFault, cl uint32) (uint32, error) {
	if f.noFat {
		return cl + 1, nil
	}
	return c.tab.get(cl)
}

// giveExtents makes es the rest of a stream behind its sound clusters, and
// marks them as used.
func (c *checker) giveExtents(f *streamFault, es []space.Extent) error {
	for _, e := range es {
		if err := c.bits.mark(e, true); err != nil {
			return err
		}
	}
	all := append(append([]space.Extent{}, f.extents...), es...)
	if err := c.tab.link(all); err != nil {
		return err
	}
	return c.editStream(&f.stream, func(e entry) {
		e.put32(offFirstCluster, all[0].Start)
		e[offSecFlags] &^= secNoFatChain
	})
}

// takeRoom finds n clusters that are marked as free and that nothing claims, the
// first there are.
func (c *checker) takeRoom(n uint32) ([]space.Extent, error) {
	var got tally
	for cl := max(firstCluster, c.roomFrom); c.g.Valid(cl) && got.clusters < uint64(n); cl++ {
		ok, err := c.spare(cl)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if got.clusters == 0 {
			c.roomFrom = cl
		}
		got.add(cl, 1)
	}
	return c.take(&got, n)
}

// takeRun is takeRoom, but one run if there is one: some systems read tables as
// if they were.
func (c *checker) takeRun(n uint32) ([]space.Extent, error) {
	var run tally
	for cl := max(firstCluster, c.roomFrom); c.g.Valid(cl) && run.clusters < uint64(n); cl++ {
		ok, err := c.spare(cl)
		if err != nil {
			return nil, err
		}
		if !ok {
			run = tally{}
			continue
		}
		run.add(cl, 1)
	}
	if run.clusters < uint64(n) {
		return c.takeRoom(n)
	}
	return c.take(&run, n)
}

// take claims what was found, if it is enough.
func (c *checker) take(got *tally, n uint32) ([]space.Extent, error) {
	got.flush()
	if got.clusters < uint64(n) || !got.all() {
		return nil, vol.ErrNotNow
	}
	for _, e := range got.runs {
		c.walk.claimed.SetRunNew(space.Extent{Start: e.Start - firstCluster, Len: e.Len})
	}
	return got.runs, nil
}

// spare reports whether a cluster may be given to somebody.
func (c *checker) spare(cl uint32) (bool, error) {
	used, err := c.bits.used(cl)
	if err != nil || used || c.walk.claimed.Used(cl-firstCluster) || c.wanted.Used(cl-firstCluster) {
		return false, err
	}
	v, err := c.tab.get(cl)
	return v != fatBad, err
}
