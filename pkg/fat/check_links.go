package fat

import (
	"context"
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkLinks judges clusters that two chains lead to, and directories that two
// entries lead to.
func (c *checker) checkLinks(ctx context.Context, r *vol.Report) error {
	for i := range c.walk.twice {
		if err := c.reportTwice(r, &c.walk.twice[i]); err != nil {
			return err
		}
	}
	owners, err := c.findOwners(ctx)
	if err != nil {
		return err
	}
	p := &linkRepair{c: c}
	for _, l := range c.losers(owners) {
		if l.head, err = c.rejoins(&l); err != nil {
			return err
		}
		c.reportShared(r, p, l)
	}
	return nil
}

// rejoins is the head of the lost chain that an owner should lead to instead of
// the shared cluster, or 0: as of a broken chain, the only one that fits. If as
// much speaks for the owner as for the winner nothing says which of the two lost
// its own chain.
func (c *checker) rejoins(l *loser) (uint32, error) {
	if c.weight(&l.owner, l.cluster) >= c.weight(&l.winner, l.cluster) || l.root {
		return 0, nil
	}
	lost, err := c.lostChains()
	if err != nil {
		return 0, err
	}
	return lost.match(&chainFault{ref: l.ref, isDir: l.isDir, start: l.start, size: l.size,
		need: c.g.clustersFor(l.size), n: l.prefix, last: l.before, at: l.cluster})
}

// reportTwice reports an entry that leads to a directory already reached. The
// directory itself says which of the two entries is right: its .. entry.
func (c *checker) reportTwice(r *vol.Report, t *twiceDir) error {
	w := c.walk
	d := &w.dirs[t.first]
	drop, name, keep := t.ref, t.name, w.path(t.first)
	lost, err := c.lostChains()
	if err != nil {
		return err
	}
	up, ok, err := w.namedParent(d.start)
	if err != nil {
		return err
	}
	if ok && t.first != 0 && up == w.parentStart(t.ref.dir) && up != w.parentStart(d.parent) && !w.inside(t.ref.dir, t.first) {
		drop, name, keep = d.ref, d.name, w.pathIn(t.ref.dir, t.name)
	}
	loc := vol.Location{Path: w.pathIn(drop.dir, name), Cluster: d.start,
		Range: dev.Range{Off: w.slotOff(drop.dir, int(drop.slot)), Len: entryLen}}
	// A directory of its own that nothing leads to is what the entry has lost.
	offers := []string{fixRemove}
	head, err := lost.match(&chainFault{ref: drop, isDir: true, start: d.start})
	if err != nil {
		return err
	}
	if head != 0 {
		offers = []string{fixRejoin, fixRemove}
	}
	f := c.cat.Found("directory-twice", loc, vol.Detail("it is %s, whose clusters it leads to", quote(keep)), vol.Related(vol.Location{Path: keep, Cluster: d.start}), vol.Offer(offers...))
	r.Found(f, w.ifSettled(drop.dir, drop.slot, 1, func(_ context.Context, rep vol.Repair) error {
		if rep.Name == fixRejoin {
			return c.patchEntry(drop, func(e dirEntry) { e.setStart(c.g.Type, head) })
		}
		return c.removeEntry(drop)
	}))
	return nil
}

// weight is how much speaks for an owner: that a directory says so itself,
// that the cluster holds entries, that the size fits the chain, that the
// cluster continues the one before.
func (c *checker) weight(o *owner, cl uint32) int {
	n := 0
	switch {
	case o.isDir:
		n = o.dirWeight()
	case o.size == 0:
		n = -600 // it holds nothing, wherever it leads
	case o.total == c.g.clustersFor(o.size):
		n = 20
	case o.prefix >= c.g.clustersFor(o.size):
		n = -40 // it does not need the cluster at all
	}
	if o.before != 0 && o.before+1 == cl {
		n += 5
	}
	return n
}

// several is how many slots up to an end mark are too many for chance.
const several = 3

// dirWeight is that of a directory. Each of its dot entries is proof; without
// both several entries that can be say more than the size of a file does, and one
// or two, which may be anything, less. Zeros are least: that is what unused space
// holds.
func (o *owner) dirWeight() int {
	switch {
	case o.root && o.prefix == 0:
		return 1000
	case o.proof == selfProof:
		return 500
	case o.proof == parentProof:
		return 400
	case o.holds == rootOther:
		return -500 // the cluster is no directory
	case o.prefix == 0 && o.holds == rootBlank:
		return -700
	case o.prefix == 0 && o.slots < several:
		return 15
	case o.holds == rootDirectory:
		return 100
	default:
		return 10
	}
}

// heaviest is the owner for which most speaks; among equals the first. An entry
// that is only there if a shared cluster is part of a directory cannot own the
// cluster itself: to give it to that entry would do away with the entry.
func (c *checker) heaviest(os []owner, cl uint32) int {
	var dirs []int // as a rule few, of however many owners
	for k := range os {
		if os[k].isDir {
			dirs = append(dirs, k)
		}
	}
	best, most := 0, 0
	for i := range os {
		n := c.weight(&os[i], cl)
		for _, k := range dirs {
			if i != k && c.hangsOn(&os[i], &os[k]) {
				n -= 2000
			}
		}
		if i == 0 || n > most {
			best, most = i, n
		}
	}
	return best
}

// hangsOn reports whether the entry of o stands in the directory p, in the shared
// cluster or behind it, or below there.
func (c *checker) hangsOn(o, p *owner) bool {
	dir, ok := c.walk.byStart[p.start]
	if !ok || o.root || !p.root && c.walk.dirs[dir].ref != p.ref {
		return false
	}
	per := c.g.ClusterSize() / entryLen
	return c.walk.hangsOn(o.ref, dir, int32(min(int64(p.prefix)*per, maxDirEntries)))
}

// loser is an owner that has to part from a shared cluster.
type loser struct {
	owner
	cluster uint32
	winner  owner
	head    uint32 // of the lost chain that is its own, 0 for none
}

// losers are all owners of a shared cluster but the one that most speaks for;
// among equals the first in the order of the directories keeps it. An owner
// that loses in several places is named with the first: parted there from the
// chain that it shares it has none of the others.
func (c *checker) losers(owners map[uint32][]owner) []loser {
	var all []loser
	at := map[entryRef]int{}
	for _, cl := range slices.Sorted(maps.Keys(owners)) {
		os := owners[cl]
		best := c.heaviest(os, cl)
		for i, o := range os {
			if i == best {
				continue
			}
			l := loser{owner: o, cluster: cl, winner: os[best]}
			k, again := at[o.ref]
			switch {
			case !again:
				at[o.ref] = len(all)
				all = append(all, l)
			case o.prefix < all[k].prefix:
				all[k] = l
			}
		}
	}
	return all
}

func (c *checker) reportShared(r *vol.Report, p *linkRepair, l loser) {
	loc := vol.Location{Path: c.ownerPath(&l.owner), Cluster: l.cluster, Range: c.g.ClusterRange(l.cluster, 1)}
	other := c.ownerPath(&l.winner)
	f := c.cat.Found("cross-linked", loc, vol.Detail("from cluster %d on it shares the chain of %s", l.cluster, quote(other)),
		vol.Related(vol.Location{Path: other, Cluster: l.cluster}), vol.Offer(p.offers(&l)...))
	fix := func(ctx context.Context, rep vol.Repair) error {
		if rep.Name == fixRejoin {
			return p.lead(&l.owner, l.head)
		}
		return p.fix(ctx, &l.owner, l.cluster, rep.Name)
	}
	r.Found(f, c.walk.ifSettled(l.ref.dir, l.ref.slot, 1, fix))
}

func (c *checker) ownerPath(o *owner) string {
	if o.root {
		return "/"
	}
	return c.walk.pathIn(o.ref.dir, o.name)
}

// linkRepair parts chains that share clusters.
type linkRepair struct {
	c     *checker
	alloc space.Allocator
}

// tail is how many clusters o needs from the shared one on.
func (p *linkRepair) tail(o *owner) uint32 {
	n := p.c.g.clustersFor(o.size)
	return min(n-min(n, o.prefix), o.total-min(o.total, o.prefix))
}

func (p *linkRepair) offers(l *loser) []string {
	o := &l.owner
	if o.root && o.prefix == 0 {
		return []string{}
	}
	var out []string
	if l.head != 0 {
		out = append(out, fixRejoin)
	}
	if n := p.tail(o); !o.isDir && n > 0 && uint64(n) <= p.allocator().Free() {
		out = append(out, fixCopy)
	}
	return append(out, fixTruncate)
}

// allocator of the clusters that are free. What a broken chain leads to is not
// given out though it is marked as free: it may be the rest of a file.
func (p *linkRepair) allocator() space.Allocator {
	if p.alloc == nil {
		m := p.c.used.Clone()
		for i := range p.c.walk.faults {
			if at := p.c.walk.faults[i].at; p.c.g.Valid(at) {
				m.Set(at - firstCluster)
			}
		}
		p.alloc = space.NewAllocator(m, space.Options{})
	}
	return p.alloc
}

func (p *linkRepair) fix(ctx context.Context, o *owner, cl uint32, how string) error {
	c := p.c
	if how == fixTruncate {
		return p.cut(o)
	}
	from, err := p.source(cl, p.tail(o))
	if err != nil {
		return err
	}
	es, err := p.allocator().Alloc(nil, space.Request{Units: uint32(len(from))})
	if err != nil {
		return vol.ErrNotNow
	}
	if err := p.copyClusters(ctx, from, es); err != nil {
		return err
	}
	if err := c.walk.tab.setRuns(linkExtents(es)); err != nil {
		return err
	}
	return p.lead(o, es[0].Start+firstCluster)
}

// lead makes the chain of o go on with cluster to instead of the shared one.
func (p *linkRepair) lead(o *owner, to uint32) error {
	if o.before != 0 {
		return p.c.walk.tab.set(o.before, to)
	}
	return p.c.patchEntry(o.ref, func(e dirEntry) { e.setStart(p.c.g.Type, to) })
}

// source is n clusters of the chain from cl on. Another repair may have made it
// shorter than it was: then this one has to wait.
func (p *linkRepair) source(cl, n uint32) ([]uint32, error) {
	var from []uint32
	for range n {
		if !p.c.g.Valid(cl) {
			return nil, vol.ErrNotNow
		}
		from = append(from, cl)
		var err error
		if cl, err = p.c.walk.tab.get(cl); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// linkExtents makes one chain of extents of units.
func linkExtents(es []space.Extent) []link {
	runs := make([]link, len(es))
	for i, e := range es {
		next := uint32(entryLast)
		if i+1 < len(es) {
			next = es[i+1].Start + firstCluster
		}
		runs[i] = link{first: e.Start + firstCluster, n: e.Len, next: next}
	}
	return runs
}

// copyClusters copies from into es, which has as many.
func (p *linkRepair) copyClusters(ctx context.Context, from []uint32, es []space.Extent) error {
	c := p.c
	buf := make([]byte, c.g.ClusterSize())
	for _, e := range es {
		for i := range e.Len {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := c.d.ReadAt(buf, c.g.ClusterOff(from[i])); err != nil {
				return err
			}
			if _, err := c.d.WriteAt(buf, c.g.ClusterOff(e.Start+i+firstCluster)); err != nil {
				return err
			}
		}
		from = from[e.Len:]
	}
	return nil
}

// cut ends the chain of o before the shared cluster. An entry that has nothing
// left becomes an empty file; a directory without a cluster goes.
func (p *linkRepair) cut(o *owner) error {
	c := p.c
	if o.prefix == 0 && o.isDir {
		return c.removeEntry(o.ref)
	}
	if o.before != 0 {
		if err := c.walk.tab.set(o.before, entryLast); err != nil || o.isDir {
			return err
		}
	}
	return c.patchEntry(o.ref, func(e dirEntry) {
		e.setSize(uint32(min(int64(o.size), int64(o.prefix)*c.g.ClusterSize())))
		if o.prefix == 0 {
			e.setStart(c.g.Type, 0)
		}
	})
}
