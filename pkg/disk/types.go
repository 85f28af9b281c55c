package disk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Types of partitions that new disks get.
const (
	guidBasic = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7" // Microsoft basic data
	guidLinux = "0FC63DAF-8483-4772-8E79-3D69D8477DE4" // Linux filesystem data
)

// use is a type of partition and what it may hold: names of file systems as
// Mismatch takes them. A type that is not listed may hold anything.
type use struct {
	kind  string
	name  string
	holds []string
}

// uses are the types that say something about their contents. The list of what
// FAT12 and FAT16 types hold is wide: systems look at the boot sector to tell
// them apart, and only FAT32 has types of its own.
func uses() []use {
	small, fat32 := []string{"fat12", "fat16"}, []string{"fat32"}
	fat := []string{"fat12", "fat16", "fat32"}
	windows := []string{"ntfs", "exfat", "bitlocker", "hpfs", "refs"}
	linux := []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "squashfs", "erofs", "cramfs", "romfs",
		"bcachefs", "luks", "lvm", "raid", "suspend"}
	swap := []string{"swap", "suspend", "luks"}
	return []use{
		{"0x01", "FAT12", []string{"fat12"}}, {"0x11", "hidden FAT12", []string{"fat12"}},
		{"0x04", "FAT16", small}, {"0x06", "FAT16", small}, {"0x0e", "FAT16", small},
		{"0x14", "hidden FAT16", small}, {"0x16", "hidden FAT16", small}, {"0x1e", "hidden FAT16", small},
		{"0x0b", "FAT32", fat32}, {"0x0c", "FAT32", fat32}, {"0x1b", "hidden FAT32", fat32}, {"0x1c", "hidden FAT32", fat32},
		{"0x07", "NTFS and exFAT", windows}, {"0x17", "hidden NTFS and exFAT", windows},
		{"0x82", "Linux swap", swap}, {"0x83", "Linux", linux}, {"0x8e", "Linux LVM", []string{"lvm", "luks"}},
		{"0xfd", "Linux RAID", append([]string{"raid"}, linux...)}, {"0xef", "an EFI system partition", fat},
		{"0xaf", "HFS and APFS", []string{"hfsplus", "apfs"}},
		{guidBasic, "FAT, exFAT and NTFS", append(append([]string{}, fat...), windows...)},
		{"C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "an EFI system partition", fat},
		{"DE94BBA4-06D1-4D40-A16A-BFD50179D6AC", "Windows recovery", append([]string{"fat32"}, windows...)},
		{guidLinux, "Linux", linux},
		{"BC13C2FF-59E6-4262-A352-B275FD6F7172", "/boot", append(append([]string{}, fat...), linux...)},
		{"0657FD6D-A4AB-43C4-84E5-0933C84B4F4F", "Linux swap", swap},
		{"E6D6D379-F507-44C2-A23C-238F2A3DF928", "Linux LVM", []string{"lvm", "luks"}},
		{"A19D880F-05FC-4D3B-A006-743F0F84911E", "Linux RAID", append([]string{"raid"}, linux...)},
		{"CA7D7CCB-63ED-4C53-861C-1742536059CC", "LUKS", []string{"luks"}},
		{"933AC7E1-2EB4-4F13-B844-0E14E2AEF915", "/home", linux},
		{"4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709", "a Linux root", linux},
		{"B921B045-1DF0-41C3-AF44-4C6F280D3FAE", "a Linux root", linux},
		{"69DAD710-2CE4-4E3C-B16C-21A1D49ABED3", "a Linux root", linux},
		{"48465300-0000-11AA-AA11-00306543ECAC", "HFS+", []string{"hfsplus"}},
		{"7C3457EF-0000-11AA-AA11-00306543ECAC", "APFS", []string{"apfs"}},
	}
}

// Mismatch says in words that a partition of this type should not hold content:
// a type that a driver gives, or "ntfs", "ext4", "swap", ... It is "" where they
// go together, where either is not known, and where content is "".
func Mismatch(kind, content string) string {
	words, known := "", false
	for _, u := range uses() {
		fits := slices.Contains(u.holds, content)
		if known = known || fits; u.kind == kind && !fits {
			words = fmt.Sprintf("type %s is for %s, and it holds %s", kind, u.name, content)
		}
	}
	if !known {
		return ""
	}
	return words
}

// TypeFor is the type that a partition with the file system fs, of size bytes in
// sectors of sector bytes, gets in a table of that scheme.
//
// An MBR has the types that say that sectors are counted and not cylinders, except
// for the sizes of FAT12 and FAT16 that have older ones, [MBR] partition types:
// 0x01 and 0x04 are for fewer than 65536 sectors.
func TypeFor(scheme, fs string, size, sector int64) string {
	linux := fs == "f2fs"
	if scheme == dev.SchemeGPT {
		if linux {
			return guidLinux
		}
		return guidBasic
	}
	switch {
	case linux:
		return "0x83"
	case fs == "exfat":
		return "0x07"
	case fs == "fat32":
		return "0x0c"
	case size/sector >= 1<<16:
		return "0x0e"
	case fs == "fat12":
		return "0x01"
	}
	return "0x04"
}

// subject begins what is said of a partition.
func subject(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("partition %d: ", number)
}

// mbrType is a type of an MBR as a byte.
func mbrType(kind string) byte {
	var b byte
	_, _ = fmt.Sscanf(strings.TrimPrefix(kind, "0x"), "%x", &b)
	return b
}
