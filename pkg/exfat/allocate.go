package exfat

import (
	"context"
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// allocOptions of a change.
type allocOptions struct {
	contiguous   bool // each file is one extent
	fill         bool // what comes to be valid is zeroed
	align, phase uint32
	alignBytes   int64 // for messages
}

// newAllocOptions turns a boundary in bytes of the volume into one in clusters.
func newAllocOptions(g *Geometry, contiguous bool, align int64) (allocOptions, error) {
	o := allocOptions{contiguous: contiguous, alignBytes: align}
	if align < 0 {
		return o, fmt.Errorf("%w: an alignment of %d bytes", vol.ErrUsage, align)
	}
	var ok bool
	if o.align, o.phase, ok = space.Boundary(uint64(g.ClusterSize), uint64(g.HeapOff()), uint64(align)); !ok {
		return o, fmt.Errorf("%w: no cluster starts at a multiple of %d bytes: they are %d bytes long, the first one is at byte %d",
			vol.ErrUsage, align, g.ClusterSize, g.HeapOff())
	}
	return o, nil
}

// demand is one batch: what one file or directory needs.
type demand struct {
	space.Request
	path string
	cs   *clusters
}

// allocate serves all files and directories, or none.
//
// This is where allocator lesson 1 is heeded: each file is one request for all
// that it lacks, made before it grows, and not one a cluster while it grows, as
// Linux does when a file is written to. Directories likewise: their new
// entries are all in place, in memory, when they are given clusters.
func (c *change) allocate(ctx context.Context, o allocOptions) error {
	demands, err := c.demands(o)
	if err != nil {
		return err
	}
	rs := make([]space.Request, len(demands))
	for i, d := range demands {
		rs[i] = d.Request
	}
	got, err := c.v.alloc.AllocEach(ctx, rs)
	if err != nil {
		return c.refuse(err, demands, o)
	}
	for i, es := range got {
		c.taken = append(c.taken, es...)
		for _, e := range es {
			e.Start += firstCluster
			demands[i].cs.add = append(demands[i].cs.add, e)
		}
	}
	return nil
}

// demands lists what is needed: directories first, then the files in the order
// of the request.
func (c *change) demands(o allocOptions) ([]demand, error) {
	var out []demand
	var total uint64
	add := func(path string, cs *clusters, r space.Request) {
		if r.Units == 0 {
			return
		}
		if k := len(cs.old); k > 0 {
			// Going on where the file ends makes no new extent, so it is
			// tried first even where an alignment is asked for.
			r.Goal, r.Exact = uint32(cs.old[k-1].End()-firstCluster), true
		}
		total += uint64(r.Units)
		out = append(out, demand{Request: r, path: path, cs: cs})
	}
	for _, f := range c.ds.all {
		add(f.path, &f.clusters, space.Request{Units: f.missing(c.v.g)})
	}
	for _, g := range c.files {
		if o.contiguous && len(g.old) > 1 {
			return nil, fmt.Errorf("%w: %s cannot be contiguous: what it has is in %d extents", vol.ErrRequest, g.path, len(g.old))
		}
		need, ok := c.v.g.ClustersFor(uint64(g.wantSize))
		if !ok {
			return nil, fmt.Errorf("%w: %s: %d bytes are more than the %d clusters of %d bytes that the volume has",
				vol.ErrRequest, g.path, g.wantSize, c.v.g.Clusters, c.v.g.ClusterSize)
		}
		add(g.path, &g.clusters, space.Request{Units: need - uint32(g.count()), Contiguous: o.contiguous, Align: o.align, Phase: o.phase})
	}
	if free := c.v.alloc.Free(); total > free {
		return nil, fmt.Errorf("%w: %d clusters of %d bytes are needed, %d are free", vol.ErrRequest, total, c.v.g.ClusterSize, free)
	}
	return out, nil
}

// refuse says why in the terms of the request.
func (c *change) refuse(err error, demands []demand, o allocOptions) error {
	var u *space.Unserved
	if !errors.As(err, &u) {
		return err
	}
	path := demands[u.Index].path
	if !errors.Is(err, space.ErrNotContiguous) {
		return fmt.Errorf("%w: %s: %w", vol.ErrRequest, path, err)
	}
	where := ""
	switch {
	case u.Request.Exact:
		where = " behind the end of the file"
	case u.Request.Align > 1:
		where = fmt.Sprintf(" at multiples of %d bytes", o.alignBytes)
	}
	what := "extent"
	if !u.Request.Contiguous {
		what = "extents"
	}
	return fmt.Errorf("%w: %s: there is no free %s of %d clusters%s; the longest free run has %d",
		vol.ErrRequest, path, what, u.Request.Units, where, c.v.m.LargestFree().Len)
}
