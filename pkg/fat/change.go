package fat

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// change is a set of files that are made, grow, or are zeroed in part, as one:
// all is looked up and allocated before anything is staged, so a request that
// cannot be met leaves no trace. (Linux' fallocate on vfat leaves the file
// grown by what there was room for.)
type change struct {
	v      *volume
	ds     *folders
	files  []*growth
	known  map[place]*growth
	fill   bool // new clusters are to read as zeros
	staged bool // there is anything to write
	taken  []space.Extent
	next   uint32 // the last cluster that was allocated, 0 for none
}

// place is the identity of a file: where its entry is.
type place struct {
	dir  *folder
	slot int
}

// growth is a file of a change. Extents are in cluster numbers.
type growth struct {
	file
	old  []space.Extent
	add  []space.Extent
	size int64       // now
	want int64       // afterwards; at least size
	zero []dev.Range // bytes of the file, below size, that become zeros
}

// begin starts a change.
func (v *volume) begin(fill bool) (*change, error) {
	ds, err := newFolders(v.d, v.g, v.t, v.now)
	if err != nil {
		return nil, err
	}
	return &change{v: v, ds: ds, known: make(map[place]*growth), fill: fill}, nil
}

// file adds the file at path to the change. The same file twice is one.
func (c *change) file(path string, create bool) (*growth, error) {
	f, err := c.ds.resolve(path, create)
	if err != nil {
		return nil, err
	}
	at := place{f.dir, f.slot}
	if g := c.known[at]; g != nil {
		return g, nil
	}
	size := int64(f.entry().size())
	g := &growth{file: f, size: size, want: size}
	if err := c.readChain(g); err != nil {
		return nil, err
	}
	c.known[at] = g
	c.files = append(c.files, g)
	return g, nil
}

// readChain follows the clusters of a file, which must be as many as its size
// takes: what a broken chain grows by would be lost with it, or overwrite
// another file.
func (c *change) readChain(g *growth) error {
	geo := c.v.g
	n := uint32((g.size + geo.ClusterSize() - 1) / geo.ClusterSize())
	at := g.entry().start(geo.Type)
	if n == 0 {
		if at != 0 {
			return damaged(g.path, "the file is empty but has cluster %d", at)
		}
		return nil
	}
	for i := range n {
		if !geo.Valid(at) {
			return damaged(g.path, "cluster %d of %d of the file is number %d, which cannot be", i+1, n, at)
		}
		v, err := c.v.t.get(at)
		if err != nil {
			return err
		}
		if v == entryFree || v == entryBad {
			return damaged(g.path, "cluster %d of the file is marked as free or bad", at)
		}
		g.old = extend(g.old, space.Extent{Start: at, Len: 1})
		switch {
		case isEOC(v) && i+1 < n:
			return damaged(g.path, "the file has %d clusters, but %d bytes take %d", i+1, g.size, n)
		case !isEOC(v) && i+1 == n:
			return damaged(g.path, "the file has more clusters than its %d bytes take", g.size)
		}
		at = v
	}
	return nil
}

// extend appends e to es, as part of the last one where that goes on with it.
func extend(es []space.Extent, e space.Extent) []space.Extent {
	if n := len(es); n > 0 && es[n-1].End() == uint64(e.Start) {
		es[n-1].Len += e.Len
		return es
	}
	return append(es, e)
}

// all is every extent of the file after the change.
func (g *growth) all() []space.Extent {
	es := slices.Clone(g.old)
	for _, e := range g.add {
		es = extend(es, e)
	}
	return es
}

func count(es []space.Extent) (n uint32) {
	for _, e := range es {
		n += e.Len
	}
	return n
}

// growTo asks for at least size bytes.
func (c *change) growTo(g *growth, size int64) { g.want = max(g.want, size) }

// changed tells whether there is anything to do for a file.
func (g *growth) changed() bool { return g.want > g.size || len(g.zero) > 0 }

// run carries the change out on the transaction: allocate, fill the new
// clusters with zeros below it, stage, verify. When it fails, what is staged
// must not be committed.
func (c *change) run(ctx context.Context, o allocOptions) error {
	if err := c.noneShared(); err != nil {
		return err
	}
	if err := c.allocate(ctx, o); err != nil {
		return err
	}
	c.staged = slices.ContainsFunc(c.files, (*growth).changed) || slices.ContainsFunc(c.ds.all, (*folder).changed)
	err := c.zeroNew(ctx)
	if err == nil {
		err = c.stage()
	}
	if err == nil {
		err = c.verify()
	}
	if err != nil {
		c.giveBack()
	}
	return err
}

// noneShared refuses files and directories that have clusters in common with
// each other.
func (c *change) noneShared() error {
	type owned struct {
		space.Extent
		path string
	}
	var es []owned
	for _, g := range c.files {
		for _, e := range g.old {
			es = append(es, owned{e, g.path})
		}
	}
	for _, f := range c.ds.all {
		for _, cl := range f.clusters {
			es = append(es, owned{space.Extent{Start: cl, Len: 1}, f.path})
		}
	}
	slices.SortFunc(es, func(a, b owned) int { return cmp.Compare(a.Start, b.Start) })
	for i := 1; i < len(es); i++ {
		if es[i-1].End() > uint64(es[i].Start) {
			return damaged(es[i].path, "cluster %d belongs to %s too", es[i].Start, es[i-1].path)
		}
	}
	return nil
}

// stage writes the change to the transaction, in the order in which a power
// cut does the least harm: clusters that nothing leads to yet, then what leads
// to them, then the counts.
func (c *change) stage() error {
	if !c.staged {
		return nil
	}
	for _, step := range []func() error{
		c.stageZeros, c.stageTable, c.v.d.Sync, c.stageFolders, c.v.d.Sync, c.stageCounts,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stageZeros zeroes what is part of the volume's state and must be: parts of
// files, and the clusters of directories.
func (c *change) stageZeros() error {
	for _, g := range c.files {
		zero := g.zero
		if end := int64(count(g.old)) * c.v.g.ClusterSize(); c.fill && g.want > g.size && end > g.size {
			// The tail of the last cluster comes to be inside the file.
			zero = append(zero, dev.Range{Off: g.size, Len: end - g.size})
		}
		for _, r := range zero {
			if _, err := c.eachRun(g.old, r, c.v.d.Zero); err != nil {
				return err
			}
		}
	}
	for _, f := range c.ds.all {
		for _, e := range f.added {
			if err := c.v.d.Zero(c.v.g.ClusterRange(e.Start, e.Len)); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachRun calls fn with the bytes of the volume that hold the range r of a
// file with the extents es, run by run, and returns how many there were.
func (c *change) eachRun(es []space.Extent, r dev.Range, fn func(dev.Range) error) (runs uint64, err error) {
	pos := int64(0)
	for _, e := range es {
		at := c.v.g.ClusterRange(e.Start, e.Len)
		part := r.Intersect(dev.Range{Off: pos, Len: at.Len})
		if !part.Empty() {
			runs++
			if err := fn(dev.Range{Off: at.Off + part.Off - pos, Len: part.Len}); err != nil {
				return runs, err
			}
		}
		pos += at.Len
	}
	return runs, nil
}

// stageTable links all new clusters, in one go over the FATs.
func (c *change) stageTable() error {
	var links []link
	for _, g := range c.files {
		links = appendLinks(links, g.old, g.add)
	}
	for _, f := range c.ds.all {
		var old []space.Extent
		if n := len(f.clusters); n > 0 && len(f.added) > 0 {
			if had := n - int(count(f.added)); had > 0 {
				old = []space.Extent{{Start: f.clusters[had-1], Len: 1}}
			}
		}
		links = appendLinks(links, old, f.added)
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.first, b.first) })
	return c.v.t.setRuns(links)
}

// appendLinks appends what makes add the continuation of old.
func appendLinks(links []link, old, add []space.Extent) []link {
	if len(add) == 0 {
		return links
	}
	if n := len(old); n > 0 {
		links = append(links, link{first: uint32(old[n-1].End() - 1), n: 1, next: add[0].Start})
	}
	for i, e := range add {
		next := uint32(entryLast)
		if i+1 < len(add) {
			next = add[i+1].Start
		}
		links = append(links, link{first: e.Start, n: e.Len, next: next})
	}
	return links
}

// stageFolders writes the entries of the files and all that has changed in
// directories.
func (c *change) stageFolders() error {
	for _, g := range c.files {
		if !g.changed() {
			continue
		}
		e := g.entry()
		if len(g.old) == 0 && len(g.add) > 0 {
			e.setStart(c.v.g.Type, g.add[0].Start)
		}
		e.setSize(uint32(g.want))
		e.touch(c.v.now)
		e[offAttr] |= attrArchive
		g.dir.mark(g.slot)
	}
	for _, f := range c.ds.all {
		if err := c.ds.store(f); err != nil {
			return err
		}
	}
	return nil
}

// stageCounts writes FSInfo: the exact number of free clusters, whatever stood
// there, and the hint where to look next ([FAT] FSI_Nxt_Free, the last one
// that was allocated).
func (c *change) stageCounts() error {
	if c.v.fsinfo == 0 {
		return nil
	}
	f := make(fsInfo, bootSectorLen)
	if _, err := c.v.d.ReadAt(f, c.v.fsinfo); err != nil {
		return err
	}
	f.put32(offFSIFree, uint32(c.v.alloc.Free()))
	if c.next != 0 {
		f.put32(offFSINext, c.next)
	}
	_, err := c.v.d.WriteAt(f, c.v.fsinfo)
	return err
}

// zeroNew makes the new clusters of files read as zeros. What free clusters
// hold is no part of a volume's state, so that goes straight to the device,
// run by run, and needs no log; it is durable before the metadata that makes
// it part of a file can be.
//
// A transaction stages whole pages. One that is staged for a cluster nearby
// holds what the device had in the rest of the page, and would put that back;
// so the device comes first, and both ends of a run are staged besides, for
// pages that were staged before.
func (c *change) zeroNew(ctx context.Context) error {
	if !c.fill {
		return nil
	}
	runs := c.newRuns()
	for _, r := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.v.raw == nil {
			if err := c.v.d.Zero(r); err != nil {
				return err
			}
			continue
		}
		if err := c.v.raw.Zero(r); err != nil {
			return err
		}
		edge := min(r.Len, stagedPage)
		if err := c.v.d.Zero(dev.Range{Off: r.Off, Len: edge}); err != nil {
			return err
		}
		if err := c.v.d.Zero(dev.Range{Off: r.End() - edge, Len: edge}); err != nil {
			return err
		}
	}
	if len(runs) > 0 && c.v.raw != nil {
		return c.v.raw.Sync()
	}
	return nil
}

// stagedPage is the length of a page of a transaction, or more.
const stagedPage = 4096

// newRuns are the bytes of all new clusters of files, in rising order and
// joined where they touch.
func (c *change) newRuns() []dev.Range {
	var es []space.Extent
	for _, g := range c.files {
		es = append(es, g.add...)
	}
	slices.SortFunc(es, func(a, b space.Extent) int { return cmp.Compare(a.Start, b.Start) })
	var joined []space.Extent
	for _, e := range es {
		joined = extend(joined, e)
	}
	rs := make([]dev.Range, len(joined))
	for i, e := range joined {
		rs[i] = c.v.g.ClusterRange(e.Start, e.Len)
	}
	return rs
}

// verify reads back what was staged and compares it with the plan. A
// difference is a mistake in this package, and must not reach the disk.
func (c *change) verify() error {
	if !c.staged {
		return nil
	}
	if err := c.verifyTable(); err != nil {
		return err
	}
	ds, err := newFolders(c.v.d, c.v.g, newTable(c.v.d, c.v.g, c.v.g.ActiveFat), c.v.now)
	if err != nil {
		return err
	}
	for _, g := range c.files {
		f, err := ds.resolve(g.path, false)
		if err != nil {
			return mistake(g.path, "%w", err)
		}
		start := uint32(0)
		if all := g.all(); len(all) > 0 {
			start = all[0].Start
		}
		e := f.entry()
		if got := e.start(c.v.g.Type); got != start || int64(e.size()) != g.want {
			return mistake(g.path, "it has %d bytes from cluster %d on, not %d from %d", e.size(), got, g.want, start)
		}
	}
	return nil
}

// verifyTable compares the chains of all files with all FATs.
func (c *change) verifyTable() error {
	var links []link
	for _, g := range c.files {
		links = appendLinks(links, nil, g.all())
	}
	for _, f := range c.ds.all {
		var es []space.Extent
		for _, cl := range f.clusters {
			es = extend(es, space.Extent{Start: cl, Len: 1})
		}
		links = appendLinks(links, nil, es)
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.first, b.first) })
	var eg errgroup.Group
	for _, k := range c.v.g.targets() {
		eg.Go(func() error { return c.verifyFAT(k, links) })
	}
	return eg.Wait()
}

// verifyFAT compares links with one FAT.
func (c *change) verifyFAT(k int, links []link) error {
	t := newTable(c.v.d, c.v.g, k)
	for _, l := range links {
		if at, err := t.mismatch(l); err != nil {
			return err
		} else if at != 0 {
			return mistake("the FAT", "the entry of cluster %d in copy %d is not what was written", at, k)
		}
	}
	return nil
}

func mistake(path, format string, args ...any) error {
	return fmt.Errorf("%s: the change does not read back as planned, nothing is written: %w", path, fmt.Errorf(format, args...))
}

// result is what became of a file.
func (c *change) result(g *growth) vol.FileResult {
	r := vol.FileResult{Path: g.path, Size: g.want, Valid: g.want}
	for _, e := range g.all() {
		at := c.v.g.ClusterRange(e.Start, e.Len)
		r.Extents = append(r.Extents, vol.FileExtent{Extent: e, Off: at.Off, Length: at.Len})
		r.Allocated += at.Len
	}
	return r
}
