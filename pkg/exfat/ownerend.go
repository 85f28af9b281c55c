package exfat

import "github.com/fatkit/fatkit/pkg/space"

// endedBefore reports whether a directory that has a cluster with entries ended
// before it: behind an end mark there are none, [exFAT] §6.2.1.
func (w *walk) endedBefore(o *overlap) (bool, error) {
	b := make([]byte, entryLen)
	if _, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(o.cluster)); err != nil || entry(b).isEnd() {
		return false, err
	}
	return w.markBefore(w.slotOff(o.owner.ref.dir, o.owner.at), o.extents, uint32(o.pos/uint64(w.c.g.ClusterSize)))
}

// endAt is what is known of where a directory ends.
type endAt struct {
	looked uint32 // clusters looked at, from its first one on
	ended  bool   // the last of them has the first end mark
}

// markBefore reports whether one of the first n clusters of a directory, which has es,
// has an end mark. Each is looked at once, however many others ran into the directory;
// off is where its entry lies.
func (w *walk) markBefore(off int64, es []space.Extent, n uint32) (bool, error) {
	at := w.c.marks[off]
	_, rest := splitExtents(es, at.looked)
	for _, e := range rest {
		for cl := e.Start; uint64(cl) < e.End() && at.looked < n && !at.ended; cl++ {
			ended, err := w.endsIn(cl)
			if err != nil {
				return false, err
			}
			at.looked, at.ended = at.looked+1, ended
		}
	}
	if w.c.marks == nil {
		w.c.marks = map[int64]endAt{}
	}
	w.c.marks[off] = at
	return at.ended && at.looked <= n, nil
}
