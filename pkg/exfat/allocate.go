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

// Allocate is vol.Changer: see vol.Demands.
func (c *change) Allocate(ctx context.Context) ([]space.Extent, error) {
	ds := vol.NewDemands(c.place, len(c.ds.all)+len(c.files))
	for _, f := range c.ds.all {
		ds.Directory(f.path, f.Old, &f.Add, f.missing(c.v.g))
	}
	for _, g := range c.files {
		need, ok := c.v.g.ClustersFor(uint64(g.wantSize))
		if !ok {
			return nil, vol.Refusef("%s: %d bytes are more than the %d clusters of %d bytes that the volume has",
				g.path, g.wantSize, c.v.g.Clusters, c.v.g.ClusterSize)
		}
		if err := ds.File(g.path, g.Old, &g.Add, need-uint32(g.Count())); err != nil {
			return nil, err
		}
	}
	return ds.Serve(ctx, c.v.alloc, c.v.m, c.v.g.ClusterSize)
}
