package fat

import (
	"context"
	"slices"

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
	fill   bool           // new clusters are to read as zeros
	staged bool           // there is anything to write
	taken  []space.Extent // what was allocated, in units
	freed  []freed
	many   bool // so many files that what is not needed any more is given up
}

// place is the identity of a file: where its entry is.
type place struct {
	dir  *folder
	slot int
}

// growth is a file of a change.
type growth struct {
	file
	clusters
	size int64       // now
	want int64       // afterwards; at least size
	zero []dev.Range // bytes of the file, below size, that become zeros
	put  bool        // its attributes are set already
}

// begin starts a change.
func (v *volume) begin(fill bool) (*change, error) {
	ds, err := newFolders(v.d, v.g, v.t, v.now, v.cp)
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
func (c *change) readChain(g *growth) (err error) {
	start := g.entry().start(c.v.g.Type)
	if g.size == 0 {
		if start != 0 {
			return vol.DamagedAt(g.path, "the file is empty but has cluster %d", start)
		}
		return nil
	}
	var last uint32
	if g.old, last, err = c.v.t.fileClusters(g.path, start, g.size); err == nil && !isEOC(last) {
		err = vol.DamagedAt(g.path, "it has more clusters than its %d bytes take", g.size)
	}
	return err
}

// growTo asks for at least size bytes.
func (c *change) growTo(g *growth, size int64) { g.want = max(g.want, size) }

// changed tells whether there is anything to do for a file.
func (g *growth) changed() bool { return g.want > g.size || len(g.zero) > 0 }

// run carries the change out on the transaction: allocate, fill the new
// clusters with zeros below it, stage, verify. When it fails, what is staged
// must not be committed.
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
	c.staged = slices.ContainsFunc(c.files, (*growth).changed) || slices.ContainsFunc(c.ds.all, func(f *folder) bool { return f.slots.Changed() })
	var err error
	if c.fill {
		err = vol.ZeroFresh(ctx, c.v.d, c.v.raw, c.newRuns())
	}
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
// each other.
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
	return c.v.alloc.Release(es)
}

// newRuns are the bytes of all new clusters of files, in rising order and
// joined where they touch.
func (c *change) newRuns() []dev.Range {
	var es []space.Extent
	for _, g := range c.files {
		es = append(es, g.add...)
	}
	return c.v.g.locator().Ranges(space.Join(es))
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
