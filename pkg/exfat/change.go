package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// change is vol.Change on exFAT.
type change struct {
	vol.Change
	v     *volume
	ds    *folders
	place vol.Placement // of what files lack
	files []*growth
	known map[place]*growth
	fill  bool // what comes to be valid is zeroed
	many  bool // so many files that what is not needed any more is given up
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
	return &change{Change: vol.Change{Dev: v.d, Raw: v.raw, Alloc: v.alloc}, v: v, ds: ds, known: make(map[place]*growth)}, nil
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

// Where is vol.Changing.
func (g *growth) Where() (string, *vol.Clusters) { return g.path, &g.Clusters }

// Changed is vol.Changing.
func (g *growth) Changed() bool {
	return g.wantSize != g.size || g.wantValid != g.valid || len(g.zero) > 0
}

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

// Tables is vol.Changer: the root directory is a part of the change.
func (c *change) Tables() []vol.Owned { return owned(c.v.tables.parts()[1:]) }

// Fresh is vol.Changer: what with c.fill has become valid beyond what was, to the
// ends of the last clusters.
func (c *change) Fresh() []dev.Range {
	rs := dev.NewPlug(c.v.d, -1)
	for _, g := range c.files {
		if !c.fill || g.wantValid <= g.valid {
			continue
		}
		end := int64(g.Count()) * c.v.g.ClusterSize
		for _, r := range c.v.g.locator().Runs(g.All(), dev.Range{Off: g.valid, Len: end - g.valid}) {
			rs.Add(r)
		}
	}
	return rs.Unplug()
}
