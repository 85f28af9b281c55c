package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// probe is Driver.Probe. The magic number of four bytes alone is no proof: it
// is a superblock whose areas fit together, on a device that has room for them,
// and with a checkpoint, that is Sure.
func probe(d dev.Device) vol.Identity {
	first, second, err := readSupers(d)
	if err != nil || first.raw == nil && first.err == nil {
		return vol.Identity{}
	}
	if first.raw != nil && first.raw.magic() == superMagic {
		return probeFirst(d, &first, &second)
	}
	// Formats that leave block 1 alone let the copy of an earlier volume live
	// on, so it does not say much, and nothing where one of them is there.
	if second.g == nil || vol.Overlaid(d) {
		return vol.Identity{}
	}
	id := identity(&second)
	id.Confidence, id.Note = vol.Maybe, "only the second superblock is there"
	return id
}

// probeFirst judges a volume whose first superblock has the magic number.
func probeFirst(d dev.Device, first, second *superCopy) vol.Identity {
	used := first
	if first.g == nil {
		used = second
	}
	if used.g == nil {
		return vol.Identity{Type: "f2fs", Confidence: vol.Likely, Note: "superblock: " + first.fault.Error()}
	}
	id := identity(used)
	id.Confidence = vol.Likely
	switch {
	case first.g == nil:
		id.Note = "first superblock: " + first.fault.Error()
	case used.g.VolumeBytes() > d.Size():
		id.Note = "the volume is larger than what is there"
	case !anyPack(d, used.g):
		id.Note = "there is no valid checkpoint"
	default:
		id.Confidence = vol.Sure
		if second.g == nil && second.fault != nil {
			id.Note = "second superblock: " + second.fault.Error()
		}
	}
	return id
}

// anyPack tells whether there is a valid checkpoint.
func anyPack(d dev.Device, g *Geometry) bool {
	for i := range packCount {
		if readPack(d, g, i).fault == nil {
			return true
		}
	}
	return false
}

// identity is what a superblock that has a geometry says of the volume.
func identity(c *superCopy) vol.Identity {
	return vol.Identity{Type: "f2fs", Size: c.g.VolumeBytes(), Label: c.raw.label(), ID: uuidText(c.raw.uuid())}
}
