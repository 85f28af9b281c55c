package lfs

import (
	"encoding/binary"
	"iter"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Directory entry, [Linux] include/linux/f2fs_fs.h struct f2fs_dir_entry.
const (
	dentryLen     = 11
	dentryHash    = 0
	dentryIno     = 4
	dentryNameLen = 8 // 16 bits
	dentryType    = 10
	nameSlotLen   = 8 // a name takes as many slots as it needs
)

// File types of directory entries.
const (
	typeUnknown = iota
	typeFile
	typeDir
	typeChar
	typeBlock
	typeFIFO
	typeSocket
	typeSymlink
)

// Hash tables of directories, [Linux] behaviour: levels of buckets, of two
// blocks each and of four in the deep levels.
const (
	maxDirDepth      = 63
	maxDirBuckets    = 1 << 30
	shallowDirLevels = 31 // with bucketBlocks; deeper ones with deepBlocks
	bucketBlocks     = 2
	deepBlocks       = 4
)

// dentryShape is where things are in n bytes of directory, a block or the
// inline area of an inode: a bitmap, a gap, entries, names.
type dentryShape struct {
	slots   int
	bitmap  int // bytes
	entries int // offset
	names   int // offset
}

// newDentryShape is the shape for n bytes, [Linux] include/linux/f2fs_fs.h
// NR_DENTRY_IN_BLOCK: a slot takes 19 bytes and a bit. The gap takes what is
// left over.
func newDentryShape(n int) dentryShape {
	const slot = dentryLen + nameSlotLen
	slots := n * 8 / (slot*8 + 1)
	return dentryShape{slots: slots, bitmap: (slots + 7) / 8, entries: n - slot*slots, names: n - nameSlotLen*slots}
}

// dentryBlock is a view of directory entries.
type dentryBlock struct {
	b []byte
	dentryShape
}

func newDentryBlock(b []byte) dentryBlock { return dentryBlock{b, newDentryShape(len(b))} }

func (d dentryBlock) used(i int) bool    { return testLSB(d.b, uint32(i)) }
func (d dentryBlock) setUsed(i int)      { setLSB(d.b, uint32(i)) }
func (d dentryBlock) entry(i int) dentry { return dentry(d.b[d.entries+dentryLen*i:][:dentryLen]) }

// name is n bytes of name from slot i on; it is cut where the slots end.
func (d dentryBlock) name(i, n int) []byte {
	b := d.b[d.names+nameSlotLen*i : d.names+nameSlotLen*d.slots]
	return b[:min(n, len(b))]
}

// all gives the entries in use, by slot, with their names: nil where an entry says
// a length that none can have. What follows such a one may be the rest of its
// name, which has no entries.
func (d dentryBlock) all() iter.Seq2[int, []byte] {
	return func(yield func(slot int, name []byte) bool) {
		for i := 0; i < d.slots; {
			if !d.used(i) {
				i++
				continue
			}
			n := d.entry(i).nameLen()
			ok := n > 0 && n <= maxNameLen && i+nameSlots(n) <= d.slots
			var name []byte
			if ok {
				name = d.name(i, n)
			}
			if !yield(i, name) {
				return
			}
			if ok {
				i += nameSlots(n)
				continue
			}
			for i++; i < d.slots && d.used(i) && dev.AllZero(d.entry(i)); i++ {
			}
		}
	}
}

// nameSlots is how many slots a name of n bytes takes.
func nameSlots(n int) int { return (n + nameSlotLen - 1) / nameSlotLen }

// dentry is a view of one entry.
type dentry []byte

func (e dentry) hash() uint32   { return binary.LittleEndian.Uint32(e[dentryHash:]) }
func (e dentry) ino() uint32    { return binary.LittleEndian.Uint32(e[dentryIno:]) }
func (e dentry) nameLen() int   { return int(binary.LittleEndian.Uint16(e[dentryNameLen:])) }
func (e dentry) fileType() byte { return e[dentryType] }
func (e dentry) put(hash, ino uint32, nameLen int, fileType byte) {
	binary.LittleEndian.PutUint32(e[dentryHash:], hash)
	binary.LittleEndian.PutUint32(e[dentryIno:], ino)
	binary.LittleEndian.PutUint16(e[dentryNameLen:], uint16(nameLen))
	e[dentryType] = fileType
}
