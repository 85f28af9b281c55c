package exfat

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// maxRuns bounds how many runs of clusters are kept: on a broken volume it may
// be every other cluster.
const maxRuns = 1 << 18

// tally counts runs of clusters, and keeps the first of them.
type tally struct {
	runs     []space.Extent
	clusters uint64
	total    uint64 // runs
	cur      space.Extent
}

func (l *tally) add(cluster, n uint32) {
	l.clusters += uint64(n)
	if l.cur.Len > 0 && l.cur.Start+l.cur.Len == cluster {
		l.cur.Len += n
		return
	}
	l.flush()
	l.cur = space.Extent{Start: cluster, Len: n}
}

func (l *tally) flush() {
	if l.cur.Len > 0 {
		if l.total++; l.total <= maxRuns {
			l.runs = append(l.runs, l.cur)
		}
	}
	l.cur = space.Extent{}
}

// all reports whether every run was kept.
func (l *tally) all() bool { return l.total == uint64(len(l.runs)) }

// compareBitmap goes through the bitmap once, in windows, and holds it against
// what the walk claimed: clusters that nobody owns, and clusters that are
// owned and marked as free. Neither map is ever in memory as a whole.
func (c *checker) compareBitmap(ctx context.Context) error {
	var lost tally
	t := &bitmapCompare{c: c, lost: lost.add}
	stats, err := dev.ReadRuns(ctx, wholeHoles(c.d), c.bits.runs(), dev.ReadOptions{Holes: true}, t.piece)
	if err != nil {
		return err
	}
	for _, l := range []*tally{&lost, &t.missed, &t.bad} {
		l.flush()
	}
	c.stats.BytesRead += stats.Bytes
	c.missed, c.lost, c.bad = t.missed, newLostClusters(c, lost), t.bad
	c.stats.Bad = t.bad.clusters
	c.stats.Used, c.stats.Free, c.stats.Counted = t.used-t.bad.clusters, uint64(c.g.Clusters)-t.used, true
	return nil
}

// bitmapCompare is a comparison on its way.
type bitmapCompare struct {
	c           *checker
	unit        uint64 // next unit
	used        uint64
	lost        func(cluster, n uint32) // is called for those that nobody owns
	missed, bad tally
	hole        dev.Range // where no data follows in the FAT
	err         error
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
	return t.err
}

// quietPage takes a page of 32768 clusters at once where nothing is claimed and
// nothing is marked.
func (t *bitmapCompare) quietPage(b []byte) bool {
	i := int(t.unit / (1 << 15))
	if i >= t.c.walk.claimed.Pages() || t.c.walk.claimed.Page(i) != nil || b != nil && !dev.AllZero(b[:4096]) {
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
	own := t.c.walk.ownWord(t.unit) & mask
	t.used += uint64(bits.OnesCount64(got))
	eachRun(got&^own, func(from, len int) { t.countUnowned(uint32(t.unit)+uint32(from)+firstCluster, uint32(len)) })
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

// ownWord is which of 64 clusters from unit on, a multiple of 64, are claimed.
func (w *walk) ownWord(unit uint64) uint64 {
	p := w.claimed.Page(int(unit / (1 << 15)))
	if p == nil {
		return 0
	}
	return p[unit%(1<<15)/64]
}

// countUnowned sorts clusters that are in use and that nobody owns: with the bad
// mark, used is what they must be.
func (t *bitmapCompare) countUnowned(cluster, n uint32) {
	at := dev.Range{Off: t.c.g.FatOff() + int64(cluster)*4, Len: int64(n) * 4}
	if t.hole.Intersect(at).Len != at.Len {
		next := t.c.d.NextData(at.Off)
		if next.Empty() {
			next.Off = t.c.d.Size()
		}
		t.hole = dev.Range{Off: at.Off, Len: next.Off - at.Off}
	}
	if t.hole.End() >= at.End() {
		t.lost(cluster, n) // the FAT has nothing there
		return
	}
	for i := range n {
		v, err := t.c.tab.get(cluster + i)
		switch {
		case err != nil:
			t.err = err
		case v == fatBad:
			t.bad.add(cluster+i, 1)
		default:
			t.lost(cluster+i, 1)
		}
	}
}

// settleBitmap makes the bitmap right in one go: what is claimed is marked as
// used, or what is not as free, but for bad clusters.
func (c *checker) settleBitmap(ctx context.Context, used bool) error {
	unit := uint64(0)
	_, err := dev.ReadRuns(ctx, c.d, c.bits.runs(), dev.ReadOptions{Serial: true}, func(r dev.Range, b []byte) error {
		changed := false
		for at := 0; at < len(b); at += 8 {
			var word [8]byte
			copy(word[:], b[at:])
			got := binary.LittleEndian.Uint64(word[:])
			want, err := c.settledWord(unit, got, used)
			if err != nil {
				return err
			}
			if unit += 64; want != got {
				changed = true
				binary.LittleEndian.PutUint64(word[:], want)
				copy(b[at:], word[:])
			}
		}
		if !changed {
			return nil
		}
		_, err := c.d.WriteAt(b, r.Off)
		return err
	})
	c.bits.forget()
	return err
}

// settledWord is what 64 clusters from unit on are to be marked as.
func (c *checker) settledWord(unit, got uint64, used bool) (uint64, error) {
	total := uint64(c.g.Clusters)
	if unit >= total {
		return got, nil
	}
	mask := ^uint64(0)
	if left := total - unit; left < 64 {
		mask >>= 64 - left
	}
	own := c.walk.ownWord(unit)
	if used {
		return got | own, nil
	}
	drop := got &^ own & mask
	var err error
	eachRun(drop, func(from, n int) {
		for i := from; i < from+n; i++ {
			v, e := c.tab.get(uint32(unit) + uint32(i) + firstCluster)
			if e != nil {
				err = e
			} else if v == fatBad {
				drop &^= 1 << i
			}
		}
	})
	return got &^ drop, err
}

// rejoin gives a stream lost clusters: as its continuation in the FAT, or, if it
// has no sound cluster, as all that it has.
func (c *checker) rejoin(f *streamFault, run []space.Extent) error {
	es := append(append([]space.Extent{}, f.extents...), run...)
	if f.n == 0 && f.noFat && len(es) == 1 {
		return c.editStream(&f.stream, func(e entry) { e.put32(offFirstCluster, es[0].Start) })
	}
	if err := c.tab.link(es); err != nil || f.kind == ofRoot {
		return err
	}
	return c.editStream(&f.stream, func(e entry) {
		e.put32(offFirstCluster, es[0].Start)
		e[offSecFlags] &^= secNoFatChain
	})
}
