package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkSpace compares the allocation map with what the directories lead to,
// and FSInfo with the map.
func (c *checker) checkSpace(_ context.Context, r *vol.Report) error {
	if err := c.checkLost(r); err != nil {
		return err
	}
	if c.g.Type == FAT32 {
		return c.checkFSInfo(r)
	}
	return nil
}

// maxRelated bounds how many places one finding names.
const maxRelated = 64

// checkLost reports the clusters that nothing leads to. They are given back: as
// a rule they are what was left of a file when power failed. Where the root
// directory is empty it is more likely that it was lost, and all files with it; and
// who removes a directory removes what is in it first, so one that has entries was
// lost, too.
// What cannot be done is not offered: a root that is full and cannot grow has no
// room for rescued files.
func (c *checker) checkLost(r *vol.Report) error {
	var n uint64
	var where []vol.Location
	err := c.walk.lostRuns(func(e space.Extent) error {
		n += uint64(e.Len)
		if len(where) < maxRelated {
			where = append(where, vol.Location{Cluster: e.Start, Range: c.g.ClusterRange(e.Start, e.Len)})
		}
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	lost, err := c.lostChains()
	if err != nil {
		return err
	}
	offers := []string{fixFree, fixRescue}
	if live, err := lost.liveDir(); err != nil {
		return err
	} else if live || c.walk.rootEmpty {
		offers = []string{fixRescue, fixFree}
	}
	why := ""
	if room, err := c.rootHasRoom(); err != nil {
		return err
	} else if !room {
		offers, why = []string{fixFree}, "; the root directory is full, so no FOUND directory can be made"
	}
	f := c.cat.Found("lost-chains", where[0], vol.Detail("%d clusters, %d bytes, chains: %d%s", n, int64(n)*c.g.ClusterSize(), max(1, lost.heads.CountUsed()), why),
		vol.Related(where...), vol.Offer(offers...))
	r.Found(f, func(ctx context.Context, rep vol.Repair) error {
		if rep.Name == fixRescue {
			return c.rescue(ctx, lost)
		}
		return c.freeLost()
	})
	return nil
}

// freeLost gives all lost clusters back, some runs at a time.
func (c *checker) freeLost() error {
	const most = 1 << 16
	var links []link
	err := c.walk.lostRuns(func(e space.Extent) error {
		links = append(links, link{first: e.Start, n: e.Len, free: true})
		if len(links) < most {
			return nil
		}
		err := c.walk.tab.setRuns(links)
		links = links[:0]
		return err
	})
	if err != nil {
		return err
	}
	return c.walk.tab.setRuns(links)
}

// checkFSInfo looks at where FSInfo lies and what it holds. [FAT] its counts
// are hints, but they must be those of this volume.
func (c *checker) checkFSInfo(r *vol.Report) error {
	g := c.g
	field := vol.At(offFSInfo, 2)
	if g.FSInfoSector == 0 || g.FSInfoSector == 0xFFFF {
		r.Found(c.cat.Found("fsinfo-none", field, vol.GotWant(g.FSInfoSector, usualFSInfo)), vol.Always(c.placeFSInfo))
		return nil
	}
	if g.FSInfoSector >= g.Reserved || g.FSInfoSector == g.BackupSector {
		r.Found(c.cat.Found("fsinfo-location", field, vol.GotWant(g.FSInfoSector, usualFSInfo), vol.Detail("%d reserved sectors, backup in %d", g.Reserved, g.BackupSector)), vol.Always(c.placeFSInfo))
		return nil
	}
	off := g.FSInfoSector * g.SectorSize
	info := make(fsInfo, bootSectorLen)
	if _, err := c.d.ReadAt(info, off); err != nil {
		return err
	}
	if why, err := c.notFSInfo(info); err != nil {
		return err
	} else if why != "" {
		r.Found(c.cat.Found("fsinfo-location", field, vol.GotWant(g.FSInfoSector, usualFSInfo), vol.Detail("%s", why)), vol.Always(c.placeFSInfo))
		return nil
	}
	if !info.signed() {
		r.Found(c.cat.Found("fsinfo-bad-signature", vol.At(off, bootSectorLen)), vol.Always(func() error { return c.writeFSInfo(off) }))
		return nil
	}
	c.checkCounts(r, info, off)
	return c.checkBackupInfo(r, info)
}

// notFSInfo says what is in the place of FSInfo instead of it, which a new one must
// not overwrite: a copy of the boot sector, or, where FSInfo is in its usual place,
// anything. "" where it is one, or may be made one.
func (c *checker) notFSInfo(there fsInfo) (string, error) {
	g := c.g
	switch {
	case there.signed() || g.FSInfoSector == usualFSInfo:
		return "", nil
	case bootSector(there).looksBoot():
		return "that is a boot sector", nil
	}
	usual, err := c.readSome(dev.Range{Off: usualFSInfo * g.SectorSize, Len: bootSectorLen}, bootSectorLen)
	if err != nil || g.BackupSector == usualFSInfo || !fsInfo(usual).signed() {
		return "", err
	}
	return "there is none, but one in its usual place", nil
}

func (c *checker) checkCounts(r *vol.Report, info fsInfo, off int64) {
	free := uint32(c.used.CountFree())
	put := func(o int64, v uint32) vol.Fix {
		return vol.Always(func() error {
			return c.patch(off+o, 4, func(b []byte) { bootSector(b).put32(0, v) })
		})
	}
	switch got := info.free(); {
	case got == fsiUnknown:
		r.Found(c.cat.Found("fsinfo-free-unknown", vol.At(off+offFSIFree, 4)), put(offFSIFree, free))
	case got != free:
		r.Found(c.cat.Found("fsinfo-free-wrong", vol.At(off+offFSIFree, 4), vol.GotWant(got, free)), put(offFSIFree, free))
	}
	if next := info.next(); next != fsiUnknown && !c.g.Valid(next) {
		// Some formatters write 0 or 1 for "from the start"; Linux takes that
		// as 2, Windows looks from there on.
		r.Found(c.cat.Found("fsinfo-next", vol.At(off+offFSINext, 4), vol.GotWant(next, firstCluster)), put(offFSINext, c.nextHint()))
	}
}

// nextHint is where to look for a free cluster first.
func (c *checker) nextHint() uint32 {
	if n := c.used.NextFree(0); n < uint64(c.g.Clusters) {
		return uint32(n) + firstCluster
	}
	return firstCluster
}

// checkBackupInfo looks at the FSInfo that belongs to the backup boot sector:
// [FAT] the sector after it. Its counts are from when it was made. Makers that
// leave the sector empty are common and do no harm.
func (c *checker) checkBackupInfo(r *vol.Report, info fsInfo) error {
	g := c.g
	s := g.BackupSector + 1
	if g.BackupSector == 0 || g.BackupSector == 0xFFFF || s >= g.Reserved || s == g.FSInfoSector {
		return nil
	}
	b := make(fsInfo, bootSectorLen)
	if _, err := c.d.ReadAt(b, s*g.SectorSize); err != nil {
		return err
	}
	empty := true
	for _, x := range b {
		empty = empty && x == 0
	}
	if empty || b.signed() {
		return nil
	}
	r.Found(c.cat.Found("fsinfo-backup", vol.Location{Range: dev.Range{Off: s * g.SectorSize, Len: bootSectorLen}}), vol.Always(func() error {
		_, err := c.d.WriteAt(info, s*g.SectorSize)
		return err
	}))
	return nil
}

// writeFSInfo writes the sector anew with counts of the map.
func (c *checker) writeFSInfo(off int64) error {
	_, err := c.d.WriteAt(newFSInfo(int(c.g.SectorSize), uint32(c.used.CountFree()), c.nextHint()), off)
	return err
}

// placeFSInfo points the boot sector to reserved sector 1, [FAT] "usually 1",
// and writes FSInfo there.
func (c *checker) placeFSInfo() error {
	if c.g.Reserved <= usualFSInfo || c.g.BackupSector == usualFSInfo {
		return vol.ErrNotNow
	}
	if err := c.setField(offFSInfo, 2, usualFSInfo); err != nil {
		return err
	}
	return c.writeFSInfo(usualFSInfo * c.g.SectorSize)
}
