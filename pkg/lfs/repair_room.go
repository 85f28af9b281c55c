package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// What a repair takes at most: an inode, and for a directory that it is entered
// in a page, the nodes on the way to that, and its own first page.
const repairBlocks = 12

// spare tells whether n new blocks may be given out, beside what was begun in
// this pass: a repair that breaks off half way would leave half of itself.
func (c *checker) spare(ctx context.Context, n uint64) error {
	if err := c.placeable(); err != nil {
		return err
	}
	return c.roomFor(ctx, n)
}

// roomFor is spare where what is not right of blocks does not matter.
func (c *checker) roomFor(ctx context.Context, n uint64) error {
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	for _, q := range c.m.quotas {
		n += uint64(len(q.b))/quotaBlock + 1
	}
	if free := w.userBlocks - min(w.validBlocks, w.userBlocks); free < n {
		return vol.NotNow(textf("it may take %d new blocks, and %d are free", n, free))
	}
	// Inodes that are open are written anew, which takes no more blocks, but places.
	if !w.logs.reach(n + uint64(len(c.m.handles))) {
		return vol.NotNow(textf("it may take %d new blocks, and what is free is too scattered; a mount collects it", n))
	}
	return nil
}

// reach tells whether each log can give out n blocks before it takes what is
// kept for collecting garbage.
func (l *logs) reach(n uint64) bool {
	free := l.w.sit.free.Free()
	sections := uint64(logCount) * (1 + n/(uint64(l.w.g.SegsPerSec)*segmentBlocks))
	if free > l.floor+sections {
		return true
	}
	for i := range l.heads {
		h := &l.heads[i]
		left := uint64(segmentBlocks - min(h.next, segmentBlocks))
		if h.fills {
			left = uint64(l.w.sit.look(h.segno).holes(h.next))
		}
		if _, ok := l.used(h); left <= n && !ok {
			return false
		}
	}
	return true
}

// holes counts the blocks from at on that are neither in use nor were.
func (s *segment) holes(at uint32) (n int) {
	for at = s.hole(at); at < segmentBlocks; at = s.hole(at + 1) {
		n++
	}
	return n
}
