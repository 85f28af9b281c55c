package exfat

import (
	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	minSector  = 1 << minSectorShift
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

// refuseForeign turns options of other formats away.
func (r *formatRequest) refuseForeign() error {
	if r.o.Type != "exfat" {
		return vol.Usagef("type %q: must be exfat", r.o.Type)
	}
	if name := r.o.Foreign("uuid", "hidden-sectors", "align"); name != "" {
		return vol.Usagef("--%s is not for exfat", name)
	}
	return nil
}

// readSector settles the sector size: that of the device, or a larger one.
func (r *formatRequest) readSector() (err error) {
	r.sector, err = r.t.ChooseSector(r.o.SectorSize, "exFAT")
	return err
}

// readTotal counts the whole sectors of the target, and keeps sizes where sums
// of them stay in 64 bits.
func (r *formatRequest) readTotal() error {
	const beyond = 1 << 60 // more than any disk has
	if r.t.Size < 0 || r.t.Offset < 0 || r.t.Offset > beyond {
		return vol.Refusef("the target has a size of %d at byte %d", r.t.Size, r.t.Offset)
	}
	r.total = r.t.Size / r.sector
	switch {
	case r.total*r.sector < minVolume:
		return vol.Refusef("%s is too small: an exFAT volume has at least 1 MiB", vol.SizeText(r.t.Size))
	case r.t.Size > beyond:
		return vol.Refusef("%s is too large: exFAT goes up to 128 PiB", vol.SizeText(r.t.Size))
	}
	return nil
}

func (r *formatRequest) readCluster() error {
	c := r.o.ClusterSize
	switch {
	case c == 0:
		return nil
	case !vol.PowerOfTwo(c) || c < minSector || c > maxCluster:
		return vol.Usagef("cluster size %d: must be a power of two from 512 to 32M", c)
	case c < r.sector:
		return vol.Refusef("a cluster of %d bytes is smaller than a sector of %d", c, r.sector)
	}
	r.cluster = c
	return nil
}

// readHidden settles PartitionOffset, [exFAT] §3.1.3.
func (r *formatRequest) readHidden() error {
	if n := r.o.HiddenSectors; n != nil {
		if *n < 0 {
			return vol.Usagef("--hidden-sectors %d: must not be negative", *n)
		}
		r.hidden = uint64(*n)
		return nil
	}
	n, err := r.t.SectorsBefore(r.sector)
	r.hidden = uint64(n)
	return err
}

func (r *formatRequest) readAlign() error {
	if err := r.o.CheckAlign(r.sector); err != nil {
		return err
	}
	a := r.o.Align
	between := r.t.Offset%r.sector != 0
	if a != 0 && between {
		return vol.Refusef("the volume starts at byte %d of the disk, between two sectors: nothing in it can be aligned", r.t.Offset)
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
	r.serial, err = r.o.Serial()
	return err
}
