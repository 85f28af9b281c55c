package dev

import (
	"errors"
	"slices"
)

// Schemes of partition tables.
const (
	SchemeMBR = "mbr"
	SchemeGPT = "gpt"
)

// Partition is an entry of a partition table.
type Partition struct {
	Number int    // 1 and up; with an MBR 1-4 are primary, 5 and up logical
	Range  Range  // bytes of the device; never empty, never outside
	Type   string // "0x0c", or a GUID in capitals
	Name   string // GPT: as it stands there, up to 36 UTF-16 units; may hold anything
	Scheme string // SchemeMBR or SchemeGPT
}

// errGPT: the first sector says that there is a GPT, and neither copy is sound.
var errGPT = errors.New("a protective MBR, but no intact GPT")

// Partitions reads the partition table of d, in order of number. It is nil
// where there is no table (a boot sector of a file system looks like an MBR,
// but does not hold entries that make sense), and empty where there is one
// without partitions. Entries that leave the device are left out of a GPT, as
// Linux does, and show that an MBR is none. Errors are those of reading d, and
// an *Error with Op "partitions" if a GPT is announced and damaged twice.
//
// This is a parser of our own, because github.com/diskfs/go-diskfs v1.9.4, the
// library for it, does not stand what an image from anywhere may hold:
// partition/gpt allocates entry count times entry size as two 32-bit fields
// claim, before any checksum of the entries, and never returns from an entry
// size of 0; partition/mbr knows no logical partitions. It also opens files
// through interfaces of its own and formats a GUID with a further module.
func Partitions(d Device) ([]Partition, error) {
	if d.Size() < mbrSize {
		return nil, nil
	}
	var sector mbr
	if _, err := d.ReadAt(sector[:], 0); err != nil {
		return nil, err
	}
	if !sector.signed() {
		return nil, nil
	}
	if sector.protective() {
		return readGPT(d)
	}
	return readMBR(d, &sector)
}

// sectorSizes are the sizes in bytes that the sectors of d may have had where
// its table was made: an image is often of a disk with others than its own. A GPT
// is found by trying them; an MBR does not tell, and is read with the first.
func sectorSizes(d Device) []int64 {
	sizes := []int64{int64(d.Limits().LogicalSector), 512, 4096}
	for i := len(sizes) - 1; i >= 0; i-- {
		s := sizes[i]
		if s < 512 || s > 64<<10 || s&(s-1) != 0 || slices.Contains(sizes[:i], s) {
			sizes = slices.Delete(sizes, i, i+1)
		}
	}
	return sizes
}
