package lfs

import "encoding/binary"

// Inode, [Linux] include/linux/f2fs_fs.h struct f2fs_inode. What follows the
// extent is words: addresses of blocks, of which the first ones are extra
// attributes and the last ones extended attributes where there are such.
const (
	inodeMode      = 0
	inodeAdvise    = 2
	inodeInline    = 3
	inodeUID       = 4
	inodeGID       = 8
	inodeLinks     = 12
	inodeSize      = 16 // 64 bits
	inodeBlocks    = 24 // 64 bits
	inodeAtime     = 32 // 64 bits, as the next two
	inodeCtime     = 40
	inodeMtime     = 48
	inodeAtimeNsec = 56
	inodeCtimeNsec = 60
	inodeMtimeNsec = 64
	inodeGen       = 68
	inodeDepth     = 72 // of a directory; of a file gc_failures, 16 bits
	inodeXattrNid  = 76
	inodeFlags     = 80
	inodeParent    = 84
	inodeNameLen   = 88
	inodeName      = 92
	inodeDirLevel  = 347
	inodeExtent    = 348 // file offset, address, length
	inodeAddrs     = 360
	inodeNids      = 5 // at the end, before the footer: 2 direct, 2 indirect, 1 double indirect
	maxNameLen     = 255

	// Extra attributes, at the start of the words, i_extra_isize bytes.
	inodeExtraLen    = 360 // 16 bits
	inodeXattrWords  = 362 // 16 bits
	inodeProject     = 364
	inodeChecksum    = 368
	inodeCrtime      = 372 // 64 bits
	inodeCrtimeNsec  = 380
	inodeComprBlocks = 384 // 64 bits
	inodeComprAlgo   = 392
	inodeLogCluster  = 393
	inodeComprFlag   = 394 // 16 bits
	maxExtraLen      = 396 - inodeAddrs

	defaultXattrWords = 50 // of an inode with inline xattrs, without the feature flexible_inline_xattr
	inlineReserved    = 1  // words between the extra attributes and inline data or dentries
)

// i_mode, as in stat(2).
const (
	modeType    = 0o170000
	modeFIFO    = 0o010000
	modeChar    = 0o020000
	modeDir     = 0o040000
	modeBlock   = 0o060000
	modeFile    = 0o100000
	modeSymlink = 0o120000
	modeSocket  = 0o140000
)

// i_inline, [Linux] include/linux/f2fs_fs.h F2FS_INLINE_….
const (
	inlineXattr    = 0x01
	inlineData     = 0x02
	inlineDentry   = 0x04
	inlineExist    = 0x08 // there is inline data
	inlineDots     = 0x10 // a directory that lacks "." and ".."
	inlineExtra    = 0x20 // extra attributes
	inlinePinned   = 0x40
	inlineReleased = 0x80 // what compression saved was given back
)

// i_advise, [Linux] behaviour: FADVISE_….
const (
	adviseCold          = 0x01
	adviseLostParent    = 0x02
	adviseEncrypted     = 0x04
	adviseEncryptedName = 0x08
	adviseKeepSize      = 0x10
	adviseHot           = 0x20
	adviseVerity        = 0x40
)

// i_flags, the numbers of ext4 as far as they are the same.
const (
	flagCompressed  = 0x4
	flagSync        = 0x8
	flagImmutable   = 0x10
	flagAppend      = 0x20
	flagNoDump      = 0x40
	flagNoAtime     = 0x80
	flagNoCompress  = 0x400
	flagIndex       = 0x1000
	flagDirSync     = 0x10000
	flagProjInherit = 0x20000000
	flagCasefold    = 0x40000000
	flagDeviceAlias = 0x80000000
	flagsKnown      = flagCompressed | flagSync | flagImmutable | flagAppend | flagNoDump | flagNoAtime | flagNoCompress | flagIndex |
		flagDirSync | flagProjInherit | flagCasefold | flagDeviceAlias
)

// Node footer, [Linux] include/linux/f2fs_fs.h struct node_footer, offsets
// from the end of the block.
const (
	footerLen   = 24
	footerNid   = 24
	footerIno   = 20
	footerFlag  = 16
	footerCPVer = 12 // 64 bits
	footerNext  = 4

	footerCold   = 1 << 0
	footerFsync  = 1 << 1
	footerDentry = 1 << 2
	footerShift  = 3 // what is above is the place of the node in its file
	xattrPlace   = 0x1FFFFFFF
)

// nodeBlock is a view of the block of a node: an inode, or pointers.
type nodeBlock []byte

func (n nodeBlock) u16(off int) uint16      { return binary.LittleEndian.Uint16(n[off:]) }
func (n nodeBlock) u32(off int) uint32      { return binary.LittleEndian.Uint32(n[off:]) }
func (n nodeBlock) u64(off int) uint64      { return binary.LittleEndian.Uint64(n[off:]) }
func (n nodeBlock) put16(off int, v uint16) { binary.LittleEndian.PutUint16(n[off:], v) }
func (n nodeBlock) put32(off int, v uint32) { binary.LittleEndian.PutUint32(n[off:], v) }
func (n nodeBlock) put64(off int, v uint64) { binary.LittleEndian.PutUint64(n[off:], v) }

// The footer.
func (n nodeBlock) nid() uint32      { return n.u32(len(n) - footerNid) }
func (n nodeBlock) ino() uint32      { return n.u32(len(n) - footerIno) }
func (n nodeBlock) nodeFlag() uint32 { return n.u32(len(n) - footerFlag) }
func (n nodeBlock) cpVer() uint64    { return n.u64(len(n) - footerCPVer) }
func (n nodeBlock) next() uint32     { return n.u32(len(n) - footerNext) }
func (n nodeBlock) place() uint32    { return n.nodeFlag() >> footerShift }
func (n nodeBlock) isInode() bool    { return n.nid() == n.ino() }
func (n nodeBlock) putFooter(nid, ino, flag uint32, cpVer uint64, next uint32) {
	n.put32(len(n)-footerNid, nid)
	n.put32(len(n)-footerIno, ino)
	n.put32(len(n)-footerFlag, flag)
	n.put64(len(n)-footerCPVer, cpVer)
	n.put32(len(n)-footerNext, next)
}

// slot is pointer i of a node that is no inode.
func (n nodeBlock) slot(i int) uint32 { return n.u32(4 * i) }

// The inode.
func (n nodeBlock) mode() uint16     { return n.u16(inodeMode) }
func (n nodeBlock) fileType() uint16 { return n.mode() & modeType }
func (n nodeBlock) isDir() bool      { return n.fileType() == modeDir }
func (n nodeBlock) advise() byte     { return n[inodeAdvise] }
func (n nodeBlock) inline() byte     { return n[inodeInline] }
func (n nodeBlock) uid() uint32      { return n.u32(inodeUID) }
func (n nodeBlock) gid() uint32      { return n.u32(inodeGID) }
func (n nodeBlock) links() uint32    { return n.u32(inodeLinks) }
func (n nodeBlock) size() uint64     { return n.u64(inodeSize) }
func (n nodeBlock) blocks() uint64   { return n.u64(inodeBlocks) }
func (n nodeBlock) depth() uint32    { return n.u32(inodeDepth) }
func (n nodeBlock) xattrNid() uint32 { return n.u32(inodeXattrNid) }
func (n nodeBlock) flags() uint32    { return n.u32(inodeFlags) }
func (n nodeBlock) parent() uint32   { return n.u32(inodeParent) }
func (n nodeBlock) nameLen() uint32  { return n.u32(inodeNameLen) }
func (n nodeBlock) dirLevel() byte   { return n[inodeDirLevel] }

// name is the name that the inode was given, cut at the room for it.
func (n nodeBlock) name() []byte { return n[inodeName:][:min(n.nameLen(), maxNameLen)] }

// extent is the one extent of the file that the inode remembers; a length of 0
// is none.
func (n nodeBlock) extent() (fileBlock, addr, length uint32) {
	return n.u32(inodeExtent), n.u32(inodeExtent + 4), n.u32(inodeExtent + 8)
}

// word is word i of the area of addresses, extra attributes included.
func (n nodeBlock) word(i int) uint32       { return n.u32(inodeAddrs + 4*i) }
func (n nodeBlock) putWord(i int, v uint32) { n.put32(inodeAddrs+4*i, v) }

// words is how many there are.
func (n nodeBlock) words() int { return blockSize(len(n)).inodeSlots() }

// child is nid i of the five at the end of the inode.
func (n nodeBlock) child(i int) uint32 { return n.word(n.words() + i) }

// clearChildren has the inode lead to no other nodes.
func (n nodeBlock) clearChildren() {
	clear(n[inodeAddrs+4*n.words() : inodeAddrs+4*(n.words()+inodeNids)])
}

// Extra attributes; what is beyond extraLen is not there.
func (n nodeBlock) hasExtra() bool     { return n.inline()&inlineExtra != 0 }
func (n nodeBlock) xattrWords() uint16 { return n.u16(inodeXattrWords) }
func (n nodeBlock) project() uint32    { return n.u32(inodeProject) }
func (n nodeBlock) checksum() uint32   { return n.u32(inodeChecksum) }
func (n nodeBlock) logCluster() byte   { return n[inodeLogCluster] }

// extraLen is the length of the extra attributes in bytes, as it is stored; 0
// where the inode has none.
func (n nodeBlock) extraLen() int {
	if !n.hasExtra() {
		return 0
	}
	return int(n.u16(inodeExtraLen))
}

// hasExtraField tells whether the extra attributes reach to the field that ends
// at byte end of the inode.
func (n nodeBlock) hasExtraField(end int) bool { return n.extraLen() >= end-inodeAddrs }
