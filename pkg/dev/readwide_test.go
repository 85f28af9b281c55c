package dev

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestReadRunsWide: several workers together see every byte of the runs once,
// holes as holes, in pieces that end at multiples of their length.
func TestReadRunsWide(t *testing.T) {
	const size = 5 << 20
	m := NewMem(size)
	want := make([]byte, size)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		off, n := rnd.Int64N(size-9000), 1+rnd.Int64N(9000)
		for i := range n {
			want[off+i] = byte(rnd.Uint32())
		}
		if _, err := m.WriteAt(want[off:off+n], off); err != nil {
			t.Fatal(err)
		}
	}
	runs := []Range{{Off: 3, Len: 2 << 20}, {Off: 4<<20 + 7, Len: 900_001}, {Off: 3 << 20, Len: 1}}
	for _, workers := range []int{0, 1, 2, 5} {
		var mu sync.Mutex
		var seen []Range
		stats, err := ReadRunsWide(t.Context(), m, runs, ReadOptions{Holes: true}, workers, func() func(Range, []byte) error {
			return func(r Range, p []byte) error {
				if p == nil {
					p = make([]byte, r.Len)
				} else if r.Len > widePiece {
					t.Errorf("a piece of %d bytes", r.Len)
				}
				if !bytes.Equal(p, want[r.Off:r.End()]) {
					t.Errorf("%v is not what is there", r)
				}
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, r)
				return nil
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := joined(seen); !slices.Equal(got, []Range{runs[0], runs[2], runs[1]}) {
			t.Errorf("%d workers saw %v", workers, got)
		}
		if stats.Bytes == 0 || stats.Reads == 0 {
			t.Errorf("%d workers: %+v", workers, stats)
		}
	}
}

// joined is rs sorted, with those that touch as one; what overlaps stays two.
func joined(rs []Range) (out []Range) {
	slices.SortFunc(rs, func(a, b Range) int { return int(a.Off - b.Off) })
	for _, r := range rs {
		if n := len(out); n > 0 && out[n-1].End() == r.Off {
			out[n-1].Len += r.Len
			continue
		}
		out = append(out, r)
	}
	return out
}

// TestReadRunsWideEnds: an error of fn or of the context ends all workers, and
// what is not on the device is refused before anything is read.
func TestReadRunsWideEnds(t *testing.T) {
	m := NewMem(4 << 20)
	all := []Range{{Len: 4 << 20}}
	stop := errors.New("enough")
	_, err := ReadRunsWide(t.Context(), m, all, ReadOptions{}, 3, func() func(Range, []byte) error {
		return func(Range, []byte) error { return stop }
	})
	if !errors.Is(err, stop) {
		t.Errorf("the error of fn became %v", err)
	}
	none := func() func(Range, []byte) error {
		return func(Range, []byte) error { return nil }
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadRunsWide(ctx, m, all, ReadOptions{}, 3, none); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := ReadRunsWide(t.Context(), m, []Range{{Off: 1, Len: 4 << 20}}, ReadOptions{}, 3, none); !errors.Is(err, ErrRange) {
		t.Errorf("past the end: %v", err)
	}
}
