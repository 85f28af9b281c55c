package exfat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// lostFile is what a rescue makes one file of: a chain that the FAT has, or a
// run of clusters of which it has none. The contents of a file without a chain
// are contiguous, [exFAT] §6.4.2.2, and what its FAT entries hold means nothing.
type lostFile struct {
	start, n uint32
	noFat    bool
	isDir    bool
}

// lostFiles finds what to make files of. A chain counts where nothing else leads
// to its first cluster, all of it is lost, and it ends with an end mark; all
// other clusters are taken by runs. Of memory it takes two bits a cluster at
// most, and maxRuns files: what is more is found by the next call, when those
// are claimed.
type lostFiles struct {
	c       *checker
	led     *space.Sparse // clusters to which the FAT entry of a lost one leads
	chained *space.Sparse // clusters of the chains found
	files   []lostFile
	steps   uint64 // clusters of chains that came to nothing
	limit   uint64 // of steps, so that chains that run into one another end
}

// findLostFiles finds the next files, in the order of their first clusters.
func (c *checker) findLostFiles(ctx context.Context) ([]lostFile, error) {
	n := uint64(c.g.Clusters)
	l := &lostFiles{c: c, led: space.NewSparse(n), chained: space.NewSparse(n)}
	err := c.eachLost(ctx, func(cl uint32) error {
		l.limit += 4
		v, err := c.tab.get(cl)
		if err == nil && c.g.Valid(v) {
			l.led.SetNew(v - firstCluster)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.eachLost(ctx, l.head); err != nil {
		return nil, err
	}
	if len(l.files) < maxRuns {
		if err := l.addRuns(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.files, func(a, b lostFile) int { return cmp.Compare(a.start, b.start) })
	return l.files, nil
}

// head looks for a chain that starts with cl.
func (l *lostFiles) head(cl uint32) error {
	if l.led.Used(cl-firstCluster) || l.chained.Used(cl-firstCluster) || l.steps > l.limit || len(l.files) == maxRuns {
		return nil
	}
	n, ok, err := l.length(cl)
	if err != nil || !ok {
		l.steps += uint64(n)
		return err
	}
	l.files = append(l.files, lostFile{start: cl, n: n})
	return l.c.eachLink(cl, n, func(cl uint32) { l.chained.SetNew(cl - firstCluster) })
}

// length is how many clusters the chain from cl on has; ok if all are lost and
// it ends.
func (l *lostFiles) length(cl uint32) (n uint32, ok bool, err error) {
	loop := space.LoopFinder{}
	for !loop.Met(cl) {
		if lost, err := l.c.isLost(cl); err != nil || !lost || l.chained.Used(cl-firstCluster) {
			return n, false, err
		}
		v, err := l.c.tab.get(cl)
		if n++; err != nil || v == fatEOC {
			return n, err == nil, err
		}
		cl = v
	}
	return n, false, nil
}

// addRuns adds the runs of clusters that are in no chain.
func (l *lostFiles) addRuns(ctx context.Context) error {
	var runs tally
	err := l.c.eachLost(ctx, func(cl uint32) error {
		if !l.chained.Used(cl - firstCluster) {
			runs.add(cl, 1)
		}
		return nil
	})
	runs.flush()
	for _, e := range runs.runs[:min(len(runs.runs), maxRuns-len(l.files))] {
		l.files = append(l.files, lostFile{start: e.Start, n: e.Len, noFat: true})
	}
	return err
}

// eachLink calls fn for n clusters of the chain from cl on.
func (c *checker) eachLink(cl, n uint32, fn func(cl uint32)) error {
	for ; n > 0; n-- {
		fn(cl)
		var err error
		if cl, err = c.tab.get(cl); err != nil {
			return err
		}
	}
	return nil
}

// claimLost claims the clusters of a lost file.
func (c *checker) claimLost(f lostFile) error {
	if f.noFat {
		c.walk.claimed.SetRunNew(space.Extent{Start: f.start - firstCluster, Len: f.n})
		return nil
	}
	return c.eachLink(f.start, f.n, func(cl uint32) { c.walk.claimed.SetNew(cl - firstCluster) })
}

// isLost reports whether a number is that of a cluster that is marked as used
// and that nobody has claimed.
func (c *checker) isLost(cl uint32) (bool, error) {
	if !c.g.Valid(cl) || c.walk.claimed.Used(cl-firstCluster) || c.lost.taken.Used(cl-firstCluster) {
		return false, nil
	}
	return c.bits.used(cl)
}

// eachLost calls fn for every lost cluster, in ascending order, but for those
// with the bad mark.
func (c *checker) eachLost(ctx context.Context, fn func(cl uint32) error) error {
	var err error
	t := &bitmapCompare{c: c, lost: func(cl, n uint32) {
		for i := uint32(0); i < n && err == nil; i++ {
			if !c.lost.taken.Used(cl + i - firstCluster) {
				err = fn(cl + i)
			}
		}
	}}
	_, failed := dev.ReadRuns(ctx, wholeHoles(c.d), c.bits.runs(), dev.ReadOptions{Holes: true, Serial: true}, func(r dev.Range, b []byte) error {
		return cmp.Or(t.piece(r, b), err)
	})
	return failed
}
