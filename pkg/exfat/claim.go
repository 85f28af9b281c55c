package exfat

import (
	"errors"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// streamKind says what kind of entry names clusters.
type streamKind int

const (
	ofFile   streamKind = iota // a Stream Extension, of a file or a directory
	ofRoot                     // none: the root directory stands in the boot sector
	ofVendor                   // a vendor allocation, [exFAT] §7.9
	ofOther                    // a benign entry of a kind that is not known, §6.3 and §6.4
)

// stream is what one entry says of its clusters.
type stream struct {
	ref    setRef
	at     int32 // slot of the entry that holds the allocation
	name   string
	kind   streamKind
	isDir  bool
	start  uint32
	length uint64
	valid  uint64
	need   uint32 // clusters for length, at most one more than there are
	noFat  bool

	sealed   bool           // the checksum of its set fits
	variants []variant      // what the entry may have said, as with that it does
	others   []space.Extent // runs that vendor entries of a set with a wrong checksum name
	mended   string         // slug of what is wrong with the entry, where one of those is taken
	trust    trust
}

// variant is what an entry may have said before it was hit.
type variant struct {
	slug   string
	start  uint32
	length uint64
	noFat  bool
	isDir  bool
}

// trust is how much speaks for what a stream says of its clusters. Those with
// more claim theirs first.
type trust int

const (
	trusted  trust = iota // checksum, bitmap, heap and length agree
	unmarked              // all but the bitmap
	likely                // all but the checksum
	unsound               // the bitmap or the heap speaks against it
	yields                // it would take clusters that others have better claims to
	foreign               // nothing is known of the entry, and it does not fit
)

// chain is what following the clusters of a stream found.
type chain struct {
	n       uint32 // sound clusters
	last    uint32 // the last of them, 0 for none
	end     endKind
	stop    uint32 // the cluster or value that ended it
	extents []space.Extent
}

// endKind says how a chain ends.
type endKind int

const (
	endGood   endKind = iota
	endShort          // an end mark before the length is reached
	endLong           // no end mark where the length is reached
	endBroken         // a value that is no cluster
	endLoop
	endShared // a cluster that another has claimed
	endHeap   // a run that leaves the heap
	endDoubt  // a cluster that looks like anything but what it should hold
)

// cut reports whether a chain ends in a fault before its length, so that more of what
// it leads to may be found again.
func (ch *chain) cut() bool { return ch.end != endGood && ch.end != endLong }

// claimRun claims a run of n clusters.
func (w *walk) claimRun(start, n uint32) chain {
	g := w.c.g
	fit := min(n, g.Clusters-(start-firstCluster))
	got := w.claimed.SetRunNew(space.Extent{Start: start - firstCluster, Len: fit})
	ch := chain{n: got}
	if got > 0 {
		ch.last = start + got - 1
		ch.extents = []space.Extent{{Start: start, Len: got}}
	}
	switch {
	case got < fit:
		ch.end, ch.stop = endShared, start+got
	case fit < n:
		ch.end = endHeap
	}
	return ch
}

// claimChain follows the FAT from start, through at most need clusters, and
// claims them. With need 0 it goes on to the end mark, for the root.
func (w *walk) claimChain(start, need uint32) (chain, error) {
	var ch chain
	err := w.extend(&ch, start, need)
	return ch, err
}

// extend goes on with a chain at cluster c.
func (w *walk) extend(ch *chain, c, need uint32) error {
	for {
		if !w.c.g.Valid(c) {
			ch.end, ch.stop = endBroken, c
			return nil
		}
		if !w.claimed.SetNew(c - firstCluster) {
			ch.end, ch.stop = endShared, c
			break
		}
		ch.add(c)
		v, err := w.c.tab.get(c)
		if err != nil {
			return err
		}
		if need != 0 && ch.n == need {
			if v != fatEOC {
				ch.end, ch.stop = endLong, v
			}
			return nil
		}
		if v == fatEOC {
			if need != 0 {
				ch.end, ch.stop = endShort, v
			}
			return nil
		}
		c = v
	}
	if ch.holds(ch.stop) {
		ch.end = endLoop
	}
	return nil
}

func (ch *chain) add(c uint32) {
	if k := len(ch.extents) - 1; k >= 0 && ch.extents[k].Start+ch.extents[k].Len == c {
		ch.extents[k].Len++
	} else {
		ch.extents = append(ch.extents, space.Extent{Start: c, Len: 1})
	}
	ch.n, ch.last = ch.n+1, c
}

func (ch *chain) holds(c uint32) bool {
	for _, e := range ch.extents {
		if c >= e.Start && c-e.Start < e.Len {
			return true
		}
	}
	return false
}

// claim claims the clusters of a stream, whose start is valid.
func (w *walk) claim(s *stream) (chain, error) {
	leaves := uint64(s.start-firstCluster)+uint64(s.need) > uint64(w.c.g.Clusters)
	long := s.isDir && s.length > maxDirBytes
	if !s.noFat || s.trust < unsound || !leaves && !long {
		if s.noFat {
			return w.claimRun(s.start, s.need), nil
		}
		return w.claimChain(s.start, s.need)
	}
	n, err := w.untilEnd(s)
	if err != nil || n == 0 {
		return w.claimRun(s.start, s.need), err
	}
	ch := w.claimRun(s.start, n)
	if !long && ch.end == endGood {
		ch.end = endHeap
	}
	return ch, nil
}

// untilEnd is how many clusters of a run may be a stream's of which the length
// cannot be: it leaves the heap, [exFAT] §6.4.4, or is that of a directory of
// more than 256 MiB, §7.6.7. They are marked as used and nobody else has them; a
// directory has none but of entries before its end mark and of zeros behind it,
// and a long one none there: it has to be shorter anyway.
func (w *walk) untilEnd(s *stream) (n uint32, err error) {
	most, long := s.need, s.isDir && s.length > maxDirBytes
	if long {
		most, _ = w.c.g.ClustersFor(maxDirBytes)
	}
	ended := false
	for cl := s.start; n < most && w.c.g.Valid(cl) && !w.claimed.Used(cl-firstCluster) && !(ended && long); cl++ {
		ok, err := w.c.bits.used(cl)
		if ok && s.isDir {
			ok, err = w.goesOn(cl, ended)
		}
		if err != nil || !ok && n > 0 {
			return n, err
		}
		n++
		if s.isDir && !ended {
			if ended, err = w.endsIn(cl); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// goesOn reports whether a cluster may be a directory's, before its end mark or
// behind it.
func (w *walk) goesOn(cl uint32, ended bool) (bool, error) {
	if !ended {
		return w.holdsEntries(cl)
	}
	b := make([]byte, min(w.c.g.ClusterSize, readPiece))
	_, err := w.c.d.ReadAt(b, w.c.g.ClusterOff(cl))
	return dev.AllZero(b), err
}

// endsIn reports whether a cluster of a directory has an end mark.
func (w *walk) endsIn(cl uint32) (bool, error) {
	r := w.c.g.ClusterRange(cl, 1)
	b := make([]byte, min(r.Len, readPiece))
	for ; r.Len > 0; r.Off, r.Len = r.Off+int64(len(b)), r.Len-int64(len(b)) {
		if _, err := w.c.d.ReadAt(b, r.Off); err != nil {
			return false, err
		}
		for k := 0; k < len(b); k += entryLen {
			if entry(b[k : k+entryLen]).isEnd() {
				return true, nil
			}
		}
	}
	return false, nil
}

// isFree reports whether none of n clusters from start on is claimed.
func (w *walk) isFree(start, n uint32) bool {
	free := true
	w.claimed.Runs(space.Extent{Start: start - firstCluster, Len: n}, func(space.Extent) bool {
		free = false
		return false
	})
	return free
}

// plausible reports whether nothing speaks against a stream before its
// clusters are claimed: it stays in the heap, its chain has the right length,
// and the bitmap has all of its clusters as used.
func (w *walk) plausible(s *stream) (bool, error) { return w.weighsAs(s, false, fits) }

// fitting reports whether a stream is plausible, and nobody has claimed any of
// its clusters.
func (w *walk) fitting(s *stream) (bool, error) { return w.weighsAs(s, true, fits) }

// fit is how much speaks against a stream before its clusters are claimed.
type fit int

const (
	fitsNot  fit = iota // its chain has another length, or it leaves the heap
	fitsHeap            // the bitmap has some of its clusters as free
	fits                // nothing
)

func (w *walk) weighsAs(s *stream, free bool, least fit) (bool, error) {
	f, err := w.weigh(s, free)
	return f >= least, err
}

func (w *walk) weigh(s *stream, free bool) (fit, error) {
	g := w.c.g
	if s.length == 0 && s.start == 0 {
		return fits, nil
	}
	if s.length == 0 || s.need > g.Clusters || !g.Valid(s.start) {
		return fitsNot, nil
	}
	if free && w.claimed.Used(s.start-firstCluster) {
		return fitsNot, nil
	}
	key := weighed{s.start, s.need, s.noFat}
	if f, known := w.c.weighed[key]; known && !free {
		return f, nil
	}
	if w.c.lookedTooLong() {
		return fitsNot, nil
	}
	taken := w.claimed.Used(s.start - firstCluster)
	f, err := w.weighChain(s, free)
	if taken && err == nil {
		w.c.fruitless += uint64(s.need)
		if w.c.weighed == nil {
			w.c.weighed = map[weighed]fit{}
		}
		w.c.weighed[key] = f
	}
	return f, err
}

// weighed is what a stream says that was weighed while another had its first
// cluster: so may thousands, and what the FAT and the bitmap say of it stays.
type weighed struct {
	start, need uint32
	noFat       bool
}

// maxFruitless is how many times as many clusters as there are may be looked at
// for streams that could not have them.
const maxFruitless = 16

// lookedTooLong reports whether so much was looked at for nothing that this is no
// damaged volume but one made to keep a check busy. What is left is believed
// less, and has what nobody else claims.
func (c *checker) lookedTooLong() bool { return c.fruitless > maxFruitless*uint64(c.g.Clusters) }

// weighChain is weigh for a stream that starts with a cluster that there is.
func (w *walk) weighChain(s *stream, free bool) (fit, error) {
	g := w.c.g
	es := []space.Extent{{Start: s.start, Len: s.need}}
	if s.noFat && uint64(s.start-firstCluster)+uint64(s.need) > uint64(g.Clusters) {
		return fitsNot, nil
	}
	if !s.noFat {
		var err error
		broken := new(brokenChain)
		if es, err = w.c.tab.follow(s.start, s.need, s.need); errors.As(err, &broken) {
			return fitsNot, nil
		} else if err != nil {
			return fitsNot, err
		}
	}
	got := fits
	for _, e := range es {
		if isFree := w.isFree(e.Start, e.Len); !isFree && !s.noFat {
			w.c.fruitless += uint64(e.Len)
			if free {
				return fitsNot, nil
			}
		} else if free && (!isFree || overlaps(e, s.others)) {
			return fitsNot, nil
		}
		n, err := w.c.bits.countUsed(e)
		if err != nil {
			return fitsNot, err
		}
		if n != e.Len {
			got = fitsHeap
		}
	}
	return got, nil
}

// overlaps reports whether e has a cluster in common with any of es.
func overlaps(e space.Extent, es []space.Extent) bool {
	return slices.ContainsFunc(es, func(x space.Extent) bool {
		return uint64(e.Start) < x.End() && uint64(x.Start) < e.End()
	})
}
