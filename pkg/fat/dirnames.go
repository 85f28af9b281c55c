package fat

import "github.com/fatkit/fatkit/pkg/vol"

// shortName looks at the 8.3 name in slot k; plain is what plainShort says of it.
func (s *dirScan) shortName(k int, e dirEntry, plain bool) {
	n := e.name()
	if plain {
		if isDeviceName(n) {
			s.note("short-device", k, 1, s.name(len(s.live)-1), "")
		}
		return
	}
	worst, at := shortOK, 0
	blank := false
	for i, b := range s.w.c.cp.lone(n) {
		if c := classifyShort(b, i); c > worst {
			worst, at = c, i
		}
	}
	for i, b := range n {
		if b == ' ' && i < 8 && trimSpaces(n[:8]) > i || b == ' ' && i >= 8 && trimSpaces(n[8:11])+8 > i {
			blank = true
		}
	}
	last := len(s.live) - 1 // its name is only made when it is needed
	switch worst {
	case shortIllegal, shortLeading:
		s.note("short-illegal", k, 1, s.name(last), "byte %#02x in place %d", n[at], at+1)
	case shortLower:
		s.note("short-lowercase", k, 1, s.name(last), "%s", quote(string(n)))
	case shortLongOnly:
		s.note("short-longchars", k, 1, s.name(last), "%q in place %d", n[at], at+1)
	}
	if blank && worst != shortLeading {
		s.note("short-blank", k, 1, s.name(last), "%s", quote(string(n)))
	}
	if isDeviceName(n) {
		s.note("short-device", k, 1, s.name(last), "")
	}
}

// plainShort reports whether all of n is letters, digits and _ ~ -, with blanks
// only at the end of each part: nothing to be said about, and nearly all names.
func plainShort(n []byte) bool {
	pad := false
	for i, b := range n[:11] {
		if i == 8 {
			pad = false
		}
		switch {
		case b == ' ' && i > 0:
			pad = true
		case pad || b-'A' > 25 && b-'0' > 9 && b != '_' && b != '~' && b != '-':
			return false
		}
	}
	return true
}

// nameID names the short or long name of an entry for a vol.NameTable.
func nameID(i int32, long bool) int32 {
	id := 2 * i
	if long {
		id++
	}
	return id
}

// newNameTable is a table for all names of a directory, short and long ones
// together. The long and the short name of one entry may be equal.
func (s *dirScan) newNameTable() *vol.NameTable {
	return vol.NewNameTable(vol.NewNameKeys(foldUnit), func(id int32, dst []uint16) []uint16 {
		l := s.live[id/2]
		if id%2 == 1 {
			return s.longUnits(int(l.long), int(l.slot), dst)
		}
		return s.w.c.cp.units(s.slot(int(l.slot))[:11], dst)
	}, func(a, b int32) bool { return a/2 == b/2 })
}

// checkNames looks for entries that cannot be told apart.
func (s *dirScan) checkNames() {
	if len(s.live) < 2 {
		return
	}
	s.names.Reset(2 * len(s.live))
	for i := range s.live {
		s.addNames(s.names, int32(i))
	}
}

// hashShort is the hash of the 8.3 name n; plain is what plainShort says of it.
func (s *dirScan) hashShort(n []byte, plain bool) uint32 {
	if !plain {
		var buf [12]uint16
		return s.names.Hash(s.w.c.cp.units(n, buf[:0]))
	}
	keys, sum, at := s.names.NameKeys, uint64(0), 0
	for i, b := range n[:11] {
		if b == ' ' {
			continue
		}
		if i == 8 {
			sum += keys.Unit(at, '.')
			at++
		}
		sum += keys.Unit(at, uint16(b)) // nothing in it has to be folded
		at++
	}
	return keys.Sum(sum)
}

// addNames enters both names of an entry and reports what they collide with.
func (s *dirScan) addNames(t *vol.NameTable, i int32) {
	l := s.live[i]
	other := t.AddHash(nameID(i, false), l.hash)
	switch {
	case other < 0:
	case other%2 == 1: // the other's long name is the one that can be changed
		s.twice("name-twice", other/2, i)
	default:
		s.twice("short-twice", i, other/2)
	}
	if l.long == l.slot {
		return
	}
	if other = t.AddHash(nameID(i, true), l.longHash); other >= 0 {
		s.twice("name-twice", i, other/2)
	}
}

// twice reports that entry i has a name that entry other has.
func (s *dirScan) twice(slug string, i, other int32) {
	l := s.live[i]
	s.note(slug, int(l.long), int(l.slot-l.long)+1, s.name(int(i)), "that of slot %d, %s", s.live[other].slot, quote(s.name(int(other))))
}
