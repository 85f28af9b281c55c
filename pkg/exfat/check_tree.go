package exfat

import (
	"context"
	"maps"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkTree walks the directories, claims all clusters, compares them with the
// bitmap in bulk, and reports what is wrong with entry sets and with chains.
// Clusters claimed twice are for the pass after it.
func (c *checker) checkTree(ctx context.Context, r *vol.Report) error {
	if err := c.walkTree(ctx, r); err != nil {
		return err
	}
	c.takeUpcase()
	w := c.walk
	if err := w.unsettled(); err != nil {
		return err
	}
	if err := c.findWanted(); err != nil {
		return err
	}
	c.stats.Files, c.stats.FragmentedFiles, c.stats.FragmentedKnown = w.files, w.fragmented, true
	c.stats.Directories = uint64(len(w.dirs) - 1)
	c.stats.BytesRead += w.bytesRead
	if err := c.compareBitmap(ctx); err != nil {
		return err
	}
	c.pending, c.faulty = w.pending(), w.faulty()
	for i := range w.notes {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.reportNote(r, &w.notes[i])
	}
	for i := range w.ends {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.reportEnd(r, &w.ends[i]); err != nil {
			return err
		}
	}
	if c.rootFault != nil {
		w.faults = append(w.faults, *c.rootFault)
	}
	for i := range w.faults {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.reportFault(r, &w.faults[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxWalks bounds how often the tree is walked to find who has the better
// claim to a cluster.
const maxWalks = 4

// walkTree makes c.walk.
func (c *checker) walkTree(ctx context.Context, r *vol.Report) error {
	start := c.walk.again()
	c.units = newUnitTable(c.upcase)
	c.adviseFAT()
	c.yielding, c.strays = map[int64]bool{}, map[int64]bool{}
	for walks := 1; ; walks++ {
		c.walk = start.again()
		c.walk.progress = r.Progress
		if err := c.walk.run(ctx); err != nil {
			return err
		}
		more, err := c.takeRootRest(r)
		if err != nil {
			return err
		}
		if more {
			start = c.walk.again()
			continue
		}
		if walks >= maxWalks {
			return nil
		}
		found, err := c.findYielding(ctx, start.again())
		if err != nil {
			return err
		}
		if err := c.findShortTwins(found); err != nil || len(found) == 0 {
			return err
		}
		maps.Copy(c.yielding, found)
	}
}

// findWanted notes the clusters of streams behind the one in which they ran into
// another. Nobody has claimed them, and they may be marked as free; but as long
// as it is not settled whose they are, nothing may be written there.
func (c *checker) findWanted() error {
	c.wanted = space.NewSparse(uint64(c.g.Clusters))
	for i := range c.walk.shared {
		f := &c.walk.shared[i]
		left := f.need - min(f.need, f.n)
		if f.noFat {
			if left <= c.g.Clusters/wantedPart {
				c.wanted.SetRunNew(space.Extent{Start: f.stop - firstCluster, Len: left})
			}
			continue
		}
		for cl := f.stop; left > 0 && c.g.Valid(cl) && c.wanted.SetNew(cl-firstCluster); left-- {
			var err error
			if cl, err = c.tab.get(cl); err != nil {
				return err
			}
		}
	}
	return nil
}

// wantedPart: a run that would have more than this part of the volume, with
// nothing but its length to speak for it, keeps no room from others.
const wantedPart = 8

// fatAhead is how much of the FAT is read ahead, in bytes, before anybody asks
// for it.
const fatAhead = 16 << 20

// adviseFAT tells the device that the FAT is about to be read: by chains, in
// whatever order directories have them, and in the end as a whole.
func (c *checker) adviseFAT() {
	left := int64(fatAhead)
	fat := dev.Range{Off: c.g.FatOff(), Len: c.g.EntryBytes()}
	for left > 0 && !fat.Empty() {
		d := c.d.NextData(fat.Off).Intersect(fat)
		if d.Empty() {
			return
		}
		fat.Off, fat.Len = d.End(), fat.End()-d.End()
		d.Len = min(d.Len, left)
		left -= d.Len
		c.d.Readahead(d)
	}
}

// streamLoc is where a stream's entry is.
func (c *checker) streamLoc(s *stream, cluster uint32) vol.Location {
	if s.kind == ofRoot {
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
	set, err := c.readSet(s.ref)
	if err != nil || len(set) < 3*entryLen {
		return ""
	}
	return decodeUnits(setUnits(set))
}

// reportFault reports a stream whose clusters do not fit its length. Where
// clusters that belong to nobody continue it, linking them is offered before
// cutting.
func (c *checker) reportFault(r *vol.Report, f *streamFault) error {
	if f.kind == ofVendor {
		r.Found(c.cat.Found("vendor-clusters", c.streamLoc(&f.stream, f.start), vol.Offer(fixRemove), vol.Detail("cluster %d, %d bytes", f.start, f.length)),
			c.ofSettled(&f.stream, c.dropVendor(&f.stream)))
		return nil
	}
	if f.startDoubted {
		moved := streamFault{stream: f.stream, slug: "start-invalid"}
		run, err := c.lost.match(&moved)
		if err != nil {
			return err
		}
		if len(run) > 0 {
			c.foundFault(r, &moved, []string{fixRejoin}, run)
			return nil
		}
	}
	if f.slug == "" {
		return nil
	}
	offers, run, err := c.offersFor(f)
	if err == nil {
		c.foundFault(r, f, offers, run)
	}
	return err
}

// foundFault reports a stream, with the repairs that are possible and the lost
// clusters that they take.
func (c *checker) foundFault(r *vol.Report, f *streamFault, offers []string, run []space.Extent) {
	cluster := f.last
	if cluster == 0 {
		cluster = f.start
	}
	fd := c.cat.Found(f.slug, c.streamLoc(&f.stream, cluster), vol.Offer(offers...), vol.Detail("%s", f.describe(c.g)))
	for _, e := range run {
		fd.Related = append(fd.Related, vol.Location{Cluster: e.Start, Range: c.g.ClusterRange(e.Start, e.Len)})
	}
	r.Found(fd, c.ofSettled(&f.stream, func(_ context.Context, rep vol.Repair) error { return c.fixFault(f, run, rep.Name) }))
}

// offersFor are the repairs that are possible, and the lost clusters that they
// take.
func (c *checker) offersFor(f *streamFault) (offers []string, run []space.Extent, err error) {
	if f.slug == f.mended {
		if f.slug == "valid-length" {
			return []string{fixKeep}, nil, nil
		}
		return []string{fixSet}, nil, nil
	}
	switch {
	case f.n > 0 && !f.noFat && c.wanted.Used(f.last-firstCluster):
		// The end mark would stand in the chain of another stream, too, of
		// which it is not settled yet what becomes.
		return nil, nil, nil
	case f.slug == "empty-with-clusters":
		return []string{fixClear}, nil, nil
	case f.slug == "directory-too-long":
		return []string{fixTruncate}, nil, nil
	case f.slug == "clusters-beyond-length":
		offers = []string{fixTruncate}
		if f.sealed {
			return offers, nil, nil
		}
		// Its entry was hit: the length may be what is wrong.
		run, err = c.lost.chain(f.stop, 0)
		if err == nil && len(run) == 0 && f.isDir {
			run, err = c.lost.entriesFrom(f.stop)
		}
		if run, err = c.lost.take(run, err); len(run) > 0 {
			offers = []string{fixKeep, fixTruncate}
		}
		return offers, run, err
	case f.end == endLong || f.kind == ofRoot && c.rootEnds:
		return []string{fixSet}, nil, nil // all of it is there
	}
	if run, err = c.lost.match(f); err != nil {
		return nil, nil, err
	}
	if len(run) > 0 {
		offers = append(offers, fixRejoin)
	}
	return append(offers, fixTruncate), run, nil
}

func (f *streamFault) describe(g *Geometry) string {
	if f.slug == f.mended {
		return f.describeMended()
	}
	switch f.slug {
	case "empty-with-clusters", "start-invalid":
		return textf("cluster %d, length %d", f.start, f.length)
	case "clusters-beyond-length":
		return textf("length %d takes %d clusters; the FAT goes on to %#x", f.length, f.need, f.stop)
	case "length-exceeds-clusters":
		return textf("length %d, clusters for %d bytes", f.length, int64(f.n)*g.ClusterSize)
	}
	if f.kind == ofRoot {
		return textf("after %d clusters, at %d, it leads to %#x", f.n, f.last, f.stop)
	}
	return textf("after %d clusters, at %d, it leads to %#x; the length takes %d", f.n, f.last, f.stop, f.need)
}

func (f *streamFault) describeMended() string {
	switch {
	case f.slug == "directory-attribute" && f.isDir:
		return "it holds entries"
	case f.slug == "directory-attribute":
		return "it holds no entries"
	case f.slug == "start-invalid":
		return textf("%d bytes lie from cluster %d on", f.length, f.start)
	case f.slug != "no-fat-chain":
		return textf("the clusters are for %d bytes", f.length)
	case f.noFat:
		return textf("%d clusters from %d on follow each other", f.need, f.start)
	}
	return textf("the FAT has %d clusters for it from %d on", f.need, f.start)
}

// fixFault carries out a repair of a stream.
func (c *checker) fixFault(f *streamFault, run []space.Extent, how string) error {
	switch {
	case f.slug == f.mended:
		return c.fixMended(f)
	case how == fixClear:
		return c.editStream(&f.stream, func(e entry) {
			e.put(0, 0)
			e.put64(offValidLength, 0)
			e[offSecFlags] = e[offSecFlags]&^secNoFatChain | secAllocPossible
		})
	case how == fixRejoin:
		return c.rejoin(f, run)
	case how == fixKeep:
		if k := len(run); k > 0 { // it may end in something else than a mark
			if err := c.tab.set(run[k-1].Start+run[k-1].Len-1, fatEOC); err != nil {
				return err
			}
		}
		n := uint64(f.n) + space.Units(run)
		return c.editStream(&f.stream, func(e entry) {
			e.put64(offDataLength, n*uint64(c.g.ClusterSize))
			if f.isDir {
				e.put64(offValidLength, e.length())
			}
		})
	case how == fixSet:
		return c.tab.set(f.last, fatEOC)
	case f.slug == "clusters-beyond-length":
		if err := c.freeTail(f); err != nil {
			return err
		}
		return c.tab.set(f.last, fatEOC)
	}
	return c.cutStream(&f.stream, f.n, f.last)
}

// fixMended makes an entry say what it is taken to have said.
func (c *checker) fixMended(f *streamFault) error {
	if f.slug == "directory-attribute" {
		return c.editSet(f.ref, func(set []byte) {
			entry(set).put16(offAttributes, entry(set).attributes()^attrDirectory)
		})
	}
	return c.editStream(&f.stream, func(e entry) {
		e.put(f.start, f.length)
		e[offSecFlags] &^= secNoFatChain
		if f.noFat {
			e[offSecFlags] |= secNoFatChain
		}
	})
}

// editStream changes the entry that holds the allocation of s.
func (c *checker) editStream(s *stream, change func(e entry)) error {
	k := int(s.at-s.ref.slot) * entryLen
	return c.editSet(s.ref, func(set []byte) { change(entry(set[k : k+entryLen])) })
}

// cutStream ends a stream after its first n clusters, of which last is the
// last.
func (c *checker) cutStream(s *stream, n, last uint32) error {
	if s.kind == ofRoot {
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
		e[offSecFlags] |= secAllocPossible
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

// dropVendor takes a vendor allocation out of its set.
func (c *checker) dropVendor(s *stream) vol.Fix {
	return vol.Always(func() error {
		return c.editSet(s.ref, func(set []byte) {
			gone := false
			dropSecondaries(set, func(_ int, e entry) bool {
				if gone || e.kind() != typeVendAll || e.first() != s.start || e.length() != s.length {
					return false
				}
				gone = true
				return true
			})
		})
	})
}
