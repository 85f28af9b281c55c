package fat

// A directory of which most slots cannot be entries, and that has no dot entries, may
// be one all the same, of which a part was overwritten.

// holdsEntry reports whether a slot of the directory, before its end mark or behind
// it, holds what nothing but a directory does: what is in it must not go then. It looks
// at bytes alone, as scans run side by side.
func (s *dirScan) holdsEntry() bool {
	for k := range s.slots() {
		if s.certain(dirEntry(s.slot(k))) || s.sealedName(k) {
			return true
		}
	}
	return false
}

// certain reports whether every field of e is as [FAT] "Directory Structure" wants
// it: name, attributes, times, size and cluster. Text has no such times, and noise no
// such names.
func (s *dirScan) certain(e dirEntry) bool {
	g := s.w.c.g
	const other = attrVolume | attrReserved
	if e.isEnd() || e.isFree() || e.attr()&other != 0 || !plainShort(e.name()) || e[offNTRes]&^(lcaseBase|lcaseExtension) != 0 {
		return false
	}
	if e.u16(offWrtDate) == 0 || badTime(e) != "" || e.isDir() && e.size() != 0 {
		return false
	}
	st, n := e.start(g.Type), g.clustersFor(e.size())
	if st == 0 {
		return !e.isDir() && n == 0
	}
	return g.Valid(st) && n <= g.Clusters && (e.isDir() || n > 0) && (g.Type == FAT32 || e.u16(offClusHi) == 0)
}

// sealedName reports whether a long name begins in slot k that nothing is wrong with:
// its slots are in order, and its checksum is that of the entry behind them, [FAT]
// "Long Directory Entries".
func (s *dirScan) sealedName(k int) bool {
	l := longSlot(s.slot(k))
	if dirEntry(l).isFree() || !dirEntry(l).isLong() || !s.wholeName(k) {
		return false
	}
	at := k + l.ord()
	if at >= s.slots() {
		return false
	}
	e := dirEntry(s.slot(at))
	st := e.start(s.w.c.g.Type)
	return !e.isEnd() && !e.isFree() && e.attr()&(attrVolume|attrReserved) == 0 &&
		nameSum(e.name()) == l.chksum() && (st == 0 || s.w.c.g.Valid(st))
}

// hopeless reports whether nothing can be made of an entry: of its name, attributes,
// times and cluster two or more are such as [FAT] has for none. One alone may be what
// was hit.
func hopeless(g *Geometry, cp codepage, e dirEntry) bool {
	if e.isEnd() || e.isFree() || e.isLong() {
		return false
	}
	st := e.start(g.Type)
	wrong := 0
	for _, is := range []bool{
		badName(cp, e.name()),
		e.attr()&(attrVolume|attrReserved) != 0,
		badTime(e) != "",
		st != 0 && !g.Valid(st),
	} {
		if is {
			wrong++
		}
	}
	return wrong > 1
}

// badName reports whether a short name holds what none may, or lower case.
func badName(cp codepage, n []byte) bool {
	for i, b := range cp.lone(n) {
		switch classifyShort(b, i) {
		case shortIllegal, shortLeading, shortLower:
			return true
		}
	}
	return false
}

// sift scans the directory again, up to its end mark in slot end, without what cannot
// be an entry: no cluster that it would lead to is claimed.
func (s *dirScan) sift(end int) {
	s.live, s.notes, s.labels, s.layout = s.live[:0], s.notes[:0], s.labels[:0], s.layout[:0]
	s.run, s.odd, s.remains, s.sifting = longRun{}, 0, 0, true
	s.each()
	if s.sifted > 0 {
		n := s.note("directory-garbage", 0, end, "", "%d slots cannot be entries, %d can", s.sifted, len(s.live))
		n.offer = []string{fixRemove, fixKeep}
	}
}
