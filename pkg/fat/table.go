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

// Table windows: a chain that runs on through neighbouring clusters stays in
// one window, and a fragmented one comes back to those it left.
const (
	windowLen   = 64 << 10
	windowSlots = 64 // 4 MiB of a FAT in memory
)

// table reads and changes the entries of one FAT, and writes changes to all
// FATs that count. Reading goes through windows; it is not safe for
// concurrent use.
type table struct {
	d    dev.Device
	g    *Geometry
	copy int // the FAT that is read

	cur   int64 // window number of buf, -1 for none
	buf   []byte
	slots [windowSlots]struct {
		no  int64
		buf []byte
	}
	reads int64 // bytes
}

func newTable(d dev.Device, g *Geometry, copy int) *table {
	t := &table{d: d, g: g, copy: copy, cur: -1}
	for i := range t.slots {
		t.slots[i].no = -1
	}
	return t
}

// load makes window no the current one. The last window of a FAT is short;
// callers never ask beyond the entries of the volume.
func (t *table) load(no int64) error {
	s := &t.slots[no%windowSlots]
	if s.no != no {
		n := min(windowLen, t.g.FatBytes()-no*windowLen)
		if s.buf == nil {
			s.buf = make([]byte, windowLen)
		}
		s.no = -1
		if _, err := t.d.ReadAt(s.buf[:n], t.g.FatOff(t.copy)+no*windowLen); err != nil {
			return err
		}
		t.reads += n
		s.no = no
	}
	t.cur, t.buf = no, s.buf
	return nil
}

// get is the entry of cluster c (0 … Clusters+1), widened and masked.
func (t *table) get(c uint32) (uint32, error) {
	if t.g.Type == FAT32 {
		off := int64(c) * 4
		if no := off / windowLen; no != t.cur {
			if err := t.load(no); err != nil {
				return 0, err
			}
		}
		return binary.LittleEndian.Uint32(t.buf[off%windowLen:]) & entryMask, nil
	}
	return t.getNarrow(c)
}

func (t *table) getNarrow(c uint32) (uint32, error) {
	raw, err := t.raw(c)
	return widen(t.g.Type, raw), err
}

// raw is the entry as it is stored, reserved bits and all.
func (t *table) raw(c uint32) (uint32, error) {
	off := int64(c) * int64(t.g.Type) / 8
	// A FAT12 is at most 6 KiB, so its entries never straddle windows.
	if no := off / windowLen; no != t.cur {
		if err := t.load(no); err != nil {
			return 0, err
		}
	}
	b := t.buf[off%windowLen:]
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

// forget drops the windows over the bytes from … to of the FAT.
func (t *table) forget(from, to int64) {
	for no := from / windowLen; no <= (to-1)/windowLen; no++ {
		if s := &t.slots[no%windowSlots]; s.no == no {
			s.no = -1
		}
	}
	t.cur = -1
}
