package vol

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Overlaid tells whether d was given to something else since the backup of a
// boot sector or of a superblock was written, which lived on: what is common
// need not write over the first sectors behind its own. It counts only where
// there is nothing but a backup.
func Overlaid(d dev.Device) bool {
	var sector [512]byte
	if _, err := d.ReadAt(sector[:], 0); err == nil && partitioned(sector[:]) {
		return true
	}
	for _, s := range []struct {
		off   int64
		magic string
	}{
		{0, "XFSB"}, {0, "hsqs"}, {0, "LUKS\xBA\xBE"},
		{512, "EFI PART"}, {512, "LABELONE"}, {4096, "EFI PART"},
		{1024, "\x10\x20\xF5\xF2"}, // F2FS
		{1024 + 56, "\x53\xEF"},    // ext2, ext3, ext4
		{1024, "H+"}, {1024, "HX"}, // HFS Plus
		{4096, "\xFC\x4E\x2B\xA9"}, // MD 1.2
		{4096 - 10, "SWAPSPACE2"},
		{32<<10 + 1, "CD001"},     // ISO 9660
		{64<<10 + 64, "_BHRfS_M"}, // Btrfs
		{64<<10 + 52, "ReIsEr"},   // ReiserFS
		{32 << 10, "JFS1"},        // JFS
		{32, "NXSB"},              // APFS
	} {
		b := make([]byte, len(s.magic))
		if _, err := d.ReadAt(b, s.off); err == nil && string(b) == s.magic {
			return true
		}
	}
	return false
}

// partitioned tells whether b, of 512 bytes or more, is the sector of an MBR
// partition table.
func partitioned(b []byte) bool {
	const (
		table     = 446
		entries   = 4
		entryLen  = 16
		signature = 510
	)
	if b[signature] != 0x55 || b[signature+1] != 0xAA {
		return false
	}
	used := false
	for i := range entries {
		e := b[table+i*entryLen:][:entryLen]
		if e[0]&0x7F != 0 {
			return false // the boot flag is 0x80 or 0
		}
		start, n := binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
		used = used || e[4] != 0 && start > 0 && n > 0
	}
	return used
}
