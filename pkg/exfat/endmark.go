package exfat

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
		hit, err := s.hitSet(from, n, k)
		if err != nil {
			return at, err
		}
		if !hit {
			s.end, s.ended = k, true
			return at, nil
		}
		at = int(from+n-1) * entryLen
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

// hitSet reports whether the end mark in slot k is what became of the type of an
// entry of a set of n slots. [exFAT] §6.3.3: the types are part of what the
// checksum of a set is made of. So if that is right with those that a set has in
// its places, and the hash of the name, the mark is none. What leads to clusters
// that are free is the rest of a file that was deleted.
func (s *dirScan) hitSet(from, n, k int32) (bool, error) {
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
