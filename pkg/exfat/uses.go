package exfat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Uses goes over what is before the cluster heap, the clusters, and what is
// behind them.
func (t *tree) Uses(ctx context.Context, fn func(vol.UseRange) error) error {
	m, own, err := t.used(ctx)
	if err != nil {
		return err
	}
	u := uses{t: t, own: own, fn: fn}
	u.put(2*t.g.RegionBytes(), vol.UseMetadata)
	u.put(t.g.FatOff(), vol.UseReserved) // §2, Table 3: it aligns the FAT
	u.put(t.g.FatOff()+t.g.FatBytes(), vol.UseMetadata)
	u.put(t.g.HeapOff(), vol.UseReserved)
	for at := uint64(0); at < m.Len() && u.err == nil; {
		e, free := m.FreeRun(at)
		if !free || uint64(e.Start) > at {
			e, _ = m.UsedRun(at)
			at = e.End()
			u.inUse(e)
			continue
		}
		at = e.End()
		u.clusters(e, vol.UseFree)
	}
	u.put(t.g.VolumeBytes(), vol.UseReserved)
	return u.err
}

// used is the allocation bitmap, and the clusters of the tables.
func (t *tree) used(ctx context.Context) (*space.Map, []space.Extent, error) {
	if t.tables == nil {
		return nil, nil, vol.DamagedAt("/", "%w", t.why)
	}
	bits, err := t.tables.findBitmap(t.t)
	if err != nil {
		return nil, nil, vol.DamagedAt("the allocation bitmap", "%w", err)
	}
	own := space.Concat(t.tables.bitmap.extents, t.tables.upcase.extents)
	slices.SortFunc(own, func(a, b space.Extent) int { return cmp.Compare(a.Start, b.Start) })
	m, _, err := bits.loadMap(ctx, 0)
	return m, own, err
}

// uses is one call of Uses.
type uses struct {
	t   *tree
	own []space.Extent // clusters of the tables that are still to come, in order
	at  int64          // what is told of ends here
	fn  func(vol.UseRange) error
	err error
}

// put says what all up to end serves for that was not told of yet.
func (u *uses) put(end int64, use vol.Use) {
	if u.err != nil || end <= u.at {
		return
	}
	u.err = u.fn(vol.UseRange{Range: dev.Range{Off: u.at, Len: end - u.at}, Use: use})
	u.at = end
}

// clusters is put for e, in units of the bitmap.
func (u *uses) clusters(e space.Extent, use vol.Use) {
	if e.Len > 0 {
		u.put(u.t.g.ClusterRange(e.Start+firstCluster, e.Len).End(), use)
	}
}

// inUse tells the clusters of e, in units, from each other that are those of
// the tables, marked as bad, [exFAT] §4.1.3, and of files.
func (u *uses) inUse(e space.Extent) {
	for len(u.own) > 0 && e.Len > 0 {
		first, end := uint64(u.own[0].Start-firstCluster), u.own[0].End()-firstCluster
		if first >= e.End() {
			break
		}
		if end <= e.End() {
			u.own = u.own[1:]
		}
		before := uint32(max(first, uint64(e.Start)) - uint64(e.Start))
		u.data(space.Extent{Start: e.Start, Len: before})
		n := uint32(max(min(end, e.End()), uint64(e.Start+before)) - uint64(e.Start))
		u.clusters(space.Extent{Start: e.Start, Len: n}, vol.UseMetadata)
		e = space.Extent{Start: e.Start + n, Len: e.Len - n}
	}
	if e.Len > 0 {
		u.data(e)
	}
}

// data is inUse for clusters of which none is the tables'.
func (u *uses) data(e space.Extent) {
	run, use := space.Extent{Start: e.Start}, vol.UseData
	for c := e.Start; uint64(c) < e.End() && u.err == nil; c++ {
		v, err := u.t.t.get(c + firstCluster)
		if err != nil {
			u.err = err
			return
		}
		is := vol.UseData
		if v == fatBad {
			is = vol.UseBad
		}
		if is != use {
			u.clusters(run, use)
			run, use = space.Extent{Start: c}, is
		}
		run.Len++
	}
	u.clusters(run, use)
}
