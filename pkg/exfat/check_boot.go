package exfat

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkBoot validates both boot regions before anything else is believed.
func (c *checker) checkBoot(_ context.Context, r *vol.Report) error {
	main, err := readMain(c.d)
	if err != nil {
		return err
	}
	backup := readBackup(c.d, main)
	switch {
	case main.good(c.d.Size()):
		c.main = main
		c.judgeBackup(r, backup)
	case backup.good(c.d.Size()):
		c.main = backup
		r.Hold()
		r.Found(c.cat.Found("boot-region-lost", vol.At(0, int64(len(backup.raw))), vol.Detail("%s", main.why(c.d.Size(), backup))),
			vol.Always(func() error { return c.restoreMain(main, backup) }))
	case main.g != nil && main.g.VolumeBytes() <= c.d.Size():
		c.main = main // only its checksum is wrong, and there is no better one
		r.Hold()
		r.Found(c.cat.Found("boot-checksum", vol.At(sectorChecksum*main.g.SectorSize, main.g.SectorSize)),
			vol.Always(func() error { return c.writeBoth(main.raw) }))
	case main.err != nil:
		return main.err
	default:
		c.reportFatal(r, main)
		return vol.ErrStop
	}
	c.g = c.main.g
	c.tab = newTable(c.d, c.g)
	c.stats.Clusters = uint64(c.g.Clusters)
	c.checkFields(r)
	return c.checkFatHead(r)
}

// why says what is wrong with the main region.
func (r *region) why(size int64, backup *region) string {
	switch {
	case r.err != nil:
		return fmt.Sprintf("it cannot be read: %v", r.err)
	case r.raw == nil:
		return "it cannot be read"
	case r.fault != nil:
		return r.fault.Error()
	case r.g.VolumeBytes() > size:
		return fmt.Sprintf("it claims %d bytes of %d", r.g.VolumeBytes(), size)
	}
	if at := firstDiff(r.raw, backup.raw); at >= 440 && at < 446 {
		// Windows writes a disk signature there on disks without partitions.
		return fmt.Sprintf("its checksum is wrong; byte %d differs, where Windows puts a disk signature", at)
	}
	return "its checksum is wrong"
}

// reportFatal reports a volume of which neither region can be used.
func (c *checker) reportFatal(r *vol.Report, main *region) {
	if main.fault != nil {
		f := main.fault
		r.Found(c.cat.Found(f.slug, vol.At(f.off, f.len), vol.Detail("%s", f.detail), vol.GotWant(f.got, f.want)), nil)
		return
	}
	if main.g == nil {
		r.Found(c.cat.Found("boot-name", vol.At(0, bootSectorLen), vol.Detail("the boot region is cut short")), nil)
		return
	}
	r.Found(c.cat.Found("volume-beyond-device", vol.At(offVolumeLength, 8), vol.GotWant(main.g.VolumeBytes(), c.d.Size()),
		vol.Detail("bytes of the volume against bytes that are there")), nil)
}

// judgeBackup compares the backup with the main region, which is good.
func (c *checker) judgeBackup(r *vol.Report, backup *region) {
	main := c.main
	off := backupSector * main.g.SectorSize
	why := ""
	switch {
	case backup.err != nil:
		why = fmt.Sprintf("it cannot be read: %v", backup.err)
	case backup.raw == nil:
		why = "it lies outside the volume"
	case backup.fault != nil:
		why = backup.fault.Error()
	case !backup.sumOK:
		why = "its checksum is wrong"
	default:
		if at := firstDiff(main.raw, backup.raw); at >= 0 {
			why = fmt.Sprintf("byte %d of the region differs", at)
		}
	}
	if why != "" {
		r.Found(c.cat.Found("boot-backup-bad", vol.At(off, int64(len(main.raw))), vol.Detail("%s", why)),
			vol.Always(func() error { return c.writeRegion(main.raw, off) }))
	}
}

// writeRegion writes a region with the checksum that is right for it. A
// backup that becomes the main region does not know what is in use.
func (c *checker) writeRegion(raw []byte, off int64) error {
	b := bytes.Clone(raw)
	if off == 0 {
		b[offPercentInUse] = percentUnknown
	}
	size := int64(len(b)) / regionSectors
	copy(b[sectorChecksum*size:], checksumSector(b[:sectorChecksum*size], size))
	_, err := c.d.WriteAt(b, off)
	return err
}

// restoreMain writes the backup over the main region, but for VolumeFlags: those
// of a backup are stale, [exFAT] §3.1.13. They stay what they were where the
// region is still one of exFAT; where it is not, the volume is marked dirty.
// The pass over the flags clears that when nothing else is left, §3.1.13.2.
func (c *checker) restoreMain(main, backup *region) error {
	b := bootSector(bytes.Clone(backup.raw))
	flags := uint16(flagDirty)
	if main.raw != nil && main.boot().named() {
		flags = main.boot().u16(offVolumeFlags)
	}
	b.put16(offVolumeFlags, flags)
	return c.writeRegion(b, 0)
}

// writeBoth writes the same region to both places.
func (c *checker) writeBoth(raw []byte) error {
	if err := c.writeRegion(raw, backupSector*int64(len(raw))/regionSectors); err != nil {
		return err
	}
	return c.writeRegion(raw, 0)
}

// change edits the main region as it is by now, and writes both. One that is
// not restored must not overwrite the other.
func (c *checker) change(edit func(raw []byte)) error {
	main, err := readMain(c.d)
	if err != nil {
		return err
	}
	if main.err != nil {
		return main.err
	}
	if !main.good(c.d.Size()) {
		return vol.ErrNotNow
	}
	edit(main.raw)
	return c.writeBoth(main.raw)
}

// checkFields looks at fields that do not move anything.
func (c *checker) checkFields(r *vol.Report) {
	b := c.main.boot()
	fix := func(slug string, off, n int64, edit func(raw []byte), opts ...vol.Option) {
		r.Found(c.cat.Found(slug, vol.At(off, n), opts...), vol.Always(func() error { return c.change(edit) }))
	}
	if string(b[:len(jumpBoot)]) != jumpBoot {
		fix("boot-jump", offJumpBoot, 3, func(raw []byte) { copy(raw, jumpBoot) })
	}
	if !dev.AllZero(b[offMustBeZero : offMustBeZero+lenMustBeZero]) {
		fix("boot-must-be-zero", offMustBeZero, lenMustBeZero, func(raw []byte) { clear(raw[offMustBeZero : offMustBeZero+lenMustBeZero]) })
	}
	if sector := c.badSignature(); sector >= 0 {
		fix("boot-signature", int64(sector)*c.g.SectorSize+offBootSignature, 2, c.sign, vol.Detail("in sector %d", sector))
	}
	if c.g.Revision != plainRevision {
		// §8.2: what is newer may mean what is not known here. The boot regions of
		// 1.xx are known, the rest is looked at and not mended.
		r.Hold()
		r.Found(c.cat.Found("revision-minor", vol.At(offRevision, 2), vol.GotWant(fmt.Sprintf("%d.%02d", c.g.Revision>>8, c.g.Revision&0xFF), nil)), nil)
	}
	if c.main.off == 0 && b.u16(offVolumeFlags)&flagActiveFat != 0 {
		r.Found(c.cat.Found("active-fat", vol.At(offVolumeFlags, 2)), c.clearFlag(flagActiveFat))
	}
}

// plainRevision is 1.00, all of which is known.
const plainRevision = 0x100

// badSignature is the first of the boot sector and the extended boot sectors
// whose signature is wrong, or -1. [exFAT] §3.1.20, §3.2.2.
func (c *checker) badSignature() int {
	if c.main.boot().u16(offBootSignature) != bootSignature {
		return 0
	}
	for i := sectorExtended; i < sectorExtended+extendedSectors; i++ {
		end := int64(i+1) * c.g.SectorSize
		if bootSector(c.main.raw[end-4:]).u32(0) != extendedSignature {
			return i
		}
	}
	return -1
}

// sign writes all signatures of a region.
func (c *checker) sign(raw []byte) {
	bootSector(raw).put16(offBootSignature, bootSignature)
	for i := sectorExtended; i < sectorExtended+extendedSectors; i++ {
		bootSector(raw[int64(i+1)*c.g.SectorSize-4:]).put32(0, extendedSignature)
	}
}

// clearFlag clears a bit of VolumeFlags in the main region. It is not part of
// the checksum, and the backup's is stale by definition.
func (c *checker) clearFlag(bit uint16) vol.Fix {
	return vol.Always(func() error {
		return c.patch(offVolumeFlags, 2, func(b []byte) { bootSector(b).put16(0, bootSector(b).u16(0)&^bit) })
	})
}

// checkFatHead looks at the two FAT entries that belong to no cluster.
func (c *checker) checkFatHead(r *vol.Report) error {
	for i, want := range []uint32{fatMedia, fatOnes} {
		got, err := c.tab.get(uint32(i))
		if err != nil {
			return err
		}
		if got != want {
			fix := vol.Always(func() error { return c.tab.set(uint32(i), want) })
			if c.g.Revision != plainRevision {
				fix = nil
			}
			r.Found(c.cat.Found("fat-head", vol.At(c.g.FatOff()+int64(i)*4, 4), vol.GotWant(fmt.Sprintf("%#x", got), fmt.Sprintf("%#x", want))), fix)
		}
	}
	return nil
}
