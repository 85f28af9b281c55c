package exfat

import (
	"fmt"
	"math/bits"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	minSector  = 1 << minSectorShift
	maxSector  = 1 << maxSectorShift
	maxCluster = 1 << maxClusterShift
)

// formatRequest is what the user asked for, checked as far as it can be
// without laying the volume out.
type formatRequest struct {
	t vol.Target
	o vol.FormatOptions

	sector  int64 // bytes
	total   int64 // sectors there are
	cluster int64 // bytes, 0 where not given
	align   int64 // sectors, of FAT and cluster heap
	before  int64 // bytes of the disk before the volume that align counts
	label   []uint16
	serial  uint32
	guid    uuid.UUID // uuid.Nil for none
	hidden  uint64    // PartitionOffset, sectors
}

func newFormatRequest(t vol.Target, o vol.FormatOptions) (*formatRequest, error) {
	r := &formatRequest{t: t, o: o}
	for _, check := range []func() error{
		r.refuseForeign, r.readSector, r.readTotal, r.readCluster, r.readHidden, r.readAlign, r.readNames,
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

// roundUp is the first multiple of to that is not below n.
func roundUp(n, to int64) int64 { return divUp(n, to) * to }

// divUp is n / by, rounded up.
func divUp(n, by int64) int64 { return (n + by - 1) / by }

// refuseForeign turns options of other formats away.
func (r *formatRequest) refuseForeign() error {
	if r.o.Type != "exfat" {
		return usage("type %q: must be exfat", r.o.Type)
	}
	if name := r.o.Foreign("uuid", "hidden-sectors", "align"); name != "" {
		return usage("--%s is not for exfat", name)
	}
	return nil
}

// readSector settles the sector size: that of the device, or a larger one.
func (r *formatRequest) readSector() error {
	device := int64(max(r.t.SectorSize, minSector))
	if !powerOfTwo(device) || device > maxSector {
		return refusal("the device has sectors of %d bytes; exFAT takes 512, 1024, 2048 or 4096", r.t.SectorSize)
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

// readTotal counts the whole sectors of the target, and keeps sizes where sums
// of them stay in 64 bits.
func (r *formatRequest) readTotal() error {
	const beyond = 1 << 60 // more than any disk has
	if r.t.Size < 0 || r.t.Offset < 0 || r.t.Offset > beyond {
		return refusal("the target has a size of %d at byte %d", r.t.Size, r.t.Offset)
	}
	r.total = r.t.Size / r.sector
	switch {
	case r.total*r.sector < minVolume:
		return refusal("%s is too small: an exFAT volume has at least 1 MiB", sizeText(r.t.Size))
	case r.t.Size > beyond:
		return refusal("%s is too large: exFAT goes up to 128 PiB", sizeText(r.t.Size))
	}
	return nil
}

func (r *formatRequest) readCluster() error {
	c := r.o.ClusterSize
	switch {
	case c == 0:
		return nil
	case !powerOfTwo(c) || c < minSector || c > maxCluster:
		return usage("cluster size %d: must be a power of two from 512 to 32M", c)
	case c < r.sector:
		return refusal("a cluster of %d bytes is smaller than a sector of %d", c, r.sector)
	}
	r.cluster = c
	return nil
}

// readHidden settles PartitionOffset, [exFAT] §3.1.3. Boot code of the volume
// adds it to all it reads, so a wrong number is worse than a refusal.
func (r *formatRequest) readHidden() error {
	if n := r.o.HiddenSectors; n != nil {
		if *n < 0 {
			return usage("--hidden-sectors %d: must not be negative", *n)
		}
		r.hidden = uint64(*n)
		return nil
	}
	if r.t.Offset%r.sector != 0 {
		return refusal("the volume starts at byte %d of the disk, which is no multiple of its sector size of %d: use a smaller -S, or say what is to stand there with --hidden-sectors",
			r.t.Offset, r.sector)
	}
	r.hidden = uint64(r.t.Offset / r.sector)
	return nil
}

func (r *formatRequest) readAlign() error {
	const most = 1 << 44 // the FAT and heap offsets of 32 bits reach no further
	a := r.o.Align
	if a < 0 || a > most || a%r.sector != 0 {
		return usage("--align %d: must be a multiple of the sector size of %d bytes, and at most %s", a, r.sector, sizeText(most))
	}
	between := r.t.Offset%r.sector != 0
	if a != 0 && between {
		return refusal("the volume starts at byte %d of the disk, between two sectors: nothing in it can be aligned", r.t.Offset)
	}
	if !between {
		r.before = r.t.Offset
	}
	if a == 0 {
		a = r.defaultAlign()
	}
	r.align = a / r.sector
	return nil
}

func (r *formatRequest) readNames() (err error) {
	if r.label, err = encodeLabel(r.o.Label); err != nil {
		return err
	}
	if r.guid, err = parseGUID(r.o.VolumeGUID); err != nil {
		return err
	}
	if r.o.ID == "" {
		r.serial = serialFrom(r.o.Seed)
		return nil
	}
	r.serial, err = parseSerial(r.o.ID)
	return err
}
