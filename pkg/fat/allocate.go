package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Allocate is vol.Changer: see vol.Demands. The entries of new directories are made
// right for where they come to lie.
func (c *change) Allocate(ctx context.Context) (taken []space.Extent, err error) {
	ds, cs := vol.NewDemands(c.place, len(c.ds.all)+len(c.files)), c.v.g.ClusterSize()
	for _, f := range c.ds.all {
		ds.Directory(f.path, f.Old, &f.Add, f.missing(cs))
	}
	for _, g := range c.files {
		if err := ds.File(g.path, g.Old, &g.Add, uint32(vol.DivUp(g.want, cs)-int64(g.Count()))); err != nil {
			return nil, err
		}
	}
	if taken, err = ds.Serve(ctx, c.v.alloc, c.v.m, cs); err != nil {
		return nil, err
	}
	for _, f := range c.ds.all {
		c.ds.place(f)
	}
	return taken, nil
}
