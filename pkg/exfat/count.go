package exfat

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/dev"
)

// freeSpace is what a bitmap says of free clusters: how many, in how many runs,
// and how long the longest is.
type freeSpace struct{ clusters, runs, longest uint64 }

// countPage is how many bytes of a bitmap are compared at a time.
const countPage = 4096

// freeCounter counts free space in a bitmap that goes by in pieces, and keeps
// nothing of it: a bitmap of 2^32 clusters is 512 MiB.
type freeCounter struct {
	freeSpace
	left   uint64 // clusters not seen yet
	run    uint64 // free clusters up to here, without a gap
	zeros  [countPage]byte
	ones   [countPage]byte
	whole  [8]byte // a word that comes in two pieces
	partly int     // bytes of whole that are there
}

func newFreeCounter(clusters uint32) *freeCounter {
	c := &freeCounter{left: uint64(clusters)}
	for i := range c.ones {
		c.ones[i] = 0xFF
	}
	return c
}

// count counts the free space on the volume.
func (b *bitmap) count(ctx context.Context, window int64) (freeSpace, dev.ReadStats, error) {
	c := newFreeCounter(b.g.Clusters)
	stats, err := b.load(ctx, window, func(_, n int64, p []byte) {
		if p == nil {
			c.hole(n)
		} else {
			c.bytes(p)
		}
	})
	c.finish()
	return c.freeSpace, stats, err
}

// free takes n free clusters.
func (c *freeCounter) free(n uint64) {
	n = min(n, c.left)
	c.left -= n
	c.run += n
}

// used takes n clusters in use.
func (c *freeCounter) used(n uint64) {
	c.left -= min(n, c.left)
	c.endRun()
}

func (c *freeCounter) endRun() {
	if c.run > 0 {
		c.clusters += c.run
		c.runs++
		c.longest = max(c.longest, c.run)
		c.run = 0
	}
}

// hole takes n bytes of zeros.
func (c *freeCounter) hole(n int64) {
	for ; n > 0 && c.partly != 0; n-- {
		c.odd(0)
	}
	c.free(uint64(n/8) * 64)
	for range n % 8 {
		c.odd(0)
	}
}

// bytes takes a piece of the bitmap. Pages that are free or in use throughout,
// which is nearly all of them, are compared and not looked through.
func (c *freeCounter) bytes(p []byte) {
	for ; c.partly != 0 && len(p) > 0; p = p[1:] {
		c.odd(p[0])
	}
	for ; len(p) >= countPage; p = p[countPage:] {
		page := p[:countPage]
		switch {
		case bytes.Equal(page, c.zeros[:]):
			c.free(countPage * 8)
		case bytes.Equal(page, c.ones[:]):
			c.used(countPage * 8)
		default:
			c.words(page)
		}
	}
	c.words(p[:len(p)/8*8])
	for _, v := range p[len(p)/8*8:] {
		c.odd(v)
	}
}

// odd takes a byte of a word that does not come in one piece.
func (c *freeCounter) odd(v byte) {
	c.whole[c.partly] = v
	if c.partly++; c.partly == len(c.whole) {
		c.partly = 0
		c.words(c.whole[:])
	}
}

// words takes whole words.
func (c *freeCounter) words(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		switch w := binary.LittleEndian.Uint64(p); {
		case c.left < 64:
			c.last(w)
		case w == 0:
			c.free(64)
		case w == 1<<64-1:
			c.used(64)
		default:
			c.mixed(w)
		}
	}
}

// mixed takes a word with clusters of both kinds, without going through them
// one by one.
func (c *freeCounter) mixed(w uint64) {
	c.free(uint64(bits.TrailingZeros64(w)))
	c.endRun()
	// The runs inside: those that end before a used cluster, but the first.
	inside := ^w >> bits.TrailingZeros64(w) << bits.TrailingZeros64(w)
	inside = inside << bits.LeadingZeros64(w) >> bits.LeadingZeros64(w)
	c.clusters += uint64(bits.OnesCount64(inside))
	c.runs += uint64(bits.OnesCount64(inside &^ (inside << 1)))
	for hasRun(inside, c.longest+1) {
		c.longest++
	}
	tail := bits.LeadingZeros64(w)
	c.left -= uint64(64 - bits.TrailingZeros64(w) - tail)
	c.free(uint64(tail))
}

// hasRun tells whether n ones in a row, or more, are in w.
func hasRun(w, n uint64) bool {
	for have := uint64(1); have < n && w != 0; {
		// A bit of w says that have ones end there.
		step := min(have, n-have)
		w &= w << step
		have += step
	}
	return w != 0
}

// last takes the word with the last clusters. What lies behind them counts as
// in use: [exFAT] §7.1.5 leaves it undefined.
func (c *freeCounter) last(w uint64) {
	if c.left == 0 {
		return
	}
	w |= ^uint64(0) << c.left
	c.left = 64
	if w == 1<<64-1 {
		c.used(64)
	} else {
		c.mixed(w)
	}
	c.left = 0
}

// finish takes what was kept back.
func (c *freeCounter) finish() {
	for c.partly != 0 {
		c.odd(0xFF)
	}
	c.endRun()
}
