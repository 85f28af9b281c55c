package fat

import (
	"fmt"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/vol"
)

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

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", vol.ErrUsage, fmt.Sprintf(format, args...))
}

func refusal(format string, args ...any) error {
	return fmt.Errorf("%w: %s", vol.ErrRequest, fmt.Sprintf(format, args...))
}

func powerOfTwo(n int64) bool { return n > 0 && bits.OnesCount64(uint64(n)) == 1 }

// refuseForeign turns options of other formats away.
func (r *formatRequest) refuseForeign() error {
	switch r.o.Type {
	case "fat", "fat12", "fat16", "fat32":
	default:
		return usage("type %q: must be fat, fat12, fat16 or fat32", r.o.Type)
	}
	if name := r.o.Foreign("fats", "reserved-sectors", "root-entries", "hidden-sectors", "media-type", "align"); name != "" {
		return usage("--%s is not for %s", name, r.o.Type)
	}
	return nil
}

// readSector settles the sector size: that of the device, as [FAT]
// BPB_BytsPerSec asks for, or a larger one.
func (r *formatRequest) readSector() error {
	device := int64(max(r.t.SectorSize, minSector))
	if !powerOfTwo(device) || device > maxSector {
		return refusal("the device has sectors of %d bytes; FAT takes 512, 1024, 2048 or 4096", r.t.SectorSize)
	}
	r.sector = device
	if s := r.o.SectorSize; s != 0 {
		if !powerOfTwo(s) || s < minSector || s > maxSector {
			return usage("sector size %d: must be 512, 1024, 2048 or 4096", s)
		}
		if s < device {
			return refusal("the device has sectors of %d bytes, so those of the volume cannot have %d", device, s)
		}
		r.sector = s
	}
	return nil
}

// readTotal counts the whole sectors of the target. One of exactly 2^32
// sectors, which is what a size of 2 TiB or 16 TiB means, does without the
// last.
func (r *formatRequest) readTotal() error {
	const beyond = 1 << 62 // more than any disk has, and sums stay in 64 bits
	if r.t.Size < 0 || r.t.Offset < 0 || r.t.Offset > beyond {
		return refusal("the target has a size of %d at byte %d", r.t.Size, r.t.Offset)
	}
	r.total = r.t.Size / r.sector
	if r.total == maxTotal+1 {
		r.total = maxTotal
	}
	if r.total <= maxTotal {
		return nil
	}
	most := sizeText((maxTotal + 1) * r.sector)
	if r.sector < maxSector {
		return refusal("%s is too large: FAT goes up to %s with sectors of %d bytes, and up to 16 TiB with -S 4096",
			sizeText(r.t.Size), most, r.sector)
	}
	return refusal("%s is too large: FAT goes up to %s", sizeText(r.t.Size), most)
}

func (r *formatRequest) readCluster() error {
	c := r.o.ClusterSize
	switch {
	case c == 0:
		return nil
	case !powerOfTwo(c) || c < minSector || c > maxCluster:
		return usage("cluster size %d: must be a power of two from 512 to 128K", c)
	case c < r.sector:
		return refusal("a cluster of %d bytes is smaller than a sector of %d", c, r.sector)
	case c > r.largestCluster():
		return refusal("a cluster of %s takes more than %d sectors of %d bytes: use -c %s or less, or -S %d",
			sizeText(c), maxPerClus, r.sector, sizeFlag(r.largestCluster()), c/maxPerClus)
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
			return usage("--fats %d: must be 1 to 4", *n)
		}
		r.fats = *n
	}
	if n := r.o.ReservedSectors; n != nil && (*n < 1 || *n > maxReserved) {
		return usage("--reserved-sectors %d: must be 1 to %d", *n, maxReserved)
	}
	if m := r.o.MediaType; m != nil && *m != 0xF0 && (*m < 0xF8 || *m > 0xFF) {
		return usage("--media-type %#x: must be 0xf0 or 0xf8 to 0xff", *m)
	}
	if n := r.o.RootEntries; n != nil {
		per := int(r.sector / entryLen)
		if *n < 0 || *n > 0xFFFF {
			return usage("--root-entries %d: must be 1 to 65535", *n)
		}
		// [FAT] BPB_RootEntCnt: the root directory fills whole sectors.
		if *n%per != 0 {
			return usage("--root-entries %d: must be a multiple of %d, to fill sectors of %d bytes", *n, per, r.sector)
		}
	}
	return r.readAlign()
}

func (r *formatRequest) readAlign() error {
	const most = 1 << 44 // the largest volume; what is more is no boundary of anything
	if a := r.o.Align; a < 0 || a > most || a%r.sector != 0 {
		return usage("--align %d: must be a multiple of the sector size of %d bytes, and at most %s", a, r.sector, sizeText(most))
	}
	return nil
}

// readHidden counts the sectors before the volume, [FAT] BPB_HiddSec. Boot
// code of the volume adds them to all it reads, so a wrong number is worse
// than a refusal.
func (r *formatRequest) readHidden() error {
	if n := r.o.HiddenSectors; n != nil {
		if *n < 0 || *n > 1<<32-1 {
			return usage("--hidden-sectors %d: must be 0 to %d", *n, uint32(1<<32-1))
		}
		r.hidden = uint32(*n)
		return nil
	}
	if r.t.Offset%r.sector != 0 {
		return refusal("the volume starts at byte %d of the disk, which is no multiple of its sector size of %d: use a smaller -S, or say what is to stand there with --hidden-sectors",
			r.t.Offset, r.sector)
	}
	n := r.t.Offset / r.sector
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
	if r.o.ID == "" {
		r.serial = serialFrom(r.o.Seed)
		return nil
	}
	r.serial, err = parseSerial(r.o.ID)
	return err
}

// allows checks the options that depend on the type.
func (r *formatRequest) allows(t Type) error {
	if n := r.o.RootEntries; n != nil {
		if t == FAT32 && *n != 0 {
			return usage("--root-entries is not for fat32: its root directory grows as any other")
		}
		if t != FAT32 && *n == 0 {
			return usage("--root-entries 0: a %s has a root directory", t)
		}
	}
	// [FAT] FAT32 needs a sector for FSInfo besides the boot sector.
	if n := r.o.ReservedSectors; n != nil && t == FAT32 && *n < 2 {
		return refusal("a fat32 needs at least 2 reserved sectors, and 9 to hold all of the backup: use --reserved-sectors 32")
	}
	return nil
}
