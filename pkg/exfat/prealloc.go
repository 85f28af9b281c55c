package exfat

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Preallocate reserves space for all files of r, or for none. A file gets its
// new DataLength and keeps its ValidDataLength, behind which everything reads
// as zeros, whatever the clusters held before ([exFAT] §7.6.5): so nothing but
// metadata is written, and r.FillZero makes no difference. With r.ValidAll,
// for devices that take what is allocated for what is written, all of the file
// becomes valid, and then r.FillZero says whether it is zeroed before or shows
// what its clusters held.
//
// After an error nothing that was staged may be committed.
func (v *volume) Preallocate(ctx context.Context, r vol.PreallocRequest) (*vol.PreallocResult, error) {
	place, err := vol.NewPlacement(r.Contiguous, r.Align, v.g.ClusterSize, v.g.HeapOff())
	if err != nil {
		return nil, err
	}
	c, err := v.begin()
	if err != nil {
		return nil, err
	}
	c.fill, c.place = r.FillZero, place
	reserve := func(f vol.PreallocFile) error { return c.reserve(f, r) }
	files, err := vol.PreallocateFiles(ctx, r.Files, reserve, c.Run, func(path string) (res vol.FileResult, err error) {
		g, err := c.file(path, false)
		if err == nil {
			res = v.g.locator().Result(path, g.All(), g.wantSize, g.wantValid)
		}
		return res, err
	})
	if err != nil {
		return nil, err
	}
	return &vol.PreallocResult{Files: files, ClustersAllocated: c.Allocated(), Stale: r.ValidAll && !r.FillZero}, nil
}

// reserve puts one file of the request into the change.
func (c *change) reserve(f vol.PreallocFile, r vol.PreallocRequest) error {
	end, err := vol.RangeEnd(f.Path, f.Offset, f.Length)
	if err != nil {
		return err
	}
	g, err := c.file(f.Path, r.Create)
	if err != nil {
		return err
	}
	if r.KeepSize {
		if need, ok := c.v.g.ClustersFor(uint64(end)); !ok || uint64(need) > g.Count() {
			return fmt.Errorf("%w: %s: exFAT has nowhere to record clusters beyond the length of a file: they would be lost", vol.ErrRequest, f.Path)
		}
		end = g.size
	}
	g.wantSize = max(g.wantSize, end)
	if r.ValidAll {
		g.wantValid = g.wantSize
	}
	return nil
}
