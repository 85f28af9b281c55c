package dev

import (
	"cmp"
	"context"
	"slices"
)

// Plug collects the ranges that are about to be read and hands them out in
// order, so that a device is read in one go instead of in the order in which
// someone came across its structures. The zero value is not ready: NewPlug.
//
// It is what Linux learned of exfat_allocate_bitmap(). Mounting exFAT reads the
// whole allocation bitmap; read sector by sector, each waiting for the one
// before, that took 41.7 s for a card of 4 TB with clusters of 2 KiB, and 2.5 s
// once the reads were queued under a plug, one window ahead of the reader. The
// window is min(ra_pages, io_pages): more than a request of the device holds
// is cut up anyway, and the first of the two is what `blockdev --setra` sets,
// so the administrator is heard. BenchmarkReadRuns and BenchmarkReadBySector
// show the two ways side by side.
//
// A Plug is for one goroutine.
type Plug struct {
	// Gap is how many bytes nobody asked for Unplug may put in between two
	// ranges to make one of them. 0 joins only what touches.
	Gap int64

	d      Device
	window int64
	runs   []Range
}

// NewPlug collects ranges of d. The window in bytes is for Read; 0 stands for
// what the Limits of d say, and a negative one for no reading ahead.
func NewPlug(d Device, window int64) *Plug { return &Plug{d: d, window: window} }

// Add puts r in, as far as it lies on the device.
func (p *Plug) Add(r Range) {
	if r = r.Intersect(Range{Len: p.d.Size()}); !r.Empty() {
		p.runs = append(p.runs, r)
	}
}

// Unplug takes all ranges out: sorted, and joined where they touch or overlap.
func (p *Plug) Unplug() []Range {
	runs := p.runs
	p.runs = nil
	slices.SortFunc(runs, func(a, b Range) int { return cmp.Compare(a.Off, b.Off) })
	out := runs[:0]
	for _, r := range runs {
		if n := len(out); n > 0 && r.Off-out[n-1].End() <= p.Gap {
			out[n-1].Len = max(out[n-1].End(), r.End()) - out[n-1].Off
			continue
		}
		out = append(out, r)
	}
	return out
}

// Read is ReadRuns of what Unplug gives, in the window of p if o has none.
func (p *Plug) Read(ctx context.Context, o ReadOptions, fn func(r Range, b []byte) error) (ReadStats, error) {
	if o.Window == 0 {
		o.Window = p.window
	}
	return ReadRuns(ctx, p.d, p.Unplug(), o, fn)
}
