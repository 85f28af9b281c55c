package lfs

import "encoding/binary"

// Kinds of quota, by which the superblock has the inodes of their files.
const (
	userQuota = iota
	groupQuota
	projectQuota
)

// A new quota file: a header, a block for each level of the tree over the bytes
// of an id, the highest first, and a block of records.
const (
	newQuotaLeaf   = 1 + quotaDepth
	newQuotaBlocks = newQuotaLeaf + 1
	newQuotaBytes  = newQuotaBlocks * quotaBlock
	quotaGrace     = 7 * 24 * 60 * 60 // seconds

	quotaInfo       = 8 // offsets in the header
	quotaInfoBlocks = quotaInfo + 12
	quotaInfoEntry  = quotaInfo + 20
	quotaLeafCount  = 8 // offset in a block of records
)

// newQuotaFile is a quota file with a record for one id, which has inodes that
// take space bytes beside themselves, and no limits.
func newQuotaFile(kind int, id uint32, inodes int, space uint64) []byte {
	b := make([]byte, newQuotaBytes)
	le := binary.LittleEndian
	le.PutUint32(b, quotaMagic(kind))
	le.PutUint32(b[4:], quotaVersion)
	le.PutUint32(b[quotaInfo:], quotaGrace)   // of space
	le.PutUint32(b[quotaInfo+4:], quotaGrace) // of inodes
	le.PutUint32(b[quotaInfoBlocks:], newQuotaBlocks)
	le.PutUint32(b[quotaInfoEntry:], newQuotaLeaf) // it has room for more
	for level := range quotaDepth {
		at := 1 + level
		index := int(byte(id >> (8 * (quotaDepth - 1 - level))))
		le.PutUint32(b[at*quotaBlock+4*index:], uint32(at+1))
	}
	le.PutUint16(b[newQuotaLeaf*quotaBlock+quotaLeafCount:], 1)
	rec := b[newQuotaLeaf*quotaBlock+quotaLeaf:]
	le.PutUint32(rec, id)
	le.PutUint64(rec[quotaInodes:], uint64(inodes))
	le.PutUint64(rec[quotaSpace:], space)
	return b
}
