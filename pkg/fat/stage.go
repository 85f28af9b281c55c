package fat

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Stage is vol.Changer: it writes the change in the order in which a power cut does
// the least harm: clusters that nothing leads to yet, then what leads to them, then
// the counts.
func (c *change) Stage() error {
	for _, step := range []func() error{
		c.stageZeros, c.stageTable, c.v.d.Sync, c.stageFolders, c.v.d.Sync, c.stageCounts,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stageZeros zeroes what is part of the volume's state and must be: parts of
// files, and the clusters of directories.
func (c *change) stageZeros() error {
	for _, g := range c.files {
		zero := g.zero
		if end := int64(space.Units(g.Old)) * c.v.g.ClusterSize(); c.fill && g.want > g.size && end > g.size {
			// The tail of the last cluster comes to be inside the file.
			zero = append(zero, dev.Range{Off: g.size, Len: end - g.size})
		}
		for _, r := range zero {
			if _, err := c.v.g.locator().EachRun(g.Old, r, c.v.d.Zero); err != nil {
				return err
			}
		}
	}
	for _, f := range c.ds.all {
		for _, r := range c.v.g.locator().Ranges(f.Add) {
			if err := c.v.d.Zero(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// stageTable links all new clusters, in one go over the FATs.
func (c *change) stageTable() error {
	links := make([]link, 0, len(c.files)+len(c.ds.all))
	for _, g := range c.files {
		links = appendLinks(links, g.Old, g.Add)
	}
	for _, f := range c.ds.all {
		links = appendLinks(links, f.Old, f.Add)
	}
	links = c.appendFreed(links)
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.first, b.first) })
	return c.v.t.setRuns(links)
}

// appendFreed appends what makes the clusters free that the change gives back.
func (c *change) appendFreed(links []link) []link {
	for _, f := range c.Freed {
		for _, e := range f.Extents {
			links = append(links, link{first: e.Start, n: e.Len, free: true})
		}
	}
	return links
}

// appendLinks appends what makes add the continuation of old.
func appendLinks(links []link, old, add []space.Extent) []link {
	if len(add) == 0 {
		return links
	}
	if n := len(old); n > 0 {
		links = append(links, link{first: uint32(old[n-1].End() - 1), n: 1, next: add[0].Start})
	}
	for i, e := range add {
		next := uint32(entryLast)
		if i+1 < len(add) {
			next = add[i+1].Start
		}
		links = append(links, link{first: e.Start, n: e.Len, next: next})
	}
	return links
}

// stageFolders writes the entries of the files and all that has changed in
// directories.
func (c *change) stageFolders() error {
	for _, g := range c.files {
		if !g.Changed() {
			continue
		}
		e := g.entry()
		if len(g.Old) == 0 && len(g.Add) > 0 {
			e.setStart(c.v.g.Type, g.First())
		}
		e.setSize(uint32(g.want))
		if !g.put {
			e.touch(c.v.now)
			e[offAttr] |= attrArchive
		}
		g.file.changed()
	}
	for _, f := range c.ds.all {
		if err := c.ds.store(f); err != nil {
			return err
		}
		if c.many {
			f.slots = nil
		}
	}
	return nil
}

// stageCounts writes FSInfo: the exact number of free clusters, whatever stood
// there, and the hint where to look next ([FAT] FSI_Nxt_Free, the last one
// that was allocated).
func (c *change) stageCounts() error {
	if c.v.fsinfo == 0 {
		return nil
	}
	f := make(fsInfo, bootSectorLen)
	if _, err := c.v.d.ReadAt(f, c.v.fsinfo); err != nil {
		return err
	}
	f.put32(offFSIFree, uint32(c.v.alloc.Free()+c.v.alloc.Pending()))
	if n := len(c.Taken); n > 0 {
		f.put32(offFSINext, uint32(c.Taken[n-1].End()-1)+firstCluster)
	}
	_, err := c.v.d.WriteAt(f, c.v.fsinfo)
	return err
}

// Verify is vol.Changer.
func (c *change) Verify() error {
	if err := c.verifyTable(); err != nil {
		return err
	}
	ds := *c.ds
	ds.t = newTable(c.v.d, c.v.g, c.v.g.ActiveFat)
	files := vol.InFolders(c.files, func(g *growth) *folder { return g.dir })
	kids := vol.InFolders(c.ds.all[1:], func(f *folder) *folder { return f.parent })
	for _, f := range c.ds.all {
		if err := c.verifyFolder(&ds, f, files[f], kids[f]); err != nil {
			return err
		}
	}
	return nil
}

// verifyFolder reads the directory f again, which its parent has where it is to be,
// and looks up by their names what is in it. Directories are not kept: of a change of
// many files they are the most.
func (c *change) verifyFolder(ds *folders, f *folder, files []*growth, kids []*folder) error {
	again, err := ds.reread(f)
	if err != nil {
		return vol.Misread(f.path, "%w", err)
	}
	for _, g := range files {
		slot, ok := again.lookup(path.Base(g.path))
		if !ok {
			return vol.Misread(g.path, "it is not there")
		}
		e := again.at(slot)
		if got := e.start(c.v.g.Type); e.isDir() || got != g.First() || int64(e.size()) != g.want {
			return vol.Misread(g.path, "it has %d bytes from cluster %d on, not %d from %d", e.size(), got, g.want, g.First())
		}
	}
	for _, k := range kids {
		slot, ok := again.lookup(path.Base(k.path))
		if !ok || !again.at(slot).isDir() || again.at(slot).start(c.v.g.Type) != k.First() {
			return vol.Misread(k.path, "no directory is there that starts in cluster %d", k.First())
		}
	}
	return nil
}

// verifyTable compares the chains of all files with all FATs.
func (c *change) verifyTable() error {
	links := make([]link, 0, len(c.files)+len(c.ds.all))
	for _, g := range c.files {
		links = appendLinks(links, nil, g.All())
	}
	for _, f := range c.ds.all {
		links = appendLinks(links, nil, f.All())
	}
	links = c.appendFreed(links)
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.first, b.first) })
	var eg errgroup.Group
	for _, k := range c.v.g.targets() {
		eg.Go(func() error { return c.verifyFAT(k, links) })
	}
	return eg.Wait()
}

// verifyFAT compares links with one FAT.
func (c *change) verifyFAT(k int, links []link) error {
	t := newTable(c.v.d, c.v.g, k)
	for _, l := range links {
		if at, err := t.mismatch(l); err != nil {
			return err
		} else if at != 0 {
			return vol.Misread(fmt.Sprintf("FAT %d", k), "the entry of cluster %d is not what was written", at)
		}
	}
	return nil
}
