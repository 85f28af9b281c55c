package exfat

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// specials is what the root directory holds beside files.
type specials struct {
	label      string
	bitmapSlot int32 // -1 for none
	upcaseSlot int32
	labelSlot  int32 // of a label whose type was hit; -1 for none
	labels     int
	guids      int
	upcase     upcaseState
}

// upcaseState is what is wrong with the up-case table; it is reported when it
// is known which clusters are free.
type upcaseState struct {
	why      string
	short    bool   // it is right, but not for all characters
	doubted  bool   // what lies there looks like anything but a table
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
	if unlike, err := root.unlike(); err != nil {
		return err
	} else if unlike {
		r.Found(c.cat.Found("root-unreadable", vol.Location{Path: "/", Cluster: c.g.RootCluster},
			vol.Detail("none of the %d slots up to its end mark holds an entry that is known", root.end)), nil)
		return vol.ErrStop
	}
	c.sup = specials{bitmapSlot: -1, upcaseSlot: -1, labelSlot: -1}
	if err := c.tableEntries(r, root, 0); err != nil {
		return err
	}
	if err := c.findBitmap(r, root); err != nil {
		return err
	}
	if err := c.findUpcase(r, root); err != nil {
		return err
	}
	c.base = c.walk.again()
	if root, err = c.claimRoot(); err != nil {
		return err
	}
	c.labelsAndGUIDs(r, root, 0)
	c.rootMarks(r, root)
	c.findRetypedLabel(r, root)
	return nil
}

// tableEntries looks for the entries of both tables among the slots of the root
// from one on.
func (c *checker) tableEntries(r *vol.Report, root *dirScan, from int32) error {
	var bitmaps []int32
	for k := from; k < root.end; k++ {
		switch e := root.slot(k); {
		case root.retypes(k):
			k += int32(e[offSecondaryCount]) // a File entry whose type was hit
		case e.kind() == typeBitmap:
			bitmaps = append(bitmaps, k)
		case e.kind() == typeUpcase:
			c.upcaseEntry(r, k)
		}
	}
	return c.bitmapEntries(r, root, bitmaps)
}

// scoutRoot reads the root, as far as its chain leads to what may be entries,
// and claims nothing but its first cluster.
func (c *checker) scoutRoot() (*dirScan, error) {
	c.walk.claimed.SetNew(c.g.RootCluster - firstCluster)
	ch, err := c.rootChain(newWalk(c), false)
	if err != nil {
		return nil, err
	}
	c.walk.dirs = append(c.walk.dirs, dirNode{start: c.g.RootCluster, extents: ch.extents, cut: ch.cut()})
	c.walk.byStart[c.g.RootCluster] = 0
	s := newDirScan(c.walk, 0)
	return s, s.fill()
}

// rootChain claims the clusters of the root behind the first one for w. Where
// what follows cannot be entries it ends, unless all is wanted: it may have run
// into a file. No directory is longer than 256 MiB, [exFAT] §7.4.
func (c *checker) rootChain(w *walk, all bool) (chain, error) {
	var ch chain
	ch.add(c.g.RootCluster)
	seen := space.NewSparse(uint64(c.g.Clusters))
	seen.SetNew(c.g.RootCluster - firstCluster)
	most, _ := c.g.ClustersFor(maxDirBytes)
	for {
		v, err := c.tab.get(ch.last)
		switch {
		case err != nil || v == fatEOC:
			return ch, err
		case !c.g.Valid(v):
			ch.end, ch.stop = endBroken, v
			return ch, nil
		case !seen.SetNew(v - firstCluster):
			ch.end, ch.stop = endLoop, v
			return ch, nil
		case ch.n >= most:
			ch.end, ch.stop = endLong, v
			return ch, nil
		}
		if ok, err := w.holdsEntries(v); err != nil || !ok && !all {
			ch.end, ch.stop = endDoubt, v
			return ch, err
		}
		if !w.claimed.SetNew(v - firstCluster) {
			ch.end, ch.stop = endShared, v
			return ch, nil
		}
		ch.add(v)
	}
}

// claimRoot claims the root's chain and reads it up to its end mark.
func (c *checker) claimRoot() (*dirScan, error) {
	ch, err := c.rootChain(c.walk, c.rootWhole)
	if err != nil {
		return nil, err
	}
	c.walk.dirs[0].extents, c.walk.dirs[0].cut = ch.extents, ch.cut()
	s := newDirScan(c.walk, 0)
	if err := s.fill(); err != nil {
		return nil, err
	}
	c.rootFault, c.rootEnds = nil, s.end < s.slots()
	if ch.end != endGood {
		c.rootFault = &streamFault{stream: stream{kind: ofRoot, isDir: true, start: c.g.RootCluster}, chain: ch, slug: "chain-broken"}
	}
	switch ch.end {
	case endLoop:
		c.rootFault.slug = "chain-loop"
	case endLong:
		c.rootFault.slug = "directory-too-long"
	}
	return s, nil
}

// takeRootRest lets the root have the rest of a chain that looks like no
// directory, if nobody else wants it.
func (c *checker) takeRootRest(r *vol.Report) (again bool, err error) {
	f := c.rootFault
	if f == nil || f.end != endDoubt || c.walk.claimed.Used(f.stop-firstCluster) {
		return false, nil
	}
	from := int32(int64(f.n) * c.g.ClusterSize / entryLen)
	c.rootWhole = true
	c.walk = c.base.again()
	root, err := c.claimRoot()
	if err == nil {
		err = c.tableEntries(r, root, from)
		c.labelsAndGUIDs(r, root, from)
	}
	return true, err
}

func (c *checker) slotLoc(slot int32) vol.Location {
	return vol.Location{Path: "/", Range: dev.Range{Off: c.walk.slotOff(0, slot), Len: entryLen}}
}

// removeSlots marks n slots of a directory as not in use.
func (c *checker) removeSlots(dir, slot, n int32) error {
	return c.eachSlot(dir, slot, n, func(_ int, e entry) { e.retire() })
}

// bitmapEntries chooses among the entries of bitmaps: [exFAT] §7.1.2, that of the
// first FAT has the flag 0, so that one that is marked as the second FAT's is
// taken only where there is no other. Among those it is the first for which most
// speaks.
func (c *checker) bitmapEntries(r *vol.Report, root *dirScan, slots []int32) error {
	second := func(k int32) bool { return root.slot(k)[offBitmapFlags]&1 != 0 }
	if c.sup.bitmapSlot < 0 {
		firsts := slices.DeleteFunc(slices.Clone(slots), second)
		if len(firsts) == 0 {
			firsts = slots
		}
		k, err := c.bestEntry(root, firsts)
		if err != nil {
			return err
		}
		c.sup.bitmapSlot = k
	}
	for _, k := range slots {
		switch {
		case k != c.sup.bitmapSlot:
			r.Found(c.cat.Found("bitmap-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
		case second(k):
			r.Found(c.cat.Found("bitmap-flags", c.slotLoc(k)), vol.Always(func() error {
				return c.eachSlot(0, k, 1, func(_ int, e entry) { e[offBitmapFlags] &^= 1 })
			}))
		}
	}
	return nil
}

// maxBitmaps is of how many entries of bitmaps it is looked what they lead to.
const maxBitmaps = 8

// bestEntry is the entry of a bitmap for which most speaks, -1 for none.
func (c *checker) bestEntry(root *dirScan, slots []int32) (int32, error) {
	if len(slots) == 0 {
		return -1, nil
	}
	best, share := slots[0], -1.0
	if len(slots) == 1 {
		return best, nil
	}
	for _, k := range slots[:min(len(slots), maxBitmaps)] {
		e := root.slot(k)
		n, ok := c.g.ClustersFor(max(e.length(), uint64(c.g.BitmapBytes())))
		if !ok {
			continue
		}
		_, v, err := c.bestBitmap(root, e.first(), n)
		if err != nil {
			return -1, err
		}
		if x := float64(v.share()); x > share {
			best, share = k, x
		}
	}
	return best, nil
}

func (c *checker) upcaseEntry(r *vol.Report, k int32) {
	if c.sup.upcaseSlot >= 0 {
		r.Found(c.cat.Found("upcase-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
		return
	}
	c.sup.upcaseSlot = k
}

// unlike reports whether nothing in a directory is like an entry, up to its end
// mark, and nothing behind that is a whole entry set.
func (s *dirScan) unlike() (bool, error) {
	for k := int32(0); k < s.end; k++ {
		switch s.slot(k).kind() {
		case typeBitmap, typeUpcase, typeLabel, typeFile, typeGUID:
			return false, nil
		}
	}
	hides, err := s.hidesSets()
	return !hides, err
}

// labelsAndGUIDs looks at the optional entries of the root from a slot on.
func (c *checker) labelsAndGUIDs(r *vol.Report, root *dirScan, from int32) {
	for k := from; k < root.end; k++ {
		e := root.slot(k)
		switch {
		case root.retypes(k):
			k += int32(e[offSecondaryCount])
		case e.kind() == typeLabel:
			if c.sup.labels++; c.sup.labels > 1 {
				r.Found(c.cat.Found("label-twice", c.slotLoc(k)), vol.Always(func() error { return c.removeSlots(0, k, 1) }))
				continue
			}
			c.checkLabel(r, e, k)
		case e.kind() == typeGUID:
			if c.sup.guids++; c.sup.guids > 1 {
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
	null := dev.AllZero(e[offGUID : offGUID+16])
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
