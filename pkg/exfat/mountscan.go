package exfat

import (
	"context"
	"errors"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// mountScan is Driver.MountScan: what a mount would read, and what it and
// Windows would say to it.
func mountScan(ctx context.Context, d dev.Device, o vol.ScanOptions) (*vol.Scan, error) {
	main, backup, err := readRegions(d)
	if err != nil {
		return lost(d, err)
	}
	s := &scanner{d: d, main: main, backup: backup, g: main.g, out: &vol.Scan{Mountable: "rw"}}
	if s.g == nil {
		s.g = backup.g
		s.describe(backup)
		s.refused("boot-region-lost", "the main boot region cannot be used (%s), but the backup can: check restores it", main.why(d.Size(), backup))
		return s.out, nil
	}
	s.describe(main)
	return s.out, s.scan(ctx, o)
}

// lost is the answer where neither boot region can be used: err, unless there
// is something of exFAT left that no system would mount.
func lost(d dev.Device, err error) (*vol.Scan, error) {
	if !errors.Is(err, vol.ErrDamaged) {
		return nil, err
	}
	main, merr := readMain(d)
	if merr != nil || main.fault == nil {
		return nil, err
	}
	return &vol.Scan{Info: vol.Info{Type: "exfat"}, Mountable: "no", Reasons: []vol.Reason{vol.NewReason(Problems(), main.fault.slug, "%v", main.fault)}}, nil
}

// scanner collects a vol.Scan.
type scanner struct {
	d            dev.Device
	main, backup *region
	g            *Geometry
	t            *table
	tables       *tables
	bits         *bitmap
	out          *vol.Scan
}

func (s *scanner) describe(r *region) {
	s.out.Info = newInfo(r.boot().u32(offSerial), s.g, "")
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
	s.region()
	s.sectors()
	s.flags()
	s.t = newTable(s.d, s.g)
	s.fatHead()
	s.root()
	if s.bits == nil || !s.marked() || o.Quick {
		return nil
	}
	return s.load(ctx, o.Readahead)
}

// region judges the boot regions as a mount does, and the backup, which no
// mount reads; but when that is lost, a check is due.
func (s *scanner) region() {
	if !s.main.sumOK {
		// [Linux] exfat_verify_boot_region: "Invalid boot checksum".
		if s.backup.good(s.d.Size()) {
			s.refused("boot-region-lost", "the checksum of the main boot region is wrong, that of the backup is right: check restores it")
		} else {
			s.refused("boot-checksum", "the checksum of the boot region is wrong")
		}
		return
	}
	switch b := s.backup; {
	case b.raw == nil:
		s.say("boot-backup-bad", "the backup boot region cannot be read")
	case b.fault != nil:
		s.say("boot-backup-bad", "the backup boot region: %v", b.fault)
	case !b.sumOK:
		s.say("boot-backup-bad", "the checksum of the backup boot region is wrong")
	default:
		if at := firstDiff(s.main.raw, b.raw); at >= 0 {
			s.say("boot-backup-bad", "the backup boot region differs from byte %d on", at)
		}
	}
}

// sectors says what the kernel (exfat_read_boot_sector) refuses, and what
// others do.
func (s *scanner) sectors() {
	b := s.main.boot()
	if !b.signed() {
		s.refused("boot-signature", "the boot sector lacks the signature 55 AA, without which Linux does not mount the volume")
	}
	if !dev.AllZero(b[offMustBeZero : offMustBeZero+lenMustBeZero]) {
		s.refused("boot-must-be-zero", "the bytes where a FAT has its parameters are not zero, and Linux does not mount the volume")
	}
	if !b.jumpOK() {
		s.say("boot-jump", "the boot sector does not start with its jump: Linux mounts the volume, Windows does not")
	}
	if n := int64(s.d.Limits().LogicalSector); n > s.g.SectorSize {
		// [Linux] exfat_calibrate_blocksize.
		s.refused("sector-size", "the volume has sectors of %d bytes, the device of %d: no system mounts that", s.g.SectorSize, n)
	}
	if s.g.VolumeBytes() > s.d.Size() {
		s.say("volume-beyond-device", "the volume has %d bytes, but there are only %d: what lies behind cannot be read", s.g.VolumeBytes(), s.d.Size())
	}
}

// flags are the marks of the boot sector.
func (s *scanner) flags() {
	b := s.main.boot()
	marks := b.marks()
	s.out.Dirty = len(marks) > 0
	s.out.Reasons = append(s.out.Reasons, marks...)
	if b.u16(offVolumeFlags)&flagActiveFat != 0 {
		s.say("active-fat", "the second FAT is marked as active, and there is one: Linux reads that")
	}
}

// fatHead reads the entries of the FAT that belong to no cluster.
func (s *scanner) fatHead() {
	for c, want := range []uint32{fatMedia, fatOnes} {
		if v, err := s.t.get(uint32(c)); err != nil {
			s.say("fat-head", "the FAT cannot be read: %v", err)
			return
		} else if v != want {
			s.say("fat-head", "FAT entry %d is %#x, not %#x: Linux mounts the volume all the same", c, v, want)
		}
	}
}

// root reads the root directory, and settles where the bitmap is, and whether
// the up-case table can be used.
func (s *scanner) root() {
	x, err := readTables(s.t)
	if err != nil {
		s.refused("root-unreadable", "the root directory cannot be read: %v", err)
		return
	}
	s.tables = x
	s.out.Label = x.label
	if x.unknown != "" {
		s.say("unknown-critical", "the root directory holds %s: by the specification nobody may mount the volume, Linux does", x.unknown)
	}
	if x.bitmap.more > 0 {
		s.say("bitmap-twice", "there are %d more entries for an allocation bitmap", x.bitmap.more)
	}
	if x.upcase.more > 0 {
		s.say("upcase-twice", "there are %d more entries for an up-case table", x.upcase.more)
	}
	s.findBitmap()
	s.findUpcase()
}

// findBitmap settles where the bitmap is. [Linux] reads it from its first
// cluster on, whatever the FAT says, and mounts nothing without one.
func (s *scanner) findBitmap() {
	f := new(flaw)
	bits, err := s.tables.findBitmap(s.t)
	switch x := &s.tables.bitmap; {
	case err == nil:
		s.bits = bits
		if len(x.extents) > 1 {
			s.say("bitmap-pieces", "the allocation bitmap lies in %d pieces: that is allowed, but Linux reads it as if it were one, and damages such a volume", len(x.extents))
		}
	case !errors.As(err, &f):
		s.refused("bitmap-none", "the allocation bitmap cannot be found: %v", err)
	case f.slug == "bitmap-chain":
		s.say(f.slug, "%v: Linux takes the clusters that follow the first one", f.error)
		n, _ := s.g.ClustersFor(uint64(s.g.BitmapBytes()))
		if first := x.entry.first(); s.g.Valid(first) && uint64(first-firstCluster)+uint64(n) <= uint64(s.g.Clusters) {
			x.extents = []space.Extent{{Start: first, Len: n}}
			s.bits = newBitmap(s.d, s.g, x.extents)
		} else {
			s.out.Mountable = "no"
		}
	default:
		s.refused(f.slug, "%v", f.error)
	}
}

// findUpcase reads the up-case table. [Linux] takes a table of its own where
// that of the volume does not fit its checksum or is none.
func (s *scanner) findUpcase() {
	f := new(flaw)
	up, err := s.tables.readUpcase(s.t)
	switch {
	case err == nil && up.entries < upcaseUnits:
		s.say("upcase-short", "the up-case table is for %d characters of %d: Linux takes a table of its own", up.entries, upcaseUnits)
	case err == nil:
	case errors.As(err, &f):
		s.say(f.slug, "%v: Linux takes a table of its own", f.error)
	default:
		s.refused("upcase-table", "the up-case table cannot be read: %v", err)
	}
}

// marked looks whether the volume's own clusters are marked as used; false
// tells that the bitmap cannot be read.
func (s *scanner) marked() bool {
	if why := s.tables.shared(); why != "" {
		s.say("cross-linked", "%s", why)
	}
	for _, p := range s.tables.parts() {
		for _, e := range p.extents {
			n, err := s.bits.countUsed(e)
			if err != nil {
				s.refused("bitmap-chain", "the allocation bitmap cannot be read: %v", err)
				return false
			}
			if n != e.Len {
				s.say("bitmap-free", "clusters of %s are marked as free: what is written next may go there", p.name)
				break
			}
		}
	}
	return true
}

// load goes through the allocation bitmap, with plugged readahead (see
// bitmap.load), and compares the percentage.
func (s *scanner) load(ctx context.Context, window int64) error {
	free, stats, err := s.bits.count(ctx, window)
	s.out.Load = vol.Load{Bytes: stats.Bytes, Reads: stats.Reads, Readahead: stats.Readahead}
	if err != nil {
		return err
	}
	s.out.Counted = true
	s.out.FreeClusters, s.out.FreeExtents, s.out.LargestFreeExtent = free.clusters, free.runs, free.longest
	if got, want := s.main.boot()[offPercentInUse], s.g.percent(free.clusters); got != want && got != percentUnknown {
		s.say("percent-in-use", "the boot sector says that %d%% are in use, %d%% are", got, want)
	}
	return nil
}
