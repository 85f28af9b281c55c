package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
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

// ownSets are the entry sets behind an end mark that are whole and lead to
// clusters of their own, or to none. Others are leftovers of what was deleted.
func (c *checker) ownSets(n *endNote) ([]setRef, error) {
	var own []setRef
	h := &hiddenSets{fn: func(slot int32, set []byte) error {
		st := streamOf(set)
		x := stream{start: st.first(), length: st.length(), noFat: st.noFatChain()}
		x.need, _ = c.g.ClustersFor(x.length)
		ok, err := c.walk.plausible(&x)
		if ok && (x.length == 0 || !c.walk.claimed.Used(x.start-firstCluster)) {
			own = append(own, setRef{n.dir, slot, int32(len(set) / entryLen)})
		}
		return err
	}}
	s := newDirScan(c.walk, n.dir)
	if err := s.fill(); err != nil {
		return nil, err
	}
	if err := s.eachBehind(h.slot); err != nil {
		return nil, err
	}
	return own, h.err
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

// clearBehind zeroes the directory's clusters from its end mark on.
func (c *checker) clearBehind(n *endNote) error {
	pos := int64(n.end) * entryLen
	var at int64
	for _, e := range c.walk.dirs[n.dir].extents {
		r := c.g.ClusterRange(e.Start, e.Len)
		if from := max(0, pos-at); from < r.Len {
			part := r
			part.Off, part.Len = r.Off+from, r.Len-from
			if err := c.d.Zero(part); err != nil {
				return err
			}
		}
		at += r.Len
	}
	return nil
}
