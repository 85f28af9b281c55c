package main

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// marks are the marks of the volume in r on d, where it has some: whoever changes it
// after a run makes the log of that run stale.
func (r region) marks(d dev.Device) []dev.Range {
	if r.drv == nil || r.drv.Marks == nil {
		return nil
	}
	v, err := r.volume(d)
	if err != nil {
		return nil // then there is nothing to tell changes by
	}
	return r.shift(r.drv.Marks(v))
}

// shift is what ranges of the volume in r are in the image.
func (r region) shift(in []dev.Range) []dev.Range {
	out := make([]dev.Range, 0, len(in))
	for _, g := range in {
		out = append(out, dev.Range{Off: r.at.Off + g.Off, Len: g.Len})
	}
	return out
}

// freeOf is what is free on v, in rising order.
func freeOf(ctx context.Context, v vol.Volume) (free []dev.Range, err error) {
	_, err = v.FreeRanges(ctx, false, func(r dev.Range) error {
		if n := len(free); n > 0 && free[n-1].End() == r.Off {
			free[n-1].Len += r.Len
		} else {
			free = append(free, r)
		}
		return nil
	})
	return free, err
}

// without is what is in a and not in b; both are in rising order without overlaps.
func without(a, b []dev.Range) (out []dev.Range) {
	for _, r := range a {
		for len(b) > 0 && b[0].End() <= r.Off {
			b = b[1:]
		}
		for _, s := range b {
			if s.Off >= r.End() {
				break
			}
			if s.Off > r.Off {
				out = append(out, dev.Range{Off: r.Off, Len: s.Off - r.Off})
			}
			off := max(r.Off, s.End())
			r = dev.Range{Off: off, Len: r.End() - off}
		}
		if !r.Empty() {
			out = append(out, r)
		}
	}
	return out
}

// freed is what the staged change frees: files that are taken away, or parts of them.
// Their contents are not in an undo log, and others may write over them without a
// trace where the log looks, so a log that is kept guards them. wasFree is what was
// free before, and o how the volume was opened.
func (s *staging) freed(ctx context.Context, wasFree []dev.Range, o vol.OpenOptions) ([]dev.Range, error) {
	v, err := s.drv.Open(ctx, s.d, o)
	if err != nil {
		return nil, err
	}
	free, err := freeOf(ctx, v)
	if err != nil {
		return nil, err
	}
	return s.shift(without(free, wasFree)), nil
}
