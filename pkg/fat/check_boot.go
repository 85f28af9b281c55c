package fat

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// checkBoot reads the boot sector and settles the geometry. Nothing else on
// the volume is trusted before that.
func (c *checker) checkBoot(_ context.Context, r *vol.Report) error {
	if c.no != nil {
		return c.no
	}
	b := make(bootSector, bootSectorLen)
	if _, err := c.d.ReadAt(b, 0); err != nil {
		return err
	}
	if stop, err := c.settleBoot(r, b); err != nil {
		return err
	} else if stop {
		return vol.ErrStop
	}
	if err := c.checkPlace(r); err != nil {
		return err
	}
	if err := c.checkType(r); err != nil {
		return err
	}
	if err := c.checkExtent(r); err != nil {
		return err
	}
	c.checkFields(r)
	c.fat = c.g.ActiveFat
	return c.checkBackup(r)
}

// settleBoot decides which sector counts: b, which is sector 0, or the backup
// where b cannot be used or contradicts what is on the volume. It reports
// whether there is none to go on with.
func (c *checker) settleBoot(r *vol.Report, b bootSector) (stop bool, err error) {
	g, f := parseGeometry(b)
	backup, bg, err := c.goodBackup()
	if err != nil {
		return false, err
	}
	lost := ""
	switch {
	case f != nil:
		lost = f.Error()
	case !b.signed() && !b.jumpOK():
		lost = "it has neither a jump nor a signature"
	case bg != nil && !g.same(bg):
		better, err := c.better(bg, g)
		if err != nil {
			return false, err
		}
		if better {
			lost = "things do not lie where it says, but where the backup says"
		}
	}
	switch {
	case lost != "" && bg != nil:
		c.boot, c.g = backup, bg
		r.Found(c.cat.Found("boot-sector-lost", vol.At(0, bootSectorLen), vol.Detail("%s", lost)), vol.Always(func() error {
			_, err := c.d.WriteAt(backup, 0)
			return err
		}))
		return false, nil
	case f == nil:
		c.boot, c.g = b, g
		return false, nil
	}
	if f.slug == "fat-count" {
		if n, err := c.otherFatCount(b); err != nil {
			return true, err
		} else if n > 0 {
			c.wrongFatCount(r, int(b.u8(offNumFATs)), n)
			return true, nil
		}
	}
	r.Found(c.cat.Found(f.slug, vol.At(f.off, f.len), vol.Detail("%s", f.detail), vol.GotWant(f.got, f.want)), nil)
	return true, nil
}

// goodBackup is the backup boot sector, if things lie where it says: one may be
// left over from a volume that was there before.
func (c *checker) goodBackup() (bootSector, *Geometry, error) {
	b, g := findBackup(c.d)
	if g == nil {
		return nil, nil, nil
	}
	looks, err := c.rootLooks(g)
	if err != nil || looks == rootOther {
		return nil, nil, err
	}
	if !c.headsFit(g) {
		// A directory that names its own cluster is where it says, too.
		good, bad, err := c.subdirectories(g)
		if err != nil || good <= bad {
			return nil, nil, err
		}
	}
	return b, g, nil
}

// checkExtent holds the size of the volume against the device and against
// what the FAT has entries for.
func (c *checker) checkExtent(r *vol.Report) error {
	g := c.g
	if g.VolumeBytes() > c.d.Size() {
		return c.beyondDevice(r)
	}
	if g.claimed > int64(g.Clusters) {
		sectors := g.DataOff()/g.SectorSize + int64(g.Clusters)*g.SectorsPerCluster
		offers, fix := []string{fixShrink}, vol.Always(func() error { return c.setTotal(sectors) })
		if g.narrows() {
			offers, fix = []string{}, nil
		}
		r.Found(c.cat.Found("fat-too-small", vol.At(offTotSec32, 4), vol.GotWant(g.claimed, g.Clusters), vol.Offer(offers...)), fix)
	}
	return nil
}

// narrows reports whether a total of no more than the clusters of g would make it
// a volume of another type, whose FAT is read otherwise: [FAT] "FAT Type
// Determination". Of FAT32 the size of the FAT tells the type before the count does.
func (g *Geometry) narrows() bool { return g.Type == FAT16 && g.Clusters < maxFAT12 }

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
	fix := vol.Always(func() error { return c.setTotal(sectors) })
	other := g.Clusters < 1 || g.narrows() || g.Type == FAT32 && !g.Valid(g.RootCluster)
	if other {
		repairs, fix = []string{}, nil
	}
	r.Found(c.cat.Found("volume-beyond-device", vol.At(offTotSec32, 4), vol.GotWant(claimed, c.d.Size()),
		vol.Detail("bytes of the volume against bytes that are there"), vol.Offer(repairs...)), fix)
	if other {
		// With the clusters that are there it would be a volume of another
		// type, or none; and it may well be that the size alone is wrong.
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
	set := func(slug string, off, n int64, want uint32, opts ...vol.Option) {
		r.Found(c.cat.Found(slug, vol.At(off, n), opts...), vol.Always(func() error { return c.setField(off, n, want) }))
	}
	if !b.signed() {
		set("no-signature", offSignature, 2, 0xAA55, vol.GotWant(hex(b.u16(offSignature)), "0xaa55"))
	}
	if !b.jumpOK() {
		set("jump", offJump, 3, c.jump())
	}
	if m := b.u8(offMedia); !mediaOK(m) {
		want := c.media()
		set("media-byte", offMedia, 1, uint32(want), vol.GotWant(hex(m), hex(want)))
	}
	if off := b.off(offBootSig16, offBootSig32); b.extHit() {
		set("ext-signature", int64(off), 1, extBootSig, vol.GotWant(hex(b[off]), hex(byte(extBootSig))))
	}
	t16, t32 := b.u16(offTotSec16), b.u32(offTotSec32)
	if t16 != 0 && t32 != 0 && uint32(t16) != t32 {
		set("totals-disagree", offTotSec32, 4, 0, vol.GotWant(t32, t16))
	}
	if c.g.Type != FAT32 {
		return
	}
	if n := b.u16(offRootEntCnt); n != 0 {
		set("root-entries", offRootEntCnt, 2, 0, vol.GotWant(n, 0))
	}
	if v := b.u16(offFSVer); v != 0 {
		set("version", offFSVer, 2, 0, vol.GotWant(hex(v), "0x0"))
	}
	if c.g.activeBad {
		set("active-fat", offExtFlags, 2, 0, vol.GotWant(b.u16(offExtFlags)&0xF, c.g.Fats-1))
	}
}

// media is what the FAT says the media byte is, or the usual one.
func (c *checker) media() byte {
	var head [1]byte
	if _, err := c.d.ReadAt(head[:], c.g.FatOff(c.g.ActiveFat)); err == nil && mediaOK(head[0]) {
		return head[0]
	}
	return mediaFixed
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
		r.Found(c.cat.Found("type-boundary", vol.At(offTotSec32, 4), vol.GotWant(g.Clusters, nil)), nil)
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
			r.Found(c.cat.Found("type-ambiguous", vol.At(offTotSec32, 4), vol.Detail(
				"%d clusters make it %s, but the type string and the FAT say %s; a repair with the wrong width would destroy it", g.Clusters, g.Type, got[:5])), nil)
			return vol.ErrStop
		}
	}
	r.Found(c.cat.Found("type-string", vol.At(int64(c.boot.off(offFilSysTy16, offFilSysTy32)), 8), vol.GotWant(quote(got), quote(want))), nil)
	return nil
}

// otherWidthFits reports whether the FAT makes much more sense read as the other
// of FAT12 and FAT16 than as what the cluster count says.
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
	return theirs*8 < mine, err
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
		r.Found(c.cat.Found("backup-boot-none", vol.At(offBkBootSec, 2)), nil)
		return nil
	}
	off := g.BackupSector * g.SectorSize
	copied := make(bootSector, bootSectorLen)
	why := fmt.Sprintf("there are %d reserved sectors", g.Reserved)
	if g.BackupSector < g.Reserved {
		if _, err := c.d.ReadAt(copied, off); err != nil {
			return err
		}
		why = c.notBackup(copied)
	}
	if why != "" {
		r.Found(c.cat.Found("backup-boot-location", vol.At(offBkBootSec, 2), vol.GotWant(g.BackupSector, usualBackup), vol.Detail("%s", why)), vol.Always(c.placeBackup))
		return nil
	}
	if diff := differs(c.boot, copied); diff >= 0 {
		r.Found(c.cat.Found("backup-boot-differs", vol.At(off+int64(diff), 1), vol.Detail("first at byte %d of the sector", diff)),
			vol.Always(func() error { return c.copyBoot(off) }))
	}
	return nil
}

// notBackup says what is in the place of the backup instead of one; "" where it
// is one, or may be made one.
func (c *checker) notBackup(b bootSector) string {
	if fsInfo(b).signed() {
		return "that is the FSInfo sector"
	}
	if c.g.BackupSector == usualBackup || b.looksBoot() {
		return ""
	}
	if _, g := findBackup(c.d); g != nil {
		return "there is none, but one in its usual place"
	}
	return ""
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

// placeBackup puts the backup into its usual place, or declares that there is
// none where the reserved sectors end before.
func (c *checker) placeBackup() error {
	sector := int64(usualBackup)
	if free, err := c.freeForBackup(); err != nil {
		return err
	} else if !free {
		sector = 0
	}
	if err := c.setField(offBkBootSec, 2, uint32(sector)); err != nil || sector == 0 {
		return err
	}
	return c.copyBoot(sector * c.g.SectorSize)
}

// freeForBackup reports whether the usual place of the backup is there, and not that
// of FSInfo. What the boot sector says of that may be what is wrong.
func (c *checker) freeForBackup() (bool, error) {
	if c.g.Reserved <= usualBackup || c.g.FSInfoSector != usualBackup {
		return c.g.Reserved > usualBackup, nil
	}
	there := make(bootSector, bootSectorLen)
	_, err := c.d.ReadAt(there, usualBackup*c.g.SectorSize)
	return there.looksBoot(), err
}
