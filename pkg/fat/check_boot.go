package fat

import (
	"bytes"
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// checkBoot reads the boot sector and settles the geometry. Nothing else on
// the volume is trusted before that.
func (c *checker) checkBoot(_ context.Context, r *vol.Report) error {
	b := make(bootSector, bootSectorLen)
	if _, err := c.d.ReadAt(b, 0); err != nil {
		return err
	}
	g, f := parseGeometry(b)
	if f != nil || !b.signed() && !b.jumpOK() {
		if stop := c.lostBoot(r, b, f); stop {
			return vol.ErrStop
		}
	} else {
		c.boot, c.g = b, g
	}
	if err := c.checkExtent(r); err != nil {
		return err
	}
	c.checkFields(r)
	if err := c.checkType(r); err != nil {
		return err
	}
	if err := c.checkFatCount(r); err != nil {
		return err
	}
	c.fat = c.g.ActiveFat
	return c.checkBackup(r)
}

// lostBoot deals with a sector 0 that cannot be used: the backup stands in
// for it where there is a good one. It reports whether there is not.
func (c *checker) lostBoot(r *vol.Report, b bootSector, f *fault) (stop bool) {
	backup, g := findBackup(c.d)
	if g == nil {
		if f == nil { // it parses, and lacks only its marks
			c.boot = b
			c.g, _ = parseGeometry(b)
			return false
		}
		r.Found(c.found(f.slug, at(f.off, f.len), detail("%s", f.detail), gotWant(f.got, f.want)), nil)
		return true
	}
	c.boot, c.g = backup, g
	why := "it has neither a jump nor a signature"
	if f != nil {
		why = f.Error()
	}
	r.Found(c.found("boot-sector-lost", at(0, bootSectorLen), detail("%s", why)), always(func() error {
		_, err := c.d.WriteAt(backup, 0)
		return err
	}))
	return false
}

// checkExtent holds the size of the volume against the device and against
// what the FAT has entries for.
func (c *checker) checkExtent(r *vol.Report) error {
	g, size := c.g, c.d.Size()
	if first := g.DataOff(); first > size {
		r.Found(c.found("fat-beyond-device", at(offTotSec32, 4),
			detail("the data area starts at byte %d of a volume of %d, but there are only %d bytes", first, g.VolumeBytes(), size)), nil)
		return vol.ErrStop
	}
	if g.VolumeBytes() > size {
		return c.beyondDevice(r)
	}
	if g.claimed > int64(g.Clusters) {
		sectors := g.DataOff()/g.SectorSize + int64(g.Clusters)*g.SectorsPerCluster
		r.Found(c.found("fat-too-small", at(offTotSec32, 4), gotWant(g.claimed, g.Clusters)),
			always(func() error { return c.setTotal(sectors) }))
	}
	return nil
}

// beyondDevice reports a volume that ends behind the device, and goes on with
// the clusters that are there.
func (c *checker) beyondDevice(r *vol.Report) error {
	g := c.g
	claimed, had := g.VolumeBytes(), g.Clusters
	g.clip(c.d.Size())
	sectors := c.d.Size() / g.SectorSize
	loses, err := c.usedBeyond(had)
	if err != nil {
		return err
	}
	small := *g
	small.TotalSectors = sectors
	repairs := []string{fixShrink}
	if loses {
		repairs = []string{fixTruncate}
	}
	fix := always(func() error { return c.setTotal(sectors) })
	if g.Clusters < 1 || g.Type == FAT16 && g.Clusters < maxFAT12 || g.Type == FAT32 && !g.Valid(g.RootCluster) {
		// With fewer clusters it would be a volume of another type, or none.
		repairs, fix = []string{}, nil
	}
	r.Found(c.found("volume-beyond-device", at(offTotSec32, 4), gotWant(claimed, c.d.Size()),
		detail("bytes of the volume against bytes that are there"), offer(repairs...)), fix)
	if g.Clusters < 1 {
		return vol.ErrStop
	}
	return nil
}

// usedBeyond reports whether a FAT entry behind the last cluster of c.g, up to
// had clusters, is in use.
func (c *checker) usedBeyond(had uint32) (bool, error) {
	whole := *c.g
	whole.Clusters = had
	t := newTable(c.d, &whole, whole.ActiveFat)
	for n := c.g.Clusters; n < had; n++ {
		v, err := t.get(n + firstCluster)
		if err != nil || v != entryFree {
			return v != entryFree, err
		}
	}
	return false, nil
}

// setTotal writes a new number of sectors, into the field that is in use.
func (c *checker) setTotal(sectors int64) error {
	return c.patch(0, bootSectorLen, func(p []byte) {
		b := bootSector(p)
		if b.u16(offTotSec16) != 0 && sectors <= 0xFFFF {
			b.put16(offTotSec16, uint16(sectors))
			return
		}
		b.put16(offTotSec16, 0)
		b.put32(offTotSec32, uint32(sectors))
	})
}

// checkFields looks at the fields that do not move anything.
func (c *checker) checkFields(r *vol.Report) {
	b := c.boot
	set := func(slug string, off, n int64, want uint32, opts ...func(*vol.Finding)) {
		r.Found(c.found(slug, at(off, n), opts...), always(func() error { return c.setField(off, n, want) }))
	}
	if !b.signed() {
		set("no-signature", offSignature, 2, 0xAA55, gotWant(hex(b.u16(offSignature)), "0xaa55"))
	}
	if !b.jumpOK() {
		set("jump", offJump, 3, c.jump())
	}
	if m := b.u8(offMedia); m != 0xF0 && m < 0xF8 {
		set("media-byte", offMedia, 1, 0xF8, gotWant(hex(m), "0xf8"))
	}
	t16, t32 := b.u16(offTotSec16), b.u32(offTotSec32)
	if t16 != 0 && t32 != 0 && uint32(t16) != t32 {
		set("totals-disagree", offTotSec32, 4, 0, gotWant(t32, t16))
	}
	if c.g.Type != FAT32 {
		return
	}
	if n := b.u16(offRootEntCnt); n != 0 {
		set("root-entries", offRootEntCnt, 2, 0, gotWant(n, 0))
	}
	if v := b.u16(offFSVer); v != 0 {
		set("version", offFSVer, 2, 0, gotWant(hex(v), "0x0"))
	}
	if c.g.activeBad {
		set("active-fat", offExtFlags, 2, 0, gotWant(b.u16(offExtFlags)&0xF, c.g.Fats-1))
	}
}

// jump is the instruction over the BPB: EB xx 90, little-endian.
func (c *checker) jump() uint32 {
	if c.g.Type == FAT32 {
		return 0x9058EB
	}
	return 0x903CEB
}

// setField writes n bytes, little-endian, into the boot sector.
func (c *checker) setField(off, n int64, v uint32) error {
	return c.patch(off, n, func(b []byte) {
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
	})
}

// checkType reports counts at which systems take the volume for another type.
func (c *checker) checkType(r *vol.Report) error {
	g := c.g
	if g.Type == FAT32 {
		if g.Clusters < maxFAT16 {
			if err := c.checkFewClusters(r); err != nil {
				return err
			}
		}
	} else if g.Clusters == maxFAT12 || g.Clusters == maxFAT12+1 {
		r.Found(c.found("type-boundary", at(offTotSec32, 4), gotWant(g.Clusters, nil)), nil)
	}
	want := map[Type]string{FAT12: "FAT12   ", FAT16: "FAT16   ", FAT32: "FAT32   "}[g.Type]
	got := string(c.boot.fsType())
	if !c.boot.hasExt() || got == want || got == "FAT     " {
		return nil
	}
	if g.Type != FAT32 && (got == "FAT12   " || got == "FAT16   ") {
		other, err := c.otherWidthFits()
		if err != nil {
			return err
		}
		if other {
			r.Found(c.found("type-ambiguous", at(offTotSec32, 4), detail(
				"%d clusters make it %s, but the type string and the FAT say %s; a repair with the wrong width would destroy it", g.Clusters, g.Type, got[:5])), nil)
			return vol.ErrStop
		}
	}
	r.Found(c.found("type-string", at(int64(c.boot.off(offFilSysTy16, offFilSysTy32)), 8), gotWant(quote(got), quote(want))), nil)
	return nil
}

// otherWidthFits reports whether the FAT makes sense read as the other of
// FAT12 and FAT16, and none as what the cluster count says.
func (c *checker) otherWidthFits() (bool, error) {
	other := *c.g
	other.Type = FAT12 + FAT16 - c.g.Type
	if other.entryBytes() > other.FatBytes() {
		return false, nil
	}
	mine, err := badLinks(newTable(c.d, c.g, c.g.ActiveFat))
	if err != nil || mine == 0 {
		return false, err
	}
	theirs, err := badLinks(newTable(c.d, &other, other.ActiveFat))
	return theirs == 0, err
}

// badLinks counts entries that no sound FAT of this width holds.
func badLinks(t *table) (n int, err error) {
	for cl := uint32(firstCluster); cl <= t.g.Last(); cl++ {
		v, err := t.get(cl)
		if err != nil {
			return n, err
		}
		if v != entryFree && v < entryBad && !t.g.Valid(v) {
			n++
		}
	}
	return n, nil
}

// checkBackup looks at the copy of the boot sector.
func (c *checker) checkBackup(r *vol.Report) error {
	g := c.g
	if g.Type != FAT32 {
		return nil
	}
	if g.BackupSector == 0 || g.BackupSector == 0xFFFF {
		r.Found(c.found("backup-boot-none", at(offBkBootSec, 2)), nil)
		return nil
	}
	if g.BackupSector >= g.Reserved {
		r.Found(c.found("backup-boot-location", at(offBkBootSec, 2), gotWant(g.BackupSector, "6"),
			detail("there are %d reserved sectors", g.Reserved)), always(c.placeBackup))
		return nil
	}
	off := g.BackupSector * g.SectorSize
	copied := make(bootSector, bootSectorLen)
	if _, err := c.d.ReadAt(copied, off); err != nil {
		return err
	}
	if diff := differs(c.boot, copied); diff >= 0 {
		r.Found(c.found("backup-boot-differs", at(off+int64(diff), 1), detail("first at byte %d of the sector", diff)),
			always(func() error { return c.copyBoot(off) }))
	}
	return nil
}

// differs is the first byte in which a and its backup b differ, or -1. The
// byte with the dirty flag is only kept in sector 0.
func differs(a, b bootSector) int {
	x, y := bytes.Clone(a), bytes.Clone(b)
	y[offFlags32] = x[offFlags32]
	for i := range x {
		if x[i] != y[i] {
			return i
		}
	}
	return -1
}

// copyBoot writes sector 0, as it is by now, to its backup at off.
func (c *checker) copyBoot(off int64) error {
	b := make(bootSector, bootSectorLen)
	if _, err := c.d.ReadAt(b, 0); err != nil {
		return err
	}
	b[offFlags32] &^= stateDirty | stateSurfaceTest
	_, err := c.d.WriteAt(b, off)
	return err
}

// placeBackup puts the backup into sector 6, where Microsoft puts it, or
// declares that there is none where the reserved sectors end before.
func (c *checker) placeBackup() error {
	const usual = 6
	sector := int64(usual)
	if c.g.Reserved <= usual || c.g.FSInfoSector == usual {
		sector = 0
	}
	if err := c.setField(offBkBootSec, 2, uint32(sector)); err != nil || sector == 0 {
		return err
	}
	return c.copyBoot(sector * c.g.SectorSize)
}
