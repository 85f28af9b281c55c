package lfs

import "github.com/fatkit/fatkit/pkg/dev"

// extraWords is how many words the extra attributes take: none where the volume
// has no such, and where their length cannot be believed as many as it seems.
func (g *Geometry) extraWords(b nodeBlock) int {
	switch {
	case !b.hasExtra() || !g.Has(featExtraAttr):
		return 0
	case !b.extraOK():
		return g.guessExtra(b) / 4
	}
	return b.extraLen() / 4
}

// extraOK tells whether the extra attributes of an inode that has them can be as
// long as it says: [Linux] behaviour sanity_check_inode().
func (n nodeBlock) extraOK() bool {
	size := n.extraLen()
	return size%4 == 0 && size >= 4 && size <= maxExtraLen
}

// guessExtra is how long the extra attributes of an inode are that does not say
// it. Kernels have room for all that they know of, whatever the features are, and
// leave zeros there; tools have as much as the features need, and behind that is
// what the inode holds.
func (g *Geometry) guessExtra(b nodeBlock) int {
	const (
		linux414 = inodeCrtime - inodeAddrs // [Linux] behaviour F2FS_TOTAL_EXTRA_ATTR_SIZE, by version
		linux418 = inodeComprBlocks - inodeAddrs
		linux56  = maxExtraLen
	)
	least := extraLen(g.Features)
	for _, size := range []int{linux56, linux418, linux414} {
		if size > least && dev.AllZero(b[inodeAddrs+least:inodeAddrs+size]) {
			return size
		}
	}
	return least
}
