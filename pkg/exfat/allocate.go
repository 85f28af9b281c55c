package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// locator says where extents, in cluster numbers, lie.
func (g *Geometry) locator() vol.Locator {
	return func(e space.Extent) dev.Range { return g.ClusterRange(e.Start, e.Len) }
}

// allocate serves all files and directories, or none: see vol.Demands.
func (c *change) allocate(ctx context.Context, place vol.Placement) error {
	ds := vol.NewDemands(place, len(c.ds.all)+len(c.files))
	for _, f := range c.ds.all {
		ds.Directory(f.path, f.old, &f.add, f.missing(c.v.g))
	}
	for _, g := range c.files {
		need, ok := c.v.g.ClustersFor(uint64(g.wantSize))
		if !ok {
			return vol.Refusef("%s: %d bytes are more than the %d clusters of %d bytes that the volume has",
				g.path, g.wantSize, c.v.g.Clusters, c.v.g.ClusterSize)
		}
		if err := ds.File(g.path, g.old, &g.add, need-uint32(g.count())); err != nil {
			return err
		}
	}
	var err error
	c.taken, err = ds.Serve(ctx, c.v.alloc, c.v.m, c.v.g.ClusterSize)
	return err
}
