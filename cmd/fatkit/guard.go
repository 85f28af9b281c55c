package main

import (
	"context"
	"errors"
	"iter"

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

// maxGuarded is how many runs of what a change frees are guarded, so that what is
// kept of them is bounded.
const maxGuarded = 1 << 20

// freed is what the staged change frees: files that are taken away, or parts of them.
// Their contents are not in an undo log, and others may write over them without a
// trace where the log looks, so a log that is kept guards them.
func (s *staging) freed(ctx context.Context) ([]dev.Range, error) {
	before, err := s.volume(s.file)
	if err != nil {
		return nil, err
	}
	old, err := s.drv.Open(ctx, before, s.opened)
	if err != nil {
		return nil, err
	}
	staged, err := s.drv.Open(ctx, s.d, s.opened)
	if err != nil {
		return nil, err
	}
	var out []dev.Range
	for r, err := range without(freeOf(ctx, staged), freeOf(ctx, old)) {
		if err != nil {
			return nil, err
		}
		if out = append(out, r); len(out) == maxGuarded {
			break
		}
	}
	return s.shift(out), nil
}

// freeOf is what is free on v, in rising order, up to an error.
func freeOf(ctx context.Context, v vol.Volume) iter.Seq2[dev.Range, error] {
	return func(yield func(dev.Range, error) bool) {
		enough := errors.New("no more are wanted")
		_, err := v.FreeRanges(ctx, false, func(r dev.Range) error {
			if !yield(r, nil) {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(dev.Range{}, err)
		}
	}
}

// without is what is in a and not in b, up to an error of either; both are in rising
// order without overlaps.
func without(a, b iter.Seq2[dev.Range, error]) iter.Seq2[dev.Range, error] {
	return func(yield func(dev.Range, error) bool) {
		next, stop := iter.Pull2(b)
		defer stop()
		cut, err, more := next()
		for r, failed := range a {
			for more && err == nil && cut.End() <= r.Off {
				cut, err, more = next()
			}
			for more && err == nil && failed == nil && cut.Off < r.End() {
				if cut.Off > r.Off && !yield(dev.Range{Off: r.Off, Len: cut.Off - r.Off}, nil) {
					return
				}
				off := min(max(r.Off, cut.End()), r.End())
				if r = (dev.Range{Off: off, Len: r.End() - off}); r.Empty() {
					break // b may go on beyond it
				}
				cut, err, more = next()
			}
			if failed == nil {
				failed = err
			}
			if failed != nil {
				yield(dev.Range{}, failed)
				return
			}
			if !r.Empty() && !yield(r, nil) {
				return
			}
		}
	}
}
