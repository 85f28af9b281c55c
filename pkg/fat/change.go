package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// change is vol.Change on FAT. (Linux' fallocate on vfat leaves a file grown by
// what there was room for.)
type change struct {
	vol.Change
	v     *volume
	ds    *folders
	place vol.Placement // of what files lack
	files []*growth
	known map[place]*growth
	fill  bool // new clusters are to read as zeros
	many  bool // so many files that what is not needed any more is given up
}

// place is the identity of a file: where its entry is.
type place struct {
	dir  *folder
	slot int
}

// growth is a file of a change.
type growth struct {
	file
	vol.Clusters
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
	return &change{Change: vol.Change{Dev: v.d, Raw: v.raw, Alloc: v.alloc}, v: v, ds: ds, known: make(map[place]*growth), fill: fill}, nil
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
	if g.Old, err = c.ds.clustersOf(path, f.entry()); err != nil {
		return nil, err
	}
	c.known[at] = g
	c.files = append(c.files, g)
	return g, nil
}

// growTo asks for at least size bytes.
func (c *change) growTo(g *growth, size int64) { g.want = max(g.want, size) }

// Where is vol.Changing.
func (g *growth) Where() (string, *vol.Clusters) { return g.path, &g.Clusters }

// Changed is vol.Changing.
func (g *growth) Changed() bool { return g.want > g.size || len(g.zero) > 0 }

// Run is vol.Folders.
func (c *change) Run(ctx context.Context) error {
	if c.many {
		for _, f := range c.ds.all {
			f.names, f.kids = nil, nil
		}
	}
	return c.Change.Run(ctx, c)
}

// Parts is vol.Changer.
func (c *change) Parts(fn func(vol.Changing)) {
	for _, g := range c.files {
		fn(g)
	}
	for _, f := range c.ds.all {
		fn(f)
	}
}

// Tables is vol.Changer: none of FAT's are among the clusters.
func (*change) Tables() []vol.Owned { return nil }

// Fresh is vol.Changer: all new clusters of files, where they are to be filled.
func (c *change) Fresh() []dev.Range {
	if !c.fill {
		return nil
	}
	var es []space.Extent
	for _, g := range c.files {
		es = append(es, g.Add...)
	}
	return c.v.g.locator().Ranges(space.Join(es))
}
