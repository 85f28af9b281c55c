package exfat

import (
	"sort"

	"github.com/fatkit/fatkit/pkg/space"
)

// maxLostHeads bounds how many lost clusters are looked at as chains.
const maxLostHeads = 1 << 22

// lostClusters are those that are marked as used and that nobody claimed, as
// runs and as the chains that the FAT still makes of them.
type lostClusters struct {
	c *checker
	tally
	taken *space.Sparse       // by a repair
	byRun map[uint32][]uint32 // runs by length: their first clusters
	heads map[uint32][]uint32 // chains by length, those that end well
	steps uint64              // how many clusters of chains were looked at
	looks map[uint32]look     // what is known of first clusters
}

// look is what a cluster looks like.
type look struct{ set, entries bool }

// maxAlike is how many runs or chains of one length are told apart. Among more
// no evidence points to one.
const maxAlike = 64

func newLostClusters(c *checker, t tally) *lostClusters {
	return &lostClusters{c: c, tally: t, taken: space.NewSparse(uint64(c.g.Clusters))}
}

// run is the lost run that holds a cluster, if there is one.
func (l *lostClusters) run(cl uint32) (space.Extent, bool) {
	i := sort.Search(len(l.runs), func(i int) bool { return l.runs[i].Start+l.runs[i].Len > cl })
	if i == len(l.runs) || cl < l.runs[i].Start {
		return space.Extent{}, false
	}
	return l.runs[i], true
}

func (l *lostClusters) has(cl uint32) bool {
	_, ok := l.run(cl)
	return ok && !l.taken.Used(cl-firstCluster)
}

// left is what no repair is about to take.
func (l *lostClusters) left() tally {
	if l.taken.CountUsed() == 0 {
		return l.tally
	}
	var out tally
	for _, e := range l.runs {
		pos := e.Start
		l.taken.Runs(space.Extent{Start: e.Start - firstCluster, Len: e.Len}, func(t space.Extent) bool {
			if t.Start+firstCluster > pos {
				out.add(pos, t.Start+firstCluster-pos)
			}
			pos = t.Start + firstCluster + t.Len
			return true
		})
		if end := e.Start + e.Len; pos < end {
			out.add(pos, end-pos)
		}
	}
	out.flush()
	// Of what was taken some may never have looked lost: see keep.
	out.clusters += l.clusters - space.Units(l.runs)
	out.total += l.total - uint64(len(l.runs))
	return out
}

// match is what continues or replaces what a stream lacks, or nothing. It is
// only given where the evidence points to one place: the FAT links just as many
// clusters from the next one on, or from one place alone; or a run of just that
// length lies behind the last one, or is the only one.
func (l *lostClusters) match(f *streamFault) ([]space.Extent, error) {
	if len(l.runs) == 0 {
		return nil, nil
	}
	return l.take(l.candidate(f))
}

// take notes that a repair may use es, so that no other does.
func (l *lostClusters) take(es []space.Extent, err error) ([]space.Extent, error) {
	for _, e := range es {
		l.taken.SetRunNew(space.Extent{Start: e.Start - firstCluster, Len: e.Len})
	}
	return es, err
}

func (l *lostClusters) candidate(f *streamFault) ([]space.Extent, error) {
	if f.kind == ofRoot {
		return l.rootRest(f)
	}
	if f.need <= f.n || f.need > l.c.g.Clusters || f.noFat && f.n > 0 {
		return nil, nil
	}
	missing := f.need - f.n
	if es, err := l.next(f); err != nil || es != nil {
		return es, err
	}
	if !f.noFat {
		if err := l.findHeads(); err != nil {
			return nil, err
		}
		h, err := l.only(f, l.heads[missing])
		if err != nil {
			return nil, err
		}
		if es, err := l.chain(h, missing); err != nil || es != nil {
			return es, err
		}
	}
	l.findRuns()
	h, err := l.only(f, l.byRun[missing])
	if e := (space.Extent{Start: h, Len: missing}); h != 0 && l.isFree(e) {
		return []space.Extent{e}, err
	}
	return nil, err
}

// next is what lies right behind the last sound cluster of a stream and has the
// length that it lacks: a chain, or a run.
func (l *lostClusters) next(f *streamFault) ([]space.Extent, error) {
	if f.n == 0 || f.noFat || f.need <= f.n || f.need > l.c.g.Clusters {
		return nil, nil
	}
	missing := f.need - f.n
	if es, err := l.chain(f.last+1, missing); err != nil || es != nil {
		return es, err
	}
	if e, ok := l.run(f.last + 1); ok && e.Start == f.last+1 && e.Len == missing && l.isFree(e) {
		return []space.Extent{e}, nil
	}
	return nil, nil
}

// only is the one of heads that may be what a stream lacks, or 0: where a
// directory goes on there are entries, and where a file goes on there is no
// directory.
func (l *lostClusters) only(f *streamFault, heads []uint32) (uint32, error) {
	if len(heads) > maxAlike {
		return 0, nil
	}
	found := uint32(0)
	for _, h := range heads {
		x, err := l.look(h)
		fits := !x.set
		if f.isDir {
			fits = x.entries
		}
		if err != nil || fits && found != 0 {
			return 0, err
		}
		if fits {
			found = h
		}
	}
	return found, nil
}

// look looks at a cluster, once.
func (l *lostClusters) look(cl uint32) (look, error) {
	if x, ok := l.looks[cl]; ok {
		return x, nil
	}
	set, err := l.c.walk.startsWithSet(cl)
	if err != nil {
		return look{}, err
	}
	entries, err := l.c.walk.holdsEntries(cl)
	if l.looks == nil {
		l.looks = map[uint32]look{}
	}
	l.looks[cl] = look{set, entries}
	return l.looks[cl], err
}

// rootRest is the chain that continues the root directory, which has no length:
// it starts with the next cluster, and looks like a directory.
func (l *lostClusters) rootRest(f *streamFault) ([]space.Extent, error) {
	if !l.has(f.last + 1) {
		return nil, nil
	}
	ok, err := l.c.walk.holdsEntries(f.last + 1)
	if err != nil || !ok {
		return nil, err
	}
	return l.chain(f.last+1, 0)
}

// isFree reports whether no repair took a cluster of e.
func (l *lostClusters) isFree(e space.Extent) bool {
	free := true
	l.taken.Runs(space.Extent{Start: e.Start - firstCluster, Len: e.Len}, func(space.Extent) bool {
		free = false
		return false
	})
	return free
}

// chain is the chain that the FAT makes from cluster cl on, if it stays among
// the lost clusters and has n of them; of any length where n is 0. After a few
// times as many steps as there are lost clusters it finds nothing any more, so
// that a volume made for it cannot keep a check busy.
func (l *lostClusters) chain(cl, n uint32) ([]space.Extent, error) {
	var ch chain
	for uint64(ch.n) < l.clusters && l.has(cl) && l.steps < 4*l.clusters {
		l.steps++
		ch.add(cl)
		v, err := l.c.tab.get(cl)
		if err != nil {
			return nil, err
		}
		switch {
		case v == fatEOC && (ch.n == n || n == 0):
			return ch.extents, nil
		case v == fatEOC || ch.n == n:
			return nil, nil
		}
		cl = v
	}
	return nil, nil
}

// entriesFrom is the part of a chain from cluster cl on that stays among the lost
// clusters and holds entries, wherever it goes behind that.
func (l *lostClusters) entriesFrom(cl uint32) ([]space.Extent, error) {
	var ch chain
	for uint64(ch.n) < l.clusters && l.has(cl) && !ch.holds(cl) && l.steps < 4*l.clusters {
		l.steps++
		if ok, err := l.c.walk.holdsEntries(cl); err != nil || !ok {
			return ch.extents, err
		}
		ch.add(cl)
		v, err := l.c.tab.get(cl)
		if err != nil {
			return nil, err
		}
		cl = v
	}
	return ch.extents, nil
}

func addAlike(m map[uint32][]uint32, n, head uint32) {
	if len(m[n]) <= maxAlike {
		m[n] = append(m[n], head)
	}
}

// findRuns counts the lost runs by length.
func (l *lostClusters) findRuns() {
	if l.byRun != nil {
		return
	}
	l.byRun = map[uint32][]uint32{}
	for _, e := range l.runs {
		addAlike(l.byRun, e.Len, e.Start)
	}
}

// findHeads counts the lost chains by length. A head is a lost cluster that no
// other leads to. Chains that run into one another would be walked again and
// again: after as many steps as there are lost clusters the rest is left out.
func (l *lostClusters) findHeads() error {
	if l.heads != nil {
		return nil
	}
	l.heads = map[uint32][]uint32{}
	if l.clusters > maxLostHeads {
		return nil
	}
	budget := uint32(l.clusters)
	led := space.NewSparse(uint64(l.c.g.Clusters))
	err := l.each(func(cl uint32) error {
		v, err := l.c.tab.get(cl)
		if err == nil && l.has(v) {
			led.SetNew(v - firstCluster)
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.each(func(cl uint32) error {
		if led.Used(cl-firstCluster) || budget == 0 {
			return nil
		}
		n, ok, err := l.length(cl, budget)
		if ok {
			addAlike(l.heads, n, cl)
		}
		budget -= n
		return err
	})
}

// length of the chain from cl on, at most limit; ok if it ends well.
func (l *lostClusters) length(cl, limit uint32) (n uint32, ok bool, err error) {
	for n < limit && l.has(cl) {
		v, err := l.c.tab.get(cl)
		if err != nil {
			return n, false, err
		}
		if n++; v == fatEOC {
			return n, true, nil
		}
		cl = v
	}
	return n, false, nil
}

// each calls fn for every lost cluster.
func (l *lostClusters) each(fn func(cl uint32) error) error {
	for _, e := range l.runs {
		for i := range e.Len {
			if err := fn(e.Start + i); err != nil {
				return err
			}
		}
	}
	return nil
}
