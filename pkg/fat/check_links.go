package fat

import (
	"context"
	"sort"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// owner is one chain that goes through a shared cluster.
type owner struct {
	ref    entryRef
	root   bool
	name   string
	isDir  bool
	start  uint32
	size   uint32
	prefix uint32 // clusters of the chain before the shared one
	before uint32 // the last of them, 0 for none
	total  uint32 // clusters of the chain in all
	own    bool   // for a directory: its dot entry names the shared cluster
}

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
	clusters := make([]uint32, 0, len(owners))
	for cl := range owners {
		clusters = append(clusters, cl)
	}
	sort.Slice(clusters, func(i, j int) bool { return clusters[i] < clusters[j] })
	p := &linkRepair{c: c}
	for _, cl := range clusters {
		c.reportShared(r, p, cl, owners[cl])
	}
	return nil
}

// reportTwice reports an entry that leads to a directory already reached. The
// directory itself says which of the two entries is right: its .. entry.
func (c *checker) reportTwice(r *vol.Report, t *twiceDir) error {
	w := c.walk
	d := &w.dirs[t.first]
	drop, name, keep := t.ref, t.name, w.path(t.first)
	up, ok, err := w.namedParent(d.start)
	if err != nil {
		return err
	}
	if ok && t.first != 0 && up == w.parentStart(t.ref.dir) && up != w.parentStart(d.parent) && !w.inside(t.ref.dir, t.first) {
		drop, name, keep = d.ref, d.name, w.pathIn(t.ref.dir, t.name)
	}
	loc := vol.Location{Path: w.pathIn(drop.dir, name), Cluster: d.start,
		Range: dev.Range{Off: w.slotOff(drop.dir, int(drop.slot)), Len: entryLen}}
	f := c.found("directory-twice", loc, detail("it is %s, whose clusters it leads to", quote(keep)), related(vol.Location{Path: keep, Cluster: d.start}))
	r.Found(f, always(func() error { return c.removeEntry(drop) }))
	return nil
}

// inside reports whether directory dir lies in or is directory top.
func (w *walk) inside(dir, top int32) bool {
	for dir != top && dir != 0 {
		dir = w.dirs[dir].parent
	}
	return dir == top
}

// namedParent is what the .. entry of the directory at cluster c holds.
func (w *walk) namedParent(c uint32) (up uint32, ok bool, err error) {
	e := make(dirEntry, entryLen)
	if _, err := w.c.d.ReadAt(e, w.c.g.ClusterOff(c)+entryLen); err != nil {
		return 0, false, err
	}
	return e.start(w.c.g.Type), string(e.name()) == dotdotName, nil
}

// findOwners goes through all chains again and notes those that lead through
// a shared cluster. It costs nothing where there is none.
func (c *checker) findOwners(ctx context.Context) (map[uint32][]owner, error) {
	if len(c.walk.shared) == 0 {
		return nil, nil
	}
	found := map[uint32][]owner{}
	for _, s := range c.walk.shared {
		found[s.cluster] = nil
	}
	w := *c.walk
	w.quiet = true
	for i := range w.dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d := &w.dirs[i]
		if d.start != 0 {
			o := owner{ref: d.ref, root: i == 0, name: d.name, isDir: true, start: d.start}
			if err := c.trace(o, found); err != nil {
				return nil, err
			}
		}
		if err := c.traceEntries(&w, int32(i), found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// traceEntries traces the files of a directory, and the entries for
// directories that the walk did not enter.
func (c *checker) traceEntries(w *walk, dir int32, found map[uint32][]owner) error {
	s, err := w.scan(dir)
	if err != nil {
		return err
	}
	for k := range s.live {
		e := dirEntry(s.slot(int(s.live[k].slot)))
		start := e.start(c.g.Type)
		if _, entered := w.byStart[start]; start == 0 || e.isDir() && entered {
			continue
		}
		o := owner{ref: s.ref(k), isDir: e.isDir(), start: start, size: e.size()}
		n := len(found)
		if err := c.traceNamed(o, found, func() string { return s.name(k) }); err != nil || n != len(found) {
			return err
		}
	}
	return nil
}

func (c *checker) trace(o owner, found map[uint32][]owner) error {
	return c.traceNamed(o, found, func() string { return o.name })
}

// traceNamed follows a chain and adds it to each shared cluster it meets. It
// ends where the chain does, or has come back to itself (Brent).
func (c *checker) traceNamed(o owner, found map[uint32][]owner, name func() string) error {
	var hits []uint32
	var at []owner
	tortoise, power, lap := uint32(0), uint32(1), uint32(0)
	cl, before := o.start, uint32(0)
	for c.g.Valid(cl) && cl != tortoise {
		if _, ok := found[cl]; ok {
			h := o
			h.prefix, h.before = o.total, before
			hits, at = append(hits, cl), append(at, h)
		}
		v, err := c.walk.tab.get(cl)
		if err != nil {
			return err
		}
		if v == entryFree || v == entryBad {
			break
		}
		o.total++
		if lap++; lap == power {
			tortoise, power, lap = cl, power*2, 0
		}
		before, cl = cl, v
	}
	for i, h := range hits {
		if len(found[h]) > 0 && found[h][len(found[h])-1].ref == o.ref && !o.root {
			continue // a loop comes by twice
		}
		x := at[i]
		x.total, x.name = o.total, name()
		if x.isDir && x.prefix == 0 {
			var err error
			if x.own, err = c.walk.looksLikeDir(x.start); err != nil {
				return err
			}
		}
		found[h] = append(found[h], x)
	}
	return nil
}

// weight is how much speaks for an owner: that a directory says so itself,
// that the size fits the chain, that the cluster continues the one before.
func (c *checker) weight(o *owner, cl uint32) int {
	n := 0
	switch {
	case o.root:
		n += 1000
	case o.own:
		n += 500
	case o.isDir && o.prefix == 0:
		n -= 500 // the cluster is no directory
	case o.isDir:
		n += 50
	}
	if !o.isDir && o.total == c.g.clustersFor(o.size) {
		n += 20
	}
	if !o.isDir && o.prefix >= c.g.clustersFor(o.size) {
		n -= 40 // it does not need the cluster at all
	}
	if o.before != 0 && o.before+1 == cl {
		n += 5
	}
	return n
}

// reportShared reports every owner of cluster cl but the one that most speaks
// for; among equals the first in the order of the directories keeps it.
func (c *checker) reportShared(r *vol.Report, p *linkRepair, cl uint32, owners []owner) {
	best := 0
	for i := range owners {
		if c.weight(&owners[i], cl) > c.weight(&owners[best], cl) {
			best = i
		}
	}
	for i := range owners {
		if i == best {
			continue
		}
		o := owners[i]
		loc := vol.Location{Path: c.ownerPath(&o), Cluster: cl, Range: c.g.ClusterRange(cl, 1)}
		other := c.ownerPath(&owners[best])
		f := c.found("cross-linked", loc, detail("from cluster %d on it shares the chain of %s", cl, quote(other)),
			related(vol.Location{Path: other, Cluster: cl}), offer(p.offers(&o)...))
		r.Found(f, func(ctx context.Context, rep vol.Repair) error { return p.fix(ctx, &o, cl, rep.Name) })
	}
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

func (p *linkRepair) offers(o *owner) []string {
	if o.root {
		return []string{}
	}
	if n := p.tail(o); !o.isDir && n > 0 && uint64(n) <= p.allocator().Free() {
		return []string{fixCopy, fixTruncate}
	}
	return []string{fixTruncate}
}

func (p *linkRepair) allocator() space.Allocator {
	if p.alloc == nil {
		p.alloc = space.NewAllocator(p.c.used.Clone(), space.Options{})
	}
	return p.alloc
}

func (p *linkRepair) fix(ctx context.Context, o *owner, cl uint32, how string) error {
	c := p.c
	if how == fixTruncate {
		return p.cut(o)
	}
	n := p.tail(o)
	es, err := p.allocator().Alloc(nil, space.Request{Units: n})
	if err != nil {
		return vol.ErrNotNow
	}
	if err := p.copyChain(ctx, cl, es); err != nil {
		return err
	}
	if err := c.walk.tab.setRuns(linkExtents(es)); err != nil {
		return err
	}
	first := es[0].Start + firstCluster
	if o.before != 0 {
		return c.walk.tab.set(o.before, first)
	}
	return c.patchEntry(o.ref, func(e dirEntry) { e.setStart(c.g.Type, first) })
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

// copyChain copies the clusters of the chain from cl on into es.
func (p *linkRepair) copyChain(ctx context.Context, cl uint32, es []space.Extent) error {
	c := p.c
	buf := make([]byte, c.g.ClusterSize())
	for _, e := range es {
		for i := uint32(0); i < e.Len; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := c.d.ReadAt(buf, c.g.ClusterOff(cl)); err != nil {
				return err
			}
			if _, err := c.d.WriteAt(buf, c.g.ClusterOff(e.Start+i+firstCluster)); err != nil {
				return err
			}
			v, err := c.walk.tab.get(cl)
			if err != nil {
				return err
			}
			cl = v
		}
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
