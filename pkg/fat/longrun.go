package fat

import (
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// longRun is a long name being gathered: slots from … from+n-1, which stand
// directly before the slot that is looked at.
type longRun struct {
	from, n    int
	next       int    // the number that the next slot must have
	sum        byte   // the checksum that the first slot has
	mixedSums  bool   // not all slots have the same checksum
	broken     string // what is out of sequence, "" for nothing
	withFields int    // slots with a type or a cluster, which are to be 0
	withAttrs  int    // slots with reserved bits in their attributes
	hash       uint32 // of the whole name, set by longName
}

// longSlot takes a slot of a long name. [FAT] "Long Directory Entries": the
// slots stand before their entry, the last part first and marked, numbered
// down to 1, all with the checksum of the short name.
func (s *dirScan) longSlot(k int, l longSlot) {
	r := &s.run
	if r.n > 0 && l.isLast() && (l.chksum() != r.sum || l.ord() != r.next && s.wholeName(k)) {
		// It does not go on with what was gathered: another name begins.
		s.dropRun()
	}
	if r.n == 0 {
		*r = longRun{from: k, next: l.ord(), sum: l.chksum()}
		if !l.isLast() {
			r.broken = "the first slot lacks its mark"
		}
	} else if l.isLast() && r.broken == "" { // the mark alone is wrong
		r.broken = "a second slot is marked as the first"
	}
	if r.broken == "" && (!l.ordOK() || l.ord() != r.next) {
		r.broken = "a slot has the wrong number"
	}
	if l.chksum() != r.sum {
		r.mixedSums = true
	}
	if l.kind() != 0 || l.start() != 0 {
		r.withFields++
	}
	if l[offAttr] != attrLongName {
		r.withAttrs++
	}
	r.n++
	r.next--
}

// wholeName reports whether slot k begins a long name with nothing wrong in its
// sequence.
func (s *dirScan) wholeName(k int) bool {
	first := longSlot(s.slot(k))
	if !first.isLast() || !first.ordOK() || k+first.ord() > s.slots() {
		return false
	}
	for i := 1; i < first.ord(); i++ {
		b := s.slot(k + i)
		l := longSlot(b)
		if dirEntry(b).isFree() || !dirEntry(b).isLong() || l[offLdirOrd] != byte(first.ord()-i) || l.chksum() != first.chksum() {
			return false
		}
	}
	return true
}

// dropRun reports a long name that no entry follows.
func (s *dirScan) dropRun() {
	if s.run.n > 0 {
		s.note("lfn-orphan", s.run.from, s.run.n, "", "%d slots", s.run.n)
	}
	s.run = longRun{}
}

// finishRun holds the gathered long name against the entry in slot k, and
// reports whether it is the name of that entry.
func (s *dirScan) finishRun(k int, e dirEntry) bool {
	r := &s.run
	if r.broken == "" && !r.mixedSums && r.next != 0 {
		r.broken = "the last slots are missing"
	}
	if sum := nameSum(e.name()); r.mixedSums || r.sum != sum {
		s.note("lfn-checksum", r.from, r.n, s.shortOf(e), "%#x, that of the short name is %#x", r.sum, sum)
		return false
	}
	if r.broken != "" {
		n := s.note("lfn-sequence", r.from, r.n, s.shortOf(e), "%s", r.broken)
		n.offer = []string{fixRemove}
		if s.renumberable(r) {
			n.offer = []string{fixRestore, fixRemove}
		}
		return false
	}
	if s.w.quiet {
		return true
	}
	return s.longName(k, e)
}

// shortOf is the short name of e as text, for findings.
func (s *dirScan) shortOf(e dirEntry) string { return s.w.c.cp.decode(e.name(), e[offNTRes]) }

// renumberable reports whether the slots hold a whole name in order, and one
// number is all that is wrong. Where the first slot does not say itself that it
// is that, it must hold the end of the name: else slots before it may be gone.
func (s *dirScan) renumberable(r *longRun) bool {
	if r.n > maxLongSlots {
		return false
	}
	wrong, ended := 0, false
	for i := range r.n {
		l := longSlot(s.slot(r.from + i))
		want := byte(r.n - i)
		if i == 0 {
			want |= ldirLast
		}
		if l[offLdirOrd] != want {
			wrong++
		}
		var u [ldirChars]uint16
		l.units(&u)
		end := slices.IndexFunc(u[:], func(c uint16) bool { return c == 0 || c == 0xFFFF })
		switch {
		case end == 0, end > 0 && i > 0:
			return false
		case end > 0:
			ended = true
		}
	}
	first := longSlot(s.slot(r.from))
	return wrong <= 1 && (ended || first.isLast() && first.ord() == r.n)
}

// longUnits appends the name in slots from … to-1 to dst.
func (s *dirScan) longUnits(from, to int, dst []uint16) []uint16 {
	var u [ldirChars]uint16
	for k := to - 1; k >= from; k-- {
		longSlot(s.slot(k)).units(&u)
		if k == from {
			for i, c := range u {
				if c == 0 {
					return append(dst, u[:i]...)
				}
			}
		}
		dst = append(dst, u[:]...)
	}
	return dst
}

// longName looks at the characters of a long name whose slots are in order.
func (s *dirScan) longName(k int, e dirEntry) bool {
	r := &s.run
	if r.withFields > 0 {
		s.note("lfn-fields", r.from, r.n, s.shortOf(e), "%d of %d slots", r.withFields, r.n)
	}
	if r.withAttrs > 0 {
		s.note("lfn-attr", r.from, r.n, s.shortOf(e), "%d of %d slots", r.withAttrs, r.n)
	}
	var buf [(maxLongSlots + 12) * ldirChars]uint16 // a slot number has 5 bits
	u := s.longUnits(r.from, k, buf[:0])
	if len(u) == 0 || len(u) > maxLongUnits {
		s.note("lfn-too-long", r.from, r.n, s.shortOf(e), "%d units", len(u))
		return false
	}
	if end := len(u) - (r.n-1)*ldirChars; end < ldirChars && !s.padded(r.from, end) {
		s.note("lfn-padding", r.from, 1, decodeUnits(u), "")
	}
	keys, sum, all := s.names.NameKeys, uint64(0), uint16(0)
	for i, c := range u {
		if badLongUnit(c) {
			r.hash = s.names.Hash(u)
			s.note("lfn-illegal", r.from, r.n, decodeUnits(u), "unit %#04x in place %d", c, i+1)
			return true
		}
		all |= c
		if c-'a' < 26 {
			c -= 'a' - 'A'
		}
		sum += keys.Unit(i, c)
	}
	if r.hash = keys.Sum(sum); all >= 0x80 {
		r.hash = s.names.Hash(u)
		if i := vol.LoneSurrogate(u); i >= 0 {
			s.note("lfn-surrogate", r.from, r.n, decodeUnits(u), "unit %#04x in place %d", u[i], i+1)
		}
	}
	if c := u[len(u)-1]; c == '.' || c == ' ' {
		s.note("lfn-trailing", r.from, r.n, decodeUnits(u), "")
	}
	return true
}

// padded reports whether all units of slot k behind the terminator, which is
// unit end, are FFFF.
func (s *dirScan) padded(k, end int) bool {
	var u [ldirChars]uint16
	longSlot(s.slot(k)).units(&u)
	for _, c := range u[end+1:] {
		if c != 0xFFFF {
			return false
		}
	}
	return true
}
