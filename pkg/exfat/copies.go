package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// A cluster that two streams lead to holds the contents of one of them. Which
// one has it is settled by the walk and its evidence; here it is settled what
// the other, the loser, gets in its place.
//
// A file gets a copy. What lies there may be its own all the same, and a copy
// costs nothing but room.
//
// A directory gets a copy of those clusters that hold its entries, and of no
// others. To copy the entries of another directory would make each of its
// files one of two directories, so that all of their clusters were claimed
// twice, and the next round would copy those, down to the leaves. It would save
// nothing either: what another directory holds stays reachable there. And what
// is no entry at all, as the contents of a file are not, is nothing that a
// directory could show. So evidence decides for each cluster, see
// holdsEntriesOf, and in place of one that is not the loser's there come slots
// that are not in use, so that those behind it are still reached. Where nothing
// is left behind such clusters the directory ends before them. One that has
// nothing left at all keeps its name, attributes and times, and is empty.

// tailPart is a run of the clusters from the first shared one of a stream on.
type tailPart struct {
	space.Extent
	use tailUse
}

// tailUse is what becomes of a run of clusters in the tail of a stream.
type tailUse int

const (
	tailKeep  tailUse = iota // nobody else claims them: the stream keeps them
	tailCopy                 // the stream gets a copy
	tailBlank                // the directory gets slots that are not in use
)

// canCopy reports whether a stream that lost clusters to another can get others
// for them: its own claim is not refuted by the bitmap or the heap, and there
// is room.
func (c *checker) canCopy(f *streamFault) (bool, error) {
	if f.isDir {
		return c.canCopyDir(f)
	}
	tail := f.need - min(f.need, f.n)
	if tail == 0 || f.need > c.g.Clusters {
		return false, nil
	}
	least := fits
	if f.sealed { // the checksum says whose they are, whatever the bitmap does
		least = fitsHeap
	}
	if ok, err := c.walk.weighsAs(&f.stream, false, least); err != nil || !ok || uint64(tail) <= c.stats.Free {
		return ok, err
	}
	// There may be room all the same, as what nobody else claims stays.
	if c.lookedTooLong() {
		return false, nil
	}
	c.fruitless += uint64(tail)
	parts, err := c.tailParts(f)
	return err == nil && roomFor(parts) <= c.stats.Free, err
}

// canCopyDir is canCopy for a directory. With no cluster of its own it takes one,
// if there is room, to be empty.
func (c *checker) canCopyDir(f *streamFault) (bool, error) {
	parts, err := c.tailParts(f)
	return err == nil && len(parts) > 0 && roomFor(parts) <= c.stats.Free, err
}

// roomFor is how many clusters parts take that the stream has not.
func roomFor(parts []tailPart) (n uint64) {
	for _, p := range parts {
		if p.use != tailKeep {
			n += uint64(p.Len)
		}
	}
	return n
}

// tailParts says what is to become of the clusters of a stream from the first
// shared one on.
func (c *checker) tailParts(f *streamFault) ([]tailPart, error) {
	if f.isDir {
		return c.dirTail(f)
	}
	var parts []tailPart
	err := c.eachOfTail(f, func(cl uint32) (bool, error) {
		use := tailKeep
		if c.walk.claimed.Used(cl - firstCluster) {
			use = tailCopy
		}
		parts = addPart(parts, cl, use)
		return true, nil
	})
	return parts, err
}

// dirTail is tailParts for a directory.
func (c *checker) dirTail(f *streamFault) ([]tailPart, error) {
	var parts []tailPart
	whole, err := c.mayGoOn(f)
	if err != nil {
		return nil, err
	}
	if whole {
		useful := 0
		err = c.eachOfTail(f, func(cl uint32) (bool, error) {
			x, err := c.weighEntries(cl)
			switch {
			case err != nil:
				return false, err
			case !c.walk.claimed.Used(cl - firstCluster):
				parts = addPart(parts, cl, tailKeep)
				useful = len(parts)
			case x.areOf(c.dirClusters().Used(cl - firstCluster)):
				parts = addPart(parts, cl, tailCopy)
				useful = len(parts)
			default:
				parts = addPart(parts, cl, tailBlank)
				return true, nil
			}
			return !x.ended, nil
		})
		parts = parts[:useful]
	}
	if len(parts) == 0 && f.n == 0 {
		parts = addPart(parts, f.stop, tailBlank)
		parts[0].Len = 1
	}
	return parts, err
}

// mayGoOn reports whether entries of a directory can lie in the clusters from
// the first shared one on: its claim is sound, and there is no end mark before.
func (c *checker) mayGoOn(f *streamFault) (bool, error) {
	tail := f.need - min(f.need, f.n)
	if tail == 0 || f.need > c.g.Clusters || f.length > maxDirBytes || c.lookedTooLong() {
		return false, nil
	}
	c.fruitless += uint64(tail)
	if ok, err := c.walk.plausible(&f.stream); err != nil || !ok {
		return false, err
	}
	if f.n == 0 {
		return true, nil
	}
	i, ok := c.walk.byStart[f.start]
	if !ok {
		return false, nil
	}
	s := newDirScan(c.walk, i)
	err := s.fill()
	return !s.ended, err
}

// eachOfTail calls fn for the clusters of a stream from the first shared one on,
// until it returns false.
func (c *checker) eachOfTail(f *streamFault, fn func(cl uint32) (bool, error)) error {
	cl := f.stop
	for left := f.need - min(f.need, f.n); left > 0; left-- {
		if !c.g.Valid(cl) {
			return vol.ErrNotNow
		}
		if more, err := fn(cl); err != nil || !more {
			return err
		}
		if f.noFat {
			cl++
			continue
		}
		var err error
		if cl, err = c.tab.get(cl); err != nil {
			return err
		}
	}
	return nil
}

func addPart(parts []tailPart, cl uint32, use tailUse) []tailPart {
	if k := len(parts) - 1; k >= 0 && parts[k].use == use && parts[k].End() == uint64(cl) {
		parts[k].Len++
		return parts
	}
	return append(parts, tailPart{space.Extent{Start: cl, Len: 1}, use})
}

// dirClusters are the clusters of all directories that the walk has reached.
func (c *checker) dirClusters() *space.Sparse {
	if c.ofDirs == nil {
		c.ofDirs = space.NewSparse(uint64(c.g.Clusters))
		for i := range c.walk.dirs {
			for _, e := range c.walk.dirs[i].extents {
				c.ofDirs.SetRunNew(space.Extent{Start: e.Start - firstCluster, Len: e.Len})
			}
		}
	}
	return c.ofDirs
}

// entryWeight is what the whole entry sets of a cluster show.
type entryWeight struct {
	sets  int  // there are so many
	alone int  // of those lead to clusters that nobody has claimed
	taken int  // to clusters that somebody has, or that cannot be
	ended bool // there is an end mark; what follows it is not looked at
}

// areOf reports whether the entries are those of a directory that lost the
// cluster: their files are nobody else's. Of empty files nothing shows that, so
// that they stay with another directory that has them.
func (x entryWeight) areOf(otherIsDir bool) bool {
	return x.alone > x.taken || x.alone == x.taken && x.sets > 0 && !otherIsDir
}

// weighEntries looks at the entry sets in a cluster.
func (c *checker) weighEntries(cl uint32) (x entryWeight, err error) {
	h := &hiddenSets{fn: func(_ int32, set []byte) error {
		x.sets++
		st := streamOf(set)
		s := stream{start: st.first(), length: st.length(), noFat: st.noFatChain()}
		s.need, _ = c.g.ClustersFor(s.length)
		ok, err := c.walk.plausible(&s)
		switch {
		case s.length == 0 && ok:
		case ok && !c.walk.claimed.Used(s.start-firstCluster):
			x.alone++
		default:
			x.taken++
		}
		return err
	}}
	r := c.g.ClusterRange(cl, 1)
	buf := make([]byte, min(r.Len, readPiece))
	for k := int32(0); r.Len > 0 && !x.ended; r.Off, r.Len = r.Off+int64(len(buf)), r.Len-int64(len(buf)) {
		if _, err := c.d.ReadAt(buf, r.Off); err != nil {
			return x, err
		}
		for b := buf; len(b) > 0 && !x.ended; b, k = b[entryLen:], k+1 {
			e := entry(b[:entryLen])
			if x.ended = e.isEnd(); !x.ended {
				h.slot(k, e)
			}
		}
	}
	return x, h.err
}

// copyTail gives a stream clusters of its own for those it shares.
func (c *checker) copyTail(ctx context.Context, f *streamFault) error {
	parts, err := c.tailParts(f)
	if err != nil {
		return err
	}
	room, err := c.takeRoom(uint32(roomFor(parts)))
	if err != nil {
		return err
	}
	var es []space.Extent
	for _, p := range parts {
		if p.use == tailKeep {
			c.walk.claimed.SetRunNew(space.Extent{Start: p.Start - firstCluster, Len: p.Len})
			es = space.Append(es, p.Extent)
			continue
		}
		var to []space.Extent
		to, room = splitExtents(room, p.Len)
		for from := p.Start; len(to) > 0; to = to[1:] {
			if err := c.fillCopy(ctx, from, to[0], p.use); err != nil {
				return err
			}
			from += to[0].Len
			es = space.Append(es, to[0])
		}
	}
	if f.isDir && len(f.extents) == 0 && len(parts) == 1 && parts[0].use == tailBlank {
		if err := c.d.Zero(c.g.ClusterRange(es[0].Start, es[0].Len)); err != nil {
			return err
		}
	}
	return c.giveExtents(f, es)
}

// fillCopy fills the clusters of to with a copy of those from one on, or with
// slots that are not in use.
func (c *checker) fillCopy(ctx context.Context, from uint32, to space.Extent, use tailUse) error {
	src, dst := c.g.ClusterRange(from, to.Len), c.g.ClusterRange(to.Start, to.Len)
	buf := make([]byte, min(src.Len, copyPiece))
	for k := 0; use == tailBlank && k < len(buf); k += entryLen {
		buf[k] = typeFile &^ typeInUse
	}
	for at := int64(0); at < src.Len; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := dev.Range{Off: src.Off + at, Len: min(src.Len-at, int64(len(buf)))}
		if use == tailCopy {
			if _, err := c.d.ReadAt(buf[:part.Len], part.Off); err != nil {
				return err
			}
		}
		if _, err := c.d.WriteAt(buf[:part.Len], dst.Off+at); err != nil {
			return err
		}
		at += part.Len
	}
	return nil
}

// copyPiece is how many bytes are copied at a time.
const copyPiece = 1 << 20

// giveExtents makes es the rest of a stream behind its sound clusters, and
// marks them as used.
func (c *checker) giveExtents(f *streamFault, es []space.Extent) error {
	for _, e := range es {
		if err := c.bits.mark(e, true); err != nil {
			return err
		}
	}
	all := append(append([]space.Extent{}, f.extents...), es...)
	if err := c.tab.link(all); err != nil {
		return err
	}
	return c.editStream(&f.stream, func(e entry) {
		e.put32(offFirstCluster, all[0].Start)
		e[offSecFlags] &^= secNoFatChain
		if f.isDir { // it may end before clusters that were not its own
			n := space.Units(all) * uint64(c.g.ClusterSize)
			e.put64(offDataLength, n)
			e.put64(offValidLength, n)
		}
	})
}
