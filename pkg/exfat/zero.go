package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// ZeroRanges makes ranges of files read as zeros; the clusters stay theirs.
// Where a range reaches the end of what is valid, ValidDataLength is lowered to
// its start ([exFAT] §7.6.5), and nothing is written; in front of that its
// zeros are staged, run by run, and can be taken back. A range that goes beyond
// the end of its file makes it grow, unless r.KeepSize.
//
// After an error nothing that was staged may be committed.
func (v *volume) ZeroRanges(ctx context.Context, r vol.ZeroRequest) (*vol.ZeroResult, error) {
	c, err := v.begin()
	if err != nil {
		return nil, err
	}
	return vol.ZeroFiles(ctx, r, c.zeroRange, c.Run, func(path string, at dev.Range) (z vol.ZeroedFile, err error) {
		g, err := c.file(path, false)
		if err == nil {
			z = v.g.locator().Zeroed(path, g.All(), at, v.g.ClusterSize)
		}
		return z, err
	})
}

// zeroRange puts one range of the request into the change and returns it as it
// is after looking at the size of the file.
func (c *change) zeroRange(f vol.ZeroFile, keepSize bool) (dev.Range, error) {
	if _, err := vol.RangeEnd(f.Path, f.Offset, max(f.Length, 0)); err != nil {
		return dev.Range{}, err
	}
	g, err := c.file(f.Path, false)
	if err != nil {
		return dev.Range{}, err
	}
	r := f.Within(g.size, keepSize)
	if r.Empty() {
		return r, nil
	}
	g.wantSize = max(g.wantSize, r.End())
	switch {
	case r.Off >= g.wantValid: // reads as zeros already
	case r.End() >= g.wantValid:
		g.wantValid = r.Off
	default:
		g.zero = append(g.zero, r)
	}
	return r, nil
}

// FreeRanges calls fn with the bytes that belong to no file, in rising order;
// with slack also with those of files that no one can read: from the end of
// what is valid to the end of the last cluster, which holds what was there
// before. The volume must have passed a check.
func (v *volume) FreeRanges(ctx context.Context, slack bool, fn func(dev.Range) error) (vol.FreeTotal, error) {
	at := func(e space.Extent) dev.Range { return v.g.ClusterRange(e.Start+firstCluster, e.Len) }
	return vol.EachFree(ctx, v.m.FreeRuns(), at, slack, v.tails, fn)
}

// tails are the bytes of files that no one can read, in rising order.
func (v *volume) tails(ctx context.Context) ([]dev.Range, error) {
	ds, err := v.openFolders()
	if err != nil {
		return nil, err
	}
	seen := make(map[uint32]bool)
	return vol.Tails(ctx, ds.root, func(f *folder) ([]dev.Range, []*folder, error) { return v.tailsIn(ds, f, seen) })
}

// tailsIn are the tails of the files of one directory, and the directories in
// it. seen has the first clusters of those met before: a loop is an error.
func (v *volume) tailsIn(ds *folders, f *folder, seen map[uint32]bool) (out []dev.Range, kids []*folder, err error) {
	slots, err := vol.ReadSlots(v.d, v.g.rangesOf(f.Old), maxDirSlots)
	if err != nil {
		return nil, nil, err
	}
	eachSlotRun(slots, func(r slotRun) bool {
		if r.kind != slotFile {
			return true
		}
		set := setAt(slots, r.first)
		path := vol.JoinPath(f.path, set.name())
		var cs clusters
		if cs, err = ds.clustersOf(path, set); err != nil || len(cs.Old) == 0 {
			return err == nil
		}
		if set.isDir() {
			if seen[cs.First()] {
				err = vol.DamagedAt(path, "the directory at cluster %d is there twice", cs.First())
			}
			seen[cs.First()] = true
			kids = append(kids, &folder{path: path, clusters: cs})
			return err == nil
		}
		from, end := int64(set.stream().valid()), int64(cs.Count())*v.g.ClusterSize
		out = append(out, v.g.locator().Runs(cs.Old, dev.Range{Off: from, Len: end - from})...)
		return true
	})
	return out, kids, err
}
