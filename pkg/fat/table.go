package fat

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Values of a FAT entry, [FAT] "FAT Data Structure", in the width of FAT32;
// narrower entries are widened so that one set of constants serves all.
const (
	entryFree = 0
	entryBad  = 0x0FFFFFF7
	entryEOC  = 0x0FFFFFF8 // and above
	entryLast = 0x0FFFFFFF // what is written
	entryMask = 0x0FFFFFFF // [FAT] the upper 4 bits of a FAT32 entry are reserved

	// Bits of entry 1, [FAT] "FAT Volume Dirty": set is good.
	cleanShutdown32 = 0x08000000
	noHardError32   = 0x04000000
	cleanShutdown16 = 0x8000
	noHardError16   = 0x4000
)

// widen maps a raw entry of the type to the values above.
func widen(t Type, v uint32) uint32 {
	switch t {
	case FAT12:
		if v &= 0xFFF; v >= 0xFF7 {
			v |= 0x0FFFF000
		}
	case FAT16:
		if v &= 0xFFFF; v >= 0xFFF7 {
			v |= 0x0FFF0000
		}
	default:
		v &= entryMask
	}
	return v
}

func isEOC(v uint32) bool { return v >= entryEOC }

// table reads and changes the entries of one FAT, and writes changes to all
// FATs that count. It is not safe for concurrent use.
type table struct {
	d   dev.Device
	g   *Geometry
	fat int // the number of the one that is read
	win *dev.Windows
}

// newTable reads FAT number fat, from 0.
func newTable(d dev.Device, g *Geometry, fat int) *table {
	return &table{d: d, g: g, fat: fat, win: dev.NewWindows(d, dev.Range{Off: g.FatOff(fat), Len: g.FatBytes()})}
}

// get is the entry of cluster c (0 … Clusters+1), widened and masked.
func (t *table) get(c uint32) (uint32, error) {
	if t.g.Type == FAT32 {
		b, err := t.win.At(int64(c)*4, 4)
		if err != nil {
			return 0, err
		}
		return binary.LittleEndian.Uint32(b) & entryMask, nil
	}
	return t.getNarrow(c)
}

func (t *table) getNarrow(c uint32) (uint32, error) {
	raw, err := t.raw(c)
	return widen(t.g.Type, raw), err
}

// raw is the entry as it is stored, reserved bits and all.
func (t *table) raw(c uint32) (uint32, error) {
	// A FAT12 is at most 6 KiB, so its entries never straddle windows.
	b, err := t.win.At(int64(c)*int64(t.g.Type)/8, max(2, int(t.g.Type)/8))
	if err != nil {
		return 0, err
	}
	switch t.g.Type {
	case FAT12:
		v := uint32(b[0]) | uint32(b[1])<<8
		if c&1 == 1 {
			return v >> 4, nil
		}
		return v & 0xFFF, nil
	case FAT16:
		return uint32(binary.LittleEndian.Uint16(b)), nil
	default:
		return binary.LittleEndian.Uint32(b), nil
	}
}

// forget drops what is kept of the bytes from … to of the FAT.
func (t *table) forget(from, to int64) { t.win.Forget(dev.Range{Off: from, Len: to - from}) }
