package exfat

import (
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// maxDirSlot is more than the number of any slot.
const maxDirSlot = maxDirBytes / entryLen

// unsettled finds the slots that lie in clusters to which another stream leads
// too, and that do not look like entries. They may be the contents of a file:
// until it is known, nothing of what they say is mended, and neither what is in
// directories that only they lead to.
func (w *walk) unsettled() error {
	stops, err := w.stopsUnlike()
	if err != nil || len(stops) == 0 {
		return err
	}
	per := w.c.g.ClusterSize / entryLen
	w.settled = make([]int32, len(w.dirs))
	for i := range w.dirs {
		d := &w.dirs[i]
		w.settled[i] = maxDirSlot
		if i > 0 && !w.isSettled(d.ref.dir, d.ref.slot) {
			w.settled[i] = 0
			continue
		}
		slot := int64(0)
		for _, e := range d.extents {
			k, _ := slices.BinarySearch(stops, e.Start)
			if k < len(stops) && stops[k]-e.Start < e.Len {
				w.settled[i] = int32(min(slot+int64(stops[k]-e.Start)*per, maxDirSlot))
				break
			}
			slot += int64(e.Len) * per
		}
	}
	return nil
}

// stopsUnlike are the clusters in which a stream ran into another and that hold no
// entry sets, in order. Thousands of streams may have run into the same one.
func (w *walk) stopsUnlike() ([]uint32, error) {
	all := make([]uint32, len(w.shared))
	for i := range w.shared {
		all[i] = w.shared[i].stop
	}
	slices.Sort(all)
	var stops []uint32
	for _, cl := range slices.Compact(all) {
		x, err := w.c.weighEntries(cl)
		if err != nil {
			return nil, err
		}
		if x.sets == 0 {
			stops = append(stops, cl)
		}
	}
	return stops, nil
}

// pending finds the sets with a wrong checksum of which a stream does not fit.
// Until that is mended, which gives them the right one, the checksum is left as
// it is: that it is wrong is evidence.
func (w *walk) pending() map[setRef]bool {
	out := map[setRef]bool{}
	add := func(s *stream) {
		if !s.sealed {
			out[s.ref] = true
		}
	}
	for i := range w.shared {
		add(&w.shared[i].stream)
	}
	for i := range w.twice {
		add(&w.twice[i].stream)
	}
	for i := range w.faults {
		add(&w.faults[i].stream)
	}
	return out
}

// faulty finds the sets of which a stream does not fit, whatever their checksum is.
func (w *walk) faulty() map[setRef]bool {
	out := map[setRef]bool{}
	for _, fs := range [][]streamFault{w.shared, w.faults} {
		for i := range fs {
			out[fs[i].ref] = true
		}
	}
	return out
}

// isSettled reports whether slot of a directory is known to be one.
func (w *walk) isSettled(dir, slot int32) bool { return w.settled == nil || slot < w.settled[dir] }

// ifSettled is fix, or nil where a directory is not settled up to slot last.
func (c *checker) ifSettled(dir, last int32, fix vol.Fix) vol.Fix {
	if !c.walk.isSettled(dir, last) {
		return nil
	}
	return fix
}

// ofSettled is fix, or nil where the entry of a stream is not settled.
func (c *checker) ofSettled(s *stream, fix vol.Fix) vol.Fix {
	if s.kind == ofRoot {
		return fix
	}
	return c.ifSettled(s.ref.dir, s.ref.slot+s.ref.n-1, fix)
}
