package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// signs are what inodes have that the features of the volume do not allow. One inode
// may be damaged; where they all have it, the superblock is, and all that is read by
// it lies elsewhere.
type signs struct {
	extra uint64 // inodes with extra attributes of a length that can be
	// flexible are inodes that say how many of their words attributes may take, fixed
	// those that have such words and do not say it.
	flexible, fixed uint64
	packed          uint64 // clusters of files that are marked as compressed, in a way that can be
}

func (s *signs) add(t *signs) {
	s.extra += t.extra
	s.flexible += t.flexible
	s.fixed += t.fixed
	s.packed += t.packed
}

// takeWords counts an inode of a volume that does not let inodes say how many of
// their words are for attributes.
func (s *signs) takeWords(g *Geometry, b nodeBlock) {
	if g.Has(featFlexXattr) || !b.hasExtraField(inodeXattrWords+2) {
		return
	}
	switch n := b.xattrWords(); {
	case n >= minXattrWords && int(n) <= maxXattrWords(b):
		s.flexible++
	case n == 0 && g.xattrWords(b) > 0:
		s.fixed++
	}
}

// lostFeature is a feature that the superblock does not have and inodes do, 0 for
// none, and what shows it. Extra attributes are for all inodes of a volume or for
// none, [Linux] behaviour f2fs_new_inode(), and without the feature for them the words
// of attributes stay 0, f2fs_update_inode(); a cluster needs the flag, a size and an
// algorithm that can be, and its mark where clusters begin, which no damage to one
// place brings about.
func (w *walk) lostFeature() (bit uint32, name, detail string) {
	switch all := uint64(len(w.inodes)); {
	case !w.g.Has(featExtraAttr) && 2*w.signs.extra > all:
		return featExtraAttr, "extra_attr", textf("%d of %d inodes have extra attributes", w.signs.extra, all)
	case !w.g.Has(featFlexXattr) && w.signs.flexible > w.signs.fixed+1: // the root directory is one of them
		return featFlexXattr, "flexible_inline_xattr", textf("%d inodes say how much of them attributes may take, and %d do not", w.signs.flexible, w.signs.fixed)
	case !w.g.Has(featCompression) && w.signs.packed > 0:
		return featCompression, "compression", textf("%d clusters of files are compressed", w.signs.packed)
	}
	return 0, "", ""
}

// checkFeatures stops the check where a feature was lost: what else it would find are
// consequences, and repairs of them would destroy what is there.
func (c *checker) checkFeatures(r *vol.Report) error {
	bit, name, detail := c.walk.lostFeature()
	if bit == 0 {
		return nil
	}
	f := c.cat.Found("sb-feature-lost", vol.At(superOffset+sbFeatures, 4), vol.Detail("%s: %s", name, detail), vol.GotWant(hex(c.g.Features), hex(c.g.Features|bit)))
	r.Found(f, c.superFix(func(b superblock) { b.put32(sbFeatures, b.features()|bit) }))
	return vol.ErrStop
}

// lostCluster is log2 of the blocks of a cluster of a file that is compressed where
// the volume has no compression, 0 where it cannot be that.
func (g *Geometry) lostCluster(b nodeBlock) byte {
	with := *g
	with.Features |= featCompression
	if !with.compressionOK(b) {
		return 0
	}
	return with.clusterLog(b)
}
