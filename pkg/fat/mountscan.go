package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// mountScan is Driver.MountScan: what a mount would read, and what it and
// Windows would say to it.
func mountScan(ctx context.Context, d dev.Device, o vol.ScanOptions) (*vol.Scan, error) {
	b := make(bootSector, bootSectorLen)
	if _, err := d.ReadAt(b, 0); err != nil {
		return nil, err
	}
	g, f := parseGeometry(b)
	if f != nil {
		if _, _, err := readBoot(d); probe(d).Confidence == vol.No {
			return nil, err
		}
		return &vol.Scan{Mountable: "no", Reasons: []vol.Reason{vol.NewReason(Problems(), f.slug, "%s", f.Error())}}, nil
	}
	s := &scanner{d: d, b: b, g: g, out: &vol.Scan{Info: newInfo(b, g, nil), Mountable: "rw"}}
	return s.out, s.scan(ctx, o)
}

// scanner collects a vol.Scan.
type scanner struct {
	d   dev.Device
	b   bootSector
	g   *Geometry
	out *vol.Scan
}

func (s *scanner) say(slug, format string, args ...any) {
	s.out.Reasons = append(s.out.Reasons, vol.NewReason(Problems(), slug, format, args...))
}

// refused is a reason for which the kernel does not mount the volume.
func (s *scanner) refused(slug, format string, args ...any) {
	s.say(slug, format, args...)
	s.out.Mountable = "no"
}

func (s *scanner) scan(ctx context.Context, o vol.ScanOptions) error {
	s.bootSector()
	if s.g.DataOff() > s.d.Size() {
		s.refused("fat-beyond-device", "the data area starts at byte %d, but there are only %d bytes", s.g.DataOff(), s.d.Size())
		return nil
	}
	if s.g.VolumeBytes() > s.d.Size() {
		s.say("volume-beyond-device", "the volume has %d bytes, but there are only %d: what lies behind cannot be read", s.g.VolumeBytes(), s.d.Size())
		s.g.clip(s.d.Size())
	}
	if err := s.fatHead(); err != nil {
		return err
	}
	s.root()
	f, err := s.fsInfo()
	if err != nil || o.Quick {
		return err
	}
	return s.load(ctx, f, o.Readahead)
}

// bootSector says what the kernel (fat_fill_super) refuses, and what others do.
func (s *scanner) bootSector() {
	b, g := s.b, s.g
	if !b.signed() {
		s.say("no-signature", "the boot sector lacks the signature 55 AA: Linux mounts the volume, firmware and Windows do not")
	}
	if !b.jumpOK() {
		s.say("jump", "the boot sector does not start with a jump: Linux mounts the volume, Windows does not")
	}
	if m := g.Media; m != 0xF0 && m < 0xF8 {
		s.refused("media-byte", "the media byte is %#x, which Linux refuses", m)
	}
	// [Linux] fat_fill_super: "bogus number of directory entries".
	if n := int64(b.u16(offRootEntCnt)); n*entryLen%g.SectorSize != 0 {
		s.refused("root-entries", "%d root entries do not fill a sector, which Linux refuses", n)
	}
	if g.Type == FAT32 && b.u16(offRootEntCnt) != 0 {
		s.say("root-entries", "a FAT32 volume has root entries: Linux looks for the data behind them")
	}
	if g.claimed > int64(g.Clusters) {
		s.say("fat-too-small", "the FAT has entries for %d of %d clusters", g.Clusters, g.claimed)
	}
	if g.activeBad {
		s.say("active-fat", "the active FAT is one that does not exist")
	} else if !g.Mirrored && g.Fats > 1 {
		s.say("mirror-off", "mirroring is off and FAT %d counts, but Linux reads the first one", g.ActiveFat)
	}
	s.backup()
}

// backup compares the backup boot sector. No mount reads it; but when it
// differs, a check is due.
func (s *scanner) backup() {
	g := s.g
	if g.Type != FAT32 || g.BackupSector == 0 || g.BackupSector == 0xFFFF {
		return
	}
	if g.BackupSector >= g.Reserved {
		s.say("backup-boot-location", "the backup boot sector is said to be sector %d of %d reserved ones", g.BackupSector, g.Reserved)
		return
	}
	copied := make(bootSector, bootSectorLen)
	if _, err := s.d.ReadAt(copied, g.BackupSector*g.SectorSize); err != nil {
		s.say("backup-boot-differs", "the backup boot sector cannot be read: %v", err)
	} else if at := differs(s.b, copied); at >= 0 {
		s.say("backup-boot-differs", "the backup boot sector differs from byte %d on", at)
	}
}

// fatHead reads the first two entries of the FAT and all dirty marks.
func (s *scanner) fatHead() error {
	e, err := newTable(s.d, s.g, s.g.ActiveFat).raw(0)
	if err != nil {
		return err
	}
	if ones, _ := headBits(s.g.Type); e&ones != ones&^0xFF|uint32(s.g.Media) {
		s.say("media-mismatch", "the FAT begins with %#x, which does not fit the media byte %#x: Linux mounts the volume, firmware may not", e, s.g.Media)
	}
	marks, err := dirtyMarks(s.d, s.b, s.g)
	s.out.Dirty = len(marks) > 0
	s.out.Reasons = append(s.out.Reasons, marks...)
	return err
}

// root reads the root directory, which [Linux] does to know its size, and the
// label in it.
func (s *scanner) root() {
	ds, err := newFolders(s.d, s.g, newTable(s.d, s.g, s.g.ActiveFat), stamp{}, dosPage())
	if err != nil {
		s.refused("root-unreadable", "the root directory cannot be read: %v", err)
		return
	}
	s.out.Label = labelOf(s.b, labelAmong(ds.root.used()))
}

// fsInfo reads the FSInfo sector; nil where it has no counts to go by.
func (s *scanner) fsInfo() (fsInfo, error) {
	if s.g.Type != FAT32 {
		return nil, nil
	}
	f, err := readFSInfo(s.d, s.g)
	switch {
	case err != nil:
		return nil, err
	case f == nil && (s.g.FSInfoSector == 0 || s.g.FSInfoSector == 0xFFFF):
		s.say("fsinfo-none", "there is no FSInfo sector")
	case f == nil:
		s.say("fsinfo-location", "the FSInfo sector is said to be sector %d of %d reserved ones", s.g.FSInfoSector, s.g.Reserved)
	case !f.signed():
		s.say("fsinfo-bad-signature", "the FSInfo sector lacks its signatures; the mount warns and counts the free clusters itself")
		return nil, nil
	case f.next() != fsiUnknown && !s.g.Valid(f.next()):
		s.say("fsinfo-next", "FSInfo hints at cluster %d of %d", f.next(), s.g.Last())
	}
	return f, nil
}

// load reads the allocation map, with plugged readahead (see loadMap), and
// compares the count.
func (s *scanner) load(ctx context.Context, f fsInfo, window int64) error {
	m, stats, err := loadMap(ctx, s.d, s.g, s.g.ActiveFat, window)
	if err != nil {
		return err
	}
	s.out.Counted = true
	s.out.Load = vol.Load{Bytes: stats.bytes, Reads: stats.reads, Readahead: stats.window}
	for e := range m.FreeRuns() {
		s.out.FreeClusters += uint64(e.Len)
		s.out.FreeExtents++
		s.out.LargestFreeExtent = max(s.out.LargestFreeExtent, uint64(e.Len))
	}
	if f != nil && f.free() != fsiUnknown && uint64(f.free()) != s.out.FreeClusters {
		s.say("fsinfo-free-wrong", "FSInfo says that %d clusters are free, %d are; Linux reports the former", f.free(), s.out.FreeClusters)
	}
	return nil
}
