package exfat

import (
	"bytes"
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// specials is what the root directory holds beside files.
type specials struct {
	label      string
	bitmapSlot int32 // -1 for none
	upcaseSlot int32
	upcase     upcaseState
}

// upcaseState is what is wrong with the up-case table; it is reported when it
// is known which clusters are free.
type upcaseState struct {
	why      string
	standard bool   // its contents are the standard table
	stored   []byte // they are another one, which the hashes of names fit
	extents  []space.Extent
}

// checkSpecials reads the root directory, finds the bitmap and the up-case
// table, and follows their chains: both are FAT chains and may be in pieces.
// They claim their clusters before the root claims its rest: a root whose chain
// was hit must not take them.
func (c *checker) checkSpecials(_ context.Context, r *vol.Report) error {
	c.walk = newWalk(c)
	c.upcase = standardTable()
	root, err := c.scoutRoot()
	if err != nil {
		return err
	}
	c.sup = specials{bitmapSlot: -1, upcaseSlot: -1}
	for k := int32(0); k < root.end; k++ {
		switch e := root.slot(k); {
		case root.retypes(k):
			k += int32(e[offSecondaryCount]) // a File entry whose type was hit
		case e.kind() == typeBitmap:
			c.bitmapEntry(r, root, k)
		case e.kind() == typeUpcase:
			c.upcaseEntry(r, k)
		}
	}
	if err := c.findBitmap(r, root); err != nil {
		return err
	}
	if err := c.findUpcase(r, root); err != nil {
		return err
	}
	if root, err = c.claimRoot(r); err != nil {
		return err
	}
	c.labelsAndGUIDs(r, root)
	return nil
}

// scoutRoot reads the root, as far as its chain goes, and claims nothing but
// its first cluster.
func (c *checker) scoutRoot() (*dirScan, error) {
	w := newWalk(c)
	ch, err := w.claimChain(c.g.RootCluster, 0)
	if err != nil {
		return nil, err
	}
	c.walk.claimed.SetNew(c.g.RootCluster - firstCluster)
	c.walk.dirs = append(c.walk.dirs, dirNode{start: c.g.RootCluster, extents: ch.extents})
	c.walk.byStart[c.g.RootCluster] = 0
	s := &dirScan{w: c.walk}
	return s, s.fill()
}

// claimRoot follows the root's chain and reads it up to its end mark.
func (c *checker) claimRoot(r *vol.Report) (*dirScan, error) {
	w := c.walk
	var ch chain
	ch.add(c.g.RootCluster)
	v, err := c.tab.get(c.g.RootCluster)
	if err == nil && v != fatEOC {
		err = w.extend(&ch, v, 0)
	}
	if err != nil {
		return nil, err
	}
	w.dirs[0].extents = ch.extents
	s := &dirScan{w: w}
	if err := s.fill(); err != nil || ch.end == endGood {
		return s, err
	}
	f := &streamFault{stream: stream{kind: ofRoot, isDir: true, start: c.g.RootCluster}, chain: ch, slug: "chain-broken"}
	if ch.end == endLoop {
		f.slug = "chain-loop"
	}
	if s.end == s.slots() {
		c.rootFault = f // until it is known what is lost
		return s, nil
	}
	// The end mark comes before the fault: nothing is missing.
	r.Found(c.cat.Found(f.slug, c.streamLoc(&f.stream, ch.last), vol.Offer(fixSet), vol.Detail("%s", f.describe(c.g))),
		vol.Always(func() error { return c.tab.set(ch.last, fatEOC) }))
	return s, nil
}

func (c *checker) slotLoc(slot int32) vol.Location {
	return vol.Location{Path: "/", Range: dev.Range{Off: c.walk.slotOff(0, slot), Len: entryLen}}
}

// removeSlots marks n slots of a directory as not in use.
func (c *checker) removeSlots(dir, slot, n int32) error {
	return c.eachSlot(dir, slot, n, func(_ int, e entry) { e[0] &^= typeInUse })
}

// bitmapEntry takes the first bitmap entry; one that is marked as the second
// FAT's only where there is no other.
func (c *checker) bitmapEntry(r *vol.Report, root *dirScan, k int32) {
	e := root.slot(k)
	if c.sup.bitmapSlot >= 0 {
		r.Found(c.cat.Found("bitmap-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
		return
	}
	c.sup.bitmapSlot = k
	if e[offBitmapFlags]&1 != 0 {
		r.Found(c.cat.Found("bitmap-flags", c.slotLoc(k)), vol.Always(func() error {
			return c.eachSlot(0, k, 1, func(_ int, e entry) { e[offBitmapFlags] &^= 1 })
		}))
	}
}

func (c *checker) upcaseEntry(r *vol.Report, k int32) {
	if c.sup.upcaseSlot >= 0 {
		r.Found(c.cat.Found("upcase-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
		return
	}
	c.sup.upcaseSlot = k
}

// unlike reports whether nothing in a directory is like an entry.
func (s *dirScan) unlike() bool {
	for k := int32(0); k < s.end; k++ {
		switch s.slot(k).kind() {
		case typeBitmap, typeUpcase, typeLabel, typeFile, typeGUID:
			return false
		}
	}
	return true
}

// findBitmap makes c.bits. Without it nothing can be checked or repaired.
func (c *checker) findBitmap(r *vol.Report, root *dirScan) error {
	k := c.sup.bitmapSlot
	if k < 0 {
		slug, why := "bitmap-none", "the root directory has no entry of type 0x81"
		if root.unlike() {
			slug, why = "root-unreadable", textf("none of the %d slots up to its end mark holds an entry that is known", root.end)
		}
		r.Found(c.cat.Found(slug, vol.Location{Path: "/", Cluster: c.g.RootCluster}, vol.Detail("%s", why)), nil)
		return vol.ErrStop
	}
	e := root.slot(k)
	want := uint64(c.g.BitmapBytes())
	length := e.length()
	need, ok := c.g.ClustersFor(max(length, want))
	if length < want || !ok {
		r.Found(c.cat.Found("bitmap-length", c.slotLoc(k), vol.GotWant(length, want)), vol.Always(func() error {
			return c.eachSlot(0, k, 1, func(_ int, e entry) { e.put64(offDataLength, want) })
		}))
		need, _ = c.g.ClustersFor(want)
	}
	es, err := c.tableClusters(r, "bitmap-chain", k, e.first(), need)
	if err != nil {
		return err
	}
	if es == nil {
		r.Found(c.cat.Found("bitmap-none", c.slotLoc(k), vol.Detail("its clusters, %d from %d on, do not exist or belong to another", need, e.first())), nil)
		return vol.ErrStop
	}
	c.bits = newBitmap(c.d, c.g, es)
	return nil
}

// tableClusters claims the chain of the bitmap or the up-case table. Where the
// chain is broken, the clusters that follow the last sound one stand in for
// the rest, as formatters lay both out in one piece; nil where that cannot be.
func (c *checker) tableClusters(r *vol.Report, slug string, slot int32, first, need uint32) ([]space.Extent, error) {
	if !c.g.Valid(first) || need == 0 {
		return nil, nil
	}
	ch, err := c.walk.claimChain(first, need)
	if err != nil || ch.end == endGood {
		return ch.extents, err
	}
	if ch.n == 0 {
		return nil, nil
	}
	es := ch.extents
	if left := need - ch.n; left > 0 {
		if !c.g.Valid(ch.last+1) || uint64(ch.last)+uint64(left) > uint64(c.g.Last()) {
			return nil, nil
		}
		if !c.walk.isFree(ch.last+1, left) {
			return nil, nil
		}
		c.walk.claimRun(ch.last+1, left)
		es[len(es)-1].Len += left
	}
	r.Found(c.cat.Found(slug, c.slotLoc(slot), vol.Detail("after %d of %d clusters it leads to %#x", ch.n, need, ch.stop)),
		vol.Always(func() error { return c.tab.link(es) }))
	return es, nil
}

// findUpcase loads the up-case table. Where it cannot be believed the standard
// table, which nearly all volumes have, takes its place for this check.
func (c *checker) findUpcase(r *vol.Report, root *dirScan) error {
	k := c.sup.upcaseSlot
	if k < 0 {
		c.sup.upcase.why = "the root directory has no entry of type 0x82"
		return nil
	}
	e := root.slot(k)
	length := e.length()
	state := &c.sup.upcase
	if length == 0 || length > maxUpcaseBytes {
		state.why = textf("its length is %d", length)
		length = uint64(len(standardUpcase()))
	}
	need, _ := c.g.ClustersFor(length)
	es, err := c.tableClusters(r, "upcase-chain", k, e.first(), need)
	if err != nil {
		return err
	}
	if es == nil {
		state.why = textf("its clusters, %d from %d on, do not exist or belong to another", need, e.first())
		return nil
	}
	state.extents = es
	return c.judgeUpcase(root, e, length)
}

// judgeUpcase reads the table and holds it against its checksum.
func (c *checker) judgeUpcase(root *dirScan, e entry, length uint64) error {
	state := &c.sup.upcase
	raw, err := c.readExtents(state.extents, maxUpcaseBytes)
	if err != nil {
		return err
	}
	std := standardUpcase()
	state.standard = len(raw) >= len(std) && bytes.Equal(raw[:len(std)], std)
	if state.why != "" || uint64(len(raw)) < length {
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
		c.upcase = t
	}
	return nil
}

// hashFits counts the names in the root whose hash fits a table.
func (c *checker) hashFits(root *dirScan, t *upcaseTable) (n int) {
	for k := int32(0); k+minFileSets < root.end; k++ {
		st := root.slot(k + 1)
		length := int(st[offNameLength])
		if root.slot(k).kind() == typeFile && st.kind() == typeStream && k+1+need(length) < root.end &&
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

// labelsAndGUIDs looks at the optional entries of the root.
func (c *checker) labelsAndGUIDs(r *vol.Report, root *dirScan) {
	labels, guids := 0, 0
	for k := int32(0); k < root.end; k++ {
		e := root.slot(k)
		switch {
		case root.retypes(k):
			k += int32(e[offSecondaryCount])
		case e.kind() == typeLabel:
			if labels++; labels > 1 {
				r.Found(c.cat.Found("label-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
				continue
			}
			c.checkLabel(r, e, k)
		case e.kind() == typeGUID:
			if guids++; guids > 1 {
				r.Found(c.cat.Found("guid-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
				continue
			}
			c.checkGUID(r, e, k)
		}
	}
}

func (c *checker) checkLabel(r *vol.Report, e entry, k int32) {
	n := int(e[offLabelCount])
	if n > labelUnits {
		n = 0
		for n < labelUnits && e.u16(offLabel+2*n) != 0 {
			n++
		}
		r.Found(c.cat.Found("label-length", c.slotLoc(k), vol.GotWant(e[offLabelCount], n)), vol.Always(func() error {
			return c.eachSlot(0, k, 1, func(_ int, e entry) { e[offLabelCount] = byte(n) })
		}))
	}
	var u []uint16
	bad := false
	for i := 0; i < n; i++ {
		u = append(u, e.u16(offLabel+2*i))
		bad = bad || badUnit(u[i])
	}
	c.sup.label = decodeUnits(u)
	if bad || vol.LoneSurrogate(u) >= 0 {
		r.Found(c.cat.Found("label-invalid", c.slotLoc(k), vol.Detail("%q", c.sup.label)), vol.Always(func() error {
			cleanUnits(u)
			return c.eachSlot(0, k, 1, func(_ int, e entry) {
				for i, x := range u {
					e.put16(offLabel+2*i, x)
				}
			})
		}))
	}
}

// checkGUID: [exFAT] §7.5, one entry with a checksum of its own.
func (c *checker) checkGUID(r *vol.Report, e entry, k int32) {
	null := allZero(e[offGUID : offGUID+16])
	if e[offSecondaryCount] == 0 && !null && setChecksum(e) == e.u16(offSetChecksum) {
		return
	}
	offers := []string{fixSet, fixRemove}
	if null {
		offers = []string{fixRemove}
	}
	r.Found(c.cat.Found("guid-checksum", c.slotLoc(k), vol.Offer(offers...)), func(_ context.Context, rep vol.Repair) error {
		if rep.Name == fixRemove {
			return c.removeSlots(0, k, 1)
		}
		return c.eachSlot(0, k, 1, func(_ int, e entry) {
			e[offSecondaryCount] = 0
			e.put16(offSetChecksum, setChecksum(e))
		})
	})
}
