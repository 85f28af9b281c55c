package fat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/space"
)

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// lostRuns calls fn for the clusters in use that nothing claimed and that are
// not marked as bad, as runs of cluster numbers in rising order. On a broken
// volume that may be half of all clusters one by one: they are never kept.
func (w *walk) lostRuns(fn func(space.Extent) error) error {
	for e := range space.DiffRuns(w.used, w.claimed) {
		run := space.Extent{Start: e.Start + firstCluster, Len: e.Len}
		if w.c.bad == 0 && !w.quiet {
			if err := fn(run); err != nil {
				return err
			}
			continue
		}
		if err := w.goodRuns(run, fn); err != nil {
			return err
		}
	}
	return nil
}

// goodRuns calls fn for what a run holds beside clusters marked as bad.
func (w *walk) goodRuns(e space.Extent, fn func(space.Extent) error) error {
	run := space.Extent{}
	for i := uint32(0); i < e.Len; i++ {
		v, err := w.tab.get(e.Start + i)
		if err != nil {
			return err
		}
		switch {
		case v != entryBad && run.Len == 0:
			run = space.Extent{Start: e.Start + i, Len: 1}
		case v != entryBad:
			run.Len++
		case run.Len > 0:
			if err := fn(run); err != nil {
				return err
			}
			run = space.Extent{}
		}
	}
	if run.Len == 0 {
		return nil
	}
	return fn(run)
}

// lostChains are the clusters that are in use and that no entry leads to, seen
// as chains: a head is one that no other of them leads to. It takes two bits a
// cluster, however many there are.
type lostChains struct {
	w     *walk
	set   *space.Map
	heads *space.Map
	taken map[uint32]entryRef  // heads that were offered, and to which entry
	byLen map[uint32]headCount // heads by length, of chains that end well
	// byParent are heads that are directories, by the parent they name.
	byParent map[uint32]headCount
}

// headCount is a head, and how many there are like it.
type headCount struct{ head, n uint32 }

func (h headCount) and(head uint32) headCount { return headCount{head, h.n + 1} }

// only is the head if there is one alone, else 0.
func (h headCount) only() uint32 {
	if h.n != 1 {
		return 0
	}
	return h.head
}

func newLostChains(w *walk) (*lostChains, error) {
	l := &lostChains{w: w, set: space.NewMap(w.c.g.Clusters), taken: map[uint32]entryRef{}}
	err := w.lostRuns(func(e space.Extent) error {
		return l.set.SetRun(space.Extent{Start: e.Start - firstCluster, Len: e.Len})
	})
	if err != nil {
		return nil, err
	}
	return l, l.findHeads()
}

// lostChains of the walk. They are the same for all passes of a round, so that no
// chain is offered to two entries.
func (c *checker) lostChains() (*lostChains, error) {
	if c.lost == nil {
		l, err := newLostChains(c.walk)
		if err != nil {
			return nil, err
		}
		c.lost = l
	}
	return c.lost, nil
}

// each calls fn for every lost cluster in order.
func (l *lostChains) each(fn func(c uint32) error) error { return eachUnit(l.set, fn) }

// eachHead calls fn for every head in order.
func (l *lostChains) eachHead(fn func(c uint32) error) error { return eachUnit(l.heads, fn) }

// eachUnit calls fn for every cluster that is set in m.
func eachUnit(m *space.Map, fn func(c uint32) error) error {
	for e := range m.UsedRuns() {
		for i := uint32(0); i < e.Len; i++ {
			if err := fn(e.Start + i + firstCluster); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lostChains) has(c uint32) bool { return l.w.c.g.Valid(c) && l.set.Used(c-firstCluster) }

func (l *lostChains) isHead(c uint32) bool {
	return l.w.c.g.Valid(c) && l.heads.Used(c-firstCluster)
}

func (l *lostChains) findHeads() error {
	l.heads = l.set.Clone()
	return l.each(func(c uint32) error {
		v, err := l.w.tab.get(c)
		if err == nil && v != c && l.has(v) {
			l.heads.Clear(v - firstCluster)
		}
		return err
	})
}

// length of the lost chain from head on; ok if it ends with an end mark, stays
// among the lost clusters and has no more than limit.
func (l *lostChains) length(head, limit uint32) (n uint32, ok bool, err error) {
	for c := head; n < limit; {
		if !l.has(c) {
			return n, false, nil
		}
		v, err := l.w.tab.get(c)
		if err != nil {
			return n, false, err
		}
		if n++; isEOC(v) {
			return n, true, nil
		}
		c = v
	}
	return n, false, nil
}

// match is the head of the lost chain that continues or replaces what the
// fault broke, or 0. It is only given where the evidence points to one alone:
// the next cluster on the disk, with as many clusters as the size lacks; or
// the one lost chain of that length; or the one lost directory that names
// itself and the right parent.
func (l *lostChains) match(f *chainFault) (uint32, error) {
	if !f.isDir && f.n >= f.need {
		return 0, nil
	}
	head, err := l.candidate(f)
	if err != nil || head == 0 || l.isTaken(head, f) {
		return 0, err
	}
	if through, err := l.throughHidden(head); err != nil || through {
		return 0, err
	}
	l.taken[head] = f.ref
	return head, nil
}

// throughHidden reports whether the lost chain from head on goes through clusters to
// which hidden entries lead: it may be that of one, or run into it.
func (l *lostChains) throughHidden(head uint32) (bool, error) {
	hidden, err := l.w.c.hidden()
	if err != nil || hidden.CountUsed() == 0 {
		return false, err
	}
	loop := space.LoopFinder{}
	for cl := head; l.has(cl) && !loop.Met(cl); {
		if hidden.Used(cl - firstCluster) {
			return true, nil
		}
		if cl, err = l.w.tab.get(cl); err != nil {
			return false, err
		}
	}
	return false, nil
}

// isTaken reports whether a head was offered to another entry than that of f.
func (l *lostChains) isTaken(head uint32, f *chainFault) bool {
	ref, ok := l.taken[head]
	return ok && ref != f.ref
}

func (l *lostChains) candidate(f *chainFault) (uint32, error) {
	if f.isDir && f.n == 0 {
		return l.lostDir(f)
	}
	if f.n > 0 && l.isHead(f.last+1) {
		limit := f.need - f.n
		if f.isDir {
			limit = maxDirEntries
		}
		n, ok, err := l.length(f.last+1, limit)
		if err != nil || ok && (f.isDir || n == limit) {
			return f.last + 1, err
		}
	}
	if f.isDir {
		return 0, nil
	}
	if ok, err := l.bridges(f); err != nil || ok {
		return f.at, err
	}
	if err := l.indexLengths(); err != nil {
		return 0, err
	}
	return l.byLen[f.need-f.n].only(), nil
}

// bridges reports whether the chain was broken by one cluster that lost its
// entry: the cluster that is marked as free, and the lost chain directly behind
// it, have together as many clusters as the size lacks.
func (l *lostChains) bridges(f *chainFault) (bool, error) {
	missing := f.need - f.n
	next := f.at + 1
	follows := f.n == 0 && f.at == f.start || f.n > 0 && f.at == f.last+1
	if f.free != f.at || f.at == 0 || !follows || missing < 2 || !l.isHead(next) || l.isTaken(next, f) {
		return false, nil
	}
	n, ok, err := l.length(next, missing-1)
	if err != nil || !ok || n != missing-1 {
		return false, err
	}
	l.taken[next] = f.ref
	return true, nil
}

// indexLengths counts the heads by the length of their chains. Chains that run
// into one another would be walked again and again: after as many steps as
// there are lost clusters the rest is left out.
func (l *lostChains) indexLengths() error {
	if l.byLen != nil {
		return nil
	}
	l.byLen = map[uint32]headCount{}
	budget := uint32(l.set.CountUsed())
	return l.eachHead(func(h uint32) error {
		n, ok, err := l.length(h, budget)
		if ok {
			l.byLen[n] = l.byLen[n].and(h)
		}
		budget -= n
		return err
	})
}

// lostDir is the lost directory that says it belongs where f's entry is.
func (l *lostChains) lostDir(f *chainFault) (uint32, error) {
	if l.byParent == nil {
		l.byParent = map[uint32]headCount{}
		err := l.eachHead(func(h uint32) error {
			up, ok, err := l.w.dirAt(h)
			if ok {
				l.byParent[up] = l.byParent[up].and(h)
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return l.byParent[l.w.parentStart(f.ref.dir)].only(), nil
}

// ownDir is the head of the lost directory to which the entry of directory i should
// lead instead of what is there, or 0. It must be the only one that names its parent,
// and what is there must not be a directory: sure says so, else that the lost one
// leads there, so that the entry leads into its middle.
func (c *checker) ownDir(i int32, sure bool) (uint32, error) {
	d := &c.walk.dirs[i]
	if i == 0 || d.size != 0 {
		return 0, nil
	}
	l, err := c.lostChains()
	if err != nil {
		return 0, err
	}
	f := &chainFault{ref: d.ref, isDir: true, start: d.start}
	if !sure {
		head, err := l.lostDir(f)
		if err != nil || head == 0 {
			return 0, err
		}
		if ok, err := l.leadsTo(head, d.start); err != nil || !ok {
			return 0, err
		}
	}
	return l.match(f)
}

// leadsTo reports whether the lost chain from head on goes on with cluster to,
// which is none of them.
func (l *lostChains) leadsTo(head, to uint32) (bool, error) {
	cl := head
	for n := 0; n < maxDirEntries && l.has(cl); n++ {
		v, err := l.w.tab.get(cl)
		if err != nil {
			return false, err
		}
		cl = v
	}
	return cl == to, nil
}

// parentStart is what .. of a subdirectory of dir holds: [FAT] 0 for the root.
func (w *walk) parentStart(dir int32) uint32 {
	if dir == 0 {
		return 0
	}
	return w.dirs[dir].start
}
