package lfs

import "hash/crc32"

// crcUpdate continues the checksum that F2FS has everywhere: CRC-32 without
// the inversions that it commonly starts and ends with.
func crcUpdate(crc uint32, b []byte) uint32 {
	return ^crc32.Update(^crc, crc32.IEEETable, b)
}

// superSum is the checksum of a superblock, with the feature sb_checksum:
// everything before its field.
func superSum(s superblock) uint32 { return crcUpdate(superMagic, s[:sbChecksum]) }

// sumOK tells whether the checksum of a superblock is right, or there is none.
func (s superblock) sumOK() bool {
	return !s.has(featSuperChecksum) || s.u32(sbChecksum) == superSum(s)
}

// checksumPlace is where the checksum of a checkpoint block is; ok is false
// where the block says what cannot be. [Linux] behaviour: behind the fixed
// fields, and inside the block.
func (c checkpoint) checksumPlace() (off int, ok bool) {
	o := c.checksumOffset()
	return int(min(o, 1<<30)), o >= cpBitmaps && int64(o) <= int64(len(c)-4)
}

// checkpointSum is the checksum of a checkpoint block whose checksum is at off:
// all before it and, where it is not at the end of the block, all behind it.
func checkpointSum(c checkpoint, off int) uint32 {
	sum := crcUpdate(superMagic, c[:off])
	if off < len(c)-4 {
		sum = crcUpdate(sum, c[off+4:])
	}
	return sum
}

// sumOK tells whether the checksum of a checkpoint block is right.
func (c checkpoint) sumOK() bool {
	off, ok := c.checksumPlace()
	return ok && c.u32(off) == checkpointSum(c, off)
}

// sum is the checksum that the block has; 0 where its place cannot be. The
// roll-forward log uses it to tell which nodes followed this checkpoint.
func (c checkpoint) sum() uint32 {
	off, ok := c.checksumPlace()
	if !ok {
		return 0
	}
	return c.u32(off)
}

// putSum sets the checksum, at the offset that the block says.
func (c checkpoint) putSum() {
	off := int(c.checksumOffset())
	c.put32(off, checkpointSum(c, off))
}

// inodeSeed is what the checksums of inodes of a volume start with.
func inodeSeed(uuid []byte) uint32 { return crcUpdate(0xFFFFFFFF, uuid) }

// inodeSum is the checksum of an inode, with the feature inode_checksum: its
// number, its generation, and the whole block with the field taken as zero.
func inodeSum(seed uint32, n nodeBlock) uint32 {
	var zero [4]byte
	sum := crcUpdate(seed, n[len(n)-footerIno:][:4])
	sum = crcUpdate(sum, n[inodeGen:inodeGen+4])
	sum = crcUpdate(sum, n[:inodeChecksum])
	sum = crcUpdate(sum, zero[:])
	return crcUpdate(sum, n[inodeChecksum+4:])
}

// hasSum tells whether the inode has room for a checksum; the feature
// inode_checksum decides whether it counts.
func (n nodeBlock) hasSum() bool { return n.hasExtraField(inodeChecksum + 4) }
