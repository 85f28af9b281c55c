package lfs

import (
	"math/bits"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	minBlock = 1 << minLogBlock
	maxBlock = 1 << maxLogBlock
)

// formatRequest is what the user asked for, checked as far as it can be
// without laying the volume out.
type formatRequest struct {
	t vol.Target
	o vol.FormatOptions

	block       int64 // bytes
	sector      int64 // bytes
	segsPerSec  int64
	secsPerZone int64
	before      int64 // bytes of the disk before the volume that alignment counts
	features    uint32
	encoding    uint16 // flags of the encoding
	label       []uint16
	uuid        uuid.UUID
	version     uint64 // of the first checkpoint
	cold, hot   []string
	uid, gid    uint32
}

func newFormatRequest(t vol.Target, o vol.FormatOptions) (*formatRequest, error) {
	r := &formatRequest{t: t, o: o}
	for _, check := range []func() error{
		r.refuseForeign, r.readBlock, r.readSector, r.readTarget, r.readFeatures, r.readSections,
		r.readOverprovision, r.readEncoding, r.readExtensions, r.readNames,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if o.RootOwner != nil {
		r.uid, r.gid = o.RootOwner[0], o.RootOwner[1]
	}
	r.version = versionFrom(o.Seed)
	return r, nil
}

// log2 is the power of two that n is.
func log2(n int64) uint32 { return uint32(bits.TrailingZeros64(uint64(n))) }

// refuseForeign turns options of other formats away.
func (r *formatRequest) refuseForeign() error {
	if r.o.Type != "f2fs" {
		return vol.Usagef("type %q: must be f2fs", r.o.Type)
	}
	name := r.o.Foreign("features", "overprovision", "segs-per-sec", "secs-per-zone", "cold-ext", "hot-ext", "root-owner", "encoding")
	switch name {
	case "":
		return nil
	case "uuid":
		return vol.Usagef("--uuid is not for f2fs: its UUID is given with -i")
	case "align":
		return vol.Usagef("--align is not for f2fs: its areas start with zones, see --secs-per-zone")
	}
	return vol.Usagef("--%s is not for f2fs", name)
}

// readBlock settles the size of a block, which is what a cluster is elsewhere.
func (r *formatRequest) readBlock() error {
	r.block = minBlock
	if c := r.o.ClusterSize; c != 0 {
		if !vol.PowerOfTwo(c) || c < minBlock || c > maxBlock {
			return vol.Usagef("block size %d: must be 4096, 8192 or 16384", c)
		}
		r.block = c
	}
	return nil
}

// readSector settles the sector size that the superblock tells: that of the
// device, or a larger one. Nothing in the layout depends on it.
func (r *formatRequest) readSector() (err error) {
	r.sector, err = r.t.ChooseSector(r.o.SectorSize, "F2FS")
	return err
}

// readTarget keeps sizes where sums of them stay in 64 bits. Where the volume
// starts between two blocks of the disk nothing in it can be aligned.
func (r *formatRequest) readTarget() error {
	const beyond = 1 << 60 // more than any disk has
	if r.t.Size < 0 || r.t.Size > beyond || r.t.Offset < 0 || r.t.Offset > beyond {
		return vol.Refusef("the target has a size of %d at byte %d", r.t.Size, r.t.Offset)
	}
	if r.t.Offset%r.block == 0 {
		r.before = r.t.Offset
	}
	return nil
}

// readSections settles how many segments are cleaned together, and how many
// sections should be written by one log at a time.
func (r *formatRequest) readSections() error {
	const most = 1 << 20 // a section of 2 TiB
	for _, n := range []struct {
		name  string
		given *int
		to    *int64
	}{{"segs-per-sec", r.o.SegmentsPerSection, &r.segsPerSec}, {"secs-per-zone", r.o.SectionsPerZone, &r.secsPerZone}} {
		*n.to = 1
		if n.given == nil {
			continue
		}
		if *n.given < 1 || *n.given > most {
			return vol.Usagef("--%s %d: must be 1 to %d", n.name, *n.given, most)
		}
		*n.to = int64(*n.given)
	}
	if r.segsPerSec*r.secsPerZone > maxSegments {
		return vol.Refusef("a zone of %d sections of %d segments is larger than any volume", r.secsPerZone, r.segsPerSec)
	}
	return nil
}

// readOverprovision checks the percentage that is kept back, if it was given.
func (r *formatRequest) readOverprovision() error {
	o := r.o.Overprovision
	if o == nil {
		return nil
	}
	if r.features&featReadOnly != 0 {
		return vol.Usagef("--overprovision: a volume with the feature ro is never written, and so nothing is kept back")
	}
	if !(*o >= 0.01 && *o <= 99) { // as said for what is no number, too
		return vol.Usagef("--overprovision %v: must be a percentage from 0.01 to 99", *o)
	}
	return nil
}

// readNames reads the label and the UUID, or makes one of the seed.
func (r *formatRequest) readNames() (err error) {
	if r.label, err = encodeLabel(r.o.Label); err != nil {
		return err
	}
	if r.o.ID == "" {
		r.uuid = uuidFrom(r.o.Seed)
		return nil
	}
	r.uuid, err = parseUUID(r.o.ID)
	return err
}
