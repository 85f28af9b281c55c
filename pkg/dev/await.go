package dev

import (
	"context"
	"io"
)

// Await calls fn and waits for what it returns, or for the end of ctx, whose error it
// is then: to open a pipe, and to read one or a terminal, may take for ever, and
// nothing interrupts that. fn goes on by itself then, and late, unless it is nil, gets
// what it returns without an error.
func Await[T any](ctx context.Context, fn func() (T, error), late func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := fn()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	go func() {
		if r := <-done; r.err == nil && late != nil {
			late(r.v)
		}
	}()
	var none T
	return none, ctx.Err()
}

// Interruptible is r, but what waits for it to be read waits no longer than to the
// end of ctx, whose error Read returns then. It is for one goroutine, and r is not to be
// used any more after that: it may still be read from.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptible{ctx: ctx, r: r}
}

type interruptible struct {
	ctx context.Context
	r   io.Reader
	buf []byte // what is read into, as who waits no longer does not keep his memory for it
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	if len(i.buf) < len(p) {
		i.buf = make([]byte, len(p))
	}
	b := i.buf[:len(p)]
	type read struct {
		n   int
		err error
	}
	got, err := Await(i.ctx, func() (read, error) {
		n, err := i.r.Read(b)
		return read{n, err}, nil
	}, nil)
	if err != nil {
		return 0, err
	}
	return copy(p, b[:got.n]), got.err
}
