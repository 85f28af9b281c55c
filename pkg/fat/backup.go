package fat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

// findBackup looks for the backup boot sector of a FAT32 volume whose first
// sector is lost: [FAT] it lies in reserved sector 6, and the size of a sector
// is not known then. It returns nil where there is none that fits the device.
func findBackup(d dev.Device) (bootSector, *Geometry) {
	const usual = 6
	for size := int64(512); size <= 4096; size *= 2 {
		b := make(bootSector, bootSectorLen)
		if _, err := d.ReadAt(b, usual*size); err != nil {
			return nil, nil
		}
		if !b.signed() || !b.jumpOK() || !b.isFAT32() {
			continue
		}
		g, f := parseGeometry(b)
		if f != nil || g.SectorSize != size || g.BackupSector != usual || g.DataOff() > d.Size() {
			continue
		}
		if fatHeadFits(d, g) {
			return b, g
		}
	}
	return nil, nil
}

// fatHeadFits reports whether a FAT starts as that of a volume with this geometry
// does: its first byte repeats the media byte. One is enough: the other may be
// damaged as well as sector 0.
func fatHeadFits(d dev.Device, g *Geometry) bool {
	var head [1]byte
	for k := range g.Fats {
		if _, err := d.ReadAt(head[:], g.FatOff(k)); err == nil && head[0] == g.Media {
			return true
		}
	}
	return false
}

func hex[T byte | uint16 | uint32](v T) string { return fmt.Sprintf("%#x", v) }

func quote(s string) string { return fmt.Sprintf("%q", s) }
