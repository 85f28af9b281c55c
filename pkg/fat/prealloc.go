package fat

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Preallocate reserves space for all files of r, or for none. What the new
// clusters held before is left there unless r.FillZero: the contents of free
// clusters are then zeroed below the transaction, in one go, and only the FAT,
// the directories and FSInfo are staged.
//
// After an error nothing that was staged may be committed.
func (v *volume) Preallocate(ctx context.Context, r vol.PreallocRequest) (*vol.PreallocResult, error) {
	place, err := vol.NewPlacement(r.Contiguous, r.Align, v.g.ClusterSize(), v.g.DataOff())
	if err != nil {
		return nil, err
	}
	if r.ValidAll && !r.FillZero {
		return nil, fmt.Errorf("%w: on FAT all of a file is valid: it can only be with its clusters zeroed", vol.ErrUsage)
	}
	c, err := v.begin(r.FillZero)
	if err != nil {
		return nil, err
	}
	c.place = place
	reserve := func(f vol.PreallocFile) error { return c.reserve(f, r) }
	files, err := vol.PreallocateFiles(ctx, r.Files, reserve, c.Run, func(path string) (res vol.FileResult, err error) {
		g, err := c.file(path, false)
		if err == nil {
			res = v.g.locator().Result(path, g.All(), g.want, g.want)
		}
		return res, err
	})
	if err != nil {
		return nil, err
	}
	return &vol.PreallocResult{Files: files, ClustersAllocated: c.Allocated(), Stale: !r.FillZero && len(c.Taken) > 0}, nil
}

// reserve puts one file of the request into the change.
func (c *change) reserve(f vol.PreallocFile, r vol.PreallocRequest) error {
	end, err := fileEnd(f.Path, f.Offset, f.Length)
	if err != nil {
		return err
	}
	g, err := c.file(f.Path, r.Create)
	if err != nil {
		return err
	}
	if r.KeepSize && vol.RoundUp(end, c.v.g.ClusterSize()) > vol.RoundUp(g.size, c.v.g.ClusterSize()) {
		return fmt.Errorf("%w: %s: FAT has no space beyond the end of a file: a chain longer than its size makes Linux 6.1 log \"clusters badly computed\" on the first append and turn the volume read-only",
			vol.ErrRequest, f.Path)
	}
	if !r.KeepSize {
		c.growTo(g, end)
	}
	return nil
}

// fileEnd is vol.RangeEnd for FAT, which limits it: [FAT] DIR_FileSize has 32 bits.
func fileEnd(path string, off, length int64) (int64, error) {
	end, err := vol.RangeEnd(path, off, length)
	if err == nil && end > maxFileSize {
		err = vol.Refusef("%s: a file on FAT has at most %d bytes (4 GiB - 1), not %d + %d", path, int64(maxFileSize), off, length)
	}
	return end, err
}
