package exfat

import "slices"

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
