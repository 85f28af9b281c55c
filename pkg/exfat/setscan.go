package exfat

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// shape is what the entries behind a File entry turn out to be.
type shape struct {
	follow int32 // secondaries that follow, whatever the count says
	names  int32 // name entries directly behind the stream
	length int   // units of the name
	hash   uint16
	hashOK bool
	sealed bool // the checksum fits
}

// fileSet looks at the set of the File entry in slot k and returns how many
// slots it takes. What a wrong count, length, type or checksum hides is found
// by the checksum, and by the name and its hash: a set is only given up where
// there is no stream or no name.
func (s *dirScan) fileSet(k int32) int32 {
	if s.were == "" {
		if n := s.plainSet(k); n > 0 {
			return n
		}
	}
	sh, ok := s.shapeOf(k)
	if !sh.hashOK && s.retype(k) {
		sh, ok = s.shapeOf(k)
	}
	e := s.slot(k)
	were := s.were
	s.were = ""
	if !ok {
		s.odd++
		n := 1 + min(sh.follow, max(1, int32(e[offSecondaryCount])))
		s.note("set-broken", k, n, "", "%d secondary entries, %d follow", e[offSecondaryCount], sh.follow)
		return n
	}
	said := e[offSecondaryCount]
	count := s.countOf(k, &sh)
	e[offSecondaryCount] = byte(count) // in memory
	ref := setRef{s.dir, k, 1 + count}
	i := len(s.sets)
	s.addSet(ref, sh.length, s.foldOf(k, sh.length))
	if !s.w.quiet {
		if were != "" {
			s.note("entry-type", k, ref.n, s.nameOf(i), "%s", were).value = uint64(nameEntries(sh.length))
		}
		s.judgeSet(i, sh, int32(said))
	}
	if sh.sealed {
		s.sealed++
	}
	s.addStreams(i, sh.sealed)
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
	if n := nameEntries(declared); declared > 0 && n < sh.follow && s.hashes(k, declared, sh.hash) {
		if n > sh.names {
			// The type of a name entry was hit: with it the hash fits.
			s.putTypes(k, n)
			sh.names = n
		}
		sh.length, sh.hashOK = declared, true
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
	if declared == 0 || nameEntries(declared) > sh.names {
		if sh.length = s.terminated(k, sh.names); sh.length == 0 {
			return sh, false
		}
	}
	return sh, true
}

// retypes reports whether slot k is the start of a set of which only the types
// of some entries were hit: with those that a set has in its places, the
// checksum is right, and the hash of the name.
func (s *dirScan) retypes(k int32) bool {
	e := s.slot(k)
	count := int32(e[offSecondaryCount])
	if count < minFileSets || k+count >= s.end || e.kind() != typeFile && s.slot(k+1).kind() != typeStream {
		return false
	}
	st := s.slot(k + 1)
	n := int(st[offNameLength])
	if n == 0 || nameEntries(n) >= count {
		return false
	}
	set := bytes.Clone(s.buf[int(k)*entryLen : int(k+count+1)*entryLen])
	putTypes(set, nameEntries(n))
	return entrySet(set).sealed() && s.hashes(k, n, st.u16(offNameHash))
}

// retype gives such a set its types, in memory.
func (s *dirScan) retype(k int32) bool {
	if !s.retypes(k) {
		return false
	}
	s.putTypes(k, nameEntries(int(s.slot(k + 1)[offNameLength])))
	return true
}

// putTypes gives the set in slot k, with n name entries, the types of one, in
// memory.
func (s *dirScan) putTypes(k, n int32) {
	set := s.buf[int(k)*entryLen : int(k+2+n)*entryLen]
	s.were = "types"
	for at := 0; at < len(set); at += entryLen {
		s.were += textf(" %02X", set[at])
	}
	putTypes(set, n)
}

// putTypes gives the first entries of a set their types.
func putTypes(set []byte, names int32) {
	set[0], set[entryLen] = typeFile, typeStream
	for k := int32(0); k < names; k++ {
		set[(2+k)*entryLen] = typeName
	}
}

// nameEntries is how many name entries a name of n units takes, [exFAT] §7.7.
func nameEntries(n int) int32 { return int32((n + nameUnits - 1) / nameUnits) }

// hashes reports whether the first n units have this hash.
func (s *dirScan) hashes(k int32, n int, hash uint16) bool {
	var buf [maxName + nameUnits]uint16
	u := s.units(k, n, buf[:0])
	return s.w.c.upcase.hash(u) == hash
}

// foldOf is the hash of the first n units that checkNames goes by.
func (s *dirScan) foldOf(k int32, n int) uint32 {
	var buf [maxName + nameUnits]uint16
	f := s.w.c.fold
	for _, u := range s.units(k, n, buf[:0]) {
		f = f.add(s.w.c.upcase.fold(u))
	}
	return f.stirred()
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

// countOf is how many secondaries belong to the set, and settles whether its
// checksum fits: as many as the entry says, if its name is among them and they
// are there; else as many as make the checksum right; else the stream, the
// names, and what follows of benign ones.
func (s *dirScan) countOf(k int32, sh *shape) int32 {
	base := 1 + nameEntries(sh.length)
	e := s.slot(k)
	got := int32(e[offSecondaryCount])
	fits := got >= base && got <= sh.follow
	if fits && s.sealedWith(k, got) {
		sh.sealed = true
		return got
	}
	for n := base; n <= sh.follow; n++ {
		if n != got && s.sealedWith(k, n) {
			sh.sealed = true
			return n
		}
	}
	if fits {
		return got
	}
	n := base
	for n < sh.follow && s.slot(k+1+n).isBenign() {
		n++
	}
	return n
}

// sealedWith reports whether the checksum of the set in slot k is right if it
// has n secondaries.
func (s *dirScan) sealedWith(k, n int32) bool {
	set := s.buf[int(k)*entryLen : int(k+n+1)*entryLen]
	was := set[offSecondaryCount]
	set[offSecondaryCount] = byte(n)
	ok := entrySet(set).sealed()
	set[offSecondaryCount] = was
	return ok
}

// judgeSet reports what is wrong with set i, which says that it has so many
// secondaries.
func (s *dirScan) judgeSet(i int, sh shape, said int32) {
	ref := s.sets[i]
	e, st := s.slot(ref.slot), s.slot(ref.slot+1)
	name := func() string { return s.nameOf(i) }
	note := func(slug string, value uint64, format string, args ...any) *setNote {
		n := s.note(slug, ref.slot, ref.n, name(), format, args...)
		n.value = value
		return n
	}
	if count := ref.n - 1; said != count {
		note("set-count", uint64(count), "%d, should be %d", said, count)
	}
	if int(st[offNameLength]) != sh.length {
		note("name-length", uint64(sh.length), "%d, should be %d", st[offNameLength], sh.length)
	}
	if !sh.hashOK {
		note("name-hash", 0, "%#04x", sh.hash)
	}
	if !sh.sealed {
		note("set-checksum", 0, "%#04x, should be %#04x", e.u16(offSetChecksum), setChecksum(s.setAt(ref)))
	}
	s.judgeName(i, note)
	s.judgeStream(ref, sh.sealed, note)
	s.judgeRest(ref, sh, note)
	if why := badTimes(e); why != "" {
		note("time-invalid", 0, "%s", why)
	}
}

func (s *dirScan) setAt(ref setRef) entrySet {
	return entrySet(s.buf[int(ref.slot)*entryLen : int(ref.slot+ref.n)*entryLen])
}

// sealedIf reports whether the checksum of a set is right after a change.
func (s *dirScan) sealedIf(ref setRef, change func(set entrySet)) bool {
	set := entrySet(bytes.Clone(s.setAt(ref)))
	change(set)
	return set.sealed()
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
	// §7.7.3: unused characters should be 0000h. Where they are not, fsck.exfat
	// takes the length of the name for wrong.
	last := s.slot(s.sets[i].slot + 1 + nameEntries(n))
	for k := (n-1)%nameUnits + 1; k < nameUnits; k++ {
		if last.u16(offName+2*k) != 0 {
			note("name-tail", 0, "")
			return
		}
	}
}

// judgeStream looks at lengths and flags, [exFAT] §7.6.
func (s *dirScan) judgeStream(ref setRef, sealed bool, note func(string, uint64, string, ...any) *setNote) {
	e, st := s.slot(ref.slot), s.slot(ref.slot+1)
	length, valid := st.length(), st.valid()
	lengthSeals := !sealed && valid != length && s.sealedIf(ref, func(set entrySet) { set.stream().put64(offValidLength, length) })
	switch {
	case e.isDirectory() && valid != length:
		note("directory-valid", length, "%d, the length is %d", valid, length)
	case valid > length || lengthSeals:
		note("valid-length", length, "%d, the length is %d", valid, length)
	}
	if e.isDirectory() && length > maxDirBytes {
		note("directory-too-long", 0, "%d bytes", length)
	}
	if e.isDirectory() && length <= maxDirBytes && length%uint64(s.w.c.g.ClusterSize) != 0 {
		note("directory-length", 0, "%d bytes", length)
	}
	if e.isDirectory() && length == 0 {
		note("directory-empty", 0, "")
	}
	if length == 0 && st.noFatChain() {
		note("empty-no-fat-chain", 0, "")
	}
	if !st.allocPossible() {
		note("alloc-possible", 0, "")
	}
	if st[offSecFlags]&secReserved != 0 || e.attributes()&(attrReserved1|attrReserved2) != 0 {
		note("reserved-bits", 0, "")
	}
}

// judgeRest looks at the secondaries behind the names.
func (s *dirScan) judgeRest(ref setRef, sh shape, note func(string, uint64, string, ...any) *setNote) {
	for k := ref.slot + 2; k < ref.slot+2+nameEntries(sh.length); k++ {
		if s.slot(k)[offSecFlags] != 0 {
			note("name-flags", 0, "")
			break
		}
	}
	unknown, kind, owns := 0, byte(0), false
	for k := ref.slot + 2 + nameEntries(sh.length); k < ref.slot+ref.n; k++ {
		x := s.slot(k)
		switch {
		case x.kind() == typeVendor || x.kind() == typeVendAll:
			if dev.AllZero(x[offName : offName+16]) {
				note("vendor-guid", 0, "")
			}
		case !x.isBenign():
			unknown, kind = unknown+1, x.kind()
			y := s.stream(ref, k, x[offSecFlags])
			owns = owns || x.mayOwn() && s.leads(&y)
		}
	}
	if unknown > 0 {
		note("unknown-critical", uint64(unknown), "%d secondaries of the set, the last of type %#02x", unknown, kind).owns = owns
	}
}

// addStreams adds what set i says of clusters.
func (s *dirScan) addStreams(i int, sealed bool) {
	ref := s.sets[i]
	e, st := s.slot(ref.slot), s.slot(ref.slot+1)
	x := s.stream(ref, ref.slot+1, st[offSecFlags])
	x.isDir, x.valid, x.sealed = e.isDirectory(), st.valid(), sealed
	if x.isDir {
		x.name = s.nameOf(i) // those of files are made when there is something to say of them
	} else {
		s.files++
	}
	if !sealed {
		x.variants = s.variantsBySum(&x)
	}
	at := s.addStream(x)
	for k := ref.slot + 2; k < ref.slot+ref.n; k++ {
		v := s.slot(k)
		if !v.mayOwn() {
			continue
		}
		y := s.stream(ref, k, v[offSecFlags])
		y.kind, y.name, y.sealed = ofOther, x.name, sealed
		if v.kind() == typeVendAll {
			y.kind = ofVendor
		}
		if !sealed && y.noFat {
			s.streams[at].others = append(s.streams[at].others, space.Extent{Start: y.start, Len: y.need})
		}
		s.addStream(y)
	}
}

// mayOwn reports whether a secondary behind the names may have an allocation,
// [exFAT] §6.4: vendor extensions have none, §7.8, and names and streams do not
// stand there.
func (e entry) mayOwn() bool {
	switch e.kind() {
	case typeVendor, typeName, typeStream:
		return false
	}
	return e.allocPossible()
}

// addStream adds a stream that is not that of a plain set, and returns its
// place.
func (s *dirScan) addStream(x stream) int {
	s.streams = append(s.streams, x)
	at := len(s.streams) - 1
	s.plain = append(s.plain, plainClaim{slot: int32(at)})
	return at
}

// stream is the allocation in slot k, whose flags are as those of a secondary.
func (s *dirScan) stream(ref setRef, k int32, flags byte) stream {
	e := s.slot(k)
	x := stream{ref: ref, at: k, start: e.first(), length: e.length(), noFat: flags&secNoFatChain != 0}
	x.need, _ = s.w.c.g.ClustersFor(x.length)
	return x
}

// addUnknown adds what a primary entry of a kind that is not known, and the
// secondaries of its set, say of clusters, [exFAT] §6.3: nobody else may have
// them. It reports whether there may be any.
func (s *dirScan) addUnknown(k, n int32) (owns bool) {
	add := func(at int32, flags byte) {
		if flags&secAllocPossible != 0 {
			x := s.stream(setRef{s.dir, k, n}, at, flags)
			x.kind, x.sealed = ofOther, true
			s.addStream(x)
			owns = owns || s.leads(&x)
		}
	}
	add(k, s.slot(k)[offPrimaryFlags])
	for i := int32(1); i < n; i++ {
		add(k+i, s.slot(k + i)[offSecFlags])
	}
	return owns
}

// leads reports whether a stream has clusters that there are.
func (s *dirScan) leads(x *stream) bool { return x.length > 0 && s.w.c.g.Valid(x.start) }
