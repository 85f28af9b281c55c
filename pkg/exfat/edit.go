package exfat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// eachSlot changes n slots one by one: they need not be adjacent on the disk.
func (c *checker) eachSlot(dir, slot, n int32, change func(i int, e entry)) error {
	for i := int32(0); i < n; i++ {
		off := c.walk.slotOff(dir, slot+i)
		if off == 0 {
			return vol.ErrNotNow
		}
		if err := c.patch(off, entryLen, func(b []byte) { change(int(i), entry(b)) }); err != nil {
			return err
		}
	}
	return nil
}

// editSet changes the slots of a set and gives it the checksum that is right
// then, so that every repair of a set leaves a whole one.
func (c *checker) editSet(ref setRef, change func(set []byte)) error {
	set, err := c.readSet(ref)
	if err != nil {
		return err
	}
	change(set)
	n := min(int(set[offSecondaryCount])+1, int(ref.n))
	entry(set).put16(offSetChecksum, setChecksum(set[:n*entryLen]))
	return c.eachSlot(ref.dir, ref.slot, ref.n, func(i int, e entry) { copy(e, set[i*entryLen:]) })
}

// readSet is a set as it is on the device by now.
func (c *checker) readSet(ref setRef) ([]byte, error) {
	set := make([]byte, int(ref.n)*entryLen)
	for i := int32(0); i < ref.n; i++ {
		off := c.walk.slotOff(ref.dir, ref.slot+i)
		if off == 0 {
			return nil, vol.ErrNotNow
		}
		if _, err := c.d.ReadAt(set[int(i)*entryLen:int(i+1)*entryLen], off); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// streamOf is the Stream Extension of a set.
func streamOf(set []byte) entry { return entry(set[entryLen : 2*entryLen]) }

// noteFix is the repair of what a set shows by itself; nil where there is
// none.
func (c *checker) noteFix(n *setNote) vol.Fix {
	edit := func(change func(set []byte)) vol.Fix {
		return vol.Always(func() error { return c.editSet(n.ref, change) })
	}
	remove := vol.Always(func() error { return c.removeSlots(n.ref.dir, n.ref.slot, n.ref.n) })
	switch n.slug {
	case "set-broken", "stray-secondary", "special-misplaced":
		return remove
	case "unknown-critical":
		if n.value == 0 {
			return remove
		}
		if n.owns {
			return nil // §8.2: nobody who does not know it gives its clusters back
		}
		return edit(func(set []byte) {
			from := int(2 + nameEntries(int(streamOf(set)[offNameLength])))
			dropSecondaries(set, func(i int, e entry) bool { return i >= from && !e.isBenign() })
		})
	case "set-checksum":
		return edit(func([]byte) {})
	case "set-count":
		return edit(func(set []byte) { set[offSecondaryCount] = byte(n.value) })
	case "entry-type":
		return edit(func(set []byte) { putTypes(set, int32(n.value)) })
	case "name-length":
		return edit(func(set []byte) {
			streamOf(set)[offNameLength] = byte(n.value)
			c.rehash(set)
		})
	case "name-hash":
		return edit(c.rehash)
	case "name-illegal", "name-surrogate", "name-twice":
		return vol.Always(func() error { return c.rename(n) })
	case "name-tail":
		return edit(func(set []byte) { putUnits(set, setUnits(set)) })
	case "valid-length", "directory-valid":
		return edit(func(set []byte) { streamOf(set).put64(offValidLength, n.value) })
	case "directory-length":
		return edit(func(set []byte) {
			cs := uint64(c.g.ClusterSize)
			up := (streamOf(set).length() + cs - 1) / cs * cs
			streamOf(set).put64(offDataLength, up)
			streamOf(set).put64(offValidLength, up)
		})
	case "empty-no-fat-chain":
		return edit(func(set []byte) { streamOf(set)[offSecFlags] &^= secNoFatChain })
	case "alloc-possible":
		return edit(func(set []byte) { streamOf(set)[offSecFlags] |= secAllocPossible })
	case "directory-too-long":
		return vol.Always(func() error { return c.shortenDir(n.ref) })
	case "directory-garbage":
		return vol.Always(func() error { return c.dirToFile(n.ref.dir) })
	}
	return nil
}

// rehash writes the hash of the name that is there.
func (c *checker) rehash(set []byte) {
	streamOf(set).put16(offNameHash, c.upcase.hash(setUnits(set)))
}

// setUnits is the name of a set.
func setUnits(set []byte) []uint16 {
	n := int(streamOf(set)[offNameLength])
	var u []uint16
	for k := 2 * entryLen; k < len(set) && len(u) < n; k += entryLen {
		e := entry(set[k : k+entryLen])
		for i := 0; i < nameUnits && len(u) < n; i++ {
			u = append(u, e.u16(offName+2*i))
		}
	}
	return u
}

// dropSecondaries takes entries out of a set: those behind them move up, and
// the slots that become free are marked so.
func dropSecondaries(set []byte, drop func(i int, e entry) bool) {
	n := min(int(set[offSecondaryCount]), len(set)/entryLen-1)
	kept := 0
	for i := 1; i <= n; i++ {
		e := entry(set[i*entryLen : (i+1)*entryLen])
		if !drop(i, e) {
			kept++
			copy(set[kept*entryLen:], e)
		}
	}
	for i := kept + 1; i <= n; i++ {
		e := set[i*entryLen : (i+1)*entryLen]
		clear(e)
		e[0] = typeName &^ typeInUse
	}
	set[offSecondaryCount] = byte(kept)
}

// dirToFile makes a file of a directory whose clusters hold something else.
func (c *checker) dirToFile(dir int32) error {
	d := &c.walk.dirs[dir]
	return c.editSet(d.ref, func(set []byte) {
		e := entry(set)
		e.put16(offAttributes, e.attributes()&^attrDirectory|attrArchive)
	})
}

// reportNote turns what a set shows into a finding.
func (c *checker) reportNote(r *vol.Report, n *setNote) {
	w := c.walk
	if w.mended[n.ref] && n.ofLength() {
		return // it is the length that is wrong
	}
	loc := vol.Location{Path: w.path(n.ref.dir)}
	if n.name != "" {
		loc.Path = pathBelow(loc.Path, n.name)
	}
	loc.Range.Off, loc.Range.Len = w.slotOff(n.ref.dir, n.ref.slot), int64(max(1, n.ref.n))*entryLen
	f := c.cat.Found(n.slug, loc)
	f.Detail = n.detail
	if n.owns && n.value > 0 {
		vol.Offer()(&f)
	}
	fix := c.ifSettled(n.ref.dir, n.ref.slot+max(1, n.ref.n)-1, c.noteFix(n))
	if c.pending[n.ref] || c.faulty[n.ref] && (n.slug == "directory-length" || n.slug == "directory-too-long") {
		fix = nil
	}
	r.Found(f, fix)
}

// ofLength reports whether a note goes by the length of a stream.
func (n *setNote) ofLength() bool {
	switch n.slug {
	case "valid-length", "directory-valid", "directory-length", "directory-too-long", "directory-empty", "empty-no-fat-chain":
		return true
	}
	return false
}

// cleanUnits replaces what a name must not hold by an underscore.
func cleanUnits(u []uint16) {
	for i, x := range u {
		if badUnit(x) {
			u[i] = '_'
		}
	}
	for i := vol.LoneSurrogate(u); i >= 0; i = vol.LoneSurrogate(u) {
		u[i] = '_'
	}
}

// rename gives the entry a name that is allowed and its own. It takes as many
// slots as the old one did.
func (c *checker) rename(n *setNote) error {
	ns, err := c.nameSet(n.ref.dir)
	if err != nil {
		return err
	}
	if c.renamed[n.ref] {
		return vol.ErrNotNow // it may be unique by now
	}
	c.renamed[n.ref] = true
	return c.editSet(n.ref, func(set []byte) {
		u := setUnits(set)
		if n.slug != "name-twice" {
			ns.Drop(u)
		}
		cleanUnits(u)
		if len(u) <= 2 && u[0] == '.' && u[len(u)-1] == '.' {
			for i := range u {
				u[i] = '_'
			}
		}
		limit := min(maxName, int(nameEntries(len(u)))*nameUnits)
		u = ns.Unique(u, limit)
		putUnits(set, u)
		c.rehash(set)
	})
}

// putUnits writes a name into the name entries of a set.
func putUnits(set []byte, u []uint16) {
	streamOf(set)[offNameLength] = byte(len(u))
	for k, left := 2, u; k < 2+int(nameEntries(len(u))); k++ {
		e := entry(set[k*entryLen : (k+1)*entryLen])
		for i := 0; i < nameUnits; i++ {
			v := uint16(0)
			if i < len(left) {
				v = left[i]
			}
			e.put16(offName+2*i, v)
		}
		left = left[min(len(left), nameUnits):]
	}
}

// nameSet is the names of a directory as they are on the device by now.
func (c *checker) nameSet(dir int32) (*nameSet, error) {
	if ns := c.names[dir]; ns != nil {
		return ns, nil
	}
	w := *c.walk
	w.quiet = true
	s, err := w.scan(dir)
	if err != nil {
		return nil, err
	}
	ns := vol.NewNameSet(c.upcase.fold)
	for i, ref := range s.sets {
		ns.Add(s.units(ref.slot, int(s.lens[i]), nil))
	}
	if c.names == nil {
		c.names, c.renamed = map[int32]*nameSet{}, map[setRef]bool{}
	}
	c.names[dir] = ns
	return ns, nil
}

type nameSet = vol.NameSet
