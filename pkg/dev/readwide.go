package dev

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// widePiece is how many bytes ReadRunsWide hands out at most: little enough to be
// still in the cache of the core that read them while fn looks at them.
const widePiece = 256 << 10

// ReadRunsWide is ReadRuns for work that can be split: so many workers, 1 and up,
// each read a piece and call the function that fn made for them, at the same time:
// fn itself is called by all of them, and must be safe for that. Pieces come
// in no order, are of 256 KiB at most and end at multiples of that; everything
// else is as ReadRuns has it, but for Serial, which means nothing here.
func ReadRunsWide(ctx context.Context, d Device, runs []Range, o ReadOptions, workers int, fn func() func(r Range, p []byte) error) (ReadStats, error) {
	var longest int64
	for _, r := range runs {
		if err := CheckRange("read", r, d.Size()); err != nil {
			return ReadStats{}, err
		}
		longest = max(longest, r.Len)
	}
	window, advise := o.window(d)
	rr := &runReader{d: d, advise: advise, window: window,
		plan: planner{d: d, window: min(window, widePiece), holes: o.Holes, runs: runs}}
	if advise {
		rr.stats.Readahead = window
	}
	w := &wideReader{rr: rr, buffer: min(rr.plan.window, longest)}
	eg, ctx := errgroup.WithContext(ctx)
	for range max(1, workers) {
		eg.Go(func() error { return w.run(ctx, fn()) })
	}
	err := eg.Wait()
	return rr.stats, err
}

// wideReader is a runReader that several workers take pieces from.
type wideReader struct {
	mu     sync.Mutex
	rr     *runReader
	buffer int64 // length in bytes of the largest piece
}

// run is one worker.
func (w *wideReader) run(ctx context.Context, fn func(Range, []byte) error) error {
	var buf []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, ok := w.next()
		if !ok {
			return nil
		}
		var b []byte
		if !p.hole {
			if buf == nil {
				buf = make([]byte, w.buffer)
			}
			b = buf[:p.r.Len]
			if _, err := w.rr.d.ReadAt(b, p.r.Off); err != nil {
				return err
			}
		}
		if err := fn(p.r, b); err != nil {
			return err
		}
	}
}

// next takes the next piece, and counts it as read.
func (w *wideReader) next() (piece, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.rr.next()
	if ok && !p.hole {
		w.rr.stats.Reads++
		w.rr.stats.Bytes += p.r.Len
	}
	return p, ok
}
