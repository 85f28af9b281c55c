package lfs

import (
	"encoding/binary"
	"iter"
)

// nameHash is the hash by which a name is found in its directory, [Linux]
// behaviour f2fs_dentry_hash(): TEA over chunks of 16 bytes. The names . and
// .. have 0.
func nameHash(name []byte) uint32 {
	if string(name) == "." || string(name) == ".." {
		return 0
	}
	a, b := uint32(0x67452301), uint32(0xEFCDAB89)
	for left := name; ; {
		k := hashWords(left)
		a, b = tea(a, b, k)
		if len(left) <= 16 {
			return a
		}
		left = left[16:]
	}
}

// hashWords packs at most 16 bytes into four words, the first byte highest;
// what is missing is filled with the number of bytes that are left.
func hashWords(b []byte) (k [4]uint32) {
	pad := uint32(len(b)) | uint32(len(b))<<8
	pad |= pad << 16
	for i := range k {
		if len(b) >= 4 {
			k[i] = binary.BigEndian.Uint32(b)
			b = b[4:]
			continue
		}
		k[i] = pad
		for _, c := range b {
			k[i] = k[i]<<8 + uint32(c)
		}
		b = nil
	}
	return k
}

// tea is 16 rounds of the Tiny Encryption Algorithm, added to what was there.
func tea(a, b uint32, k [4]uint32) (uint32, uint32) {
	const delta = 0x9E3779B9
	x, y, sum := a, b, uint32(0)
	for range 16 {
		sum += delta
		x += (y<<4 + k[0]) ^ (y + sum) ^ (y>>5 + k[1])
		y += (x<<4 + k[2]) ^ (x + sum) ^ (x>>5 + k[3])
	}
	return a + x, b + y
}

// bucket arithmetic of a directory, [Linux] behaviour dir_buckets() and
// bucket_blocks().
func dirBuckets(level, dirLevel int) uint64 {
	if level+dirLevel < maxDirDepth/2 {
		return 1 << (level + dirLevel)
	}
	return maxDirBuckets
}

func blocksPerBucket(level int) uint64 {
	if level < shallowDirLevels {
		return bucketBlocks
	}
	return deepBlocks
}

// bucketPages are the pages that a hash may be in, in the first so many levels of
// a directory, and their levels.
func bucketPages(levels, dirLevel int, hash uint32) iter.Seq2[int, uint64] {
	return func(yield func(level int, page uint64) bool) {
		first := uint64(0) // of the level
		for level := range min(levels, maxDirDepth) {
			buckets, n := dirBuckets(level, dirLevel), blocksPerBucket(level)
			from := first + uint64(hash)%buckets*n
			for page := from; page < from+n; page++ {
				if !yield(level, page) {
					return
				}
			}
			first += buckets * n
		}
	}
}

// levelOf is the level that a block of a directory belongs to, and its bucket
// there; ok is false beyond the deepest.
func levelOf(page uint64, dirLevel int) (level int, bucket uint64, ok bool) {
	for ; level < maxDirDepth; level++ {
		n := dirBuckets(level, dirLevel) * blocksPerBucket(level)
		if page < n {
			return level, page / blocksPerBucket(level), true
		}
		page -= n
	}
	return 0, 0, false
}
