package fat

import (
	"encoding/binary"
	"strings"
)

// Type is the width of a FAT entry in bits.
type Type int

const (
	FAT12 Type = 12
	FAT16 Type = 16
	FAT32 Type = 32
)

func (t Type) String() string {
	switch t {
	case FAT12:
		return "fat12"
	case FAT16:
		return "fat16"
	default:
		return "fat32"
	}
}

// Boot sector fields, [FAT] "Boot Sector and BPB": offsets in bytes.
const (
	offJump       = 0
	offOEM        = 3
	offBytsPerSec = 11
	offSecPerClus = 13
	offRsvdSecCnt = 14
	offNumFATs    = 16
	offRootEntCnt = 17
	offTotSec16   = 19
	offMedia      = 21
	offFATSz16    = 22
	offSecPerTrk  = 24
	offNumHeads   = 26
	offHiddSec    = 28
	offTotSec32   = 32
	// FAT12 and FAT16 from here
	offDrvNum16   = 36
	offFlags16    = 37
	offBootSig16  = 38
	offVolID16    = 39
	offVolLab16   = 43
	offFilSysTy16 = 54
	// FAT32 from here
	offFATSz32    = 36
	offExtFlags   = 40
	offFSVer      = 42
	offRootClus   = 44
	offFSInfo     = 48
	offBkBootSec  = 50
	offDrvNum32   = 64
	offFlags32    = 65
	offBootSig32  = 66
	offVolID32    = 67
	offVolLab32   = 71
	offFilSysTy32 = 82
	offSignature  = 510

	bootSectorLen = 512
	extBootSig    = 0x29
	extBootSigOld = 0x28
	mirrorOff     = 0x80 // BPB_ExtFlags: only the FAT in bits 0-3 is active
	// Bits of BS_Reserved1, as Windows NT and Linux use them (fat_fs.h,
	// FAT_STATE_DIRTY): bit 0 dirty, bit 1 surface test wanted.
	stateDirty       = 1
	stateSurfaceTest = 2
)

// bootSector is a view of the first 512 bytes of a volume.
type bootSector []byte

func (b bootSector) u8(off int) byte       { return b[off] }
func (b bootSector) u16(off int) uint16    { return binary.LittleEndian.Uint16(b[off:]) }
func (b bootSector) u32(off int) uint32    { return binary.LittleEndian.Uint32(b[off:]) }
func (b bootSector) put16(o int, v uint16) { binary.LittleEndian.PutUint16(b[o:], v) }
func (b bootSector) put32(o int, v uint32) { binary.LittleEndian.PutUint32(b[o:], v) }

func (b bootSector) signed() bool { return b[offSignature] == 0x55 && b[offSignature+1] == 0xAA }

// jumpOK: [FAT] BS_jmpBoot is EB xx 90 or E9 xx xx.
func (b bootSector) jumpOK() bool { return b[0] == 0xEB && b[2] == 0x90 || b[0] == 0xE9 }

// looksBoot: it begins and ends as boot sectors do.
func (b bootSector) looksBoot() bool { return b.signed() && b.jumpOK() }

// isFAT32: [FAT] a zero BPB_FATSz16 says that the FAT32 fields follow. Linux
// and mtools read it the same way; the cluster count is checked besides.
func (b bootSector) isFAT32() bool { return b.u16(offFATSz16) == 0 }

func (b bootSector) off(o16, o32 int) int {
	if b.isFAT32() {
		return o32
	}
	return o16
}
func (b bootSector) hasExt() bool { return b[b.off(offBootSig16, offBootSig32)] == extBootSig }

// extHit: the mark that says that serial number, label and type string follow is
// none, but the string follows. (28 hexadecimal is the mark of older systems that
// had the serial number alone.)
func (b bootSector) extHit() bool {
	mark := b[b.off(offBootSig16, offBootSig32)]
	return mark != extBootSig && mark != extBootSigOld && strings.HasPrefix(string(b.fsType()), "FAT")
}

func (b bootSector) serial() uint32 { return b.u32(b.off(offVolID16, offVolID32)) }
func (b bootSector) label() []byte {
	o := b.off(offVolLab16, offVolLab32)
	return b[o : o+11]
}
func (b bootSector) fsType() []byte {
	o := b.off(offFilSysTy16, offFilSysTy32)
	return b[o : o+8]
}
func (b bootSector) state() byte { return b[b.off(offFlags16, offFlags32)] }

// FSInfo sector, [FAT] "FAT32 FSInfo Sector Structure".
const (
	fsiLead      = 0x41615252
	fsiStruct    = 0x61417272
	fsiTrail     = 0xAA550000
	offFSILead   = 0
	offFSIStruct = 484
	offFSIFree   = 488
	offFSINext   = 492
	offFSITrail  = 508
	fsiUnknown   = 0xFFFFFFFF
)

type fsInfo []byte

func (f fsInfo) u32(off int) uint32    { return binary.LittleEndian.Uint32(f[off:]) }
func (f fsInfo) put32(o int, v uint32) { binary.LittleEndian.PutUint32(f[o:], v) }
func (f fsInfo) signed() bool {
	return f.u32(offFSILead) == fsiLead && f.u32(offFSIStruct) == fsiStruct && f.u32(offFSITrail) == fsiTrail
}
func (f fsInfo) free() uint32 { return f.u32(offFSIFree) }
func (f fsInfo) next() uint32 { return f.u32(offFSINext) }

// newFSInfo makes the sector; size is bytes per sector.
func newFSInfo(size int, free, next uint32) fsInfo {
	f := fsInfo(make([]byte, size))
	f.put32(offFSILead, fsiLead)
	f.put32(offFSIStruct, fsiStruct)
	f.put32(offFSITrail, fsiTrail)
	f.put32(offFSIFree, free)
	f.put32(offFSINext, next)
	return f
}

// Directory entry fields, [FAT] "FAT Directory Structure".
const (
	entryLen       = 32
	offName        = 0
	offAttr        = 11
	offNTRes       = 12
	offCrtTenth    = 13
	offCrtTime     = 14
	offCrtDate     = 16
	offAccDate     = 18
	offClusHi      = 20
	offWrtTime     = 22
	offWrtDate     = 24
	offClusLo      = 26
	offFileSize    = 28
	entryEnd       = 0x00
	entryDeleted   = 0xE5
	entryKanji     = 0x05 // stands for a first byte of 0xE5
	attrReadOnly   = 0x01
	attrHidden     = 0x02
	attrSystem     = 0x04
	attrVolume     = 0x08
	attrDirectory  = 0x10
	attrArchive    = 0x20
	attrReserved   = 0xC0
	attrLongName   = attrReadOnly | attrHidden | attrSystem | attrVolume
	attrLongMask   = attrLongName | attrDirectory | attrArchive
	maxDirEntries  = 65536 // [FAT]: a directory holds at most 2 MiB of entries
	maxFileSize    = 1<<32 - 1
	lcaseBase      = 0x08 // DIR_NTRes: base name is shown in lower case
	lcaseExtension = 0x10
)

// dirEntry is a view of one 32-byte directory slot.
type dirEntry []byte

func (e dirEntry) name() []byte { return e[:11:11] }
func (e dirEntry) attr() byte   { return e[offAttr] }
func (e dirEntry) u16(off int) uint16 {
	return binary.LittleEndian.Uint16(e[off:])
}
func (e dirEntry) size() uint32 { return binary.LittleEndian.Uint32(e[offFileSize:]) }
func (e dirEntry) isEnd() bool  { return e[0] == entryEnd }
func (e dirEntry) isFree() bool { return e[0] == entryDeleted }

// isLong: [FAT] the two top bits of the attribute byte are reserved and must
// be masked before the comparison.
func (e dirEntry) isLong() bool { return e[offAttr]&attrLongMask == attrLongName }
func (e dirEntry) isVolume() bool {
	return !e.isLong() && e[offAttr]&(attrVolume|attrDirectory) == attrVolume
}

// isDir: an entry that is marked as a directory and as a label is none of the
// two by [FAT]; it is looked at as a directory, which has more to lose.
func (e dirEntry) isDir() bool { return !e.isLong() && e[offAttr]&attrDirectory != 0 }

// start is the first cluster. On FAT12 and FAT16 the high half is not part of
// it (OS/2 keeps extended attributes there).
func (e dirEntry) start(t Type) uint32 {
	lo := uint32(e.u16(offClusLo))
	if t == FAT32 {
		return lo | uint32(e.u16(offClusHi))<<16
	}
	return lo
}

func (e dirEntry) setStart(t Type, c uint32) {
	binary.LittleEndian.PutUint16(e[offClusLo:], uint16(c))
	if t == FAT32 {
		binary.LittleEndian.PutUint16(e[offClusHi:], uint16(c>>16))
	}
}

func (e dirEntry) setSize(n uint32) { binary.LittleEndian.PutUint32(e[offFileSize:], n) }

// Long name slot fields, [FAT] "Long Directory Entries".
const (
	offLdirOrd   = 0
	offLdirType  = 12
	offLdirChk   = 13
	offLdirClus  = 26
	ldirLast     = 0x40
	ldirChars    = 13
	maxLongSlots = 20
	maxLongUnits = 255
)

// longSlot is a view of a directory slot that holds part of a long name.
type longSlot []byte

// ord is the number of the slot without the flag of the last one.
func (s longSlot) ord() int      { return int(s[offLdirOrd] & 0x1F) }
func (s longSlot) isLast() bool  { return s[offLdirOrd]&ldirLast != 0 }
func (s longSlot) ordOK() bool   { n := s[offLdirOrd] &^ ldirLast; return n >= 1 && n <= maxLongSlots }
func (s longSlot) chksum() byte  { return s[offLdirChk] }
func (s longSlot) kind() byte    { return s[offLdirType] }
func (s longSlot) start() uint16 { return binary.LittleEndian.Uint16(s[offLdirClus:]) }

// ldirOffsets are where the 13 UTF-16 units of a slot lie.
func ldirOffset(i int) int {
	switch {
	case i < 5:
		return 1 + 2*i
	case i < 11:
		return 14 + 2*(i-5)
	default:
		return 28 + 2*(i-11)
	}
}

// units copies the slot's 13 UTF-16 units into dst.
func (s longSlot) units(dst *[ldirChars]uint16) {
	for i := 0; i < 5; i++ {
		dst[i] = binary.LittleEndian.Uint16(s[1+2*i:])
	}
	for i := 0; i < 6; i++ {
		dst[5+i] = binary.LittleEndian.Uint16(s[14+2*i:])
	}
	dst[11] = binary.LittleEndian.Uint16(s[28:])
	dst[12] = binary.LittleEndian.Uint16(s[30:])
}

// nameSum is the checksum of an 8.3 name that its long-name slots carry,
// [FAT] ChkSum().
func nameSum(name []byte) byte {
	var s byte
	for _, c := range name[:11] {
		s = s>>1 | s<<7
		s += c
	}
	return s
}
