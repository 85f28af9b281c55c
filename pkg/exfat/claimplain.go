package exfat

import "github.com/fatkit/fatkit/pkg/space"

// claimPlain claims the clusters of a plain file, if nothing speaks against
// that: its chain is as long as it must be, the bitmap has all of it as used,
// and nobody has claimed any. Else it claims none.
func (w *walk) claimPlain(p *plainClaim) (ok bool, err error) {
	if p.noFat {
		w.runs = append(w.runs[:0], space.Extent{Start: p.start, Len: p.need})
	} else if w.runs, ok, err = w.c.tab.runsOf(p.start, p.need, w.runs[:0]); err != nil || !ok {
		return false, err
	}
	for _, e := range w.runs {
		if ok, err := w.c.bits.allUsed(e); err != nil || !ok {
			return false, err
		}
		if !w.claimed.IsClear(space.Extent{Start: e.Start - firstCluster, Len: e.Len}) {
			return false, nil
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

// takePlain takes in what a plain set says of clusters.
func (w *walk) takePlain(dir int32, p *plainClaim) error {
	if w.onClaim == nil && len(w.c.usurpers) == 0 {
		if ok, err := w.claimPlain(p); err != nil || ok {
			return err
		}
	}
	st := p.stream(dir)
	return w.offer(&st)
}
