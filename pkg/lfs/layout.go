package lfs

import (
	"encoding/binary"
	"unicode/utf16"
)

// Sizes that all volumes have.
const (
	minLogBlock      = 12 // blocks of 4 KiB ...
	maxLogBlock      = 14 // ... to 16 KiB
	minLogSector     = 9
	logSegmentBlocks = 9
	segmentBlocks    = 1 << logSegmentBlocks
	superOffset      = 1024 // bytes from the start of blocks 0 and 1
	superLen         = 3072
	superBlocks      = 2 // that hold a superblock each, before all else
	packCount        = 2 // checkpoint packs, a segment each
	maxSegments      = 16 << 40 >> (logSegmentBlocks + minLogBlock)
	minSegments      = 9
	logsPerKind      = 3 // hot, warm, cold
	logCount         = 2 * logsPerKind
	packedSummary    = 4096 // bytes of a summary block with the feature packed_ssa
)

// Inode numbers that are fixed: of the node and meta address spaces, which are
// no files, and of the root directory.
const (
	nodeIno  = 1
	metaIno  = 2
	rootIno  = 3
	firstNid = 4 // the first one that can be given to a file
)

// Block addresses that are none.
const (
	nullAddr     = 0          // a hole
	newAddr      = 0xFFFFFFFF // reserved, and counted as a block; reads as zeros
	compressAddr = 0xFFFFFFFE // the first slot of a compressed cluster
	nullSegment  = 0xFFFFFFFF // a log that is not there
)

// Superblock, [Linux] include/linux/f2fs_fs.h struct f2fs_super_block. The
// structure is packed: fields from sbQuotaInos on are not aligned.
const (
	sbMagic           = 0
	sbMajor           = 4
	sbMinor           = 6
	sbLogSector       = 8
	sbLogSectorsBlock = 12
	sbLogBlock        = 16
	sbLogSegment      = 20
	sbSegsPerSec      = 24
	sbSecsPerZone     = 28
	sbChecksumOffset  = 32
	sbBlocks          = 36 // 64 bits
	sbSections        = 44 // of the main area
	sbSegments        = 48 // of all areas
	sbSegmentsCP      = 52
	sbSegmentsSIT     = 56 // both copies
	sbSegmentsNAT     = 60 // both copies
	sbSegmentsSSA     = 64
	sbSegmentsMain    = 68
	sbSegment0        = 72
	sbCP              = 76
	sbSIT             = 80
	sbNAT             = 84
	sbSSA             = 88
	sbMain            = 92
	sbRootIno         = 96
	sbNodeIno         = 100
	sbMetaIno         = 104
	sbUUID            = 108
	sbLabel           = 124 // 512 units of UTF-16
	sbColdExtensions  = 1148
	sbExtensions      = 1152 // 64 of 8 bytes: cold ones, then hot ones
	sbCPPayload       = 1664
	sbVersion         = 1668 // who wrote last
	sbInitVersion     = 1924 // who made it
	sbFeatures        = 2180
	sbEncryptLevel    = 2184
	sbEncryptSalt     = 2185
	sbDevices         = 2201 // 8 of 68 bytes
	sbQuotaInos       = 2745 // user, group, project
	sbHotExtensions   = 2757
	sbEncoding        = 2758
	sbEncodingFlags   = 2760
	sbStopReasons     = 2762
	sbErrors          = 2794
	sbReserved        = 2810
	sbChecksum        = 3068

	superMagic     = 0xF2F52010
	labelUnits     = 512
	maxExtensions  = 64
	extensionLen   = 8 // with its final zero
	versionLen     = 256
	saltLen        = 16
	maxDevices     = 8
	deviceLen      = 68
	devicePathLen  = 64
	quotaKinds     = 3 // user, group, project
	stopReasonsLen = 32
	errorsLen      = 16
	maxCPPayload   = segmentBlocks - packCount // [Linux] behaviour: a pack fits its segment
	encodingUTF8   = 1                         // UTF-8 12.1
)

// Features, [Linux] include/linux/f2fs_fs.h F2FS_FEATURE_….
const (
	featEncrypt       = 0x1
	featZoned         = 0x2
	featAtomicWrite   = 0x4 // never used
	featExtraAttr     = 0x8
	featProjectQuota  = 0x10
	featInodeChecksum = 0x20
	featFlexXattr     = 0x40
	featQuota         = 0x80
	featInodeCrtime   = 0x100
	featLostFound     = 0x200
	featVerity        = 0x400
	featSuperChecksum = 0x800
	featCasefold      = 0x1000
	featCompression   = 0x2000
	featReadOnly      = 0x4000
	featDeviceAlias   = 0x8000
	featPackedSSA     = 0x10000
	featKnown         = 0x1FFFF
)

// Encoding flags of a volume with casefold.
const (
	encodingStrict       = 1
	encodingNoLinearFind = 2
)

// superblock is a view of the 3072 bytes of a superblock.
type superblock []byte

func (s superblock) u16(off int) uint16      { return binary.LittleEndian.Uint16(s[off:]) }
func (s superblock) u32(off int) uint32      { return binary.LittleEndian.Uint32(s[off:]) }
func (s superblock) u64(off int) uint64      { return binary.LittleEndian.Uint64(s[off:]) }
func (s superblock) put16(off int, v uint16) { binary.LittleEndian.PutUint16(s[off:], v) }
func (s superblock) put32(off int, v uint32) { binary.LittleEndian.PutUint32(s[off:], v) }
func (s superblock) put64(off int, v uint64) { binary.LittleEndian.PutUint64(s[off:], v) }

func (s superblock) magic() uint32            { return s.u32(sbMagic) }
func (s superblock) features() uint32         { return s.u32(sbFeatures) }
func (s superblock) has(feature uint32) bool  { return s.features()&feature != 0 }
func (s superblock) uuid() []byte             { return s[sbUUID : sbUUID+16] }
func (s superblock) payload() uint32          { return s.u32(sbCPPayload) }
func (s superblock) quotaIno(kind int) uint32 { return s.u32(sbQuotaInos + 4*kind) }
func (s superblock) stopReasons() []byte      { return s[sbStopReasons : sbStopReasons+stopReasonsLen] }
func (s superblock) errors() []byte           { return s[sbErrors : sbErrors+errorsLen] }

// label is the name of the volume: UTF-16 up to the first zero.
func (s superblock) label() string {
	u := make([]uint16, 0, labelUnits)
	for i := range labelUnits {
		c := s.u16(sbLabel + 2*i)
		if c == 0 {
			break
		}
		u = append(u, c)
	}
	return string(utf16.Decode(u))
}

// extension is one of the 64 slots of the lists of extensions.
func (s superblock) extension(i int) string {
	return cString(s[sbExtensions+extensionLen*i:][:extensionLen])
}

// device is what one of the 8 slots for devices says: a path, "" for none, and
// how many segments of the volume are on it.
func (s superblock) device(i int) (path string, segments uint32) {
	d := s[sbDevices+deviceLen*i:][:deviceLen]
	return cString(d[:devicePathLen]), binary.LittleEndian.Uint32(d[devicePathLen:])
}

// cString is b up to its first zero.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
