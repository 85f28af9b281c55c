package exfat

import "slices"

// goesOn reports whether the set of the File entry in slot k would go on in clusters
// that the chain of its directory has lost. It is the last one then: where another
// File entry follows it is the count that is wrong, and the sets behind it are whole.
func (s *dirScan) goesOn(k int32) bool {
	if !s.cut || s.ended || k+1+int32(s.slot(k)[offSecondaryCount]) <= s.end {
		return false
	}
	for k++; k < s.end; k++ {
		if s.slot(k).kind() == typeFile {
			return false
		}
	}
	return true
}

// cutSet takes what there is of such a set. Its clusters are its own, but nothing is
// said of it, and nothing of it is mended, see unsettled: the rest may be found again.
func (s *dirScan) cutSet(k int32) int32 {
	ref := setRef{s.dir, k, s.end - k}
	if s.partial = k + 1; k+1 == s.end || s.slot(k+1).kind() != typeStream {
		return ref.n
	}
	st := s.slot(k + 1)
	x := s.stream(ref, k+1, st[offSecFlags])
	x.isDir, x.valid, x.sealed = s.slot(k).isDirectory(), st.valid(), true
	if x.name = decodeUnits(s.units(k, int(st[offNameLength]), nil)); !x.isDir {
		s.files++
	}
	s.addStream(x)
	return ref.n
}

// straddled reports whether a directory has an entry set that begins at the end
// of one cluster and goes on in another, with the checksum that it must have: it
// is made of the bytes of both, [exFAT] §6.3.3, so that the second cluster
// belongs to whom the first does.
func (w *walk) straddled(isDir bool, first, second uint32) (bool, error) {
	if !isDir || first == 0 {
		return false, nil
	}
	n := min(w.c.g.ClusterSize, (1+maxSecondary)*entryLen)
	b := make([]byte, 2*n)
	r := w.c.g.ClusterRange(first, 1)
	if _, err := w.c.d.ReadAt(b[:n], r.End()-n); err != nil {
		return false, err
	}
	if _, err := w.c.d.ReadAt(b[n:], w.c.g.ClusterOff(second)); err != nil {
		return false, err
	}
	// The last primary entry is the one whose set may go on.
	for at := int(n) - entryLen; at >= 0; at -= entryLen {
		e := entry(b[at : at+entryLen])
		if e.inUse() && e.isSecondary() {
			continue
		}
		end := at + (1+int(e[offSecondaryCount]))*entryLen
		if e.kind() != typeFile || end <= int(n) || end > len(b) {
			return false, nil
		}
		return entrySet(slices.Clip(b[at:end])).sealed(), nil
	}
	return false, nil
}
