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
	freed  []freed
	fill   bool // what comes to be valid is zeroed
	many   bool // so many files that what is not needed any more is given up
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
	put                 bool        // its attributes are set already
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
func (c *change) run(ctx context.Context, place vol.Placement) error {
	if c.many {
		for _, f := range c.ds.all {
			f.names, f.kids = nil, nil
		}
	}
	if err := c.noneShared(); err != nil {
		return err
	}
	if err := c.allocate(ctx, place); err != nil {
		return err
	}
	if err := c.release(); err != nil {
		c.giveBack()
		return err
	}
	c.staged = slices.ContainsFunc(c.files, (*growth).changed) ||
		slices.ContainsFunc(c.ds.all, func(f *folder) bool { return f.slots.Changed() })
	err := vol.ZeroFresh(ctx, c.v.d, c.v.raw, c.freshRuns())
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

// Run is vol.Folders: run with clusters placed as the allocator likes.
func (c *change) Run(ctx context.Context) error { return c.run(ctx, vol.Placement{}) }

// Allocated is vol.PutFolders.
func (c *change) Allocated() uint64 { return space.Units(c.taken) }

// noneShared refuses files and directories that have clusters in common with
// each other or with the tables.
func (c *change) noneShared() error {
	var all []vol.Owned
	own := func(path string, es []space.Extent) {
		for _, e := range es {
			all = append(all, vol.Owned{Extent: e, Path: path})
		}
	}
	for _, g := range c.files {
		own(g.path, g.old)
	}
	for _, f := range c.ds.all {
		own(f.path, f.old)
	}
	for _, f := range c.freed {
		own(f.path, f.es)
	}
	own("the allocation bitmap", c.v.tables.bitmap.extents)
	own("the up-case table", c.v.tables.upcase.extents)
	if a, b, shared := vol.Shared(all); shared {
		return vol.DamagedAt(b.Path, "cluster %d belongs to %s too", b.Start, a.Path)
	}
	return nil
}

// release gives back what the change frees. The allocator does not hand it out
// again before a commit, so what it holds stays until then.
func (c *change) release() error {
	var es []space.Extent
	for _, f := range c.freed {
		for _, e := range f.es {
			es = append(es, space.Extent{Start: e.Start - firstCluster, Len: e.Len})
		}
	}
	err := c.v.alloc.Release(es)
	if err == nil {
		c.v.released = space.Join(append(c.v.released, es...))
	}
	return err
}

// freshRuns are the bytes of the volume that become readable without having
// been written: what with c.fill has become valid beyond what was, to the ends of
// the last clusters.
func (c *change) freshRuns() []dev.Range {
	var rs []dev.Range
	for _, g := range c.files {
		if !c.fill || g.wantValid <= g.valid {
			continue
		}
		end := int64(g.count()) * c.v.g.ClusterSize
		rs = append(rs, c.v.g.locator().Runs(g.all(), dev.Range{Off: g.valid, Len: end - g.valid})...)
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
