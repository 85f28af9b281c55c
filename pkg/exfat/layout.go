package exfat

import "encoding/binary"

// Boot sector, [exFAT] §3.1 Table 4: offsets in bytes.
const (
	offJumpBoot        = 0
	offFileSystemName  = 3
	offMustBeZero      = 11
	lenMustBeZero      = 53
	offPartitionOffset = 64
	offVolumeLength    = 72
	offFatOffset       = 80
	offFatLength       = 84
	offHeapOffset      = 88
	offClusterCount    = 92
	offRootCluster     = 96
	offSerial          = 100
	offRevision        = 104
	offVolumeFlags     = 106
	offSectorShift     = 108
	offClusterShift    = 109
	offNumberOfFats    = 110
	offDriveSelect     = 111
	offPercentInUse    = 112
	offBootCode        = 120
	lenBootCode        = 390
	offBootSignature   = 510
	bootSectorLen      = 512

	bootSignature     = 0xAA55
	extendedSignature = 0xAA550000 // §3.2.2, the last 4 bytes of an extended boot sector
	jumpBoot          = "\xEB\x76\x90"
	fileSystemName    = "EXFAT   "
)

// Boot region, [exFAT] §3: 12 sectors, twice.
const (
	regionSectors   = 12
	sectorExtended  = 1 // to 8
	extendedSectors = 8
	sectorOEM       = 9 // §3.3 OEM parameters, kept by a format
	sectorReserved  = 10
	sectorChecksum  = 11 // §3.4
	backupSector    = 12 // where the backup region starts
)

// VolumeFlags, [exFAT] §3.1.13.
const (
	flagActiveFat    = 1 << 0
	flagDirty        = 1 << 1
	flagMediaFailure = 1 << 2
	flagClearToZero  = 1 << 3
	percentUnknown   = 0xFF // §3.1.18
)

// bootSector is a view of the first 512 bytes of a boot sector.
type bootSector []byte

func (b bootSector) u16(off int) uint16      { return binary.LittleEndian.Uint16(b[off:]) }
func (b bootSector) u32(off int) uint32      { return binary.LittleEndian.Uint32(b[off:]) }
func (b bootSector) u64(off int) uint64      { return binary.LittleEndian.Uint64(b[off:]) }
func (b bootSector) put16(off int, v uint16) { binary.LittleEndian.PutUint16(b[off:], v) }
func (b bootSector) put32(off int, v uint32) { binary.LittleEndian.PutUint32(b[off:], v) }
func (b bootSector) put64(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
func (b bootSector) named() bool             { return string(b[offFileSystemName:offMustBeZero]) == fileSystemName }

// Directory entry types, [exFAT] §6.2.1 and §7: bit 7 in use, bit 6 secondary,
// bit 5 benign, the rest a code.
const (
	entryLen     = 32
	typeEnd      = 0x00
	typeInUse    = 0x80
	typeSecond   = 0x40
	typeBenign   = 0x20
	typeBitmap   = 0x81 // §7.1
	typeUpcase   = 0x82 // §7.2
	typeLabel    = 0x83 // §7.3
	typeFile     = 0x85 // §7.4
	typeGUID     = 0xA0 // §7.5
	typePadding  = 0xA1 // §7.10 TexFAT padding
	typeStream   = 0xC0 // §7.6
	typeName     = 0xC1 // §7.7
	typeVendor   = 0xE0 // §7.8
	typeVendAll  = 0xE1 // §7.9
	maxSecondary = 255  // §6.3.2 SecondaryCount is a byte
	minFileSets  = 2    // §7.4.1: a stream and a name
	maxNameSets  = 17   // 255 units in slots of 15
)

// Fields of a File entry, [exFAT] §7.4.
const (
	offSecondaryCount = 1
	offSetChecksum    = 2
	offAttributes     = 4
	offCreate         = 8
	offModify         = 12
	offAccess         = 16
	offCreate10ms     = 20
	offModify10ms     = 21
	offCreateUTC      = 22
	offModifyUTC      = 23
	offAccessUTC      = 24
)

// FileAttributes, [exFAT] §7.4.4.
const (
	attrReadOnly  = 0x01
	attrHidden    = 0x02
	attrSystem    = 0x04
	attrReserved1 = 0x08
	attrDirectory = 0x10
	attrArchive   = 0x20
	attrReserved2 = 0xFFC0
)

// Fields of a secondary entry with an allocation, [exFAT] §6.4, and of a
// Stream Extension entry, §7.6. A bitmap or up-case entry has FirstCluster and
// DataLength in the same places, §6.3.
const (
	offSecFlags     = 1
	offPrimaryFlags = 4 // §6.3.4, of a generic primary
	offNameLength   = 3
	offNameHash     = 4
	offValidLength  = 8
	offFirstCluster = 20
	offDataLength   = 24

	secAllocPossible = 0x01 // §6.4.2.1
	secNoFatChain    = 0x02 // §6.4.2.2
	secReserved      = 0xFC
)

// Fields of other entries.
const (
	offBitmapFlags   = 1 // §7.1.2
	offTableChecksum = 4 // §7.2.2
	offLabelCount    = 1 // §7.3.2
	offLabel         = 2 // §7.3.3
	labelUnits       = 11
	offGUIDFlags     = 4 // §7.5.4
	offGUID          = 6 // §7.5.5
	offName          = 2 // §7.7.3
	nameUnits        = 15
	maxName          = 255     // §7.6.3
	maxDirBytes      = 1 << 28 // §7.6.7: a directory holds at most 256 MiB
)

// Values of a FAT entry, [exFAT] §4.1.
const (
	fatMedia = 0xFFFFFFF8 // §4.1.1 FatEntry[0]
	fatOnes  = 0xFFFFFFFF // §4.1.2 FatEntry[1]
	fatBad   = 0xFFFFFFF7
	fatEOC   = 0xFFFFFFFF
)

// firstCluster is the number of the first cluster of the heap, [exFAT] §5.
const firstCluster = 2

// entry is a view of one 32-byte directory entry.
type entry []byte

func (e entry) kind() byte              { return e[0] }
func (e entry) inUse() bool             { return e[0]&typeInUse != 0 }
func (e entry) isEnd() bool             { return e[0] == typeEnd }
func (e entry) isSecondary() bool       { return e[0]&(typeInUse|typeSecond) == typeInUse|typeSecond }
func (e entry) isPrimary() bool         { return e[0]&(typeInUse|typeSecond) == typeInUse }
func (e entry) isBenign() bool          { return e[0]&typeBenign != 0 }
func (e entry) u16(off int) uint16      { return binary.LittleEndian.Uint16(e[off:]) }
func (e entry) u32(off int) uint32      { return binary.LittleEndian.Uint32(e[off:]) }
func (e entry) u64(off int) uint64      { return binary.LittleEndian.Uint64(e[off:]) }
func (e entry) put16(off int, v uint16) { binary.LittleEndian.PutUint16(e[off:], v) }
func (e entry) put32(off int, v uint32) { binary.LittleEndian.PutUint32(e[off:], v) }
func (e entry) put64(off int, v uint64) { binary.LittleEndian.PutUint64(e[off:], v) }
func (e entry) first() uint32           { return e.u32(offFirstCluster) }
func (e entry) length() uint64          { return e.u64(offDataLength) }
func (e entry) valid() uint64           { return e.u64(offValidLength) }
func (e entry) noFatChain() bool        { return e[offSecFlags]&secNoFatChain != 0 }
func (e entry) allocPossible() bool     { return e[offSecFlags]&secAllocPossible != 0 }
func (e entry) attributes() uint16      { return e.u16(offAttributes) }
func (e entry) isDirectory() bool       { return e.attributes()&attrDirectory != 0 }
func (e entry) put(first uint32, n uint64) {
	e.put32(offFirstCluster, first)
	e.put64(offDataLength, n)
}

// retire marks an entry as not in use. [exFAT] §6.2.1: types 01h to 7Fh are
// those of unused entries; 00h is the end mark, which hides all behind it.
func (e entry) retire() {
	if e[0] &^= typeInUse; e.isEnd() {
		e[0] = typeFile &^ typeInUse
	}
}

// rotate16 and rotate32 are the steps of the specification's checksums.
func rotate16(s uint16) uint16 { return s<<15 | s>>1 }
func rotate32(s uint32) uint32 { return s<<31 | s>>1 }

// setChecksum of an entry set, [exFAT] §6.3.3 Figure 2: all bytes of all
// entries but the field itself.
func setChecksum(set []byte) uint16 {
	return sum16(sum16(0, set[:offSetChecksum]), set[offSetChecksum+2:])
}

// setChecksums is setChecksum of two sets of the same length, in one go: each
// step waits for the one before, but not for that of the other set.
func setChecksums(a, b []byte) (s, t uint16) {
	b = b[:len(a)]
	s, t = sum16(0, a[:offSetChecksum]), sum16(0, b[:offSetChecksum])
	s, t = sum16(s, a[offSetChecksum+2:8]), sum16(t, b[offSetChecksum+2:8])
	for i := 8; i+8 <= len(a) && i+8 <= len(b); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		s, t = rotate16(s)+uint16(byte(x)), rotate16(t)+uint16(byte(y))
		s, t = rotate16(s)+uint16(byte(x>>8)), rotate16(t)+uint16(byte(y>>8))
		s, t = rotate16(s)+uint16(byte(x>>16)), rotate16(t)+uint16(byte(y>>16))
		s, t = rotate16(s)+uint16(byte(x>>24)), rotate16(t)+uint16(byte(y>>24))
		s, t = rotate16(s)+uint16(byte(x>>32)), rotate16(t)+uint16(byte(y>>32))
		s, t = rotate16(s)+uint16(byte(x>>40)), rotate16(t)+uint16(byte(y>>40))
		s, t = rotate16(s)+uint16(byte(x>>48)), rotate16(t)+uint16(byte(y>>48))
		s, t = rotate16(s)+uint16(byte(x>>56)), rotate16(t)+uint16(byte(y>>56))
	}
	return s, t
}

// sum16 goes on with s over b, of which eight bytes are loaded at a time.
func sum16(s uint16, b []byte) uint16 {
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		s = rotate16(s) + uint16(byte(x))
		s = rotate16(s) + uint16(byte(x>>8))
		s = rotate16(s) + uint16(byte(x>>16))
		s = rotate16(s) + uint16(byte(x>>24))
		s = rotate16(s) + uint16(byte(x>>32))
		s = rotate16(s) + uint16(byte(x>>40))
		s = rotate16(s) + uint16(byte(x>>48))
		s = rotate16(s) + uint16(byte(x>>56))
	}
	for _, v := range b {
		s = rotate16(s) + uint16(v)
	}
	return s
}

// bootChecksum of the first 11 sectors of a boot region, [exFAT] §3.4 Figure 1:
// all bytes but VolumeFlags and PercentInUse.
func bootChecksum(sectors []byte) uint32 {
	var s uint32
	for i, b := range sectors {
		if i != offVolumeFlags && i != offVolumeFlags+1 && i != offPercentInUse {
			s = rotate32(s) + uint32(b)
		}
	}
	return s
}

// tableChecksum of an up-case table, [exFAT] §7.2.2 Figure 3, as it is stored.
func tableChecksum(table []byte) uint32 {
	var s uint32
	for _, b := range table {
		s = rotate32(s) + uint32(b)
	}
	return s
}
