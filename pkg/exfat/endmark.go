package exfat

import (
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// findEnd looks for the end mark in what was read, from at on. Where that may be
// the type of an entry that was hit, and the rest of its set is still to be read,
// it returns the place to go on from.
func (s *dirScan) findEnd(at int, more bool) (int, error) {
	s.end = s.slots()
	for ; at < len(s.buf); at += entryLen {
		if s.buf[at] != typeEnd {
			continue
		}
		k := int32(at / entryLen)
		from := s.primaryOf(k)
		n := 1 + int32(s.slot(from)[offSecondaryCount])
		if n > minFileSets && from+n > s.slots() && more {
			return at, nil
		}
		damaged, err := s.inDamagedSet(from, n, k)
		if err != nil {
			return at, err
		}
		if damaged {
			at = int(from+n-1) * entryLen
		} else if !s.beforeTables(k) {
			s.end, s.ended = k, true
			return at, nil
		}
	}
	return at, nil
}

// primaryOf is the slot of the File entry whose set slot k would belong to: k,
// where those before it belong to another.
func (s *dirScan) primaryOf(k int32) int32 {
	j := k
	for j > 0 && k-j < maxSecondary && (j == k || s.slot(j).isSecondary()) {
		j--
	}
	if e := s.slot(j); e.kind() != typeFile || j+int32(e[offSecondaryCount]) < k {
		return k
	}
	return j
}

// inDamagedSet reports whether the end mark in slot k is what became of the type of an
// entry of a set of n slots. [exFAT] §6.3.3: the types are part of what the
// checksum of a set is made of. So if that is right with those that a set has in
// its places, and the hash of the name, the mark is none. What leads to clusters
// that are free is the rest of a file that was deleted.
func (s *dirScan) inDamagedSet(from, n, k int32) (bool, error) {
	if n <= minFileSets || from+n > s.slots() || !s.retypes(from) {
		return false, nil
	}
	for i := from + 1; i < from+n; i++ {
		if i != k && !s.slot(i).isSecondary() {
			return false, nil
		}
	}
	st := s.slot(from + 1)
	switch {
	case st.length() == 0:
		return st.first() == 0, nil
	case !s.w.c.g.Valid(st.first()):
		return false, nil
	case s.w.c.bits == nil:
		return true, nil // the root, when tables are looked for
	}
	return s.w.c.bits.peek(st.first())
}

// beforeTables reports whether the end mark in slot k of the root stands before
// an entry of a table of the volume, with none of its kind before the mark. Both
// must be in the root, [exFAT] §7.1 and §7.2, so that it does not end there.
func (s *dirScan) beforeTables(k int32) bool {
	if !s.isRoot() {
		return false
	}
	seen := map[byte]bool{}
	for i := int32(0); i < s.slots(); i++ {
		e := s.slot(i)
		if i < k {
			seen[e.kind()] = true
		} else if s.isTable(e) && !seen[e.kind()] {
			return true
		}
	}
	return false
}

// isTable reports whether e can be the entry of the bitmap or of the up-case
// table of the volume: [exFAT] §7.1.4, §7.2.
func (s *dirScan) isTable(e entry) bool {
	if !s.w.c.g.Valid(e.first()) {
		return false
	}
	switch e.kind() {
	case typeBitmap:
		return e.length() == uint64(s.w.c.g.BitmapBytes())
	case typeUpcase:
		return e.length() > 0 && e.length()%2 == 0 && e.length() <= 2*upcaseUnits
	}
	return false
}

// hidesSets reports whether there is a whole entry set behind the end mark.
func (s *dirScan) hidesSets() (found bool, err error) {
	h := &hiddenSets{fn: func(int32, []byte) error {
		found = true
		return nil
	}}
	err = s.eachBehind(h.slot)
	return found, err
}

// rootMarks reports the marks in the root that stand before the tables. One in
// what was the volume label becomes that again, as far as can be told without a
// checksum; others become unused entries.
func (c *checker) rootMarks(r *vol.Report, root *dirScan) {
	for k := int32(0); k < root.end; k++ {
		e := root.slot(k)
		if root.retypes(k) {
			k += int32(e[offSecondaryCount])
			continue
		}
		if !e.isEnd() {
			continue
		}
		label := c.sup.labels == 0 && e.likeLabel()
		if label {
			c.sup.labels++
		}
		r.Found(c.cat.Found("after-end", c.slotLoc(k), vol.Offer(fixReveal), vol.Detail("tables of the volume follow the mark in slot %d", k)), vol.Always(func() error {
			return c.eachSlot(0, k, 1, func(_ int, e entry) {
				if e.retire(); label {
					e[0] = typeLabel
				}
			})
		}))
	}
}

// likeLabel reports whether all but the type of e is as in a volume label:
// [exFAT] §7.3, up to 11 characters of those that names may have, and zeros.
func (e entry) likeLabel() bool {
	n := int(e[offLabelCount])
	if n == 0 || n > labelUnits || !dev.AllZero(e[offLabel+2*n:]) {
		return false
	}
	return !slices.ContainsFunc(e.labelUnits(), badUnit)
}

// findRetypedLabel looks for a volume label of which the type was hit: a critical entry of
// a type that is not known, which this revision has not, [exFAT] §8.2, and all
// else is as in a label.
func (c *checker) findRetypedLabel(r *vol.Report, root *dirScan) {
	for k := int32(0); k < root.end && c.sup.labels == 0; k++ {
		e := root.slot(k)
		switch {
		case root.retypes(k):
			k += int32(e[offSecondaryCount])
			continue
		case !e.inUse() || e.isSecondary() || e.isBenign() || isKnown(e.kind()) || !e.likeLabel():
			continue
		}
		c.sup.labels, c.sup.labelSlot, c.sup.label = 1, k, decodeUnits(e.labelUnits())
		r.Found(c.cat.Found("entry-type", c.slotLoc(k), vol.Detail("%#02x; all else is as in a volume label", e.kind())), vol.Always(func() error {
			return c.eachSlot(0, k, 1, func(_ int, e entry) { e[0] = typeLabel })
		}))
	}
}

// isKnown reports whether a type is one of those of critical primary entries,
// [exFAT] §7.
func isKnown(kind byte) bool {
	switch kind {
	case typeBitmap, typeUpcase, typeLabel, typeFile:
		return true
	}
	return false
}

// labelUnits is what a volume label says, of which the length can be.
func (e entry) labelUnits() []uint16 {
	u := make([]uint16, e[offLabelCount])
	for i := range u {
		u[i] = e.u16(offLabel + 2*i)
	}
	return u
}
