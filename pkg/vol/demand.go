package vol

import (
	"context"
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/space"
)

// FirstCluster is the number of the first cluster of FAT and exFAT, unit 0 of
// their allocators: the first two entries of a FAT are no cluster's.
const FirstCluster = 2

// Placement is what a request asks of where new clusters lie.
type Placement struct {
	Contiguous bool // each file is one extent
	// Every and Phase are the boundary in units, as space.Request has them.
	Every, Phase uint32
	bytes        int64 // the boundary, for messages
}

// NewPlacement turns a boundary of align bytes of the volume into one in
// clusters of clusterSize bytes, the first of which begins at byte base. The
// error is ErrUsage, where no cluster lies on the boundary.
func NewPlacement(contiguous bool, align, clusterSize, base int64) (Placement, error) {
	p := Placement{Contiguous: contiguous, bytes: align}
	if align < 0 {
		return p, Usagef("an alignment of %d bytes", align)
	}
	var ok bool
	if p.Every, p.Phase, ok = space.Boundary(uint64(clusterSize), uint64(base), uint64(align)); !ok {
		return p, Usagef("no cluster starts at a multiple of %d bytes: they are %d bytes long, the first one is at byte %d",
			align, clusterSize, base)
	}
	return p, nil
}

// Demands are what the files and directories of one change lack. They are
// served as one, or not at all.
//
// This is where allocator lesson 1 is heeded: each file is one request for all
// that it lacks, made before it grows, and not one a cluster while it grows.
// Linux' fat_cont_expand() took 9.6 s for 16 files of 256 MiB in clusters of
// 512 bytes the latter way and 5.3 s the former. Directories likewise: their
// new entries are all in place, in memory, when they are given clusters.
type Demands struct {
	place    Placement
	requests []space.Request
	paths    []string
	adds     []*[]space.Extent // where the extents go, in cluster numbers
}

// NewDemands is none yet, and has room for n; files are put where place says.
func NewDemands(place Placement, n int) *Demands {
	return &Demands{place: place, requests: make([]space.Request, 0, n), paths: make([]string, 0, n), adds: make([]*[]space.Extent, 0, n)}
}

// Directory demands n clusters for the directory at path, which has old. Its
// extents will be appended to *add, in cluster numbers.
func (ds *Demands) Directory(path string, old []space.Extent, add *[]space.Extent, n uint32) {
	ds.demand(path, old, add, space.Request{Units: n})
}

// File is Directory for a file. A file that is to be contiguous and has more
// than one extent is refused.
func (ds *Demands) File(path string, old []space.Extent, add *[]space.Extent, n uint32) error {
	if ds.place.Contiguous && len(old) > 1 {
		return Refusef("%s cannot be contiguous: what it has is in %d extents", path, len(old))
	}
	ds.demand(path, old, add, space.Request{Units: n, Contiguous: ds.place.Contiguous, Align: ds.place.Every, Phase: ds.place.Phase})
	return nil
}

func (ds *Demands) demand(path string, old []space.Extent, add *[]space.Extent, r space.Request) {
	if r.Units == 0 {
		return
	}
	if k := len(old); k > 0 {
		// Going on where the file ends makes no new extent, so it is tried
		// first even where an alignment is asked for.
		r.Goal, r.Exact = uint32(old[k-1].End()-FirstCluster), true
	}
	ds.requests, ds.paths, ds.adds = append(ds.requests, r), append(ds.paths, path), append(ds.adds, add)
}

// Serve gives all demands their clusters and returns what was allocated, in
// units, in the order of the demands. m is the map of alloc, for messages. The
// error is ErrRequest with the reason, or that of ctx.
func (ds *Demands) Serve(ctx context.Context, alloc *space.Groups, m *space.Map, clusterSize int64) (taken []space.Extent, err error) {
	var total uint64
	for _, r := range ds.requests {
		total += uint64(r.Units)
	}
	if free := alloc.Free(); total > free {
		return nil, Refusef("%d clusters of %d bytes are needed, %d are free", total, clusterSize, free)
	}
	got, err := alloc.AllocEach(ctx, ds.requests)
	if err != nil {
		return nil, ds.refuse(err, m)
	}
	taken = make([]space.Extent, 0, len(got))
	for i, es := range got {
		taken = append(taken, es...)
		for _, e := range es {
			e.Start += FirstCluster
			*ds.adds[i] = append(*ds.adds[i], e)
		}
	}
	return taken, nil
}

// refuse says in the terms of the request why err came of it.
func (ds *Demands) refuse(err error, m *space.Map) error {
	var u *space.Unserved
	if !errors.As(err, &u) {
		return err
	}
	path := ds.paths[u.Index]
	if !errors.Is(err, space.ErrNotContiguous) {
		return fmt.Errorf("%w: %s: %w", ErrRequest, path, err)
	}
	where := ""
	switch {
	case u.Request.Exact:
		where = " behind the end of the file"
	case u.Request.Align > 1:
		where = fmt.Sprintf(" at multiples of %d bytes", ds.place.bytes)
	}
	if !u.Request.Contiguous {
		return Refusef("%s: no free extents%s hold %d clusters, though %d are free", path, where, u.Request.Units, m.CountFree())
	}
	return Refusef("%s: there is no free extent of %d clusters%s; the longest free run has %d",
		path, u.Request.Units, where, m.LargestFree().Len)
}
