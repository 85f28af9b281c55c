package exfat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// change is a set of files that are made, grow, or are zeroed in part, as one:
// all is looked up and allocated before anything is staged, so a request that
// cannot be met leaves no trace.
type change struct {
	v      *volume
	ds     *folders
	files  []*growth
	known  map[place]*growth
	taken  []space.Extent
	staged bool // there is anything to write
}

// place is the identity of a file: where its entry is.
type place struct {
	dir  *folder
	slot int
}

// growth is a file of a change. [exFAT] §7.6.5: bytes from ValidDataLength on
// read as zeros, whatever their clusters hold, so a file that grows or loses
// its end needs no byte of it written.
type growth struct {
	file
	clusters
	size, valid         int64       // now
	wantSize, wantValid int64       // afterwards; wantSize is at least size
	zero                []dev.Range // bytes of the file that are to become zeros where they stay valid
}

// begin starts a change.
func (v *volume) begin() (*change, error) {
	ds, err := v.openFolders()
	if err != nil {
		return nil, err
	}
	return &change{v: v, ds: ds, known: make(map[place]*growth)}, nil
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
	g := &growth{file: f}
	if g.clusters, err = c.ds.clustersOf(path, f.set()); err != nil {
		return nil, err
	}
	st := f.set().stream()
	g.size, g.valid = int64(st.length()), int64(st.valid())
	g.wantSize, g.wantValid = g.size, g.valid
	c.known[at] = g
	c.files = append(c.files, g)
	return g, nil
}

// changed tells whether there is anything to do for a file.
func (g *growth) changed() bool {
	return g.wantSize != g.size || g.wantValid != g.valid || len(g.zero) > 0
}

// run carries the change out on the transaction: allocate, zero below it what
// comes to be readable, stage, verify. When it fails, what is staged must not
// be committed.
func (c *change) run(ctx context.Context, o allocOptions) error {
	if err := c.noneShared(); err != nil {
		return err
	}
	if err := c.allocate(ctx, o); err != nil {
		return err
	}
	c.staged = slices.ContainsFunc(c.files, (*growth).changed) ||
		slices.ContainsFunc(c.ds.all, func(f *folder) bool { return f.slots.Changed() })
	err := vol.ZeroFresh(ctx, c.v.d, c.v.raw, c.freshRuns(o))
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
// each other or with the tables.
func (c *change) noneShared() error {
	type owned struct {
		space.Extent
		path string
	}
	var all []owned
	own := func(path string, es []space.Extent) {
		for _, e := range es {
			all = append(all, owned{e, path})
		}
	}
	for _, g := range c.files {
		own(g.path, g.old)
	}
	for _, f := range c.ds.all {
		own(f.path, f.old)
	}
	own("the allocation bitmap", c.v.tables.bitmap.extents)
	own("the up-case table", c.v.tables.upcase.extents)
	slices.SortFunc(all, func(a, b owned) int { return cmp.Compare(a.Start, b.Start) })
	for i := 1; i < len(all); i++ {
		if all[i-1].End() > uint64(all[i].Start) {
			return damaged(all[i].path, "cluster %d belongs to %s too", all[i].Start, all[i-1].path)
		}
	}
	return nil
}

// freshRuns are the bytes of the volume that become readable without having
// been written: what o.fill has become valid beyond what was, to the ends of
// the last clusters.
func (c *change) freshRuns(o allocOptions) []dev.Range {
	var rs []dev.Range
	for _, g := range c.files {
		if !o.fill || g.wantValid <= g.valid {
			continue
		}
		end := int64(g.count()) * c.v.g.ClusterSize
		_, _ = c.v.g.eachRun(g.all(), dev.Range{Off: g.valid, Len: end - g.valid}, func(r dev.Range) error {
			rs = append(rs, r)
			return nil
		})
	}
	slices.SortFunc(rs, func(a, b dev.Range) int { return cmp.Compare(a.Off, b.Off) })
	var joined []dev.Range
	for _, r := range rs {
		if n := len(joined); n > 0 && joined[n-1].End() == r.Off {
			joined[n-1].Len += r.Len
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// eachRun calls fn with the bytes of the volume that hold the range r of a
// file with the extents es, run by run, and returns how many there were.
func (g *Geometry) eachRun(es []space.Extent, r dev.Range, fn func(dev.Range) error) (runs uint64, err error) {
	pos := int64(0)
	for _, e := range es {
		at := g.ClusterRange(e.Start, e.Len)
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

// giveBack makes what was allocated free again.
func (c *change) giveBack() {
	// These are extents that the allocator has just handed out, so it takes
	// them back.
	_ = c.v.alloc.Cancel(c.taken)
	c.taken = nil
	for _, g := range c.files {
		g.add = nil
	}
	for _, f := range c.ds.all {
		f.add = nil
	}
}

// result is what became of a file.
func (c *change) result(g *growth) vol.FileResult {
	r := vol.FileResult{Path: g.path, Size: g.wantSize, Valid: g.wantValid}
	for _, e := range g.all() {
		at := c.v.g.ClusterRange(e.Start, e.Len)
		r.Extents = append(r.Extents, vol.FileExtent{Extent: e, Off: at.Off, Length: at.Len})
		r.Allocated += at.Len
	}
	return r
}
