package exfat

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

func textf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// eachSlot changes n slots one by one: they need not be adjacent on the disk.
func (c *checker) eachSlot(dir, slot, n int32, change func(i int, e entry)) error {
	for i := int32(0); i < n; i++ {
		err := c.patch(c.walk.slotOff(dir, slot+i), entryLen, func(b []byte) { change(int(i), entry(b)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// editSet changes the slots of a set and gives it the checksum that is right
// then, so that every repair of a set leaves a whole one.
func (c *checker) editSet(ref setRef, change func(set []byte)) error {
	set := make([]byte, int(ref.n)*entryLen)
	at := func(i int32) []byte { return set[int(i)*entryLen : int(i+1)*entryLen] }
	for i := int32(0); i < ref.n; i++ {
		if _, err := c.d.ReadAt(at(i), c.walk.slotOff(ref.dir, ref.slot+i)); err != nil {
			return err
		}
	}
	change(set)
	n := min(int(set[offSecondaryCount])+1, int(ref.n))
	entry(set).put16(offSetChecksum, setChecksum(set[:n*entryLen]))
	for i := int32(0); i < ref.n; i++ {
		if _, err := c.d.WriteAt(at(i), c.walk.slotOff(ref.dir, ref.slot+i)); err != nil {
			return err
		}
	}
	return nil
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
		return edit(func(set []byte) { dropSecondary(set, int(n.value)) })
	case "set-checksum":
		return edit(func([]byte) {})
	case "set-count":
		return edit(func(set []byte) { set[offSecondaryCount] = byte(n.value) })
	case "name-entry":
		return edit(func(set []byte) {
			for k := 2; k < 2+int(n.value); k++ {
				set[k*entryLen] = typeName
			}
		})
	case "name-length":
		return edit(func(set []byte) {
			streamOf(set)[offNameLength] = byte(n.value)
			c.rehash(set)
		})
	case "name-hash":
		return edit(c.rehash)
	case "name-illegal", "name-surrogate", "name-twice":
		return vol.Always(func() error { return c.rename(n) })
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
	case "directory-garbage":
		return vol.Always(func() error { return c.dirToFile(n.ref.dir) })
	}
	return nil
}

// rehash writes the hash of the name that is there.
func (c *checker) rehash(set []byte) {
	entry(streamOf(set)).put16(offNameHash, c.upcase.hash(setUnits(set)))
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

// dropSecondary takes entry k out of a set: those behind it move up, and the
// slot that becomes free is marked so.
func dropSecondary(set []byte, k int) {
	last := int(set[offSecondaryCount])
	gone := set[k*entryLen]
	copy(set[k*entryLen:], set[(k+1)*entryLen:(last+1)*entryLen])
	tail := set[last*entryLen : (last+1)*entryLen]
	clear(tail)
	tail[0] = gone &^ typeInUse
	if tail[0] == typeEnd {
		tail[0] = 1
	}
	set[offSecondaryCount]--
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
	loc := vol.Location{Path: w.path(n.ref.dir)}
	if n.name != "" {
		loc.Path = w.pathIn(n.ref.dir, n.name)
	}
	loc.Range.Off, loc.Range.Len = w.slotOff(n.ref.dir, n.ref.slot), int64(max(1, n.ref.n))*entryLen
	f := c.cat.Found(n.slug, loc)
	f.Detail, f.Offer = n.detail, n.offer
	r.Found(f, c.noteFix(n))
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
		limit := min(maxName, int(need(len(u)))*nameUnits)
		u = ns.Unique(u, limit)
		putUnits(set, u)
		c.rehash(set)
	})
}

// putUnits writes a name into the name entries of a set.
func putUnits(set []byte, u []uint16) {
	streamOf(set)[offNameLength] = byte(len(u))
	for k, left := 2, u; k < 2+int(need(len(u))); k++ {
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
		c.names = map[int32]*nameSet{}
	}
	c.names[dir] = ns
	return ns, nil
}

type nameSet = vol.NameSet

// behindFix mends a directory with entries behind its end mark: they are shown
// by marking the slots of the gap as unused instead of as the end, or cleared.
func (c *checker) behindFix(n *endNote) vol.Fix {
	return func(_ context.Context, rep vol.Repair) error {
		if rep.Name == fixReveal {
			return c.eachSlot(n.dir, n.end, n.slot-n.end, func(_ int, e entry) {
				if e.isEnd() {
					e[0] = typeFile &^ typeInUse
				}
			})
		}
		return c.clearBehind(n)
	}
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
