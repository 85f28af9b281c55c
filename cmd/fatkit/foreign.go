package main

import (
	"bytes"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
)

// magic is a mark by which something that is not ours is recognised.
type magic struct {
	name string
	off  int64 // bytes from the start
	mark string
}

// magics are the marks of what people keep on disks and would miss. Where one
// holds the other the more telling one comes first. Offsets and marks are those
// of the formats' own documentation, and of libblkid.
func magics() []magic {
	return []magic{
		{"a LUKS volume", 0, "LUKS\xba\xbe"},
		{"an NTFS file system", 3, "NTFS    "},
		{"an exFAT file system", 3, "EXFAT   "},
		{"a BitLocker volume", 3, "-FVE-FS-"},
		{"an XFS file system", 0, "XFSB"},
		{"a SquashFS file system", 0, "hsqs"},
		{"a SquashFS file system", 0, "sqsh"},
		{"a cramfs file system", 0, "\x45\x3d\xcd\x28"},
		{"a romfs file system", 0, "-rom1fs-"},
		{"an LVM physical volume", 512, "LABELONE"},
		{"an APFS container", 32, "NXSB"},
		{"an F2FS file system", 1024, "\x10\x20\xf5\xf2"},
		{"an EROFS file system", 1024, "\xe2\xe1\xf5\xe0"},
		{"an HFS+ file system", 1024, "H+\x00\x04"},
		{"an HFS+ file system", 1024, "HX\x00\x05"},
		{"a RAID member", 0, "\xfc\x4e\x2b\xa9"},
		{"a RAID member", 4096, "\xfc\x4e\x2b\xa9"},
		{"a bcache device or bcachefs", 4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"},
		{"swap space", 4086, "SWAPSPACE2"},
		{"swap space", 4086, "SWAP-SPACE"},
		{"a suspended system", 4086, "S1SUSPEND\x00"},
		{"a UDF file system", 32769, "BEA01"},
		{"an ISO 9660 file system", 32769, "CD001"},
		{"a JFS file system", 32768, "JFS1"},
		{"a ReiserFS file system", 65588, "ReIsErFs"},
		{"a ReiserFS file system", 65588, "ReIsEr2Fs"},
		{"a ReiserFS file system", 65588, "ReIsEr3Fs"},
		{"a Btrfs file system", 65600, "_BHRfS_M"},
	}
}

// recogniseBytes is how much of the start of a device holds all marks.
const recogniseBytes = 68 << 10

// recognise says what is on d that no driver of ours knows, in words, or "".
// What cannot be read is not recognised.
func recognise(d dev.Device) string {
	b := make([]byte, min(d.Size(), recogniseBytes))
	if _, err := d.ReadAt(b, 0); err != nil {
		return ""
	}
	if name := recogniseExt(b); name != "" {
		return name
	}
	for _, m := range magics() {
		if int64(len(b)) > m.off && bytes.HasPrefix(b[m.off:], []byte(m.mark)) {
			return m.name
		}
	}
	return ""
}

// recogniseExt tells the generations of ext apart by what they can do.
func recogniseExt(b []byte) string {
	const super = 1024
	if len(b) < super+1024 || binary.LittleEndian.Uint16(b[super+0x38:]) != 0xEF53 {
		return ""
	}
	const hasJournal, extents, flexBG, bits64 = 0x4, 0x40, 0x200, 0x80
	compat := binary.LittleEndian.Uint32(b[super+0x5C:])
	incompat := binary.LittleEndian.Uint32(b[super+0x60:])
	switch {
	case incompat&(extents|flexBG|bits64) != 0:
		return "an ext4 file system"
	case compat&hasJournal != 0:
		return "an ext3 file system"
	}
	return "an ext2 file system"
}
