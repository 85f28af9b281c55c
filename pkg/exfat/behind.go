package exfat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// endNote is a directory with entries in use behind its end mark.
type endNote struct {
	dir  int32
	end  int32 // slot of the mark
	slot int32 // first slot behind it that is in use
	last int32 // and the last
	n    int32
}

// behindEnd looks at what lies behind the end mark, in bulk: holes are not
// read, and nothing is kept.
func (s *dirScan) behindEnd() error {
	if s.w.quiet {
		return nil
	}
	note := endNote{dir: s.dir, end: s.end}
	err := s.eachBehind(func(k int32, e entry) {
		if !e.inUse() {
			return
		}
		if note.n++; note.n == 1 {
			note.slot = k
		}
		note.last = k
	})
	if note.n > 0 {
		s.ends = append(s.ends, note)
	}
	return err
}

// eachBehind calls fn for the slots from the end mark on, but for some that
// hold zeros. What it is given is good until it returns.
func (s *dirScan) eachBehind(fn func(k int32, e entry)) error {
	if !dev.AllZero(s.buf[int(s.end)*entryLen:]) {
		for k := s.end; k < s.slots(); k++ {
			fn(k, s.slot(k))
		}
	}
	pos := int64(len(s.buf))
	var at int64
	left := s.dirBytes()
	for _, e := range s.extents {
		r := s.w.c.g.ClusterRange(e.Start, e.Len)
		r.Len = min(r.Len, left-at)
		from := max(0, min(r.Len, pos-at))
		err := s.readTail(dev.Range{Off: r.Off + from, Len: r.Len - from}, int32((at+from)/entryLen), fn)
		if err != nil {
			return err
		}
		at += r.Len
	}
	return nil
}

// readTail goes through r, whose first slot is k.
func (s *dirScan) readTail(r dev.Range, k int32, fn func(int32, entry)) error {
	buf := make([]byte, min(readPiece, r.Len))
	for r.Len > 0 {
		data := s.w.c.d.NextData(r.Off)
		if data.Empty() || data.Off >= r.End() {
			return nil
		}
		if skip := (data.Off - r.Off) / entryLen * entryLen; skip > 0 {
			r.Off, r.Len, k = r.Off+skip, r.Len-skip, k+int32(skip/entryLen)
		}
		n := min(r.Len, int64(len(buf)))
		if _, err := s.w.c.d.ReadAt(buf[:n], r.Off); err != nil {
			return err
		}
		s.read += n
		if !dev.AllZero(buf[:n]) {
			for o := int64(0); o < n; o += entryLen {
				fn(k+int32(o/entryLen), entry(buf[o:o+entryLen]))
			}
		}
		r.Off, r.Len, k = r.Off+n, r.Len-n, k+int32(n/entryLen)
	}
	return nil
}

// hiddenSets collects the whole entry sets among slots that come in order.
type hiddenSets struct {
	set  []byte // the one that is being collected
	from int32
	next int32
	fn   func(slot int32, set []byte) error
	err  error
}

func (h *hiddenSets) slot(k int32, e entry) {
	if k != h.next || !e.isSecondary() {
		h.set = h.set[:0]
	}
	h.next = k + 1
	switch {
	case e.kind() == typeFile:
		h.set, h.from = append(h.set[:0], e...), k
	case len(h.set) > 0:
		h.set = append(h.set, e...)
	}
	if len(h.set) == 0 || len(h.set) < (1+int(h.set[offSecondaryCount]))*entryLen {
		return
	}
	s := entrySet(h.set)
	if s.slots() > minFileSets && s.at(1).kind() == typeStream && s.nameLen() > 0 && s.behindNames() <= s.slots() && s.sealed() && h.err == nil {
		h.err = h.fn(h.from, s)
	}
	h.set = h.set[:0]
}

// behindSet is an entry set behind an end mark that is whole and leads to clusters
// that nobody else has, or to none.
type behindSet struct {
	stream
	part int32 // how many end marks stand before it
	own  bool  // it is in use; else its clusters are marked as free, as those of what was deleted
}

// ownSets are the entry sets behind an end mark that are whole and lead to
// clusters of their own, or to none. Others are leftovers of what was deleted.
// One whose clusters are free is no leftover where another beside it, with no end
// mark between them, is in use: then it is the mark before them that is wrong.
func (c *checker) ownSets(n *endNote) ([]setRef, error) {
	var sets []behindSet
	part, last := int32(0), n.end
	live := map[int32]bool{}
	h := &hiddenSets{fn: func(slot int32, set []byte) error {
		x := c.streamIn(set)
		x.ref = setRef{n.dir, slot, int32(len(set) / entryLen)}
		ok, own, err := c.ownsBehind(&x)
		if ok {
			sets = append(sets, behindSet{x, part, own})
			live[part] = live[part] || own && x.length > 0
		}
		return err
	}}
	s := newDirScan(c.walk, n.dir)
	if err := s.fill(); err != nil {
		return nil, err
	}
	err := s.eachBehind(func(k int32, e entry) {
		if k != last+1 || e.isEnd() {
			part++
		}
		last = k
		h.slot(k, e)
	})
	if err == nil {
		err = h.err
	}
	var own []setRef
	for i := range sets {
		x := &sets[i]
		if !x.own && !live[x.part] || err != nil {
			continue
		}
		own = append(own, x.ref)
		err = c.lost.keep(&x.stream, 0)
	}
	return own, err
}

// streamIn is what the entry set of a file says of its clusters.
func (c *checker) streamIn(set entrySet) stream {
	st := streamOf(set)
	x := stream{start: st.first(), length: st.length(), noFat: st.noFatChain(), isDir: entry(set).attributes()&attrDirectory != 0}
	x.need, _ = c.g.ClustersFor(x.length)
	return x
}

// maxKeepDepth is how deep directories behind end marks are looked into.
const maxKeepDepth = 64

// keep takes clusters that look lost, and are not: those of a stream that is to be
// shown, and of all that is in it if it is a directory. No other stream may be
// continued with them.
func (l *lostClusters) keep(x *stream, depth int) error {
	// What was taken is asked first: thousands of sets may lead to one chain.
	if x.length == 0 || !l.c.g.Valid(x.start) || l.taken.Used(x.start-firstCluster) || l.c.lookedBehind(x) {
		return nil
	}
	ok, err := l.c.walk.weighsAs(x, false, fitsHeap)
	if err != nil || !ok {
		return err
	}
	es := []space.Extent{{Start: x.start, Len: x.need}}
	if !x.noFat {
		if es, err = l.c.tab.follow(x.start, x.need, x.need); err != nil {
			return err
		}
	}
	for _, e := range es {
		if !l.isFree(e) || !l.c.walk.isFree(e.Start, e.Len) {
			return nil
		}
	}
	// [exFAT] §7.6.7: a directory has at most 256 MiB.
	if _, err = l.take(es, nil); err != nil || !x.isDir || depth == maxKeepDepth || x.length > maxDirBytes {
		return err
	}
	h := &hiddenSets{fn: func(_ int32, set []byte) error {
		y := l.c.streamIn(set)
		return l.keep(&y, depth+1)
	}}
	buf := make([]byte, min(l.c.g.ClusterSize, readPiece))
	k := int32(0)
	for _, e := range es {
		for r := l.c.g.ClusterRange(e.Start, e.Len); r.Len > 0; r.Off, r.Len = r.Off+int64(len(buf)), r.Len-int64(len(buf)) {
			if _, err := l.c.d.ReadAt(buf, r.Off); err != nil {
				return err
			}
			for b := buf; len(b) > 0; b, k = b[entryLen:], k+1 {
				h.slot(k, entry(b[:entryLen]))
			}
		}
	}
	return h.err
}

// ownsBehind reports whether what stands behind an end mark leads to clusters that
// nobody else has, or to none; own, that it is no leftover: those of a file that
// was deleted are free. Where only some are, or where the bitmap is wrong nearby,
// it is the bitmap that was hit.
func (c *checker) ownsBehind(x *stream) (ok, own bool, err error) {
	if c.lookedBehind(x) {
		ok = !c.walk.claimed.Used(x.start - firstCluster)
		return ok, ok, nil
	}
	f, err := c.walk.weigh(x, false)
	if err != nil || f == fitsNot || x.length == 0 {
		return f == fits, f == fits, err
	}
	es := []space.Extent{{Start: x.start, Len: x.need}}
	if !x.noFat {
		if es, err = c.tab.follow(x.start, x.need, x.need); err != nil {
			return false, false, err
		}
	}
	own = f == fits
	for _, e := range es {
		if !c.walk.isFree(e.Start, e.Len) {
			ok = f == fits && !c.walk.claimed.Used(x.start-firstCluster)
			return ok, ok, nil
		}
		if own {
			continue
		}
		n, err := c.bits.countUsed(e)
		if err != nil {
			return false, false, err
		}
		own = n > 0 || c.missedNear(e.Start)
	}
	return true, own, nil
}

// lookedBehind counts the clusters of a stream behind an end mark, and reports whether
// those of all were so many that this is no damaged volume but one made to keep a check
// busy: sets that are whole have clusters of their own, so that they are looked at a few
// times each. Then only the first one of a stream is looked at. What is shown so may
// have the clusters of another, which is seen and mended as that; what is not shown
// would be lost.
func (c *checker) lookedBehind(x *stream) bool {
	if x.length == 0 || !c.g.Valid(x.start) || x.need > c.g.Clusters {
		return false // that takes no looking
	}
	c.behind += uint64(x.need)
	return c.behind > maxFruitless*uint64(c.g.Clusters)
}

// missedNear reports whether clusters of files are marked as free in the sector of
// the bitmap that has the bit of cl.
func (c *checker) missedNear(cl uint32) bool {
	per := uint64(c.g.SectorSize * 8)
	first := firstCluster + uint64(cl-firstCluster)/per*per
	runs := c.missed.runs // in order
	k, _ := slices.BinarySearchFunc(runs, first, func(e space.Extent, c uint64) int { return cmp.Compare(e.End(), c+1) })
	return k < len(runs) && uint64(runs[k].Start) < first+per
}

func (c *checker) reportEnd(r *vol.Report, n *endNote) error {
	own, err := c.ownSets(n)
	if err != nil {
		return err
	}
	loc := vol.Location{Path: c.walk.path(n.dir), Range: dev.Range{Off: c.walk.slotOff(n.dir, n.slot), Len: entryLen}}
	offers := []string{fixRemove}
	if len(own) > 0 {
		offers = []string{fixReveal, fixRemove}
	}
	fix := func(_ context.Context, rep vol.Repair) error {
		if rep.Name == fixReveal {
			return c.reveal(n, own)
		}
		return c.clearBehind(n)
	}
	r.Found(c.cat.Found("after-end", loc, vol.Offer(offers...), vol.Detail("%d slots in use behind slot %d, %d sets are whole", n.n, n.end, len(own))),
		c.ifSettled(n.dir, n.last, fix))
	return nil
}

// reveal shows the sets of own, by marking the other slots of the gap as unused
// instead of as the end.
func (c *checker) reveal(n *endNote, own []setRef) error {
	for k := n.end; k <= n.last; {
		if len(own) > 0 && own[0].slot == k {
			k += own[0].n
			own = own[1:]
			continue
		}
		if err := c.removeSlots(n.dir, k, 1); err != nil {
			return err
		}
		k++
	}
	return nil
}

// clearBehind zeroes the slots from the end mark to the last one that is in use. What
// lies behind that may be no directory's: as far as nothing in it looks like an entry
// in use nobody has looked whose it is.
func (c *checker) clearBehind(n *endNote) error {
	pos, end := int64(n.end)*entryLen, (int64(n.last)+1)*entryLen
	var at int64
	for _, e := range c.walk.dirs[n.dir].extents {
		r := c.g.ClusterRange(e.Start, e.Len)
		from, to := max(0, pos-at), min(r.Len, end-at)
		at += r.Len
		if from >= to {
			continue
		}
		if err := c.d.Zero(dev.Range{Off: r.Off + from, Len: to - from}); err != nil {
			return err
		}
	}
	return nil
}
