package dev

import (
	"context"
	"runtime"
)

const (
	minWindow   = 4 << 10
	maxWindow   = 64 << 20 // bounds the buffers, whatever an option says
	blindPiece  = 128 << 10
	maxQueue    = 1024 // pieces that may be under way, however small they are
	readBuffers = 2    // one is read into while fn has the other
)

// ReadOptions says how ReadRuns reads.
type ReadOptions struct {
	// Window is how many bytes are read at a time, and how many are read
	// ahead; rounded up to 4 KiB, at most 64 MiB. 0 stands for what the
	// Limits of the device say. If they say 0 too, or if it is negative,
	// nothing is read ahead, and pieces are of 128 KiB.
	Window int64
	// Holes has holes handed out without reading them: fn gets a nil slice,
	// and the whole hole at once.
	Holes bool
	// Serial keeps ReadRuns from reading the next piece while fn runs. It is
	// for those whose fn writes to the device.
	Serial bool
}

// ReadStats says what was read.
type ReadStats struct {
	Bytes     int64 // bytes read; holes that were skipped do not count
	Reads     int   // calls of ReadAt
	Readahead int64 // the window in bytes, 0 where nothing was read ahead
}

// ReadRuns reads the runs of d in the order they have, piece by piece, and
// tells the device one window ahead of the reader what comes next, also across
// runs. Pieces end at multiples of the window. fn gets each piece; the slice
// is valid until it returns, and nil for a hole (see ReadOptions.Holes).
//
// The error is that of ctx, looked at between pieces, of d, of fn as it is, or
// ErrRange, before anything is read, for a run that is not on d. The stats
// count up to there.
func ReadRuns(ctx context.Context, d Device, runs []Range, o ReadOptions, fn func(r Range, p []byte) error) (ReadStats, error) {
	var total, longest int64
	for _, r := range runs {
		if err := CheckRange("read", r, d.Size()); err != nil {
			return ReadStats{}, err
		}
		longest = max(longest, r.Len)
		total = min(total+r.Len, maxWindow) // all that matters is whether it is more than one piece
	}
	window, advise := o.window(d)
	rr := &runReader{
		d: d, advise: advise, window: window, buffer: min(window, longest),
		plan: planner{d: d, window: window, holes: o.Holes, runs: runs},
	}
	if advise {
		rr.stats.Readahead = window
	}
	if o.Serial || runtime.GOMAXPROCS(0) == 1 || len(runs) == 1 && total <= window {
		err := rr.serial(ctx, fn)
		return rr.stats, err
	}
	err := rr.overlapped(ctx, fn)
	return rr.stats, err
}

// window is the size of a piece in bytes, and whether to read ahead.
func (o ReadOptions) window(d Device) (int64, bool) {
	w := o.Window
	if w == 0 {
		w = d.Limits().Readahead
	}
	if w <= 0 {
		return blindPiece, false
	}
	return (min(w, maxWindow) + minWindow - 1) / minWindow * minWindow, true
}

// piece is what is handed out at once.
type piece struct {
	r    Range
	hole bool
}

// planner cuts runs into pieces.
type planner struct {
	d      Device
	window int64
	holes  bool
	runs   []Range
	cur    Range // what is left of the run that is being cut
	data   Range // the last answer of NextData
	asked  bool  // there is one, for cur
}

// next is the next piece; ok is false at the end.
func (p *planner) next() (_ piece, ok bool) {
	for p.cur.Empty() {
		if len(p.runs) == 0 {
			return piece{}, false
		}
		p.cur, p.runs, p.asked = p.runs[0], p.runs[1:], false
	}
	end := p.cur.Off + min(p.cur.Len, p.window-p.cur.Off%p.window)
	hole := false
	if p.holes {
		end, hole = p.cut(end)
	}
	r := Range{Off: p.cur.Off, Len: end - p.cur.Off}
	p.cur = Range{Off: end, Len: p.cur.End() - end}
	return piece{r: r, hole: hole}, true
}

// cut is where the piece from p.cur.Off on ends, which is end at the latest
// if it is data, and whether it is a hole.
func (p *planner) cut(end int64) (int64, bool) {
	if !p.asked || p.cur.Off >= p.data.End() && !p.data.Empty() {
		p.data, p.asked = p.d.NextData(p.cur.Off), true
	}
	switch {
	case p.data.Empty():
		return p.cur.End(), true
	case p.data.Off > p.cur.Off:
		return min(p.data.Off, p.cur.End()), true
	case p.data.End() > p.cur.Off:
		return min(p.data.End(), end), false
	}
	return end, false // an answer from before the question: it may hold data
}

// runReader reads the pieces of a plan.
type runReader struct {
	d      Device
	window int64
	advise bool
	buffer int64 // length in bytes of the largest piece
	plan   planner
	queue  []piece // planned and advised, not read
	ahead  int64   // bytes of data in queue
	ended  bool    // the plan is
	done   bool    // all pieces were handed out
	stats  ReadStats
}

// next takes the next piece, after telling the device of those that follow it
// within one window.
func (rr *runReader) next() (piece, bool) {
	for !rr.ended && len(rr.queue) < maxQueue && (len(rr.queue) == 0 || rr.ahead-rr.headLen() < rr.window) {
		p, ok := rr.plan.next()
		if !ok {
			rr.ended = true
			break
		}
		rr.queue = append(rr.queue, p)
		if p.hole {
			continue
		}
		rr.ahead += p.r.Len
		if rr.advise {
			rr.d.Readahead(p.r)
		}
	}
	if len(rr.queue) == 0 {
		return piece{}, false
	}
	p := rr.queue[0]
	rr.ahead -= rr.headLen()
	rr.queue = rr.queue[1:]
	return p, true
}

// headLen is how many bytes of data the first piece of the queue is.
func (rr *runReader) headLen() int64 {
	if rr.queue[0].hole {
		return 0
	}
	return rr.queue[0].r.Len
}

// read reads p into buf; what it gives is nil for a hole.
func (rr *runReader) read(p piece, buf []byte) ([]byte, error) {
	if p.hole {
		return nil, nil
	}
	rr.stats.Reads++
	n, err := rr.d.ReadAt(buf[:p.r.Len], p.r.Off)
	rr.stats.Bytes += int64(n)
	return buf[:p.r.Len], err
}

// serial reads and calls fn in turn.
func (rr *runReader) serial(ctx context.Context, fn func(Range, []byte) error) error {
	buf := make([]byte, rr.buffer)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, ok := rr.next()
		if !ok {
			return nil
		}
		b, err := rr.read(p, buf)
		if err != nil {
			return err
		}
		if err := fn(p.r, b); err != nil {
			return err
		}
	}
}

// filled is a piece that was read, or the error instead.
type filled struct {
	r   Range
	b   []byte // nil: a hole
	err error
}

// overlapped reads the next piece while fn has the one before. It returns when
// the goroutine that reads has ended, whatever happens.
func (rr *runReader) overlapped(ctx context.Context, fn func(Range, []byte) error) error {
	inner, stop := context.WithCancel(ctx)
	out := make(chan filled)
	free := make(chan []byte, readBuffers)
	for range readBuffers {
		free <- make([]byte, rr.buffer)
	}
	go rr.produce(inner, out, free)
	defer func() {
		stop()
		for range out { // until it is closed
		}
	}()
	for f := range out {
		if f.err != nil {
			return f.err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(f.r, f.b); err != nil {
			return err
		}
		if f.b != nil {
			free <- f.b[:cap(f.b)]
		}
	}
	if !rr.done {
		return ctx.Err()
	}
	return nil
}

// produce reads into buffers from free and sends to out, until the end, the
// first error or the end of ctx; then it closes out.
func (rr *runReader) produce(ctx context.Context, out chan<- filled, free <-chan []byte) {
	defer close(out)
	for {
		p, ok := rr.next()
		if !ok {
			rr.done = true
			return
		}
		var buf []byte
		if !p.hole {
			select {
			case buf = <-free:
			case <-ctx.Done():
				return
			}
		}
		b, err := rr.read(p, buf)
		select {
		case out <- filled{r: p.r, b: b, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
