package vol

const (
	leastSector = 512
	mostSector  = 4096
)

// ChooseSector settles the sector size of a new volume: that of the device, or
// a larger one that was asked for, in bytes. format is what people call it.
func (t Target) ChooseSector(asked int64, format string) (int64, error) {
	device := int64(max(t.SectorSize, leastSector))
	if !PowerOfTwo(device) || device > mostSector {
		return 0, Refusef("the device has sectors of %d bytes; %s takes 512, 1024, 2048 or 4096", t.SectorSize, format)
	}
	switch {
	case asked == 0:
		return device, nil
	case !PowerOfTwo(asked) || asked < leastSector || asked > mostSector:
		return 0, Usagef("sector size %d: must be 512, 1024, 2048 or 4096", asked)
	case asked < device:
		return 0, Refusef("the device has sectors of %d bytes, so those of the volume cannot have %d", device, asked)
	}
	return asked, nil
}

// SectorsBefore counts the sectors of the disk before the volume. Boot code of
// the volume adds them to all it reads, so a wrong number is worse than a
// refusal.
func (t Target) SectorsBefore(sector int64) (int64, error) {
	if t.Offset%sector != 0 {
		return 0, Refusef("the volume starts at byte %d of the disk, which is no multiple of its sector size of %d: use a smaller -S, or say what is to stand there with --hidden-sectors",
			t.Offset, sector)
	}
	return t.Offset / sector, nil
}

// CheckAlign refuses an alignment that cannot be with sectors of that size.
func (o *FormatOptions) CheckAlign(sector int64) error {
	// As much as 32 bits of the largest sectors reach: what is more is no
	// boundary of anything.
	const most = 1 << 44
	if a := o.Align; a < 0 || a > most || a%sector != 0 {
		return Usagef("--align %d: must be a multiple of the sector size of %d bytes, and at most %s", a, sector, SizeText(most))
	}
	return nil
}
