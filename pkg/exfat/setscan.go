package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// shape is what the entries behind a File entry turn out to be.
type shape struct {
	follow  int32 // secondaries that follow, whatever the count says
	names   int32 // name entries directly behind the stream
	length  int   // units of the name
	retyped bool  // some of them have another type
	hash    uint16
	hashOK  bool
}

// fileSet looks at the set of the File entry in slot k and returns how many
// slots it takes. What a wrong count, length, type or checksum hides is found
// by the name and its hash: a set is only given up where there is no stream or
// no name.
func (s *dirScan) fileSet(k int32) int32 {
	e := s.slot(k)
	sh, ok := s.shapeOf(k)
	if !ok {
		s.odd++
		n := 1 + min(sh.follow, max(1, int32(e[offSecondaryCount])))
		s.note("set-broken", k, n, "", "%d secondary entries, %d follow", e[offSecondaryCount], sh.follow)
		return n
	}
	count := s.countOf(k, sh)
	ref := setRef{s.dir, k, 1 + count}
	i := len(s.sets)
	s.sets, s.lens = append(s.sets, ref), append(s.lens, uint8(sh.length))
	st := s.slot(k + 1)
	if !s.w.quiet {
		s.judgeSet(i, sh, count)
	}
	s.addStreams(i, e, st, count)
	return ref.n
}

// shapeOf finds out what belongs to the set; ok is false where it has no
// stream or no name.
func (s *dirScan) shapeOf(k int32) (sh shape, ok bool) {
	sh.follow = s.secondaries(k, maxSecondary)
	if sh.follow < minFileSets || s.slot(k+1).kind() != typeStream {
		return sh, false
	}
	st := s.slot(k + 1)
	for sh.names < sh.follow-1 && s.slot(k+2+sh.names).kind() == typeName {
		sh.names++
	}
	sh.hash = st.u16(offNameHash)
	declared := int(st[offNameLength])
	if n := need(declared); declared > 0 && n <= sh.names && s.hashes(k, declared, sh.hash) {
		sh.length, sh.hashOK = declared, true
		return sh, true
	}
	// A name entry whose type was hit: the hash fits with it, not without.
	if n := need(declared); declared > 0 && n > sh.names && n < sh.follow && s.hashes(k, declared, sh.hash) {
		sh.length, sh.hashOK, sh.retyped, sh.names = declared, true, true, n
		return sh, true
	}
	if sh.names == 0 {
		return sh, false
	}
	sh.names = min(sh.names, maxNameSets)
	if n := s.terminated(k, sh.names); n > 0 && s.hashes(k, n, sh.hash) {
		sh.length, sh.hashOK = n, true
		return sh, true
	}
	sh.length = declared
	if declared == 0 || need(declared) > sh.names {
		if sh.length = s.terminated(k, sh.names); sh.length == 0 {
			return sh, false
		}
	}
	return sh, true
}

// need is how many name entries a name of n units takes.
func need(n int) int32 { return int32((n + nameUnits - 1) / nameUnits) }

// hashes reports whether the first n units have this hash.
func (s *dirScan) hashes(k int32, n int, hash uint16) bool {
	var buf [maxName + nameUnits]uint16
	u := s.units(k, n, buf[:0])
	return s.w.c.upcase.hash(u) == hash
}

// terminated is how long the name in n entries is if it ends at the first 0.
func (s *dirScan) terminated(k, n int32) int {
	var buf [maxNameSets * nameUnits]uint16
	u := s.units(k, int(n)*nameUnits, buf[:0])
	for i, c := range u {
		if c == 0 {
			return min(i, maxName)
		}
	}
	return min(len(u), maxName)
}

// countOf is how many secondaries belong to the set: as many as the entry
// says, if its name is among them and they are there, else the stream, the
// names, and what follows of benign ones.
func (s *dirScan) countOf(k int32, sh shape) int32 {
	base := 1 + need(sh.length)
	if got := int32(s.slot(k)[offSecondaryCount]); got >= base && got <= sh.follow {
		return got
	}
	n := base
	for n < sh.follow && s.slot(k+1+n).isBenign() {
		n++
	}
	return n
}

// judgeSet reports what is wrong with set i.
func (s *dirScan) judgeSet(i int, sh shape, count int32) {
	ref := s.sets[i]
	e, st := s.slot(ref.slot), s.slot(ref.slot+1)
	name := func() string { return s.nameOf(i) }
	note := func(slug string, value uint64, format string, args ...any) *setNote {
		n := s.note(slug, ref.slot, ref.n, name(), format, args...)
		n.value = value
		return n
	}
	if got := int32(e[offSecondaryCount]); got != count {
		note("set-count", uint64(count), "%d, should be %d", got, count)
	}
	if sh.retyped {
		note("name-entry", uint64(sh.names), "")
	}
	if int(st[offNameLength]) != sh.length {
		note("name-length", uint64(sh.length), "%d, should be %d", st[offNameLength], sh.length)
	}
	if !sh.hashOK {
		note("name-hash", 0, "%#04x", sh.hash)
	}
	if got, want := e.u16(offSetChecksum), setChecksum(s.buf[int(ref.slot)*entryLen:int(ref.slot+ref.n)*entryLen]); got != want {
		note("set-checksum", 0, "%#04x, should be %#04x", got, want)
	}
	s.judgeName(i, note)
	s.judgeStream(e, st, note)
	s.judgeRest(ref, sh, note)
	if why := badTimes(e); why != "" {
		note("time-invalid", 0, "%s", why)
	}
}

// judgeName looks at the characters of a name, [exFAT] §7.7.3.
func (s *dirScan) judgeName(i int, note func(string, uint64, string, ...any) *setNote) {
	var buf [maxName + nameUnits]uint16
	n := int(s.lens[i])
	u := s.units(s.sets[i].slot, n, buf[:0])
	if n <= 2 && u[0] == '.' && u[n-1] == '.' {
		note("name-illegal", 0, "%q is no name", decodeUnits(u))
		return
	}
	for k, c := range u {
		if badUnit(c) {
			note("name-illegal", 0, "unit %#04x in place %d", c, k+1)
			return
		}
	}
	if k := vol.LoneSurrogate(u); k >= 0 {
		note("name-surrogate", 0, "unit %#04x in place %d", u[k], k+1)
	}
	if c := u[n-1]; c == '.' || c == ' ' {
		note("name-trailing", 0, "")
	}
	last := s.slot(s.sets[i].slot + 1 + need(n))
	for k := (n-1)%nameUnits + 1; k < nameUnits; k++ {
		if last.u16(offName+2*k) != 0 {
			note("name-tail", 0, "")
			return
		}
	}
}

// judgeStream looks at lengths and flags, [exFAT] §7.6.
func (s *dirScan) judgeStream(e, st entry, note func(string, uint64, string, ...any) *setNote) {
	length, valid := st.length(), st.valid()
	switch {
	case e.isDirectory() && valid != length:
		note("directory-valid", length, "%d, the length is %d", valid, length)
	case valid > length:
		note("valid-length", length, "%d, the length is %d", valid, length)
	}
	if e.isDirectory() && length%uint64(s.w.c.g.ClusterSize) != 0 {
		note("directory-length", 0, "%d bytes", length)
	}
	if e.isDirectory() && length == 0 {
		note("directory-empty", 0, "")
	}
	if length == 0 && st.noFatChain() {
		note("empty-no-fat-chain", 0, "")
	}
	if !st.allocPossible() && (length != 0 || st.first() != 0) {
		note("alloc-possible", 0, "")
	}
	if st[offSecFlags]&secReserved != 0 || e.attributes()&(attrReserved1|attrReserved2) != 0 {
		note("reserved-bits", 0, "")
	}
}

// judgeRest looks at the secondaries behind the names.
func (s *dirScan) judgeRest(ref setRef, sh shape, note func(string, uint64, string, ...any) *setNote) {
	for k := ref.slot + 2; k < ref.slot+2+need(sh.length); k++ {
		if s.slot(k)[offSecFlags] != 0 && !sh.retyped {
			note("name-flags", 0, "")
			break
		}
	}
	for k := ref.slot + 2 + need(sh.length); k < ref.slot+ref.n; k++ {
		x := s.slot(k)
		switch {
		case x.kind() == typeVendor || x.kind() == typeVendAll:
			if allZero(x[offName : offName+16]) {
				note("vendor-guid", 0, "")
			}
		case !x.isBenign():
			n := note("unknown-critical", uint64(k-ref.slot), "secondary of type %#02x", x.kind())
			n.offer = []string{fixRemove}
		}
	}
}

// addStreams adds what the set says of clusters.
func (s *dirScan) addStreams(i int, e, st entry, count int32) {
	ref := s.sets[i]
	x := stream{ref: ref, at: ref.slot + 1, name: s.nameIfNeeded(i, e, st), isDir: e.isDirectory(), start: st.first(), length: st.length(), noFat: st.noFatChain()}
	x.need, _ = s.w.c.g.ClustersFor(x.length)
	if !x.isDir {
		s.files++
	}
	s.streams = append(s.streams, x)
	for k := ref.slot + 2; k <= ref.slot+count; k++ {
		v := s.slot(k)
		if v.kind() == typeVendAll && v.allocPossible() {
			y := stream{ref: ref, at: k, name: x.name, vendor: true, start: v.first(), length: v.length(), noFat: v.noFatChain()}
			y.need, _ = s.w.c.g.ClustersFor(y.length)
			s.streams = append(s.streams, y)
		}
	}
}

// nameIfNeeded is the name of a directory; those of files are made when there
// is something to say of them.
func (s *dirScan) nameIfNeeded(i int, e, _ entry) string {
	if e.isDirectory() {
		return s.nameOf(i)
	}
	return ""
}
