package exfat

import "github.com/fatkit/fatkit/pkg/space"

// judge weighs what speaks for a stream, before it claims anything. Where the
// checksum of its set is wrong, a field of the entry was hit: if something
// like what it says fits the bitmap and the FAT, it is taken to have said that.
func (w *walk) judge(s *stream) error {
	ok, err := w.plausible(s)
	if err != nil {
		return err
	}
	if !s.sealed && s.kind == ofFile {
		if !ok || s.fits {
			mended, err := w.mend(s)
			if err != nil {
				return err
			}
			ok = ok || mended
		}
		if ok {
			if err := w.mendAttribute(s); err != nil {
				return err
			}
		}
	}
	switch {
	case len(w.c.usurpers) > 0 && w.c.usurpers[w.slotOff(s.ref.dir, s.at)]:
		s.trust = usurper
	case !ok && s.kind == ofOther:
		s.trust = foreign
	case !ok:
		s.trust = unsound
	case !s.sealed:
		s.trust = likely
	}
	return nil
}

// mend looks for a flag or a length with which the clusters fit.
func (w *walk) mend(s *stream) (bool, error) {
	whole, err := w.reaches(s)
	if err != nil {
		return false, err
	}
	flag := func(v *stream) bool {
		v.mended, v.noFat = "no-fat-chain", !v.noFat
		return s.noFat || !whole
	}
	length := func(v *stream) bool {
		if v.mended = "length-exceeds-clusters"; v.valid > v.length {
			v.mended = "valid-length"
		}
		v.length = v.valid
		v.need, _ = w.c.g.ClustersFor(v.length)
		return s.valid != s.length && s.valid != 0
	}
	ways := []func(v *stream) bool{flag, length}
	if s.fits {
		ways = []func(v *stream) bool{length, flag}
	}
	for _, change := range ways {
		v := *s
		if !change(&v) || v.length == 0 {
			continue
		}
		ok, err := w.plausible(&v)
		if err != nil {
			return false, err
		}
		if ok {
			*s = v
			return true, nil
		}
	}
	return false, nil
}

// reaches reports whether the FAT has as many clusters for a stream as it needs.
func (w *walk) reaches(s *stream) (bool, error) {
	c := s.start
	for n := uint32(0); n < s.need; n++ {
		if n > w.c.g.Clusters || !w.c.g.Valid(c) {
			return false, nil
		}
		var err error
		if c, err = w.c.tab.get(c); err != nil {
			return false, err
		}
	}
	return true, nil
}

// mendAttribute looks whether a file was a directory: then it holds entry sets
// that are sound, and its lengths are as those of directories.
func (w *walk) mendAttribute(s *stream) error {
	if s.isDir || s.mended != "" || s.length == 0 || s.valid != s.length || s.length%uint64(w.c.g.ClusterSize) != 0 {
		return nil
	}
	ok, err := w.startsWithSet(s.start)
	if err != nil || !ok {
		return err
	}
	s.isDir, s.mended, s.name = true, "directory-attribute", w.c.nameAt(s)
	return nil
}

// startsWithSet reports whether a cluster begins with an entry set whose
// checksum is right, perhaps behind entries that are not in use.
func (w *walk) startsWithSet(cl uint32) (bool, error) {
	b := make([]byte, min(w.c.g.ClusterSize, readPiece))
	if _, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(cl)); err != nil {
		return false, err
	}
	for len(b) >= entryLen {
		e := entry(b[:entryLen])
		switch {
		case e.isEnd():
			return false, nil
		case e.inUse():
			n := (1 + int(e[offSecondaryCount])) * entryLen
			return e.kind() == typeFile && n <= len(b) && setChecksum(b[:n]) == e.u16(offSetChecksum), nil
		}
		b = b[entryLen:]
	}
	return false, nil
}

// erased is what flash memory holds that was erased.
const erased = 0xFF

// holdsEntries reports whether a cluster may be part of a directory: what is
// in use there has types of entries.
func (w *walk) holdsEntries(cl uint32) (bool, error) {
	b := make([]byte, min(w.c.g.ClusterSize, readPiece))
	if _, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(cl)); err != nil {
		return false, err
	}
	for ; len(b) >= entryLen; b = b[entryLen:] {
		switch e := entry(b[:entryLen]); e.kind() {
		case typeEnd:
			return true, nil
		case typeBitmap, typeUpcase, typeLabel, typeFile, typeStream, typeName:
		default:
			if e.inUse() && (!e.isBenign() || e.kind() == erased) {
				return false, nil
			}
		}
	}
	return true, nil
}

// overlap is a cluster that a stream for which all speaks could not have, and
// the stream that has it.
type overlap struct {
	cluster uint32
	loser   *streamFault
	owner   *stream // nil: the volume's own tables
	pos     uint64  // bytes of the owner before the cluster
	follows bool    // the cluster before it on the disk is the owner's, too
}

// findUsurpers finds streams that claimed clusters although others, which came
// later, have better claims: one against which several speak, or what the
// cluster holds. The walk is repeated to see who has what, which is nothing
// where nothing is shared.
func (c *checker) findUsurpers(again *walk) (func() (map[int64]bool, error), bool) {
	at := map[uint32][]*overlap{}
	for i := range c.walk.shared {
		if f := &c.walk.shared[i]; f.trust == trusted {
			at[f.stop] = append(at[f.stop], &overlap{cluster: f.stop, loser: f})
		}
	}
	if len(at) == 0 {
		return nil, false
	}
	again.quiet = true
	again.onClaim = func(s *stream, ch *chain) {
		pos := uint64(0)
		for _, e := range ch.extents {
			eachShared(at, e, func(o *overlap) {
				own := *s
				o.owner, o.pos = &own, (pos+uint64(o.cluster-e.Start))*uint64(c.g.ClusterSize)
				o.follows = o.cluster != e.Start
			})
			pos += uint64(e.Len)
		}
	}
	return func() (map[int64]bool, error) { return c.weighUsurpers(again, at) }, true
}

// eachShared calls fn for the overlaps in e.
func eachShared(at map[uint32][]*overlap, e space.Extent, fn func(*overlap)) {
	if uint64(e.Len) < uint64(len(at)) {
		for i := range e.Len {
			for _, o := range at[e.Start+i] {
				fn(o)
			}
		}
		return
	}
	for cl, os := range at {
		if cl >= e.Start && cl-e.Start < e.Len {
			for _, o := range os {
				fn(o)
			}
		}
	}
}

// weighUsurpers decides on the owners of shared clusters, by the place of
// their entries.
func (c *checker) weighUsurpers(w *walk, at map[uint32][]*overlap) (map[int64]bool, error) {
	against := map[int64]int{}
	for _, os := range at {
		for _, o := range os {
			if o.owner == nil || o.owner.trust == usurper {
				continue
			}
			n, err := c.against(w, o)
			if err != nil {
				return nil, err
			}
			against[w.slotOff(o.owner.ref.dir, o.owner.at)] += n
		}
	}
	out := map[int64]bool{}
	for off, n := range against {
		if n >= 2 {
			out[off] = true
		}
	}
	return out, nil
}

// against is how much an overlap speaks against the owner of the cluster: one
// other stream that wants it is not enough, two are, or what it holds.
func (c *checker) against(w *walk, o *overlap) (int, error) {
	if o.owner.isDir || o.loser.isDir {
		entries, err := w.holdsEntries(o.cluster)
		switch {
		case err != nil:
			return 0, err
		case o.owner.isDir && entries:
			return 0, nil
		case o.owner.isDir || entries && o.loser.n == 0:
			return 2, nil
		}
	}
	if o.pos >= o.owner.valid && uint64(o.loser.n)*uint64(c.g.ClusterSize) < o.loser.valid {
		return 2, nil // the owner never wrote there, the other did
	}
	switch continues := o.loser.n > 0 && o.loser.last+1 == o.cluster; {
	case continues && !o.follows:
		return 2, nil // it continues the other on the disk, not the owner
	case !continues && o.follows && o.loser.n > 0:
		return 0, nil // and here the owner
	}
	return 1, nil
}
