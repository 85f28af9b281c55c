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
func (c *checker) checkLinks(ctx context.Context, r *vol.Report) error {
	for i := range c.walk.twice {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.reportTwice(r, &c.walk.twice[i]); err != nil {
			return err
		}
	}
	sort.SliceStable(c.walk.shared, func(i, j int) bool { return c.walk.shared[i].stop < c.walk.shared[j].stop })
	for i := range c.walk.shared {
		if err := ctx.Err(); err != nil {
			return err
		}
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
	copied, err := c.canCopy(f)
	if err != nil {
		return err
	}
	if f.kind == ofVendor {
		c.reportVendor(r, f, loc, copied)
		return nil
	}
	stray, err := c.isStray(f)
	if err != nil {
		return err
	}
	run, err := c.lost.match(f)
	if err != nil {
		return err
	}
	var offers []string
	if len(run) > 0 {
		offers = []string{fixRejoin}
	}
	switch {
	case copied && stray:
		offers = append(offers, fixCopy)
	case copied: // what it holds now may be its own
		offers = append([]string{fixCopy}, offers...)
	}
	fd := c.cat.Found("cross-linked", loc, vol.Offer(append(offers, fixTruncate)...), vol.Detail("from its cluster %d on it shares clusters with another", f.n+1))
	fd.Loc.Range = c.g.ClusterRange(f.stop, 1)
	r.Found(fd, c.ofSettled(&f.stream, func(ctx context.Context, rep vol.Repair) error {
		switch rep.Name {
		case fixRejoin:
			return c.rejoin(f, run)
		case fixCopy:
			return c.copyTail(ctx, f)
		}
		return c.cutStream(&f.stream, f.n, f.last)
	}))
	return nil
}

// reportVendor reports a vendor allocation that ran into clusters of another.
func (c *checker) reportVendor(r *vol.Report, f *streamFault, loc vol.Location, copied bool) {
	offers := []string{fixRemove}
	if copied {
		offers = []string{fixCopy, fixRemove}
	}
	fd := c.cat.Found("vendor-clusters", loc, vol.Offer(offers...), vol.Detail("cluster %d belongs to another", f.stop))
	r.Found(fd, c.ofSettled(&f.stream, func(ctx context.Context, rep vol.Repair) error {
		if rep.Name == fixCopy {
			return c.copyTail(ctx, f)
		}
		return c.dropVendor(&f.stream)(ctx, rep)
	}))
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

// hasRoom reports whether takeRoom would find a cluster.
func (c *checker) hasRoom() (bool, error) {
	for cl := max(firstCluster, c.roomFrom); c.g.Valid(cl); cl++ {
		if ok, err := c.spare(cl); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
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
