package fat

// shortName looks at the 8.3 name in slot k.
func (s *dirScan) shortName(k int, e dirEntry) {
	n := e.name()
	if plainShort(n) {
		if isDeviceName(n) {
			s.note("short-device", k, 1, s.name(len(s.live)-1), "")
		}
		return
	}
	worst, at := shortOK, 0
	blank := false
	for i, b := range n {
		if c := classifyShort(b, i); c > worst {
			worst, at = c, i
		}
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

// nameTable finds equal names in a directory in linear time: an open hash of
// the folded names, short and long ones together.
type nameTable struct {
	s     *dirScan
	mask  uint32
	cells []nameCell
	a, b  []uint16
}

type nameCell struct {
	hash uint32
	// entry+1, and whether it is its long name; 0 is an empty cell.
	ref  int32
	long bool
}

func newNameTable(s *dirScan) *nameTable {
	n := uint32(16)
	for int(n) < 4*len(s.live) {
		n *= 2
	}
	return &nameTable{s: s, mask: n - 1, cells: make([]nameCell, n)}
}

// units of the short or long name of entry i.
func (t *nameTable) units(i int32, long bool, dst []uint16) []uint16 {
	l := t.s.live[i]
	if long {
		return t.s.longUnits(int(l.long), int(l.slot), dst)
	}
	return shortUnits(t.s.slot(int(l.slot))[:11], dst)
}

// add enters a name of entry i, and returns the entry that has it already, or
// -1. The long and the short name of one entry may be equal.
func (t *nameTable) add(i int32, long bool) (other int32, otherLong bool) {
	t.a = t.units(i, long, t.a[:0])
	h := hashFolded(t.a)
	for k := h & t.mask; ; k = (k + 1) & t.mask {
		c := &t.cells[k]
		if c.ref == 0 {
			*c = nameCell{hash: h, ref: i + 1, long: long}
			return -1, false
		}
		if c.hash != h || c.ref == i+1 {
			continue
		}
		if t.b = t.units(c.ref-1, c.long, t.b[:0]); equalFold(t.a, t.b) {
			return c.ref - 1, c.long
		}
	}
}

// hashFolded is FNV-1a over the folded units.
func hashFolded(u []uint16) uint32 {
	h := uint32(2166136261)
	for _, c := range u {
		if c-'a' < 26 {
			c -= 'a' - 'A'
		} else if c >= 0x80 {
			c = foldUnit(c)
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h ^ h>>15
}

// checkNames looks for entries that cannot be told apart.
func (s *dirScan) checkNames() {
	if len(s.live) < 2 {
		return
	}
	t := newNameTable(s)
	for i := range s.live {
		s.addNames(t, int32(i))
	}
}

// addNames enters both names of an entry and reports what they collide with.
func (s *dirScan) addNames(t *nameTable, i int32) {
	l := s.live[i]
	other, otherLong := t.add(i, false)
	if other >= 0 {
		slug := "short-twice"
		if otherLong {
			// The other's long name is the one that can be changed.
			s.twice("name-twice", other, i)
		} else {
			s.twice(slug, i, other)
		}
	}
	if l.long == l.slot {
		return
	}
	if other, _ = t.add(i, true); other >= 0 {
		s.twice("name-twice", i, other)
	}
}

// twice reports that entry i has a name that entry other has.
func (s *dirScan) twice(slug string, i, other int32) {
	l := s.live[i]
	s.note(slug, int(l.long), int(l.slot-l.long)+1, s.name(int(i)), "that of slot %d, %s", s.live[other].slot, quote(s.name(int(other))))
}
