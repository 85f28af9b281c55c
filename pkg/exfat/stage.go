package exfat

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Stage is vol.Changer: it writes the change in the order that [exFAT] §8.1
// recommends: clusters that nothing leads to yet, the FAT and the bitmap, then
// what leads to them, then the percentage, which nobody relies on. VolumeDirty
// (§3.1.13.2) need not be set meanwhile: the undo log of the transaction says
// the same, and mends it.
func (c *change) Stage() error {
	for _, step := range []func() error{
		c.stageZeros, c.stageTable, c.stageBitmap, c.v.d.Sync, c.stageFolders, c.v.d.Sync, c.stageFreed, c.stagePercent,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stageZeros zeroes what is part of the volume's state and must be: parts of
// files that stay valid, and the clusters of directories.
func (c *change) stageZeros() error {
	for _, g := range c.files {
		for _, r := range g.zero {
			if _, err := c.v.g.locator().EachRun(g.Old, r.Intersect(dev.Range{Len: g.wantValid}), c.v.d.Zero); err != nil {
				return err
			}
		}
	}
	for _, f := range c.ds.all {
		for _, e := range f.Add {
			if err := c.v.d.Zero(c.v.g.ClusterRange(e.Start, e.Len)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stageTable writes all chains, in rising order.
func (c *change) stageTable() error {
	var runs []chainRun
	for _, g := range c.files {
		runs = append(runs, g.links()...)
	}
	for _, f := range c.ds.all {
		runs = append(runs, f.links()...)
	}
	slices.SortFunc(runs, func(a, b chainRun) int { return cmp.Compare(a.Start, b.Start) })
	t := newTable(c.v.d, c.v.g)
	for _, r := range runs {
		if err := t.linkRun(r.Extent, r.next); err != nil {
			return err
		}
	}
	return nil
}

// stageBitmap marks all new clusters as used.
func (c *change) stageBitmap() error { return c.v.bits.put(c.v.m, space.Join(slices.Clone(c.Taken))) }

// stageFolders writes the sets of the files and all that has changed in
// directories.
func (c *change) stageFolders() error {
	for _, g := range c.files {
		if !g.Changed() {
			continue
		}
		set := g.set()
		noFat := g.contiguous()
		set.allocate(g.First(), uint64(g.wantSize), uint64(g.wantValid), noFat)
		if !g.put {
			set.archive()
			set.file().touch(c.v.now)
		}
		set.seal()
		g.file.changed()
	}
	for _, f := range c.ds.all {
		c.ds.place(f)
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

// stageFreed marks clusters as free that were given back. That is all that
// makes them free: [exFAT] §7.1.5, and §4.1 has the FAT entries of free
// clusters mean nothing. It is done for those of earlier changes of the
// transaction too, as the map of the allocator has them in use until a commit.
func (c *change) stageFreed() error {
	c.v.released = space.Join(append(c.v.released, c.FreedUnits()...))
	for _, e := range c.v.released {
		e.Start += firstCluster
		if err := c.v.bits.mark(e, false); err != nil {
			return err
		}
	}
	return nil
}

// stagePercent writes PercentInUse, [exFAT] §3.1.18, in the main boot sector
// alone: it is no part of the checksum, and that of the backup is stale by
// definition.
func (c *change) stagePercent() error {
	if len(c.Taken)+len(c.Freed) == 0 {
		return nil
	}
	b := make([]byte, 1)
	if _, err := c.v.d.ReadAt(b, offPercentInUse); err != nil {
		return err
	}
	want := c.v.g.percent(c.v.alloc.Free() + c.v.alloc.Pending())
	if b[0] == want {
		return nil
	}
	b[0] = want
	_, err := c.v.d.WriteAt(b, offPercentInUse)
	return err
}

// percent of the clusters that are in use, rounded down, [exFAT] §3.1.18.
func (g *Geometry) percent(free uint64) byte {
	return byte((uint64(g.Clusters) - free) * 100 / uint64(g.Clusters))
}

// Verify is vol.Changer.
func (c *change) Verify() error {
	if err := c.verifyFolders(); err != nil {
		return err
	}
	bits := newBitmap(c.v.d, c.v.g, c.v.tables.bitmap.extents)
	for _, e := range space.Join(slices.Clone(c.Taken)) {
		e.Start += firstCluster
		if n, err := bits.countUsed(e); err != nil {
			return err
		} else if n != e.Len {
			return vol.Misread("the allocation bitmap", "%d of the clusters %v are marked as used", n, e)
		}
	}
	return c.verifyFreed(bits)
}

// verifyFolders reads the directories again, each after the one that it is in, and
// looks up by their names what is in them. They are not kept: of a change of many
// files they are the most.
func (c *change) verifyFolders() error {
	ds, err := c.v.openFolders()
	if err != nil {
		return vol.Misread("/", "%w", err)
	}
	if !slices.Equal(ds.root.Old, c.ds.root.All()) {
		return vol.Misread("/", "its clusters are not those that it was given")
	}
	files := vol.InFolders(c.files, func(g *growth) *folder { return g.dir })
	kids := vol.InFolders(c.ds.all[1:], func(f *folder) *folder { return f.parent })
	for i, f := range c.ds.all {
		again := ds.root
		if i > 0 {
			// That it has these was verified in its parent.
			again = &folder{path: f.path, clusters: clusters{Clusters: vol.Clusters{Old: f.All()}}}
			if err := ds.load(again); err != nil {
				return vol.Misread(f.path, "%w", err)
			}
		}
		for _, g := range files[f] {
			if err := c.verifyFile(ds, again, g); err != nil {
				return vol.Misread(g.path, "%w", err)
			}
		}
		for _, k := range kids[f] {
			if err := c.verifyKid(ds, again, k); err != nil {
				return vol.Misread(k.path, "%w", err)
			}
		}
	}
	return nil
}

// verifyKid looks the directory k up in dir.
func (c *change) verifyKid(ds *folders, dir, k *folder) error {
	slot, ok := dir.lookup(path.Base(k.path))
	if !ok || !setAt(dir.slots, slot).isDir() {
		return errors.New("it is not there")
	}
	kid, err := ds.unread(file{dir: dir, slot: slot, path: k.path})
	if err != nil {
		return err
	}
	if !slices.Equal(kid.Old, k.All()) || kid.noFat != k.contiguous() && len(kid.Old) > 0 {
		return errors.New("its clusters are not those that it was given")
	}
	return nil
}

// verifyFile looks g up in dir as anyone would.
func (c *change) verifyFile(ds *folders, dir *folder, g *growth) error {
	slot, ok := dir.lookup(path.Base(g.path))
	if !ok {
		return errors.New("it is not there")
	}
	f := file{dir: dir, slot: slot, path: g.path}
	if err := ds.usable(f); err != nil {
		return err
	}
	cs, err := ds.clustersOf(g.path, f.set())
	if err != nil {
		return err
	}
	st := f.set().stream()
	if f.set().isDir() || int64(st.length()) != g.wantSize || int64(st.valid()) != g.wantValid || len(cs.Old) > 0 && cs.noFat != g.contiguous() {
		return fmt.Errorf("it has %d bytes of which %d are valid, not %d and %d", st.length(), st.valid(), g.wantSize, g.wantValid)
	}
	if !slices.Equal(cs.Old, g.All()) {
		return fmt.Errorf("it has the clusters %v, not %v", cs.Old, g.All())
	}
	return nil
}

// verifyFreed reads back what stageFreed did.
func (c *change) verifyFreed(bits *bitmap) error {
	for _, e := range c.v.released {
		e.Start += firstCluster
		if n, err := bits.countUsed(e); err != nil {
			return err
		} else if n != 0 {
			return vol.Misread("the allocation bitmap", "%d of the clusters %v are marked as used", n, e)
		}
	}
	return nil
}
