package main

import (
	"context"
	"io"
	"time"
)

// lastWords is how long a write to standard output may take once the run was
// cancelled: nobody may be reading any more, and the program must come to its end.
const lastWords = time.Second

// output is standard output while ctx lasts: a pipe that nobody reads from does not
// keep a run that was cancelled from stopping.
type output struct {
	ctx  context.Context
	w    io.Writer
	buf  []byte // what is being written: it may still be read when nobody waits for it any more
	gone error  // why nothing is written any more
}

// Write is io.Writer, whose error may be that of ctx.
func (o *output) Write(p []byte) (int, error) {
	if o.gone != nil {
		return 0, o.gone
	}
	o.buf = append(o.buf[:0], p...)
	type wrote struct {
		n   int
		err error
	}
	done := make(chan wrote, 1)
	go func() {
		n, err := o.w.Write(o.buf)
		done <- wrote{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-o.ctx.Done():
	}
	select {
	case r := <-done:
		return r.n, r.err
	case <-time.After(lastWords):
		o.gone = o.ctx.Err()
		return 0, o.gone
	}
}

// flush writes out what is left for standard output, at the end of the run. name is
// that of the program.
func (a *app) flush(ctx context.Context, name string) {
	switch err := a.out.Flush(); {
	case err == nil:
	case cancelled(ctx):
		a.code |= exitCancelled
	default:
		a.tell("%s: standard output: %v\n", name, err)
		a.code |= exitFailed
	}
}
