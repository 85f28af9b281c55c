package exfat

import "github.com/fatkit/fatkit/pkg/space"

// claimPlain claims the clusters of a plain file, if nothing speaks against
// that: its chain is as long as it must be, the bitmap has all of it as used,
// and nobody has claimed any. Else it claims none.
func (w *walk) claimPlain(p *plainClaim) (ok bool, err error) {
	if w.c.lookedTooLong() || w.claimed.Used(p.start-firstCluster) {
		return false, nil
	}
	if p.noFat {
		w.runs = append(w.runs[:0], space.Extent{Start: p.start, Len: p.need})
	} else if w.runs, ok, err = w.c.tab.runsOf(p.start, p.need, w.runs[:0]); err != nil || !ok {
		return false, err
	}
	for _, e := range w.runs {
		if ok, err := w.mayHave(space.Extent{Start: e.Start - firstCluster, Len: e.Len}); err != nil || !ok {
			w.c.fruitless += uint64(p.need)
			return false, err
		}
	}
	for _, e := range w.runs {
		w.claimed.SetRunNew(space.Extent{Start: e.Start - firstCluster, Len: e.Len})
	}
	if len(w.runs) > 1 {
		w.fragmented++
	}
	return true, nil
}

// mayHave reports whether all units of e are marked as used, and none is claimed.
// Most runs lie in a word or two of both maps.
func (w *walk) mayHave(e space.Extent) (bool, error) {
	if e.Len > longRun {
		n, err := w.c.bits.countUsed(space.Extent{Start: e.Start + firstCluster, Len: e.Len})
		return n == e.Len && w.claimed.IsClear(e), err
	}
	for e.Len > 0 {
		at, shift := e.Start&^63, e.Start%64
		n := min(64-shift, e.Len)
		mask := ^uint64(0) >> (64 - n) << shift
		used, err := w.c.bits.word(at)
		if err != nil || used&mask != mask || w.ownWord(uint64(at))&mask != 0 {
			return false, err
		}
		e.Start, e.Len = e.Start+n, e.Len-n
	}
	return true, nil
}

// longRun is from where on runs are looked at in bulk.
const longRun = 1 << 12

// takePlain takes in what a plain set says of clusters.
func (w *walk) takePlain(dir int32, p *plainClaim) error {
	if w.onClaim == nil && len(w.c.yielding) == 0 {
		if ok, err := w.claimPlain(p); err != nil || ok {
			return err
		}
	}
	st := p.stream(dir)
	return w.offer(&st)
}
