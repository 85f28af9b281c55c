package fat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/space"
)

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// lostChains are the clusters that are in use and that no entry leads to, seen
// as chains: a head is one that no other of them leads to.
type lostChains struct {
	w     *walk
	runs  []space.Extent // cluster numbers
	set   *space.Map
	heads []uint32
	isHd  map[uint32]bool
	taken map[uint32]bool
	byLen map[uint32][]uint32 // heads by length, of chains that end well
	// byParent are heads that are directories, by the parent they name.
	byParent map[uint32][]uint32
}

func newLostChains(w *walk) (*lostChains, error) {
	runs, err := w.lostRuns()
	if err != nil {
		return nil, err
	}
	l := &lostChains{w: w, runs: runs, set: space.NewMap(w.c.g.Clusters), isHd: map[uint32]bool{}, taken: map[uint32]bool{}}
	for _, e := range runs {
		if err := l.set.SetRun(space.Extent{Start: e.Start - firstCluster, Len: e.Len}); err != nil {
			return nil, err
		}
	}
	return l, l.findHeads()
}

// each calls fn for every lost cluster in order.
func (l *lostChains) each(fn func(c uint32) error) error {
	for _, e := range l.runs {
		for i := uint32(0); i < e.Len; i++ {
			if err := fn(e.Start + i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lostChains) has(c uint32) bool {
	return l.w.c.g.Valid(c) && l.set.Used(c-firstCluster)
}

func (l *lostChains) findHeads() error {
	pointed := space.NewMap(l.w.c.g.Clusters)
	err := l.each(func(c uint32) error {
		v, err := l.w.tab.get(c)
		if err == nil && l.has(v) && v != c {
			pointed.Set(v - firstCluster)
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.each(func(c uint32) error {
		if !pointed.Used(c - firstCluster) {
			l.heads = append(l.heads, c)
			l.isHd[c] = true
		}
		return nil
	})
}

// length of the lost chain from head on; ok if it ends with an end mark and
// stays among the lost clusters. It gives up beyond limit.
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
	if len(l.heads) == 0 || !f.isDir && f.n >= f.need {
		return 0, nil
	}
	head, err := l.candidate(f)
	if err != nil || head == 0 || l.taken[head] {
		return 0, err
	}
	l.taken[head] = true
	return head, nil
}

func (l *lostChains) candidate(f *chainFault) (uint32, error) {
	if f.isDir && f.n == 0 {
		return l.lostDir(f)
	}
	if f.n > 0 && l.isHd[f.last+1] {
		n, ok, err := l.length(f.last+1, l.w.c.g.Clusters)
		if err != nil || ok && (f.isDir || n == f.need-f.n) {
			return f.last + 1, err
		}
	}
	if f.isDir {
		return 0, nil
	}
	if err := l.indexLengths(); err != nil {
		return 0, err
	}
	if hs := l.byLen[f.need-f.n]; len(hs) == 1 {
		return hs[0], nil
	}
	return 0, nil
}

// indexLengths sorts the heads by the length of their chains. Chains that run
// into one another would be walked again and again: after as many steps as
// there are lost clusters the rest is left out.
func (l *lostChains) indexLengths() error {
	if l.byLen != nil {
		return nil
	}
	l.byLen = map[uint32][]uint32{}
	budget := l.set.CountUsed()
	for _, h := range l.heads {
		n, ok, err := l.length(h, uint32(min(budget, uint64(l.w.c.g.Clusters))))
		if err != nil {
			return err
		}
		if ok {
			l.byLen[n] = append(l.byLen[n], h)
		}
		if budget -= min(budget, uint64(n)); budget == 0 {
			break
		}
	}
	return nil
}

// lostDir is the lost directory that says it belongs where f's entry is.
func (l *lostChains) lostDir(f *chainFault) (uint32, error) {
	if l.byParent == nil {
		l.byParent = map[uint32][]uint32{}
		for _, h := range l.heads {
			if err := l.indexDir(h); err != nil {
				return 0, err
			}
		}
	}
	if hs := l.byParent[l.w.parentStart(f.ref.dir)]; len(hs) == 1 {
		return hs[0], nil
	}
	return 0, nil
}

// parentStart is what .. of a subdirectory of dir holds: [FAT] 0 for the root.
func (w *walk) parentStart(dir int32) uint32 {
	if dir == 0 {
		return 0
	}
	return w.dirs[dir].start
}

func (l *lostChains) indexDir(h uint32) error {
	b := make([]byte, 2*entryLen)
	if _, err := l.w.c.d.ReadAt(b, l.w.c.g.ClusterOff(h)); err != nil {
		return err
	}
	dot, up := dirEntry(b[:entryLen]), dirEntry(b[entryLen:])
	t := l.w.c.g.Type
	if string(dot.name()) == dotName && dot.start(t) == h && string(up.name()) == dotdotName && up.isDir() {
		l.byParent[up.start(t)] = append(l.byParent[up.start(t)], h)
	}
	return nil
}
