package fat

import (
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// probe is Driver.Probe. A boot sector that can be is not enough: any sector
// may look like one. So it counts what else speaks for a volume, and the FAT
// must begin as one does for Sure.
func probe(d dev.Device) vol.Identity {
	b := make(bootSector, bootSectorLen)
	if _, err := d.ReadAt(b, 0); err != nil || foreign(b) {
		return vol.Identity{}
	}
	g, f := parseGeometry(b)
	if f != nil || g.DataOff() > d.Size() {
		return probeBroken(d, b, f)
	}
	id := identity(d, b, g)
	head := fatHeadWhole(d, g)
	evidence := 0
	for _, speaks := range []bool{b.signed(), b.jumpOK(), namesType(b), head} {
		if speaks {
			evidence++
		}
	}
	switch {
	case evidence < 2:
		return vol.Identity{}
	case !head:
		id.Confidence, id.Note = vol.Likely, "the FAT does not begin with the media byte"
	case !b.signed():
		id.Confidence, id.Note = vol.Likely, "the boot sector lacks its signature"
	case g.VolumeBytes() > d.Size():
		id.Confidence, id.Note = vol.Likely, "the volume is larger than what is there"
	case !b.jumpOK():
		id.Confidence, id.Note = vol.Likely, "the boot sector does not start with a jump"
	default:
		id.Confidence = vol.Sure
	}
	return id
}

// probeBroken judges a boot sector that cannot be: it may be that of a FAT
// volume all the same, or lost while its backup is not.
func probeBroken(d dev.Device, b bootSector, f *fault) vol.Identity {
	note := "the FATs reach beyond what is there"
	if f != nil {
		note = f.Error()
	}
	if b.signed() && b.jumpOK() && namesType(b) {
		t := strings.ToLower(strings.TrimSpace(string(b.fsType())))
		return vol.Identity{Confidence: vol.Likely, Type: t, Note: note}
	}
	if vol.Overlaid(d) {
		return vol.Identity{}
	}
	if backup, g := findBackup(d); g != nil {
		id := identity(d, backup, g)
		id.Confidence, id.Note = vol.Maybe, "only the backup boot sector is there"
		return id
	}
	return vol.Identity{}
}

// identity is what b says of the volume.
func identity(d dev.Device, b bootSector, g *Geometry) vol.Identity {
	id := vol.Identity{Type: g.Type.String(), Size: g.VolumeBytes()}
	if b.hasExt() {
		id.ID = vol.SerialText(b.serial())
	}
	id.Label = labelOf(b, firstLabel(d, g))
	return id
}

// namesType tells whether the type string is one of FAT's: [FAT]
// BS_FilSysType. No reader may go by it, but it is evidence.
func namesType(b bootSector) bool {
	switch string(b.fsType()) {
	case "FAT12   ", "FAT16   ", "FAT32   ", "FAT     ":
		return b.hasExt()
	}
	return false
}

// fatHeadWhole tells whether a FAT begins with the media byte and ones, as [FAT]
// "FAT Data Structure" has it, and the media byte is one that can be.
func fatHeadWhole(d dev.Device, g *Geometry) bool {
	if g.Media != 0xF0 && g.Media < 0xF8 {
		return false
	}
	e, err := newTable(d, g, g.ActiveFat).raw(0)
	ones, _ := headBits(g.Type)
	return err == nil && e&ones == ones&^0xFF|uint32(g.Media)
}

// foreign tells whether b is the boot sector of another format that has a jump
// and a signature too.
func foreign(b bootSector) bool {
	switch string(b[offOEM : offOEM+8]) {
	case "EXFAT   ", "NTFS    ", "-FVE-FS-", "ReFS\x00\x00\x00\x00":
		return true
	}
	return false
}
