package lfs

import "encoding/binary"

// Checkpoint block, [Linux] include/linux/f2fs_fs.h struct f2fs_checkpoint.
const (
	cpVersion        = 0 // 64 bits
	cpUserBlocks     = 8
	cpValidBlocks    = 16
	cpReserved       = 24 // segments
	cpOverprovision  = 28 // segments
	cpFreeSegments   = 32
	cpNodeSegments   = 36 // of 8 logs
	cpNodeOffsets    = 68
	cpDataSegments   = 84
	cpDataOffsets    = 116
	cpFlags          = 132
	cpBlocks         = 136 // of the pack
	cpStartSum       = 140
	cpValidNodes     = 144
	cpValidInodes    = 148
	cpNextNid        = 152
	cpSitBitmap      = 156 // bytes
	cpNatBitmap      = 160 // bytes
	cpChecksumOffset = 164
	cpElapsed        = 168 // 64 bits, seconds mounted
	cpAllocTypes     = 176 // of 16 logs
	cpBitmaps        = 192
	cpLogs           = 8  // slots of each kind; three are used
	cpAllocs         = 16 // slots

	allocLFS = 0 // a log appends
	allocSSR = 1 // a log fills holes
)

// Flags of a checkpoint, [Linux] include/linux/f2fs_fs.h CP_…_FLAG.
const (
	cpUmount        = 0x1
	cpOrphans       = 0x2
	cpCompact       = 0x4 // compact summaries
	cpError         = 0x8
	cpFsck          = 0x10
	cpFastboot      = 0x20
	cpCRCRecovery   = 0x40
	cpNatBits       = 0x80
	cpTrimmed       = 0x100
	cpNoCRCRecovery = 0x200
	cpLargeNat      = 0x400
	cpQuotaFsck     = 0x800
	cpDisabled      = 0x1000
	cpDisabledQuick = 0x2000
	cpResize        = 0x4000
	cpKnown         = 0x7FFF
)

// checkpoint is a view of the block that a pack starts and ends with.
type checkpoint []byte

func (c checkpoint) u16(off int) uint16      { return binary.LittleEndian.Uint16(c[off:]) }
func (c checkpoint) u32(off int) uint32      { return binary.LittleEndian.Uint32(c[off:]) }
func (c checkpoint) u64(off int) uint64      { return binary.LittleEndian.Uint64(c[off:]) }
func (c checkpoint) put16(off int, v uint16) { binary.LittleEndian.PutUint16(c[off:], v) }
func (c checkpoint) put32(off int, v uint32) { binary.LittleEndian.PutUint32(c[off:], v) }
func (c checkpoint) put64(off int, v uint64) { binary.LittleEndian.PutUint64(c[off:], v) }

func (c checkpoint) version() uint64        { return c.u64(cpVersion) }
func (c checkpoint) userBlocks() uint64     { return c.u64(cpUserBlocks) }
func (c checkpoint) validBlocks() uint64    { return c.u64(cpValidBlocks) }
func (c checkpoint) reserved() uint32       { return c.u32(cpReserved) }
func (c checkpoint) overprovision() uint32  { return c.u32(cpOverprovision) }
func (c checkpoint) freeSegments() uint32   { return c.u32(cpFreeSegments) }
func (c checkpoint) flags() uint32          { return c.u32(cpFlags) }
func (c checkpoint) has(flag uint32) bool   { return c.flags()&flag != 0 }
func (c checkpoint) blocks() uint32         { return c.u32(cpBlocks) }
func (c checkpoint) startSum() uint32       { return c.u32(cpStartSum) }
func (c checkpoint) validNodes() uint32     { return c.u32(cpValidNodes) }
func (c checkpoint) validInodes() uint32    { return c.u32(cpValidInodes) }
func (c checkpoint) nextNid() uint32        { return c.u32(cpNextNid) }
func (c checkpoint) sitBitmapBytes() uint32 { return c.u32(cpSitBitmap) }
func (c checkpoint) natBitmapBytes() uint32 { return c.u32(cpNatBitmap) }
func (c checkpoint) checksumOffset() uint32 { return c.u32(cpChecksumOffset) }

// logSegment and logOffset are where log i writes next; 0 to 2 are the data
// logs, 3 to 5 those of nodes, hot, warm and cold each. (On the disk nodes come
// first.)
func (c checkpoint) logSegment(i int) uint32 {
	if i < logsPerKind {
		return c.u32(cpDataSegments + 4*i)
	}
	return c.u32(cpNodeSegments + 4*(i-logsPerKind))
}

func (c checkpoint) logOffset(i int) uint16 {
	if i < logsPerKind {
		return c.u16(cpDataOffsets + 2*i)
	}
	return c.u16(cpNodeOffsets + 2*(i-logsPerKind))
}

// logAlloc is how log i allocates: allocLFS or allocSSR.
func (c checkpoint) logAlloc(i int) byte { return c[cpAllocTypes+i] }

func (c checkpoint) putLog(i int, segment uint32, offset uint16) {
	if i < logsPerKind {
		c.put32(cpDataSegments+4*i, segment)
		c.put16(cpDataOffsets+2*i, offset)
		return
	}
	c.put32(cpNodeSegments+4*(i-logsPerKind), segment)
	c.put16(cpNodeOffsets+2*(i-logsPerKind), offset)
}

// Orphan block, [Linux] include/linux/f2fs_fs.h struct f2fs_orphan_block:
// inode numbers, and a footer of which these are the offsets from the block's
// end.
const (
	orphanFooterLen = 16
	orphanIndex     = 12 // 16 bits
	orphanBlocks    = 10 // 16 bits
	orphanCount     = 8
	orphanChecksum  = 4 // [f2fs-tools] behaviour: neither written nor read
)

// orphanBlock is a view of a block of the list of orphans: inodes without a
// name that were open.
type orphanBlock []byte

func (o orphanBlock) ino(i int) uint32 { return binary.LittleEndian.Uint32(o[4*i:]) }
func (o orphanBlock) count() uint32    { return binary.LittleEndian.Uint32(o[len(o)-orphanCount:]) }

// testMSB and setMSB take the bits of a byte from its highest on, as the
// version bitmaps and the valid maps of SIT have them.
func testMSB(b []byte, i uint32) bool { return b[i>>3]&(0x80>>(i&7)) != 0 }
func setMSB(b []byte, i uint32)       { b[i>>3] |= 0x80 >> (i & 7) }

// testLSB and setLSB take them from the lowest on, as nat_bits and the bitmaps
// of directories have them.
func testLSB(b []byte, i uint32) bool { return b[i>>3]&(1<<(i&7)) != 0 }
func setLSB(b []byte, i uint32)       { b[i>>3] |= 1 << (i & 7) }
func clearLSB(b []byte, i uint32)     { b[i>>3] &^= 1 << (i & 7) }
