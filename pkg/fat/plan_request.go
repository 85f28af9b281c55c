package fat

import "github.com/fatkit/fatkit/pkg/vol"

const (
	mediaFixed  = 0xF8      // [FAT] BPB_Media: "the standard value for fixed (non-removable) media"
	maxTotal    = 1<<32 - 1 // [FAT] BPB_TotSec32
	maxReserved = 1<<16 - 1 // [FAT] BPB_RsvdSecCnt
	maxPerClus  = 128       // [FAT] BPB_SecPerClus
	minSector   = 512       // [FAT] BPB_BytsPerSec
	maxSector   = 4096
)

// formatRequest is what the user asked for, checked as far as it can be
// without knowing the type of the volume.
type formatRequest struct {
	t vol.Target
	o vol.FormatOptions

	sector  int64 // bytes
	total   int64 // sectors there are
	cluster int64 // bytes, 0 where not given
	fats    int
	label   []byte // as in the boot sector, nil for none
	serial  uint32
	hidden  uint32
	// hiddenLost: the volume starts where 32 bits of sectors do not reach.
	hiddenLost bool
}

func newFormatRequest(t vol.Target, o vol.FormatOptions) (*formatRequest, error) {
	r := &formatRequest{t: t, o: o, fats: 2}
	for _, check := range []func() error{
		r.refuseForeign, r.readSector, r.readTotal, r.readCluster, r.readTables, r.readHidden, r.readNames,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// refuseForeign turns options of other formats away.
func (r *formatRequest) refuseForeign() error {
	switch r.o.Type {
	case "fat", "fat12", "fat16", "fat32":
	default:
		return vol.Usagef("type %q: must be fat, fat12, fat16 or fat32", r.o.Type)
	}
	if name := r.o.Foreign("fats", "reserved-sectors", "root-entries", "hidden-sectors", "media-type", "align"); name != "" {
		return vol.Usagef("--%s is not for %s", name, r.o.Type)
	}
	return nil
}

// readSector settles the sector size: that of the device, as [FAT]
// BPB_BytsPerSec asks for, or a larger one.
func (r *formatRequest) readSector() (err error) {
	r.sector, err = r.t.ChooseSector(r.o.SectorSize, "FAT")
	return err
}

// readTotal counts the whole sectors of the target. One of exactly 2^32
// sectors, which is what a size of 2 TiB or 16 TiB means, does without the
// last.
func (r *formatRequest) readTotal() error {
	const beyond = 1 << 62 // more than any disk has, and sums stay in 64 bits
	if r.t.Size < 0 || r.t.Offset < 0 || r.t.Offset > beyond {
		return vol.Refusef("the target has a size of %d at byte %d", r.t.Size, r.t.Offset)
	}
	r.total = r.t.Size / r.sector
	if r.total == maxTotal+1 {
		r.total = maxTotal
	}
	if r.total <= maxTotal {
		return nil
	}
	most := vol.SizeText((maxTotal + 1) * r.sector)
	if r.sector < maxSector {
		return vol.Refusef("%s is too large: FAT goes up to %s with sectors of %d bytes, and up to 16 TiB with -S 4096",
			vol.SizeText(r.t.Size), most, r.sector)
	}
	return vol.Refusef("%s is too large: FAT goes up to %s", vol.SizeText(r.t.Size), most)
}

func (r *formatRequest) readCluster() error {
	c := r.o.ClusterSize
	switch {
	case c == 0:
		return nil
	case !vol.PowerOfTwo(c) || c < minSector || c > maxCluster:
		return vol.Usagef("cluster size %d: must be a power of two from 512 to 128K", c)
	case c < r.sector:
		return vol.Refusef("a cluster of %d bytes is smaller than a sector of %d", c, r.sector)
	case c > r.largestCluster():
		return vol.Refusef("a cluster of %s takes more than %d sectors of %d bytes: use -c %s or less, or -S %d",
			vol.SizeText(c), maxPerClus, r.sector, vol.SizeFlag(r.largestCluster()), c/maxPerClus)
	}
	r.cluster = c
	return nil
}

// largestCluster in bytes with this sector size.
func (r *formatRequest) largestCluster() int64 { return min(maxCluster, maxPerClus*r.sector) }

// readTables checks what the FATs and what lies around them is asked to be.
func (r *formatRequest) readTables() error {
	if n := r.o.Fats; n != nil {
		if *n < 1 || *n > 4 {
			return vol.Usagef("--fats %d: must be 1 to 4", *n)
		}
		r.fats = *n
	}
	if n := r.o.ReservedSectors; n != nil && (*n < 1 || *n > maxReserved) {
		return vol.Usagef("--reserved-sectors %d: must be 1 to %d", *n, maxReserved)
	}
	if m := r.o.MediaType; m != nil && *m != 0xF0 && (*m < 0xF8 || *m > 0xFF) {
		return vol.Usagef("--media-type %#x: must be 0xf0 or 0xf8 to 0xff", *m)
	}
	if n := r.o.RootEntries; n != nil {
		per := int(r.sector / entryLen)
		if *n < 0 || *n > 0xFFFF {
			return vol.Usagef("--root-entries %d: must be 1 to 65535", *n)
		}
		// [FAT] BPB_RootEntCnt: the root directory fills whole sectors.
		if *n%per != 0 {
			return vol.Usagef("--root-entries %d: must be a multiple of %d, to fill sectors of %d bytes", *n, per, r.sector)
		}
	}
	return r.o.CheckAlign(r.sector)
}

// readHidden counts the sectors before the volume, [FAT] BPB_HiddSec.
func (r *formatRequest) readHidden() error {
	if n := r.o.HiddenSectors; n != nil {
		if *n < 0 || *n > 1<<32-1 {
			return vol.Usagef("--hidden-sectors %d: must be 0 to %d", *n, uint32(1<<32-1))
		}
		r.hidden = uint32(*n)
		return nil
	}
	n, err := r.t.SectorsBefore(r.sector)
	if err != nil {
		return err
	}
	if n > 1<<32-1 {
		r.hiddenLost = true
		return nil
	}
	r.hidden = uint32(n)
	return nil
}

func (r *formatRequest) readNames() (err error) {
	if r.label, err = encodeLabel(r.o.Label); err != nil {
		return err
	}
	r.serial, err = r.o.Serial()
	return err
}

// allows checks the options that depend on the type.
func (r *formatRequest) allows(t Type) error {
	if n := r.o.RootEntries; n != nil {
		if t == FAT32 && *n != 0 {
			return vol.Usagef("--root-entries is not for fat32: its root directory grows as any other")
		}
		if t != FAT32 && *n == 0 {
			return vol.Usagef("--root-entries 0: a %s has a root directory", t)
		}
	}
	// [FAT] FAT32 needs a sector for FSInfo besides the boot sector.
	if n := r.o.ReservedSectors; n != nil && t == FAT32 && *n < 2 {
		return vol.Refusef("a fat32 needs at least 2 reserved sectors, and 9 to hold all of the backup: use --reserved-sectors 32")
	}
	return nil
}
