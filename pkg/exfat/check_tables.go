package exfat

import (
	"bytes"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tablePlace is where a table may lie.
type tablePlace struct {
	extents []space.Extent
	chain   chain // what the FAT has of it
}

// placesOf are where a table of need clusters may lie that starts with first:
// where its FAT chain leads. Where that is broken, the clusters that follow the
// last sound one stand in for the rest, or those that follow the first: all
// formatters lay both tables out in one piece. Nothing is claimed.
func (c *checker) placesOf(first, need uint32) ([]tablePlace, error) {
	if !c.g.Valid(first) || need == 0 {
		return nil, nil
	}
	w := c.walk.again()
	ch, err := w.claimChain(first, need)
	switch {
	case err != nil || ch.n == 0:
		return nil, err
	case ch.end == endGood || ch.n == need:
		return []tablePlace{{extents: ch.extents, chain: ch}}, nil
	}
	var ps []tablePlace
	fits := func(from, n uint32) bool {
		return uint64(from)+uint64(n)-1 <= uint64(c.g.Last()) && c.walk.isFree(from, n)
	}
	if left := need - ch.n; fits(ch.last+1, left) {
		es := append([]space.Extent{}, ch.extents...)
		es[len(es)-1].Len += left
		ps = append(ps, tablePlace{extents: es, chain: ch})
	}
	if len(ch.extents) > 1 && fits(first, need) {
		ps = append(ps, tablePlace{extents: []space.Extent{{Start: first, Len: need}}, chain: ch})
	}
	return ps, nil
}

// claimTable claims the clusters of a table, and reports its chain.
func (c *checker) claimTable(r *vol.Report, slug string, slot int32, p tablePlace) {
	for _, e := range p.extents {
		c.walk.claimRun(e.Start, e.Len)
	}
	if p.chain.end == endGood {
		return
	}
	r.Found(c.cat.Found(slug, c.slotLoc(slot), vol.Detail("after %d of %d clusters it leads to %#x", p.chain.n, space.Units(p.extents), p.chain.stop)),
		vol.Always(func() error { return c.tab.link(p.extents) }))
}

// findBitmap makes c.bits. Without it nothing can be checked or repaired.
func (c *checker) findBitmap(r *vol.Report, root *dirScan) error {
	k := c.sup.bitmapSlot
	want := uint64(c.g.BitmapBytes())
	need, _ := c.g.ClustersFor(want)
	p, v := tablePlace{}, vouchers{}
	why := "the root directory has no entry of type 0x81"
	if k >= 0 {
		e := root.slot(k)
		length := e.length()
		n, ok := c.g.ClustersFor(max(length, want))
		if length < want || !ok {
			r.Found(c.cat.Found("bitmap-length", c.slotLoc(k), vol.GotWant(length, want)), vol.Always(func() error {
				return c.eachSlot(0, k, 1, func(_ int, e entry) { e.put64(offDataLength, want) })
			}))
			n = need
		}
		why = textf("its clusters, %d from %d on, cannot be", n, e.first())
		var err error
		if p, v, err = c.bestBitmap(root, e.first(), n); err != nil {
			return err
		}
	}
	if !v.all() && !c.startsHeap(p) {
		return c.otherBitmap(r, root, p, v, why)
	}
	// In its usual place it is believed, whatever it holds: it is rebuilt.
	if len(p.extents) == 0 {
		return c.noBitmap(r, why)
	}
	c.useBitmap(r, p)
	return nil
}

// bestBitmap is the place of the bitmap for which most speaks.
func (c *checker) bestBitmap(root *dirScan, first, need uint32) (best tablePlace, v vouchers, err error) {
	ps, err := c.placesOf(first, need)
	if err != nil {
		return best, v, err
	}
	if len(ps) == 1 {
		if p, ok, err := c.straightened(ps[0], root); err != nil {
			return best, v, err
		} else if ok {
			ps = []tablePlace{p, ps[0]}
		}
	}
	for _, p := range ps {
		x, err := c.vouched(p.extents, root)
		if err != nil {
			return best, v, err
		}
		if len(best.extents) == 0 || x.share() > v.share() {
			best, v = p, x
		}
	}
	return best, v, err
}

// straightened is the place of a table in one piece, where its chain, which is
// whole, leads elsewhere behind the first few clusters, but the FAT has those
// that follow them as the end of a chain of just the length that is missing, and
// nobody in the root starts there: one link of the chain was hit.
func (c *checker) straightened(p tablePlace, root *dirScan) (_ tablePlace, ok bool, err error) {
	if len(p.extents) < 2 {
		return p, false, nil
	}
	head := p.extents[0]
	need := uint32(space.Units(p.extents))
	rest := space.Extent{Start: head.Start + head.Len, Len: need - head.Len}
	es, ok, err := c.tab.runsOf(rest.Start, rest.Len, nil)
	if err != nil || !ok || len(es) != 1 || overlaps(rest, root.starts()) {
		return p, false, err
	}
	link := chain{n: head.Len, last: rest.Start - 1, end: endDoubt, stop: p.extents[1].Start}
	return tablePlace{extents: []space.Extent{{Start: head.Start, Len: need}}, chain: link}, true, nil
}

// useBitmap makes c.bits of what lies in p.
func (c *checker) useBitmap(r *vol.Report, p tablePlace) {
	c.claimTable(r, "bitmap-chain", c.sup.bitmapSlot, p)
	if n := len(p.extents); n > 1 && p.chain.end == endGood {
		r.Found(c.cat.Found("bitmap-pieces", c.slotLoc(c.sup.bitmapSlot), vol.Detail("%d pieces", n)), nil)
	}
	c.bits = newBitmap(c.d, c.g, p.extents)
}

// noBitmap ends the check.
func (c *checker) noBitmap(r *vol.Report, why string) error {
	r.Found(c.cat.Found("bitmap-none", c.bitmapLoc(), vol.Detail("%s", why), vol.Offer()), nil)
	return vol.ErrStop
}

func (c *checker) bitmapLoc() vol.Location {
	if c.sup.bitmapSlot < 0 {
		return vol.Location{Path: "/", Cluster: c.g.RootCluster}
	}
	return c.slotLoc(c.sup.bitmapSlot)
}

// startsHeap reports whether p starts where formatters put the bitmap.
func (c *checker) startsHeap(p tablePlace) bool {
	return len(p.extents) > 0 && p.extents[0].Start == firstCluster
}

// otherBitmap looks for the bitmap where nearly all volumes have it, in the
// first clusters, as p, to which its entry leads, is vouched for in part alone.
// The entry was hit, or is lost.
func (c *checker) otherBitmap(r *vol.Report, root *dirScan, p tablePlace, v vouchers, why string) error {
	need, _ := c.g.ClustersFor(uint64(c.g.BitmapBytes()))
	other, x, err := c.bestBitmap(root, firstCluster, need)
	switch {
	case err != nil:
		return err
	case x.all() && (v.share() < likelyShare || x.total >= manyVouchers):
	case x.share() >= likelyShare && x.share() > v.share() && x.total >= manyVouchers:
	case v.share() < likelyShare:
		return c.noBitmap(r, why)
	default:
		c.useBitmap(r, p)
		return nil
	}
	c.bits = newBitmap(c.d, c.g, other.extents)
	for _, e := range other.extents {
		c.walk.claimRun(e.Start, e.Len)
	}
	r.Found(c.cat.Found("bitmap-none", c.bitmapLoc(), vol.Detail("%s; what lies from cluster %d on is one", why, firstCluster)),
		vol.Always(func() error { return c.pointToBitmap(other.extents) }))
	return nil
}

// pointToBitmap makes the entry of the bitmap lead to es.
func (c *checker) pointToBitmap(es []space.Extent) error {
	k := c.sup.bitmapSlot
	if k < 0 {
		slots, err := c.rootRoom(1)
		if err != nil {
			return err
		}
		if err := c.useRootRoom(slots); err != nil {
			return err
		}
		k = slots.first
	}
	if err := c.tab.link(es); err != nil {
		return err
	}
	return c.eachSlot(0, k, 1, func(_ int, e entry) {
		clear(e)
		e[0] = typeBitmap
		e.put(es[0].Start, uint64(c.g.BitmapBytes()))
	})
}

// vouchers are clusters that must be used: how many what may be a bitmap has as
// used, and of how many.
type vouchers struct{ used, total uint64 }

func (v vouchers) all() bool      { return v.total > 0 && v.used == v.total }
func (v vouchers) share() float64 { return float64(v.used) / float64(max(1, v.total)) }

// How much is to speak for a bitmap.
const (
	likelyShare  = 7.0 / 8
	manyVouchers = 6 // so many clusters are not marked by chance
)

// vouched is how many of the clusters that must be used what lies in es has as
// used: its own, the root's, and what entries of the root lead to.
func (c *checker) vouched(es []space.Extent, root *dirScan) (v vouchers, err error) {
	b := newBitmap(c.d, c.g, es)
	for _, e := range append(root.starts(), es...) {
		n, err := b.countUsed(e)
		if err != nil {
			return v, err
		}
		v.used, v.total = v.used+uint64(n), v.total+uint64(e.Len)
	}
	return v, nil
}

// maxStarts bounds how many entries of the root vouch for a bitmap.
const maxStarts = 1024

// starts are clusters that the root's sound entries lead to, and its own.
func (s *dirScan) starts() []space.Extent {
	g := s.w.c.g
	es := append([]space.Extent{}, s.w.dirs[0].extents...)
	for k := int32(0); k < s.end && len(es) < maxStarts; k++ {
		e := s.slot(k)
		n := 1 + int32(e[offSecondaryCount])
		switch {
		case e.kind() == typeUpcase && g.Valid(e.first()):
			es = append(es, space.Extent{Start: e.first(), Len: 1})
		case e.kind() == typeFile && n > minFileSets && k+n <= s.end && s.slot(k+1).kind() == typeStream:
			set := s.setAt(setRef{0, k, n})
			if first := set.stream().first(); set.sealed() && g.Valid(first) {
				es = append(es, space.Extent{Start: first, Len: 1})
			}
		}
	}
	return es
}

// findUpcase loads the up-case table. Where it cannot be believed the standard
// table, which nearly all volumes have, takes its place for this check.
func (c *checker) findUpcase(r *vol.Report, root *dirScan) error {
	k := c.sup.upcaseSlot
	state := &c.sup.upcase
	if k < 0 {
		state.why = "the root directory has no entry of type 0x82"
		return nil
	}
	e := root.slot(k)
	length := e.length()
	if length == 0 || length > maxUpcaseBytes {
		state.why = textf("its length is %d", length)
		length = standardBytes
	}
	need, _ := c.g.ClustersFor(length)
	ps, err := c.placesOf(e.first(), need)
	if err != nil {
		return err
	}
	for i, p := range ps {
		raw, err := c.readExtents(p.extents, maxUpcaseBytes)
		if err != nil {
			return err
		}
		if c.isUpcase(e, raw, length) || i+1 == len(ps) {
			return c.judgeUpcase(r, root, p, raw, length)
		}
	}
	state.why = textf("its clusters, %d from %d on, cannot be", need, e.first())
	return nil
}

// isUpcase reports whether what lies there is the table: it fits its checksum,
// or is the standard one to the byte, as two wrong bytes can make up for each other
// in a checksum.
func (c *checker) isUpcase(e entry, raw []byte, length uint64) bool {
	c.sup.upcase.standard = bytes.HasPrefix(raw, standardUpcase())
	return c.sup.upcase.standard || c.sup.upcase.why == "" && tableChecksum(raw[:length]) == e.u32(offTableChecksum)
}

// judgeUpcase says what is wrong with the table in p. One that is none gets its
// clusters when all others have theirs.
func (c *checker) judgeUpcase(r *vol.Report, root *dirScan, p tablePlace, raw []byte, length uint64) error {
	e, state := root.slot(c.sup.upcaseSlot), &c.sup.upcase
	state.extents = p.extents
	if c.isUpcase(e, raw, length) {
		c.claimTable(r, "upcase-chain", c.sup.upcaseSlot, p)
	} else {
		state.doubted = true
	}
	if state.why != "" {
		return nil
	}
	raw = raw[:length]
	t, err := parseUpcase(raw)
	switch sum := tableChecksum(raw); {
	case err != nil:
		state.why = err.Error()
	case !t.mandatoryOK():
		state.why = "its first 128 entries are not what they must be"
	case sum != e.u32(offTableChecksum):
		state.why = textf("its checksum is %#x, should be %#x", e.u32(offTableChecksum), sum)
		if !state.standard && c.hashFits(root, t) > c.hashFits(root, c.upcase) {
			c.upcase, state.stored = t, raw
		}
	default:
		c.shortUpcase(root, t, raw)
	}
	return nil
}

// shortUpcase takes a table that is right as far as it goes. [exFAT] §7.2.5.1:
// it must be for all characters. One that is not can be completed without a
// change to what it says, unless the names were hashed with the standard one, as
// Linux does then.
func (c *checker) shortUpcase(root *dirScan, t *upcaseTable, raw []byte) {
	state := &c.sup.upcase
	if state.short = t.entries < upcaseUnits; !state.short || c.hashFits(root, t) >= c.hashFits(root, c.upcase) {
		c.upcase, state.stored = t, raw
	}
}

// takeUpcase lets a table that looks like none have its clusters, if nobody
// else wants them.
func (c *checker) takeUpcase() {
	u := &c.sup.upcase
	if !u.doubted {
		return
	}
	for _, e := range u.extents {
		if !c.walk.isFree(e.Start, e.Len) {
			u.extents = nil
			return
		}
	}
	for _, e := range u.extents {
		c.walk.claimRun(e.Start, e.Len)
	}
}

// hashFits counts the names in the root whose hash fits a table.
func (c *checker) hashFits(root *dirScan, t *upcaseTable) (n int) {
	for k := int32(0); k+minFileSets < root.end; k++ {
		st := root.slot(k + 1)
		length := int(st[offNameLength])
		if root.slot(k).kind() == typeFile && st.kind() == typeStream && k+1+nameEntries(length) < root.end &&
			t.hash(root.units(k, length, nil)) == st.u16(offNameHash) {
			n++
		}
	}
	return n
}

// readExtents is what the clusters hold, up to limit bytes.
func (c *checker) readExtents(es []space.Extent, limit int64) ([]byte, error) {
	var buf []byte
	for _, e := range es {
		r := c.g.ClusterRange(e.Start, e.Len)
		r.Len = min(r.Len, limit-int64(len(buf)))
		from := len(buf)
		buf = append(buf, make([]byte, r.Len)...)
		if _, err := c.d.ReadAt(buf[from:], r.Off); err != nil {
			return nil, err
		}
	}
	return buf, nil
}
