package exfat

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// firstEntries is how much of a root directory a probe looks at, bytes: those
// who format put the label there.
const firstEntries = 4096

// probe is Driver.Probe. The name in the boot sector is eight bytes where no
// other format has them; a main boot region that is whole besides is Sure.
func probe(d dev.Device) vol.Identity {
	main, err := readMain(d)
	switch {
	case err != nil || main.raw == nil && main.err == nil:
		return vol.Identity{}
	case main.raw == nil:
		return probeBackup(d, main)
	}
	if b := main.boot(); b.named() && (b.signed() || b.jumpOK()) {
		return probeMain(d, main)
	}
	return probeBackup(d, main)
}

// probeMain judges a main boot region that has the name. Where it is damaged
// the backup, if that is whole, says what the volume is.
func probeMain(d dev.Device, main *region) vol.Identity {
	b, r := main.boot(), main
	if !main.whole() {
		if backup := wholeBackup(d, main); backup != nil {
			r = backup
		}
	}
	id := vol.Identity{Type: "exfat"}
	if r.g != nil {
		id = identity(d, r)
	}
	id.Confidence = vol.Likely
	switch {
	case main.g == nil:
		id.Note = main.fault.Error()
	case !main.sumOK:
		id.Note = "the checksum of the boot region is wrong"
	case main.g.VolumeBytes() > d.Size():
		id.Note = "the volume is larger than what is there"
	case !b.signed():
		id.Note = "the boot sector lacks its signature"
	case !b.jumpOK():
		id.Note = "the boot sector does not start with a jump"
	default:
		id.Confidence = vol.Sure
	}
	return id
}

// probeBackup looks for a volume whose boot sector is lost. Formats that leave
// the first sectors alone let the backup of an earlier exFAT volume live on, so
// it counts only where nothing speaks for another one.
func probeBackup(d dev.Device, main *region) vol.Identity {
	if main.raw != nil && main.boot().foreign() || vol.Overlaid(d) {
		return vol.Identity{}
	}
	backup := wholeBackup(d, main)
	if backup == nil {
		return vol.Identity{}
	}
	id := identity(d, backup)
	id.Confidence, id.Note = vol.Maybe, "only the backup boot region is there"
	return id
}

// whole tells whether r can be believed: its fields can be, and its checksum
// is right, which [exFAT] §3.1 and §3.4 have a reader verify first.
func (r *region) whole() bool { return r.g != nil && r.sumOK }

// wholeBackup is the backup region if it can stand for the main one, or nil.
func wholeBackup(d dev.Device, main *region) *region {
	backup := readBackup(d, main)
	if !backup.whole() {
		return nil
	}
	return backup
}

// identity is what r, which has a geometry, says of the volume.
func identity(d dev.Device, r *region) vol.Identity {
	id := vol.Identity{Type: "exfat", Size: r.g.VolumeBytes(), ID: vol.SerialText(r.boot().u32(offSerial))}
	id.Label = rootLabel(d, r.g, firstEntries)
	return id
}

func (b bootSector) signed() bool { return b.u16(offBootSignature) == bootSignature }
func (b bootSector) jumpOK() bool { return string(b[:len(jumpBoot)]) == jumpBoot }

// foreign tells whether b is a boot sector of another kind: [exFAT] §3.1.3,
// MustBeZero is where FAT and NTFS have their parameter block, and an MBR has
// code.
func (b bootSector) foreign() bool {
	return b.signed() && !dev.AllZero(b[offMustBeZero:offMustBeZero+lenMustBeZero])
}
