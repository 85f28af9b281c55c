package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// mountScan is Driver.MountScan: what a mount would read and do, and what Linux
// would say to it. What it refuses and what not was tried with 6.1.
func mountScan(ctx context.Context, d dev.Device, o vol.ScanOptions) (*vol.Scan, error) {
	first, second, err := readSupers(d)
	if err != nil {
		return nil, err
	}
	use := &first
	if first.g == nil {
		use = &second
	}
	if use.g == nil {
		if probe(d).Confidence == vol.No {
			return nil, noVolume(d, &first)
		}
		return &vol.Scan{Info: vol.Info{Type: "f2fs"}, Mountable: "no", Reasons: []vol.Reason{vol.NewReason(Problems(), first.fault.slug, "both superblocks: %v", first.fault)}}, nil
	}
	s := &scanner{d: d, sb: use.raw, g: use.g, out: &vol.Scan{Info: summarise(use.g, use.raw), Mountable: "rw"}}
	return s.out, s.scan(ctx, o, use, &first, &second)
}

// scanner collects a vol.Scan.
type scanner struct {
	d   dev.Device
	sb  superblock
	g   *Geometry
	s   *state
	rec *recovery
	out *vol.Scan
}

func (s *scanner) say(slug, format string, args ...any) {
	s.out.Reasons = append(s.out.Reasons, vol.NewReason(Problems(), slug, format, args...))
}

// pending is a reason that a mount sees to by itself, or that asks for a check:
// the volume was not left as an unmount leaves it.
func (s *scanner) pending(slug, format string, args ...any) {
	s.say(slug, format, args...)
	s.out.Dirty = true
}

// refused is a reason for which the kernel does not mount the volume.
func (s *scanner) refused(slug, format string, args ...any) {
	s.say(slug, format, args...)
	s.out.Mountable = "no"
}

// note adds what a mount would find to the fields of the volume.
func (s *scanner) note(name string, off int64, value any) {
	s.out.Fields = append(s.out.Fields, vol.Field{Name: name, Offset: off, Value: value})
}

func (s *scanner) scan(ctx context.Context, o vol.ScanOptions, use, first, second *superCopy) error {
	s.note("superblock", use.off, 1+(use.off-superOffset)/s.g.BlockSize)
	s.supers(first, second)
	s.geometry()
	if !s.alone() || !s.present() {
		return nil
	}
	ok, err := s.packs()
	if err != nil || !ok {
		return err
	}
	s.flags()
	s.counts()
	s.logs()
	if err := s.orphans(); err != nil {
		return err
	}
	if err := s.replay(ctx); err != nil {
		return err
	}
	if err := s.root(); err != nil || o.Quick {
		return err
	}
	return s.load(ctx, o.Readahead)
}

// supers judges the two superblocks. Linux uses the first one that is good, and
// writes the other one anew from it.
func (s *scanner) supers(first, second *superCopy) {
	switch {
	case first.g == nil && first.fault != nil:
		s.say("sb-copy", "the first superblock cannot be used: %v", first.fault)
	case first.g == nil:
		s.say("sb-copy", "the first superblock cannot be read")
	case second.g == nil && second.fault != nil:
		s.say("sb-copy", "the second superblock cannot be used: %v", second.fault)
	case second.g == nil:
		s.say("sb-copy", "the second superblock cannot be read")
	case first.differ(second):
		s.say("sb-differ", "the superblocks differ; the first one counts")
	}
	if x := s.g.Features &^ featKnown; x != 0 {
		s.say("sb-features", "features %s are not known: what they mean for a mount is not known", hex(x))
	}
	if !dev.AllZero(s.sb.stopReasons()) {
		s.pending("sb-stop-reason", "the kernel stopped writing to this volume, %s", bytesText(s.sb.stopReasons()))
	}
	if !dev.AllZero(s.sb.errors()) {
		s.pending("sb-errors", "the kernel met errors on this volume, %s", bytesText(s.sb.errors()))
	}
}

// geometry says what of the geometry a kernel minds.
func (s *scanner) geometry() {
	if s.g.ReadOnly() {
		s.out.Mountable = "ro"
	}
	if s.g.BlockSize != minBlock {
		s.refused("sb-page-size", "blocks have %d bytes: Linux mounts the volume only where its memory has pages of that size, and most machines have 4096", s.g.BlockSize)
	}
	if s.sb.unknownEncoding() {
		s.refused("sb-encoding", "names are in encoding %d, which Linux does not know", s.sb.u16(sbEncoding))
	}
	if s.g.CPPayload >= linuxPayload {
		s.refused("sb-payload", "a checkpoint payload of %d blocks is more than Linux takes, which is below %d", s.g.CPPayload, linuxPayload)
	}
	if end := uint64(s.g.Segment0) + uint64(s.g.Segments)*segmentBlocks; s.g.MainEnd() < end {
		s.say("sb-segment-end", "the main area ends at block %d, and the segments at %d: Linux corrects their number", s.g.MainEnd(), end)
	}
}

// alone tells whether all of the volume is here. Of one that is not, no more
// than its geometry can be told.
func (s *scanner) alone() bool {
	if s.g.Devices == 0 && !s.g.Has(featZoned|featDeviceAlias) {
		return true
	}
	text := ""
	for i := range s.g.Devices {
		path, segments := s.sb.device(i)
		text += textf("; %s has %d segments", printable([]byte(path)), segments)
	}
	s.refused("multi-device", "the volume has %d segments of %d bytes on %d devices, with features %q%s: it mounts only where all are present, and nothing but its geometry was looked at",
		s.g.Segments, s.g.SegmentBytes(), max(1, s.g.Devices), featureList(s.g.Features), text)
	return false
}

// present tells whether the metadata areas are there. [Linux] does not look at
// the size of the device, and gives I/O errors for what is missing.
func (s *scanner) present() bool {
	if s.g.VolumeBytes() <= s.d.Size() {
		return true
	}
	text := textf("the volume has %d bytes, but there are only %d", s.g.VolumeBytes(), s.d.Size())
	if s.g.BlockOff(s.g.Main) <= s.d.Size() {
		s.say("volume-beyond-device", "%s: what lies behind cannot be read", text)
		return true
	}
	s.refused("volume-beyond-device", "%s: tables of the volume are missing", text)
	return false
}

// packs reads both checkpoint packs and what belongs to the one that counts.
func (s *scanner) packs() (ok bool, err error) {
	packs, err := readPacks(s.d, s.g)
	if err != nil {
		return false, err
	}
	use := choosePack(packs)
	for i, p := range packs {
		switch f := p.fault; {
		case f == nil:
		case use != nil && p.blank():
			s.say("cp-blank", "checkpoint pack %d", i+1)
		default:
			s.say(f.slug, "checkpoint pack %d cannot be used: %s", i+1, f.detail)
		}
	}
	if use == nil {
		s.refused("cp-none", "neither checkpoint pack can be used")
		return false, nil
	}
	s.note("checkpoint_pack", s.g.BlockOff(use.start), 1+(use.start-s.g.CP)/segmentBlocks)
	s.note("checkpoint_version", s.g.BlockOff(use.start), use.cp.version())
	st, f, err := readState(s.d, s.g, use)
	if err != nil {
		return false, err
	}
	if f != nil {
		s.refused(f.slug, "%s", f.detail)
		return false, nil
	}
	s.s = st
	return true, nil
}
