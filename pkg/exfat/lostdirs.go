package exfat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
)

// Where the entry of a directory is gone its clusters look lost, and so do those of
// all files in it. Who removes a directory removes what is in it first, and frees the
// clusters of each file with its entry: a lost cluster with entries in use that lead
// to lost clusters is one of a directory that was lost, not removed.

// lostDirs finds the directories among the lost clusters.
type lostDirs struct {
	c     *checker
	w     *walk         // what the tree has is claimed, and what the directories found lead to
	live  []uint32      // clusters of directories, in ascending order, up to maxRuns
	under *space.Sparse // clusters where an entry in one of them says that a directory starts
	steps uint64        // clusters of chains that were looked at
	limit uint64        // of steps, so that entries that all lead to one chain end
	files []lostFile    // the directories
}

func newLostDirs(c *checker) *lostDirs {
	return &lostDirs{c: c, w: c.walk, under: space.NewSparse(uint64(c.g.Clusters)), limit: 4*c.lost.clusters + 1<<10}
}

// maxLiveLooks is how many runs of lost clusters are looked at first, and how many
// clusters all over a volume of which nothing else is lost, to say what is to be done
// with all: a read for each. Each run that is kept, maxRuns at most, adds one.
const maxLiveLooks = 1 << 12

// hasLiveDir reports whether a directory is found among the lost clusters. Of a long
// run not all are looked at: its first one, as a directory was made before its files,
// and others all over it.
func (c *checker) hasLiveDir(ctx context.Context, lost *tally) (bool, error) {
	l := newLostDirs(c)
	for _, e := range lost.runs[:min(len(lost.runs), maxLiveLooks)] {
		if live, err := l.isLive(e.Start); live || err != nil {
			return live, err
		}
	}
	live := false
	var err error
	lost.spread(func(cl uint32) bool {
		if err = ctx.Err(); err == nil {
			live, err = l.isLive(cl)
		}
		return !live && err == nil
	})
	return live, err
}

// spread calls fn for clusters all over the runs, the second of each among them, as
// long as it returns true.
func (l *tally) spread(fn func(cl uint32) bool) {
	step := 1 + l.clusters/maxLiveLooks
	for _, e := range l.runs {
		// A run may be so long that the next step leaves 32 bits.
		for at := uint64(1); at < uint64(e.Len); at += step {
			if !fn(e.Start + uint32(at)) {
				return
			}
		}
	}
}

// findLostDirs finds all that are in no other, and claims what they lead to.
func (c *checker) findLostDirs(ctx context.Context) ([]lostFile, error) {
	l := newLostDirs(c)
	err := c.eachLost(ctx, func(cl uint32) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		live, err := l.isLive(cl)
		if live && len(l.live) < maxRuns {
			l.live = append(l.live, cl)
		}
		return err
	})
	if err != nil || len(l.live) == 0 {
		return nil, err
	}
	tree := c.walk
	l.w = tree.again()
	l.w.quiet = true
	c.walk = l.w // what it reads it reads by its own numbers of directories
	err = l.takeAll(ctx)
	c.walk = tree
	if err != nil {
		return nil, err
	}
	tree.claimed = l.w.claimed
	return l.files, nil
}

// takeAll takes first what no entry of another leads to, and goes through it. What is
// left then leads to one another, or an entry that does not count led there.
func (l *lostDirs) takeAll(ctx context.Context) error {
	for _, top := range []bool{true, false} {
		for _, cl := range l.live {
			if top && l.isUnder(cl) || l.w.claimed.Used(cl-firstCluster) {
				continue
			}
			if middle, err := l.isMiddle(cl); err != nil {
				return err
			} else if middle && top {
				continue
			}
			if err := l.take(ctx, cl); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(l.files, func(a, b lostFile) int { return cmp.Compare(a.start, b.start) })
	return nil
}

// isLive reports whether a cluster holds entry sets, with the checksums that they
// must have, [exFAT] §6.3.3, most of which lead to lost clusters.
func (l *lostDirs) isLive(cl uint32) (bool, error) {
	if ok, err := l.startsAsDir(cl); err != nil || !ok {
		return false, err
	}
	buf := make([]byte, min(l.c.g.ClusterSize, readPiece))
	if _, err := l.c.d.ReadAt(buf, l.c.g.ClusterOff(cl)); err != nil {
		return false, err
	}
	own, other := 0, 0
	h := &hiddenSets{fn: func(_ int32, set []byte) error {
		x := l.c.streamIn(set)
		if x.length == 0 {
			return nil
		}
		ok, err := l.leadsToLost(&x)
		if !ok {
			other++
			return err
		}
		own++
		if x.isDir {
			l.under.SetNew(x.start - firstCluster)
		}
		return err
	}}
	for k := int32(0); len(buf) > 0 && !entry(buf[:entryLen]).isEnd(); buf, k = buf[entryLen:], k+1 {
		h.slot(k, entry(buf[:entryLen]))
	}
	return own > other, h.err
}

// startsAsDir reports whether the first slot of a cluster may be one of a directory,
// which few clusters of files have.
func (l *lostDirs) startsAsDir(cl uint32) (bool, error) {
	e := make(entry, entryLen)
	if _, err := l.c.d.ReadAt(e, l.c.g.ClusterOff(cl)); err != nil {
		return false, err
	}
	switch e.kind() | typeInUse {
	case typeFile, typeStream, typeName, typePadding, typeVendor, typeVendAll:
		return !e.isEnd(), nil
	}
	return false, nil
}

// leadsToLost reports whether all clusters of a stream are in use and have no owner.
// What claims more than there is, or starts elsewhere, is no step: one entry that says
// so must not use up those of all others.
func (l *lostDirs) leadsToLost(x *stream) (bool, error) {
	if uint64(x.need) > l.c.lost.clusters {
		return false, nil
	}
	if lost, err := l.c.isLost(x.start); err != nil || !lost {
		return false, err
	}
	if l.steps += uint64(x.need); l.steps > l.limit {
		return false, nil
	}
	return l.w.fitting(x)
}

// isMiddle reports whether a cluster goes on with the directory in the one before it,
// by its place: that holds entries up to its end, and none leads to this one.
func (l *lostDirs) isMiddle(cl uint32) (bool, error) {
	if _, live := slices.BinarySearch(l.live, cl-1); !live || l.isUnder(cl) {
		return false, nil
	}
	if v, err := l.c.tab.get(cl - 1); err != nil || v == fatEOC {
		return false, err
	}
	ended, err := l.w.endsIn(cl - 1)
	return !ended, err
}

// take takes the directory that starts with a cluster, and all that it leads to.
func (l *lostDirs) take(ctx context.Context, cl uint32) error {
	f, err := l.extent(cl)
	if err != nil {
		return err
	}
	s := stream{isDir: true, sealed: true, start: f.start, need: f.n, length: uint64(f.n) * uint64(l.c.g.ClusterSize), noFat: f.noFat}
	ch, err := l.w.claim(&s)
	if err != nil {
		return err
	}
	l.w.enter(&s, ch)
	l.files = append(l.files, f)
	return l.w.descend(ctx)
}

// isUnder reports whether an entry that was found leads to a directory at cl.
func (l *lostDirs) isUnder(cl uint32) bool {
	return l.c.g.Valid(cl) && l.under.Used(cl-firstCluster)
}

// extent is how far a directory goes: as the FAT says, if it leads on to an end; else
// as a run.
func (l *lostDirs) extent(cl uint32) (lostFile, error) {
	most, _ := l.c.g.ClustersFor(maxDirBytes)
	n, ended, err := l.chainLength(cl, most)
	if err != nil || ended {
		return lostFile{start: cl, n: n, isDir: true}, err
	}
	n, err = l.runLength(cl, most)
	return lostFile{start: cl, n: n, isDir: true, noFat: true}, err
}

// chainLength is how many clusters the FAT leads through from cl on, most at the most;
// ended if all of them may be of a directory, and the last has the end mark.
func (l *lostDirs) chainLength(cl, most uint32) (n uint32, ended bool, err error) {
	loop := space.LoopFinder{}
	for n = 1; n <= most && !loop.Met(cl); n++ {
		v, err := l.c.tab.get(cl)
		if err != nil || v == fatEOC {
			return n, err == nil, err
		}
		if ok, err := l.goesOn(v); err != nil || !ok {
			return n, false, err
		}
		cl = v
	}
	return n, false, nil
}

// runLength is how many clusters from cl on may be of a directory, up to the one with
// its end mark, most at the most.
func (l *lostDirs) runLength(cl, most uint32) (n uint32, err error) {
	for n = 1; n < most; n++ {
		ended, err := l.w.endsIn(cl + n - 1)
		if err != nil || ended || l.isUnder(cl+n) {
			return n, err
		}
		if ok, err := l.goesOn(cl + n); err != nil || !ok {
			return n, err
		}
	}
	return n, nil
}

// goesOn reports whether a cluster is lost, is in no directory by now, and may be one
// of a directory.
func (l *lostDirs) goesOn(cl uint32) (bool, error) {
	if l.steps++; l.steps > l.limit {
		return false, nil
	}
	if lost, err := l.c.isLost(cl); err != nil || !lost {
		return false, err
	}
	return l.w.holdsEntries(cl)
}
