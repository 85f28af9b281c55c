package lfs

import (
	"strings"
	"testing"
)

// TestNameHash holds the hash against what another reader of the format, which
// walks what Linux wrote, makes of the same names.
func TestNameHash(t *testing.T) {
	var control strings.Builder
	for c := byte(1); c <= 32; c++ {
		control.WriteByte(c)
	}
	for name, want := range map[string]uint32{
		".": 0, "..": 0, "a": 0x6d0ea4c1, "abcd": 0x5a24112e, "abcdefgh": 0x75c7d754, "exactly16bytes!!": 0xf7d20dc8,
		"seventeen bytes!!": 0xd35aacb4, "lost+found": 0x2dbf9e80, control.String(): 0x9bd35e26, strings.Repeat("\xff", 40): 0x59a3219d,
		strings.Repeat("n", 255): 0x04156e7c, "ünï日本": 0xa05050eb, "file with a name 1499": 0x1306f67a,
	} {
		if got := nameHash([]byte(name)); got != want {
			t.Errorf("%q: hash %#x, should be %#x", name, got, want)
		}
	}
}

// TestLevels: every block of a directory belongs to one bucket of one level, and
// levels follow one another.
func TestLevels(t *testing.T) {
	for _, dirLevel := range []int{0, 1, 7, 30, 31, 255} {
		page := uint64(0)
		for level := range maxDirDepth {
			n := dirBuckets(level, dirLevel) * blocksPerBucket(level)
			for _, at := range []uint64{0, 1, n / 2, n - 1} {
				l, b, ok := levelOf(page+at, dirLevel)
				if !ok || l != level || b != at/blocksPerBucket(level) {
					t.Fatalf("level %d of %d: block %d is in bucket %d of level %d, %v", level, dirLevel, page+at, b, l, ok)
				}
			}
			page += n
		}
		if _, _, ok := levelOf(page, dirLevel); ok {
			t.Errorf("block %d is in a level beyond the deepest", page)
		}
	}
	if dirBuckets(30, 0) != 1<<30 || dirBuckets(31, 0) != 1<<30 || blocksPerBucket(30) != 2 || blocksPerBucket(31) != 4 {
		t.Error("the deepest levels have other sizes")
	}
}

// TestBucketPages: on each level a hash has the blocks of one bucket, those that the
// check finds it in.
func TestBucketPages(t *testing.T) {
	for _, dirLevel := range []int{0, 1, 255} {
		for _, hash := range []uint32{0, 1, 0xDEADBEEF, 1<<32 - 1} {
			var want, at, next = 0, uint64(0), uint64(0)
			for level, page := range bucketPages(maxDirDepth, dirLevel, hash) {
				l, b, ok := levelOf(page, dirLevel)
				if !ok || l != level || b != uint64(hash)%dirBuckets(level, dirLevel) || at > 0 && page != next || level != want {
					t.Fatalf("hash %#x, level %d of %d: block %d is in bucket %d of level %d, %v", hash, level, dirLevel, page, b, l, ok)
				}
				if at, next = at+1, page+1; at == blocksPerBucket(level) {
					want, at = want+1, 0
				}
			}
			if want != maxDirDepth || at != 0 {
				t.Errorf("hash %#x: %d levels, and %d blocks", hash, want, at)
			}
		}
	}
}
