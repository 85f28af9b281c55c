package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkTree walks the directories, claims all clusters, compares them with the
// bitmap in bulk, and reports what is wrong with entry sets and with chains.
// Clusters claimed twice are for the pass after it.
func (c *checker) checkTree(ctx context.Context, r *vol.Report) error {
	w := c.walk
	w.progress = r.Progress
	if err := w.run(ctx); err != nil {
		return err
	}
	c.stats.Files, c.stats.FragmentedFiles, c.stats.FragmentedKnown = w.files, w.fragmented, true
	c.stats.Directories = uint64(len(w.dirs) - 1)
	c.stats.BytesRead += w.bytesRead
	if err := c.compareBitmap(ctx); err != nil {
		return err
	}
	for i := range w.notes {
		c.reportNote(r, &w.notes[i])
	}
	for i := range w.ends {
		c.reportEnd(r, &w.ends[i])
	}
	for i := range w.faults {
		c.reportFault(r, &w.faults[i])
	}
	return nil
}

func (c *checker) reportEnd(r *vol.Report, n *endNote) {
	loc := vol.Location{Path: c.walk.path(n.dir), Range: dev.Range{Off: c.walk.slotOff(n.dir, n.slot), Len: entryLen}}
	offers := []string{fixRemove}
	if n.whole {
		offers = []string{fixReveal, fixRemove}
	}
	r.Found(c.cat.Found("after-end", loc, vol.Offer(offers...), vol.Detail("%d slots in use behind slot %d", n.n, n.end)), c.behindFix(n))
}

// streamLoc is where a stream's entry is.
func (c *checker) streamLoc(s *stream, cluster uint32) vol.Location {
	if s.root {
		return vol.Location{Path: "/", Cluster: cluster}
	}
	return vol.Location{Path: c.walk.pathIn(s.ref.dir, c.nameAt(s)), Cluster: cluster,
		Range: dev.Range{Off: c.walk.slotOff(s.ref.dir, s.ref.slot), Len: int64(s.ref.n) * entryLen}}
}

// nameAt is the name of the set that a stream belongs to.
func (c *checker) nameAt(s *stream) string {
	if s.name != "" {
		return s.name
	}
	set := make([]byte, int(s.ref.n)*entryLen)
	for i := int32(0); i < s.ref.n; i++ {
		if _, err := c.d.ReadAt(set[int(i)*entryLen:int(i+1)*entryLen], c.walk.slotOff(s.ref.dir, s.ref.slot+i)); err != nil {
			return ""
		}
	}
	return decodeUnits(setUnits(set))
}

// reportFault reports a stream whose clusters do not fit its length. Where
// clusters that belong to nobody continue it, linking them is offered before
// cutting.
func (c *checker) reportFault(r *vol.Report, f *streamFault) {
	if f.vendor {
		r.Found(c.cat.Found("vendor-clusters", c.streamLoc(&f.stream, f.start), vol.Detail("cluster %d, %d bytes", f.start, f.length)), c.dropVendor(&f.stream))
		return
	}
	slug := f.slug
	cluster := f.last
	if cluster == 0 {
		cluster = f.start
	}
	offers := []string{}
	run := space.Extent{}
	switch {
	case slug == "empty-with-clusters":
		offers = []string{fixClear}
	case slug == "clusters-beyond-length":
		offers = []string{fixTruncate}
	default:
		if run = c.lostFor(f); run.Len > 0 {
			offers = append(offers, fixRejoin)
		}
		offers = append(offers, fixTruncate)
	}
	fd := c.cat.Found(slug, c.streamLoc(&f.stream, cluster), vol.Offer(offers...))
	fd.Detail = f.describe(c.g)
	if run.Len > 0 {
		fd.Related = []vol.Location{{Cluster: run.Start, Range: c.g.ClusterRange(run.Start, run.Len)}}
	}
	r.Found(fd, func(_ context.Context, rep vol.Repair) error { return c.fixFault(f, run, rep.Name) })
}

func (f *streamFault) describe(g *Geometry) string {
	switch f.slug {
	case "empty-with-clusters", "start-invalid":
		return textf("cluster %d, length %d", f.start, f.length)
	case "clusters-beyond-length":
		return textf("length %d takes %d clusters; the FAT goes on to %#x", f.length, f.need, f.stop)
	case "length-exceeds-clusters":
		return textf("length %d, clusters for %d bytes", f.length, int64(f.n)*g.ClusterSize)
	}
	return textf("after %d clusters, at %d, it leads to %#x; the length takes %d", f.n, f.last, f.stop, f.need)
}

// fixFault carries out a repair of a stream.
func (c *checker) fixFault(f *streamFault, run space.Extent, how string) error {
	switch how {
	case fixClear:
		return c.editStream(&f.stream, func(e entry) { e.put(0, 0); e.put64(offValidLength, 0) })
	case fixRejoin:
		return c.rejoin(f, run)
	}
	if f.slug == "clusters-beyond-length" {
		if err := c.freeTail(f); err != nil {
			return err
		}
		return c.tab.set(f.last, fatEOC)
	}
	return c.cutStream(&f.stream, f.n, f.last)
}

// editStream changes the entry that holds the allocation of s.
func (c *checker) editStream(s *stream, change func(e entry)) error {
	k := int(s.at-s.ref.slot) * entryLen
	return c.editSet(s.ref, func(set []byte) { change(entry(set[k : k+entryLen])) })
}

// cutStream ends a stream after its first n clusters, of which last is the
// last.
func (c *checker) cutStream(s *stream, n, last uint32) error {
	if s.root {
		return c.tab.set(last, fatEOC)
	}
	if n > 0 && !s.noFat {
		if err := c.tab.set(last, fatEOC); err != nil {
			return err
		}
	}
	return c.editStream(s, func(e entry) {
		length := min(s.length, uint64(n)*uint64(c.g.ClusterSize))
		if s.isDir {
			length = uint64(n) * uint64(c.g.ClusterSize)
		}
		first := s.start
		if n == 0 {
			first = 0
			e[offSecFlags] &^= secNoFatChain
		}
		e.put(first, length)
		if s.isDir || e.valid() > length {
			e.put64(offValidLength, length)
		}
	})
}

// freeTail gives the clusters of a chain back that follow its length, as far
// as they are marked as used and nothing else claims them.
func (c *checker) freeTail(f *streamFault) error {
	var free []space.Extent
	for cl := f.stop; c.g.Valid(cl); {
		used, err := c.bits.used(cl)
		if err != nil {
			return err
		}
		if !used || !c.walk.claimed.SetNew(cl-firstCluster) {
			break
		}
		free = append(free, space.Extent{Start: cl, Len: 1})
		if cl, err = c.tab.get(cl); err != nil {
			return err
		}
	}
	for _, e := range free {
		if err := c.bits.mark(e, false); err != nil {
			return err
		}
	}
	return nil
}

// dropVendor takes the vendor allocation out of its set.
func (c *checker) dropVendor(s *stream) vol.Fix {
	return vol.Always(func() error {
		return c.editSet(s.ref, func(set []byte) { dropSecondary(set, int(s.at-s.ref.slot)) })
	})
}
