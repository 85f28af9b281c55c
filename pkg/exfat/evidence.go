package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/space"
)

// judge weighs what speaks for a stream, before it claims anything.
func (w *walk) judge(s *stream) error {
	f, err := w.weigh(s, false)
	switch {
	case len(w.c.yielding) > 0 && w.c.yielding[w.slotOff(s.ref.dir, s.at)]:
		s.trust = yields
	case f < fits && s.kind == ofOther:
		s.trust = foreign
	case f == fitsHeap && s.sealed:
		s.trust = unmarked
	case f < fits:
		s.trust = unsound
	case !s.sealed:
		s.trust = likely
	}
	return err
}

// mend looks for what a stream may have said, where the checksum of its set is
// wrong: a field of the entry was hit. All that is sound has its clusters by
// now. If what it says does not fit, and something like it does, it is taken to
// have said that.
func (w *walk) mend(s *stream) error {
	if s.sealed || s.kind != ofFile {
		return nil
	}
	ok, err := w.fitting(s)
	if err != nil {
		return err
	}
	if ok && s.isDir && s.length > 0 {
		if ok, err = w.holdsEntries(s.start); err != nil {
			return err
		}
	}
	vs := s.variants
	if !ok && w.c.g.Valid(s.start) && !w.claimed.Used(s.start-firstCluster) {
		more, err := w.variantsByClusters(s)
		if err != nil {
			return err
		}
		vs = append(vs, more...)
	}
	for i := range vs {
		if ok && !vs[i].sure(s) {
			continue
		}
		if reserved, err := w.hasReserve(s); err != nil {
			return err
		} else if ok && reserved {
			continue
		}
		v := vs[i].of(s, w.c.g)
		fits, err := w.fitting(&v)
		if err != nil {
			return err
		}
		if fits && v.length > 0 && v.isDir {
			if fits, err = w.holdsEntries(v.start); err != nil {
				return err
			}
		}
		if fits && v.length > 0 {
			*s = v
			break
		}
	}
	return w.mendAttribute(s)
}

// sure reports whether a variant is taken although what the entry says could
// be, too: all that it says was written, and that is not what it says.
func (v *variant) sure(s *stream) bool {
	return v.length == s.valid && v.length != s.length && v.start == s.start && v.noFat == s.noFat && v.isDir == s.isDir
}

// of is a stream that says what v does.
func (v *variant) of(s *stream, g *Geometry) stream {
	x := *s
	x.mended, x.start, x.length, x.noFat, x.isDir = v.slug, v.start, v.length, v.noFat, v.isDir
	x.need, _ = g.ClustersFor(x.length)
	return x
}

// variantsByClusters are what a stream may have said by what its clusters show, where its
// checksum does not help.
func (w *walk) variantsByClusters(s *stream) ([]variant, error) {
	whole, err := w.reaches(s)
	if err != nil {
		return nil, err
	}
	var vs []variant
	if s.noFat || !whole {
		vs = append(vs, variant{"no-fat-chain", s.start, s.length, !s.noFat, s.isDir})
	}
	if s.valid == s.length || s.valid == 0 {
		return vs, nil
	}
	reserved, err := w.hasReserve(s)
	if !reserved {
		vs = append(vs, variant{lengthSlug(s), s.start, s.valid, s.noFat, s.isDir})
	}
	return vs, err
}

// maxReserve is how many clusters behind what was written are looked at.
const maxReserve = 1 << 12

// hasReserve reports whether a run has a cluster behind what was written to it
// that is marked as used and that nobody else has: then its length is no
// mistake.
func (w *walk) hasReserve(s *stream) (bool, error) {
	from, _ := w.c.g.ClustersFor(s.valid)
	if !s.noFat || s.need > w.c.g.Clusters || from >= s.need {
		return false, nil
	}
	end := min(uint64(s.start)+uint64(s.need), uint64(s.start)+uint64(from)+maxReserve, uint64(w.c.g.Last())+1)
	for cl := uint64(s.start) + uint64(from); cl < end; cl++ {
		if used, err := w.c.bits.used(uint32(cl)); err != nil || used && !w.claimed.Used(uint32(cl)-firstCluster) {
			return used, err
		}
	}
	return false, nil
}

func lengthSlug(s *stream) string {
	if s.valid > s.length {
		return "valid-length"
	}
	return "length-exceeds-clusters"
}

// maxVariants bounds of how many sets of a directory variants are looked for.
const maxVariants = 256

// variantsBySum are what the entry of a stream may have said with which the
// checksum of its set is right: its length what was written, or one bit of
// first cluster, length, flags or attributes another.
func (s *dirScan) variantsBySum(x *stream) []variant {
	if s.variants++; s.variants > maxVariants {
		return nil
	}
	var vs []variant
	try := func(v variant, change func(set entrySet)) {
		if s.sealedIf(x.ref, change) {
			vs = append(vs, v)
		}
	}
	as := variant{"", x.start, x.length, x.noFat, x.isDir}
	v := as
	if v.length = x.valid; x.valid != x.length {
		v.slug = lengthSlug(x)
		try(v, func(set entrySet) { set.stream().put64(offDataLength, v.length) })
	}
	v = as
	v.slug, v.isDir = "directory-attribute", !x.isDir
	try(v, func(set entrySet) { set.file().put16(offAttributes, set.file().attributes()^attrDirectory) })
	v = as
	v.slug, v.noFat = "no-fat-chain", !x.noFat
	try(v, func(set entrySet) { set.stream()[offSecFlags] ^= secNoFatChain })
	for bit := range 64 {
		v := as
		v.slug, v.length = "length-exceeds-clusters", x.length^1<<bit
		if v.length < x.valid {
			continue
		}
		if v.length > x.length {
			v.slug = "valid-length"
		}
		try(v, func(set entrySet) { set.stream().put64(offDataLength, v.length) })
	}
	for bit := range 32 {
		v := as
		v.slug, v.start = "start-invalid", x.start^1<<bit
		try(v, func(set entrySet) { set.stream().put32(offFirstCluster, v.start) })
	}
	return vs
}

// reaches reports whether the FAT has as many clusters for a stream as it needs.
func (w *walk) reaches(s *stream) (bool, error) {
	if s.need > w.c.g.Clusters {
		return false, nil
	}
	c := s.start
	loop := space.LoopFinder{}
	for n := uint32(0); n < s.need; n++ {
		if !w.c.g.Valid(c) || loop.Met(c) {
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
	if s.isDir || s.mended != "" || !w.c.g.Valid(s.start) || s.length == 0 || s.valid != s.length || s.length%uint64(w.c.g.ClusterSize) != 0 {
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

// holdsEntries reports whether a cluster may be part of a directory: nearly all
// up to an end mark has types of entries.
func (w *walk) holdsEntries(cl uint32) (bool, error) {
	b := make([]byte, min(w.c.g.ClusterSize, readPiece))
	if _, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(cl)); err != nil {
		return false, err
	}
	good, odd := 0, 0
	for ; len(b) >= entryLen && b[0] != typeEnd; b = b[entryLen:] {
		e := entry(b[:entryLen])
		switch e.kind() | typeInUse {
		case typeBitmap, typeUpcase, typeLabel, typeFile, typeGUID, typePadding, typeStream, typeName, typeVendor, typeVendAll:
			good++
		default:
			if e.inUse() && e.isBenign() && e.kind() != erased {
				good++
			} else {
				odd++
			}
		}
	}
	return good >= 3*odd, nil
}

// overlap is a cluster that a stream for which all speaks could not have, and
// the stream that has it.
type overlap struct {
	cluster uint32
	loser   *streamFault
	owner   *stream        // nil: the volume's own tables
	extents []space.Extent // all clusters of the owner
	pos     uint64         // bytes of the owner before the cluster
	before  uint32         // the owner's cluster before it, 0 for none
}

// findYielding finds streams, by where their entries lie, that claimed clusters
// although others, which came later, have better claims: one against which
// several speak, or what the cluster holds. The walk is repeated, as again, to
// see who has what, unless nothing is shared.
func (c *checker) findYielding(ctx context.Context, again *walk) (map[int64]bool, error) {
	at := map[uint32][]*overlap{}
	for i := range c.walk.shared {
		if f := &c.walk.shared[i]; f.trust <= unmarked {
			loser := *f // they are sorted later
			at[f.stop] = append(at[f.stop], &overlap{cluster: f.stop, loser: &loser})
		}
	}
	if len(at) == 0 {
		return map[int64]bool{}, nil
	}
	again.quiet = true
	again.onClaim = func(s *stream, ch *chain) {
		pos, before := uint64(0), uint32(0)
		for _, e := range ch.extents {
			eachShared(at, e, func(o *overlap) {
				own := *s
				if o.before = before; o.cluster != e.Start {
					o.before = o.cluster - 1
				}
				o.owner, o.extents, o.pos = &own, ch.extents, (pos+uint64(o.cluster-e.Start))*uint64(c.g.ClusterSize)
			})
			pos += uint64(e.Len)
			before = e.Start + e.Len - 1
		}
	}
	if err := again.run(ctx); err != nil {
		return nil, err
	}
	c.contests = map[contest]*overlap{}
	for _, os := range at {
		for _, o := range os {
			c.contests[contestOf(o.loser)] = o
		}
	}
	return c.weighOwners(again, at)
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

// weighOwners decides on the owners of shared clusters, by the place of
// their entries.
func (c *checker) weighOwners(w *walk, at map[uint32][]*overlap) (map[int64]bool, error) {
	against := map[int64]int{}
	for _, os := range at {
		for _, o := range os {
			if o.owner == nil || o.owner.trust == yields {
				continue
			}
			n, err := c.against(w, o)
			if err != nil {
				return nil, err
			}
			off := w.slotOff(o.owner.ref.dir, o.owner.at)
			if against[off] += n; n >= 2 {
				c.strays[off] = true
			}
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
		if mine, err := w.straddled(o.owner.isDir, o.before, o.cluster); err != nil || mine {
			return 0, err
		}
		if theirs, err := w.straddled(o.loser.isDir, o.loser.last, o.cluster); err != nil || theirs {
			return 2, err
		}
		entries, err := w.holdsEntries(o.cluster)
		if err == nil && entries && o.owner.isDir && o.loser.isDir {
			past, err := w.endedBefore(o)
			if err != nil || past {
				return 2, err
			}
		}
		switch {
		case err != nil:
			return 0, err
		case o.owner.isDir && entries, o.loser.isDir && !entries && !o.owner.isDir:
			return 0, nil
		case o.owner.isDir && !o.loser.isDir, entries && o.loser.n == 0:
			return 2, nil
		}
	}
	if o.pos >= o.owner.valid && uint64(o.loser.n)*uint64(c.g.ClusterSize) < o.loser.valid {
		return 2, nil // the owner never wrote there, the other did
	}
	switch theirs, mine := o.loserWay(), o.ownerWay(); {
	case theirs > mine:
		return 2, nil
	case theirs == wayLink && mine > wayLink:
		return 0, nil
	}
	return 1, nil
}

// way is how a stream comes to a cluster. The later ones are better evidence that
// it is its own.
type way int

const (
	wayLink  way = iota // a FAT entry leads from somewhere else to it, and has no checksum
	wayEntry            // it is its first one, by an entry set with a checksum
	wayNext             // the FAT leads to it, and it follows the stream's cluster before it on the disk
)

func (o *overlap) loserWay() way {
	return wayTo(o.cluster, o.loser.n > 0 && !o.loser.noFat, o.loser.last)
}

func (o *overlap) ownerWay() way { return wayTo(o.cluster, o.pos > 0 && !o.owner.noFat, o.before) }

// wayTo is the way to a cluster, from the one before if the FAT leads from there. To
// all clusters of a run, [exFAT] §6.4.2.2, nothing leads but its entry.
func wayTo(cluster uint32, linked bool, before uint32) way {
	switch {
	case !linked:
		return wayEntry
	case before+1 == cluster:
		return wayNext
	}
	return wayLink
}

// contest names a stream that could not have a cluster.
type contest struct {
	ref     setRef
	at      int32
	cluster uint32
}

func contestOf(f *streamFault) contest { return contest{f.ref, f.at, f.stop} }

// isStray reports whether evidence says that a stream that lost a cluster was led
// there by mistake: then its own clusters are elsewhere. Where nothing points to
// one of the two it may be the other that was.
func (c *checker) isStray(f *streamFault) (bool, error) {
	switch f.trust {
	case trusted, unmarked:
	case yields: // that several want the cluster says nothing of this one
		return c.strays[c.walk.slotOff(f.ref.dir, f.at)], nil
	default:
		return true, nil
	}
	o := c.contests[contestOf(f)]
	switch {
	case o == nil:
		return false, nil
	case o.owner == nil:
		return true, nil // the tables of the volume are where they are
	case f.isDir != o.owner.isDir:
		entries, err := c.walk.holdsEntries(f.stop)
		return entries != f.isDir, err
	}
	if theirs, mine := o.loserWay(), o.ownerWay(); theirs != mine {
		return theirs < mine, nil
	}
	run, err := c.lost.next(f)
	return len(run) > 0, err
}
