package main

import (
	"bytes"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/packed"
)

// magic is a mark by which something that is not ours is recognised.
type magic struct {
	foreign
	off  int64 // bytes from the start
	mark string
}

// foreign is something that is not ours: kind is a word for programs, as the
// types of our own volumes are, and name is what people call it. Both are ""
// where nothing was recognised.
type foreign struct{ kind, name string }

// fileSystem is one of a type of ours, in words.
func fileSystem(kind string) string {
	if kind == "exfat" || kind == "f2fs" { // as they are spoken
		return "an " + kind + " file system"
	}
	return "a " + kind + " file system"
}

// magics are the marks of what people keep on disks and would miss. Where one
// holds the other the more telling one comes first. Offsets and marks are those
// of the formats' own documentation, and of libblkid.
func magics() []magic {
	return []magic{
		{foreign{"luks", "a LUKS volume"}, 0, "LUKS\xba\xbe"},
		{foreign{"refs", "a ReFS file system"}, 3, "ReFS\x00\x00\x00\x00"},
		{foreign{"qcow2", "a QEMU disk image (qcow2), which qemu-img convert -O raw unpacks"}, 0, "QFI\xfb"},
		{foreign{"vmdk", "a VMware disk image, which qemu-img convert -O raw unpacks"}, 0, "KDMV"},
		{foreign{"vhdx", "a Hyper-V disk image, which qemu-img convert -O raw unpacks"}, 0, "vhdxfile"},
		{foreign{"ntfs", "an NTFS file system"}, 3, "NTFS    "},
		{foreign{"exfat", "an exFAT file system"}, 3, "EXFAT   "},
		{foreign{"bitlocker", "a BitLocker volume"}, 3, "-FVE-FS-"},
		{foreign{"xfs", "an XFS file system"}, 0, "XFSB"},
		{foreign{"squashfs", "a SquashFS file system"}, 0, "hsqs"},
		{foreign{"squashfs", "a SquashFS file system"}, 0, "sqsh"},
		{foreign{"cramfs", "a cramfs file system"}, 0, "\x45\x3d\xcd\x28"},
		{foreign{"romfs", "a romfs file system"}, 0, "-rom1fs-"},
		{foreign{"lvm", "an LVM physical volume"}, 512, "LABELONE"},
		{foreign{"apfs", "an APFS container"}, 32, "NXSB"},
		{foreign{"f2fs", "an F2FS file system"}, 1024, "\x10\x20\xf5\xf2"},
		{foreign{"erofs", "an EROFS file system"}, 1024, "\xe2\xe1\xf5\xe0"},
		{foreign{"hfsplus", "an HFS+ file system"}, 1024, "H+\x00\x04"},
		{foreign{"hfsplus", "an HFS+ file system"}, 1024, "HX\x00\x05"},
		{foreign{"raid", "a RAID member"}, 0, "\xfc\x4e\x2b\xa9"},
		{foreign{"raid", "a RAID member"}, 4096, "\xfc\x4e\x2b\xa9"},
		{foreign{"bcachefs", "a bcache device or bcachefs"}, 4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"},
		{foreign{"swap", "swap space"}, 4086, "SWAPSPACE2"},
		{foreign{"swap", "swap space"}, 4086, "SWAP-SPACE"},
		{foreign{"suspend", "a suspended system"}, 4086, "S1SUSPEND\x00"},
		{foreign{"udf", "a UDF file system"}, 32769, "BEA01"},
		{foreign{"iso9660", "an ISO 9660 file system"}, 32769, "CD001"},
		{foreign{"jfs", "a JFS file system"}, 32768, "JFS1"},
		{foreign{"reiserfs", "a ReiserFS file system"}, 65588, "ReIsErFs"},
		{foreign{"reiserfs", "a ReiserFS file system"}, 65588, "ReIsEr2Fs"},
		{foreign{"reiserfs", "a ReiserFS file system"}, 65588, "ReIsEr3Fs"},
		{foreign{"btrfs", "a Btrfs file system"}, 65600, "_BHRfS_M"},
	}
}

// recogniseBytes is how much of the start of a device holds all marks.
const recogniseBytes = 68 << 10

// recognise says what is on d that no driver of ours knows. What cannot be read
// is not recognised.
func recognise(d dev.Device) foreign {
	b := make([]byte, min(d.Size(), recogniseBytes))
	if _, err := d.ReadAt(b, 0); err != nil {
		return foreign{}
	}
	if ext := recogniseExt(b); ext.kind != "" {
		return ext
	}
	if kind := packed.Kind(b); kind != "" {
		return foreign{kind, "a file compressed with " + kind}
	}
	for _, m := range magics() {
		if int64(len(b)) > m.off && bytes.HasPrefix(b[m.off:], []byte(m.mark)) {
			return m.foreign
		}
	}
	return foreign{}
}

// recogniseExt tells the generations of ext apart by what they can do.
func recogniseExt(b []byte) foreign {
	const super = 1024
	if len(b) < super+1024 || binary.LittleEndian.Uint16(b[super+0x38:]) != 0xEF53 {
		return foreign{}
	}
	const hasJournal, extents, flexBG, bits64 = 0x4, 0x40, 0x200, 0x80
	compat := binary.LittleEndian.Uint32(b[super+0x5C:])
	incompat := binary.LittleEndian.Uint32(b[super+0x60:])
	switch {
	case incompat&(extents|flexBG|bits64) != 0:
		return foreign{"ext4", "an ext4 file system"}
	case compat&hasJournal != 0:
		return foreign{"ext3", "an ext3 file system"}
	}
	return foreign{"ext2", "an ext2 file system"}
}
