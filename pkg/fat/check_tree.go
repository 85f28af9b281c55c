package fat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkTree walks the directories, claims all clusters, and reports what is
// wrong with entries and with chains. Clusters claimed twice are for the pass
// after it.
func (c *checker) checkTree(ctx context.Context, r *vol.Report) error {
	w := newWalk(c, newTable(c.d, c.g, c.fat), c.used)
	w.progress = r.Progress
	if err := w.run(ctx); err != nil {
		return err
	}
	c.walk = w
	if err := w.unsettled(); err != nil {
		return err
	}
	c.stats.Files, c.stats.FragmentedFiles, c.stats.FragmentedKnown = w.files, w.fragmented, true
	c.stats.Directories = uint64(max(0, len(w.dirs)-1))
	c.stats.BytesRead += w.bytesRead + w.tab.win.BytesRead()
	if w.rootBroken {
		r.Found(c.cat.Found("root-unreadable", vol.Location{Path: "/", Cluster: c.g.RootCluster},
			vol.Detail("its first cluster is %s", w.rootFault.state())), nil)
		return vol.ErrStop
	}
	if w.dirs[0].garbage {
		r.Found(c.cat.Found("root-garbage", vol.Location{Path: "/", Cluster: w.dirs[0].start,
			Range: dev.Range{Off: w.slotOff(0, 0), Len: w.dirBytes(0)}}), nil)
		return vol.ErrStop
	}
	if w.fatLooksLost() {
		r.Found(c.cat.Found("fat-garbage", vol.At(c.g.FatOff(c.fat), c.g.FatBytes()),
			vol.Detail("of %d chains %d come to an end", w.chains, w.sound)), nil)
		return vol.ErrStop
	}
	if len(w.labels) > 0 {
		c.label = w.labels[0].name[:]
	}
	if err := c.attrNotes(); err != nil {
		return err
	}
	if err := c.reportNotes(r); err != nil {
		return err
	}
	return c.reportFaults(r)
}

// reportNotes reports what the slots show by themselves, but not what another
// finding will settle.
func (c *checker) reportNotes(r *vol.Report) error {
	w := c.walk
	twice := map[int32]bool{}
	for _, t := range w.twice {
		twice[t.first] = true
	}
	garbage := map[[2]int32]bool{}
	for i := range w.dirs {
		if d := &w.dirs[i]; d.garbage {
			garbage[[2]int32{d.ref.dir, d.ref.slot}] = true
		}
	}
	for i := range w.scans {
		n := &w.scans[i]
		switch {
		case n.slug == "dotdot-start" && twice[n.dir]:
			// It tells which of two entries is wrong: directory-twice.
		case n.slug == "directory-size" && garbage[[2]int32{n.dir, n.slot}]:
			// It tells how long the file is: directory-garbage.
		case n.slug == "directory-garbage" && n.offer == nil:
			if err := c.reportGarbage(r, n); err != nil {
				return err
			}
		default:
			c.reportNote(r, n)
		}
	}
	return nil
}

// state says in words what a chain met.
func (ch chain) state() string {
	switch ch.end {
	case endFree:
		return "marked as free"
	case endBad:
		return "marked as bad"
	case endLoop, endShared:
		return "part of another chain"
	default:
		return "no cluster of this volume"
	}
}

// reportNote turns what a slot shows into a finding.
func (c *checker) reportNote(r *vol.Report, n *scanNote) {
	w := c.walk
	loc := vol.Location{Path: w.path(n.dir), Range: dev.Range{Off: w.slotOff(n.dir, int(n.slot)), Len: int64(n.n) * entryLen}}
	if n.name != "" {
		loc.Path = w.pathIn(n.dir, n.name)
	}
	f := c.cat.Found(n.slug, loc)
	f.Detail, f.Offer = n.detail, n.offer
	if n.slug == "lfn-trailing" || n.slug == "lfn-padding" || n.slug == "short-device" {
		f.Detail = quote(n.name)
	}
	r.Found(f, w.ifSettled(n.dir, n.slot, n.n, c.noteFix(n)))
}

// reportGarbage reports a directory that holds something else. Where one that names
// its parent is lost it is that to which the entry should lead.
func (c *checker) reportGarbage(r *vol.Report, n *scanNote) error {
	head, err := c.ownDir(n.dir, c.walk.dirs[n.dir].size == 0)
	if err != nil {
		return err
	}
	n.offer = []string{fixKeep}
	if head != 0 {
		n.offer, n.head = []string{fixRejoin, fixKeep}, head
	}
	c.reportNote(r, n)
	return nil
}

// reportFaults reports broken chains. Where clusters that belong to nobody
// continue a chain, linking them again is offered before cutting.
func (c *checker) reportFaults(r *vol.Report) error {
	w := c.walk
	if len(w.faults) == 0 {
		return nil
	}
	lost, err := c.lostChains()
	if err != nil {
		return err
	}
	for i := range w.faults {
		f := &w.faults[i]
		if n, err := c.lostDirFault(f); err != nil {
			return err
		} else if n != nil {
			c.reportNote(r, n)
			continue
		}
		head, err := lost.match(f)
		if err != nil {
			return err
		}
		c.reportFault(r, f, head)
	}
	return nil
}

// reportFault reports one; head is the lost cluster that continues the chain,
// or 0.
func (c *checker) reportFault(r *vol.Report, f *chainFault, head uint32) {
	w := c.walk
	loc := vol.Location{Path: "/", Cluster: f.last}
	if !f.root {
		loc.Path = w.pathIn(f.ref.dir, f.name)
		loc.Range = dev.Range{Off: w.slotOff(f.ref.dir, int(f.ref.slot)), Len: entryLen}
	}
	if loc.Cluster == 0 && c.g.Valid(f.start) {
		loc.Cluster = f.start
	}
	fd := c.cat.Found(f.slug, loc)
	fd.Offer = c.faultOffers(f, head)
	c.describeFault(&fd, f)
	if head != 0 {
		fd.Related = []vol.Location{{Cluster: head, Range: c.g.ClusterRange(head, 1)}}
	}
	fix := func(_ context.Context, rep vol.Repair) error { return c.fixFault(f, head, rep.Name) }
	r.Found(fd, w.ifSettled(f.ref.dir, f.ref.slot, 1, fix))
}

// faultOffers are the repairs that are possible for f, the best one first.
func (c *checker) faultOffers(f *chainFault, head uint32) []string {
	o := []string{}
	switch {
	case f.slug == "clusters-beyond-size" || f.slug == "empty-with-clusters":
		o = append(o, fixTruncate)
		if len(c.walk.shared) == 0 { // else who the rest belongs to is for that
			o = append(o, fixDetach)
		}
		if int64(f.n)*c.g.ClusterSize() <= maxFileSize {
			o = append(o, fixKeep)
		}
		return o
	case f.at != 0 && f.n > 0 && f.n >= f.need && !f.isDir:
		return []string{fixSet}
	case f.slug == "start-invalid" && !f.isDir && f.size == 0:
		return []string{fixClear}
	}
	if head != 0 {
		o = append(o, fixRejoin)
	}
	if f.isDir && f.n == 0 {
		return append(o, fixRemove)
	}
	return append(o, fixTruncate)
}

func (c *checker) describeFault(fd *vol.Finding, f *chainFault) {
	cs := c.g.ClusterSize()
	switch f.slug {
	case "size-exceeds-clusters", "clusters-beyond-size", "empty-with-clusters":
		fd.Detail = textf("size %d, clusters for %d bytes", f.size, int64(f.n)*cs)
	case "size-without-clusters":
		fd.Detail = textf("size %d", f.size)
	case "directory-without-clusters":
	case "start-invalid":
		fd.Detail = textf("cluster %d", f.start)
	default:
		fd.Detail = textf("after %d clusters, at %d, it leads to %#x", f.n, f.last, f.at)
		if !f.isDir {
			fd.Detail += textf("; the size needs %d", f.need)
		}
	}
}

// fixFault carries out a repair of a broken chain.
func (c *checker) fixFault(f *chainFault, head uint32, how string) error {
	if waits, err := c.hiddenIn(f); err != nil || waits {
		return cmp.Or(err, vol.ErrNotNow)
	}
	cs := c.g.ClusterSize()
	switch how {
	case fixSet:
		return c.walk.tab.set(f.last, entryLast)
	case fixRejoin:
		if f.free != 0 && head == f.free { // see bridges
			if err := c.walk.tab.set(head, head+1); err != nil {
				return err
			}
		}
		if f.n > 0 {
			return c.walk.tab.set(f.last, head)
		}
		return c.patchEntry(f.ref, func(e dirEntry) { e.setStart(c.g.Type, head) })
	case fixClear:
		return c.patchEntry(f.ref, func(e dirEntry) { e.setStart(c.g.Type, 0) })
	case fixRemove:
		return c.removeEntry(f.ref)
	case fixKeep:
		return c.patchEntry(f.ref, func(e dirEntry) { e.setSize(uint32(int64(f.n) * cs)) })
	}
	if f.at == 0 && f.n > f.need { // too long, and otherwise sound
		return c.cutAfter(f, f.need, how != fixDetach)
	}
	if f.n > 0 {
		if err := c.walk.tab.set(f.last, entryLast); err != nil || f.isDir {
			return err
		}
	}
	return c.patchEntry(f.ref, func(e dirEntry) {
		e.setSize(uint32(min(int64(f.size), int64(f.n)*cs)))
		if f.n == 0 {
			e.setStart(c.g.Type, 0)
		}
	})
}

// cutAfter ends the chain of f after keep clusters. With free the rest is given
// back, unless another chain may lead there too: then those are lost clusters, and
// what becomes of them is settled when all entries are known.
func (c *checker) cutAfter(f *chainFault, keep uint32, free bool) error {
	t := c.walk.tab
	if keep > 0 {
		// It may be the chain of another that this entry was led into: whose it
		// is comes first.
		if shares, err := c.sharesCluster(f); err != nil || shares {
			return cmp.Or(err, vol.ErrNotNow)
		}
	}
	cut, last := f.start, uint32(0)
	for i := uint32(0); i < keep; i++ {
		last = cut
		var err error
		if cut, err = t.get(cut); err != nil {
			return err
		}
	}
	var rest []link
	if free && len(c.walk.shared) == 0 && !c.hidesEntries() {
		var err error
		if rest, err = c.chainRuns(cut, f.n-keep); err != nil {
			return err
		}
	}
	if keep == 0 {
		if err := c.patchEntry(f.ref, func(e dirEntry) { e.setStart(c.g.Type, 0) }); err != nil {
			return err
		}
	} else if err := t.set(last, entryLast); err != nil {
		return err
	}
	return t.setRuns(rest)
}

// hidesEntries reports whether there are entries behind the end mark of a directory.
func (c *checker) hidesEntries() bool {
	return slices.ContainsFunc(c.walk.layout, func(n layoutNote) bool { return n.slug == "after-end" })
}

// sharesCluster reports whether another chain runs into that of f.
func (c *checker) sharesCluster(f *chainFault) (bool, error) {
	if len(c.walk.shared) == 0 {
		return false, nil
	}
	shared := map[uint32]bool{}
	for i := range c.walk.shared {
		shared[c.walk.shared[i].cluster] = true
	}
	for i, cl := uint32(0), f.start; i < f.n; i++ {
		if shared[cl] {
			return true, nil
		}
		var err error
		if cl, err = c.walk.tab.get(cl); err != nil {
			return false, err
		}
	}
	return false, nil
}

// chainRuns are n clusters of a chain from start on, as runs to be freed.
func (c *checker) chainRuns(start, n uint32) ([]link, error) {
	var runs []link
	for i, cl := uint32(0), start; i < n; i++ {
		if k := len(runs) - 1; k >= 0 && runs[k].first+runs[k].n == cl {
			runs[k].n++
		} else {
			runs = append(runs, link{first: cl, n: 1, free: true})
		}
		v, err := c.walk.tab.get(cl)
		if err != nil {
			return nil, err
		}
		cl = v
	}
	return runs, nil
}
