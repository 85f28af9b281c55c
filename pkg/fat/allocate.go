package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// clusters are where a file or directory lies, by number: what it has, and what
// a change adds.
type clusters struct{ old, add []space.Extent }

// all is every extent after the change.
func (c *clusters) all() []space.Extent { return space.Concat(c.old, c.add) }

// start is the first cluster after the change, 0 for none.
func (c *clusters) start() uint32 {
	switch {
	case len(c.old) > 0:
		return c.old[0].Start
	case len(c.add) > 0:
		return c.add[0].Start
	}
	return 0
}

// count is how many clusters there are after the change.
func (c *clusters) count() int64 { return int64(space.Units(c.old) + space.Units(c.add)) }

// allocate serves all files and directories, or none: see vol.Demands. The
// entries of new directories are made right for where they come to lie.
func (c *change) allocate(ctx context.Context, place vol.Placement) error {
	ds, cs := vol.NewDemands(place, len(c.ds.all)+len(c.files)), c.v.g.ClusterSize()
	for _, f := range c.ds.all {
		ds.Directory(f.path, f.old, &f.add, f.missing(cs))
	}
	for _, g := range c.files {
		if err := ds.File(g.path, g.old, &g.add, uint32(vol.DivUp(g.want, cs)-g.count())); err != nil {
			return err
		}
	}
	var err error
	if c.taken, err = ds.Serve(ctx, c.v.alloc, c.v.m, cs); err != nil {
		return err
	}
	for _, f := range c.ds.all {
		c.ds.place(f)
	}
	return nil
}
