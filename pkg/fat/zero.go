package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// ZeroRanges makes ranges of files read as zeros; the clusters stay theirs. A
// range that goes beyond the end of its file makes it grow, unless
// r.KeepSize. What is in a file is part of the volume's state, so its zeros
// are staged, run by run, and can be taken back.
//
// After an error nothing that was staged may be committed.
func (v *volume) ZeroRanges(ctx context.Context, r vol.ZeroRequest) (*vol.ZeroResult, error) {
	c, err := v.begin(true)
	if err != nil {
		return nil, err
	}
	return vol.ZeroFiles(ctx, r, c.zeroRange, c.Run, func(path string, at dev.Range) (z vol.ZeroedFile, err error) {
		g, err := c.file(path, false)
		if err == nil {
			z = v.g.locator().Zeroed(path, g.All(), at, v.g.ClusterSize())
		}
		return z, err
	})
}

// zeroRange puts one range of the request into the change and returns it as it
// is after looking at the size of the file.
func (c *change) zeroRange(f vol.ZeroFile, keepSize bool) (dev.Range, error) {
	if _, err := fileEnd(f.Path, f.Offset, max(f.Length, 0)); err != nil {
		return dev.Range{}, err
	}
	g, err := c.file(f.Path, false)
	if err != nil {
		return dev.Range{}, err
	}
	r := f.Within(g.size, keepSize)
	if !r.Empty() {
		c.growTo(g, r.End())
	}
	if inside := r.Intersect(dev.Range{Len: g.size}); !inside.Empty() {
		g.zero = append(g.zero, inside)
	}
	return r, nil
}

// FreeRanges calls fn with the bytes that belong to no file, in rising order;
// with slack also with what the last clusters of files have beyond the end of
// the file. The volume must have passed a check.
func (v *volume) FreeRanges(ctx context.Context, slack bool, fn func(dev.Range) error) (vol.FreeTotal, error) {
	at := func(e space.Extent) dev.Range { return v.g.ClusterRange(e.Start+firstCluster, e.Len) }
	return vol.EachFree(ctx, v.m.FreeRuns(), at, slack, v.tails, fn)
}

// tails are the bytes between the ends of files and the ends of their last
// clusters, in rising order.
func (v *volume) tails(ctx context.Context) ([]dev.Range, error) {
	ds, err := newFolders(v.d, v.g, v.t, v.now, v.cp)
	if err != nil {
		return nil, err
	}
	seen := space.NewMap(v.g.Clusters)
	return vol.Tails(ctx, ds.root, func(f *folder) ([]dev.Range, []*folder, error) {
		tails, kids, err := v.tailsIn(ds, f, seen)
		f.slots, f.names = nil, nil // they were looked at
		return tails, kids, err
	})
}

// tailsIn are the tails of the files of one directory, and the directories in
// it. seen has the first clusters of those met before: a loop is an error.
func (v *volume) tailsIn(ds *folders, f *folder, seen *space.Map) (out []dev.Range, kids []*folder, err error) {
	eachEntry(f.used(), func(n namedEntry) bool {
		switch {
		case n.e.isVolume() || n.e[0] == '.':
			return true
		case n.e.isDir():
			path := vol.JoinPath(f.path, n.name(v.cp))
			kid := &folder{path: path, parent: f, slot: n.slot}
			if start := n.e.start(v.g.Type); v.g.Valid(start) && !seen.SetNew(start-firstCluster) {
				err = vol.DamagedAt(path, "the directory at cluster %d is there twice", start)
			} else if err = ds.load(kid, start); err == nil {
				kids = append(kids, kid)
			}
			return err == nil
		}
		var es []space.Extent
		if es, err = ds.clustersOf(vol.JoinPath(f.path, n.name(v.cp)), n.e); err != nil || len(es) == 0 {
			return err == nil
		}
		end := v.g.ClusterOff(uint32(es[len(es)-1].End()-1)) + v.g.ClusterSize()
		size := int64(n.e.size())
		if tail := vol.RoundUp(size, v.g.ClusterSize()) - size; tail > 0 {
			out = append(out, dev.Range{Off: end - tail, Len: tail})
		}
		return true
	})
	return out, kids, err
}
