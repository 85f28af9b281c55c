package exfat

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// compareBitmap goes through the bitmap once, in windows, and holds it against
// what the walk claimed: clusters that nobody owns, and clusters that are
// owned and marked as free. Neither map is ever in memory as a whole.
func (c *checker) compareBitmap(ctx context.Context) error {
	c.lost, c.missed = nil, nil
	t := &bitmapCompare{c: c}
	stats, err := dev.ReadRuns(ctx, c.d, c.bits.runs(), dev.ReadOptions{Holes: true}, t.piece)
	if err != nil {
		return err
	}
	t.lost.flush()
	t.missed.flush()
	c.stats.BytesRead += stats.Bytes
	c.missed = t.missed.runs
	if err := c.splitBad(t.lost.runs); err != nil {
		return err
	}
	used := t.used
	for _, e := range c.bad {
		used -= min(used, uint64(e.Len))
		c.stats.Bad += uint64(e.Len)
	}
	c.stats.Used, c.stats.Free, c.stats.Counted = used, uint64(c.g.Clusters)-t.used, true
	return nil
}

// bitmapCompare is a comparison on its way.
type bitmapCompare struct {
	c            *checker
	unit         uint64 // next unit
	used         uint64
	lost, missed runList
}

// runList gathers single bits to runs of clusters.
type runList struct {
	runs []space.Extent
	run  space.Extent
}

func (l *runList) add(cluster, n uint32) {
	if l.run.Len > 0 && l.run.Start+l.run.Len == cluster {
		l.run.Len += n
		return
	}
	l.flush()
	l.run = space.Extent{Start: cluster, Len: n}
}

func (l *runList) flush() {
	if l.run.Len > 0 {
		l.runs = append(l.runs, l.run)
	}
	l.run = space.Extent{}
}

// piece compares the bytes b of the bitmap; nil stands for zeros.
func (t *bitmapCompare) piece(r dev.Range, b []byte) error {
	for left := r.Len; left > 0; {
		n := min(left, 8)
		if t.unit%(1<<15) == 0 && left >= 4096 && t.quietPage(b) {
			n = 4096
		} else {
			var word [8]byte
			if b != nil {
				copy(word[:n], b)
			}
			t.word(binary.LittleEndian.Uint64(word[:]), uint64(n)*8)
		}
		if b != nil {
			b = b[n:]
		}
		left -= n
	}
	return nil
}

// quietPage takes a page of 32768 clusters at once where nothing is claimed and
// nothing is marked.
func (t *bitmapCompare) quietPage(b []byte) bool {
	i := int(t.unit / (1 << 15))
	if i >= t.c.walk.claimed.Pages() || t.c.walk.claimed.Page(i) != nil || b != nil && !allZero(b[:4096]) {
		return false
	}
	t.unit += 1 << 15
	return true
}

// word compares n clusters from t.unit on.
func (t *bitmapCompare) word(got uint64, n uint64) {
	total := uint64(t.c.g.Clusters)
	if t.unit >= total {
		return
	}
	n = min(n, total-t.unit)
	mask := ^uint64(0) >> (64 - n)
	got &= mask // §7.1.5: bits behind the last cluster mean nothing
	own := uint64(0)
	if p := t.c.walk.claimed.Page(int(t.unit / (1 << 15))); p != nil {
		own = p[t.unit%(1<<15)/64]
		if n < 64 || t.unit%64 != 0 {
			own = own >> (t.unit % 64) & mask
		}
	}
	t.used += uint64(bits.OnesCount64(got))
	eachRun(got&^own, func(from, len int) { t.lost.add(uint32(t.unit)+uint32(from)+firstCluster, uint32(len)) })
	eachRun(own&^got, func(from, len int) { t.missed.add(uint32(t.unit)+uint32(from)+firstCluster, uint32(len)) })
	t.unit += n
}

// eachRun calls fn for each run of ones in w.
func eachRun(w uint64, fn func(from, n int)) {
	for at := 0; w != 0; {
		skip := bits.TrailingZeros64(w)
		w >>= skip
		at += skip
		n := bits.TrailingZeros64(^w)
		fn(at, n)
		at += n
		if n == 64 {
			return
		}
		w >>= n
	}
}

// splitBad takes clusters with the bad mark out of those that nobody owns:
// marked as used is what they must be.
func (c *checker) splitBad(runs []space.Extent) error {
	c.bad, c.lost = nil, nil
	var lost, bad runList
	for _, e := range runs {
		for i := uint32(0); i < e.Len; i++ {
			v, err := c.tab.get(e.Start + i)
			if err != nil {
				return err
			}
			if v == fatBad {
				bad.add(e.Start+i, 1)
			} else {
				lost.add(e.Start+i, 1)
			}
		}
	}
	lost.flush()
	bad.flush()
	c.lost, c.bad = lost.runs, bad.runs
	return nil
}

// lostFor is the run of lost clusters that continues or replaces what a stream
// lacks, or none. It is only given where the evidence points to one: it
// follows the last sound cluster, or is the only lost run of that length.
func (c *checker) lostFor(f *streamFault) space.Extent {
	if f.need <= f.n || f.need > c.g.Clusters {
		return space.Extent{}
	}
	missing := f.need - f.n
	var only space.Extent
	count := 0
	for i, e := range c.lost {
		if e.Len == missing {
			if f.last != 0 && e.Start == f.last+1 {
				c.lost = append(c.lost[:i:i], c.lost[i+1:]...) // each is given once
				return e
			}
			only, count = e, count+1
		}
	}
	if count != 1 {
		return space.Extent{}
	}
	for i, e := range c.lost {
		if e == only {
			c.lost = append(c.lost[:i:i], c.lost[i+1:]...)
			break
		}
	}
	return only
}

// rejoin gives a stream the lost run: as its continuation in the FAT, or, if it
// has no sound cluster, as its only run.
func (c *checker) rejoin(f *streamFault, run space.Extent) error {
	if f.n == 0 {
		if !f.noFat {
			if err := c.tab.link([]space.Extent{run}); err != nil {
				return err
			}
		}
		return c.editStream(&f.stream, func(e entry) { e.put32(offFirstCluster, run.Start) })
	}
	es := append(append([]space.Extent{}, f.extents...), run)
	if err := c.tab.link(es); err != nil {
		return err
	}
	return c.editStream(&f.stream, func(e entry) { e[offSecFlags] &^= secNoFatChain })
}
