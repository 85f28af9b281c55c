package dev_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/fatkit/fatkit/pkg/dev"
)

func TestAwait(t *testing.T) {
	odd := errors.New("odd")
	for _, want := range []error{nil, odd} {
		if n, err := dev.Await(t.Context(), func() (int, error) { return 7, want }, nil); n != 7 || !errors.Is(err, want) {
			t.Errorf("%d, %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	goOn, late := make(chan struct{}), make(chan int)
	n, err := dev.Await(ctx, func() (int, error) {
		cancel()
		<-goOn
		return 7, nil
	}, func(n int) { late <- n })
	if n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	close(goOn)
	if n := <-late; n != 7 {
		t.Errorf("late: %d", n)
	}
}

func TestInterruptible(t *testing.T) {
	want := bytes.Repeat([]byte("abc"), 10_000)
	r := dev.Interruptible(t.Context(), iotest.DataErrReader(bytes.NewReader(want)))
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	defer out.Close()
	r = dev.Interruptible(ctx, in)
	go func() {
		_, _ = out.Write([]byte("x"))
		cancel()
	}()
	if got, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("and then %d, %v", n, err)
	}
}
