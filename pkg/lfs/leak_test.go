package lfs

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/fatkit/fatkit/pkg/space"
)

// TestManyLeaks: runs of blocks that nothing leads to are counted, however many
// there are, and not kept.
func TestManyLeaks(t *testing.T) {
	const segments = 1 << 12
	g := &Geometry{BlockSize: minBlock, MainSegments: segments}
	c := &checker{g: g, sit: newSegments(g), walk: newWalk(t.Context(), nil, &state{g: g}, nil, make([]byte, 16))}
	for u := uint32(0); u < segments*segmentBlocks; u += 2 {
		c.sit.valid.SetNew(u)
	}
	c.sit.valid.SetNew(1<<16 - 1) // so that one run crosses pages
	c.walk.claimed.SetNew(0)
	const want = segments*segmentBlocks/2 - 2
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, runs := uint32(0), 0
	err := c.leaks(t.Context(), func(e space.Extent) { n, runs = n+e.Len, runs+1 })
	runtime.ReadMemStats(&after)
	if err != nil || runs != want || n != want+2 {
		t.Errorf("%d blocks in %d runs, %v; should be %d runs", n, runs, err, want)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("it takes %d bytes", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.leaks(ctx, func(space.Extent) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, it says %v", err)
	}
}
