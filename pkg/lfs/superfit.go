package lfs

import "github.com/fatkit/fatkit/pkg/dev"

// firstMisfits is what shows that of two superblocks that pass the tests and differ the
// first is the damaged one, nil where nothing does. Linux takes the first; without the
// feature sb_checksum one bit of it can be another without any test that it fails, and
// what was repaired by it would be lost with the good copy.
func firstMisfits(d dev.Device, first, second *superCopy) *fault {
	if first.g == nil || second.g == nil || !first.differ(second) {
		return nil
	}
	f := first.misfit(d)
	if f == nil || second.misfit(d) != nil {
		return nil
	}
	return f
}

// misfit is what of a copy that passes the tests nobody writes, or the volume
// contradicts.
func (c *superCopy) misfit(d dev.Device) *fault {
	if f := c.odd(); f != nil {
		return f
	}
	if c.g.VolumeBytes() > d.Size() {
		return &fault{slug: "volume-beyond-device", off: sbBlocks, len: 8, got: c.g.VolumeBytes(), want: d.Size(), detail: "more blocks than the image or device has"}
	}
	if f := c.quotaMisfit(); f != nil {
		return f
	}
	return c.nodeMisfit(d)
}

// quotaMisfit is a quota file that is two, or that there is without the feature, or that
// there is not with it: mkfs.f2fs makes one of its own for each kind, project quotas
// have a feature of their own besides.
func (c *superCopy) quotaMisfit() *fault {
	const features = featQuota | featProjectQuota
	seen := map[uint32]bool{0: true}
	for kind, nid := range c.g.QuotaInos {
		at := int64(sbQuotaInos + 4*kind)
		switch {
		case nid == 0 && kind < projectQuota && c.g.Has(featQuota):
			return &fault{slug: "sb-inode-number", off: at, len: 4, got: nid, detail: "the feature quota, and no quota file"}
		case nid == 0:
		case c.g.Features&features == 0:
			return &fault{slug: "sb-features", off: sbFeatures, len: 4, got: hex(c.g.Features), detail: "quota files without the feature quota"}
		case seen[nid] || nid <= rootIno || nid >= c.g.NIDs():
			return &fault{slug: "sb-inode-number", off: at, len: 4, got: nid, detail: "a number that no quota file has"}
		}
		seen[nid] = true
	}
	return nil
}

// nodeMisfit looks at the root directory and the quota files by what the copy says.
func (c *superCopy) nodeMisfit(d dev.Device) *fault {
	root := c.inode(d, rootIno)
	if root == nil {
		return nil // nothing to tell by
	}
	if c.g.Has(featInodeChecksum) && root.hasSum() && root.checksum() != inodeSum(inodeSeed(c.raw.uuid()), root) {
		return &fault{slug: "inode-checksum", off: sbUUID, len: 16, got: uuidText(c.raw.uuid()), detail: "a UUID that the checksum of the root directory does not go with"}
	}
	// [Linux] behaviour f2fs_update_inode(), see takeWords.
	if c.g.Has(featFlexXattr) && root.hasExtraField(inodeXattrWords+2) && root.xattrWords() == 0 {
		return &fault{slug: "sb-features", off: sbFeatures, len: 4, got: hex(c.g.Features), detail: "the feature flexible_inline_xattr, and the root directory does not say how many words attributes take"}
	}
	for kind, nid := range c.g.QuotaInos {
		if nid == 0 {
			continue
		}
		if b := c.inode(d, nid); b == nil || b.fileType() != modeFile || b.nameLen() != 0 {
			return &fault{slug: "sb-inode-number", off: int64(sbQuotaInos + 4*kind), len: 4, got: nid, detail: "a quota file that is not there"}
		}
	}
	return nil
}

// inode is one inode as a mount by this copy would read it, nil where it is not there.
func (c *superCopy) inode(d dev.Device, nid uint32) nodeBlock {
	packs, err := readPacks(d, c.g)
	if err != nil {
		return nil
	}
	p := choosePack(packs)
	if p == nil {
		return nil
	}
	s, f, err := readState(d, c.g, p)
	if err != nil || f != nil {
		return nil
	}
	e, err := s.readNAT(d, nid)
	if err != nil || !c.g.ValidMain(e.addr()) {
		return nil
	}
	b, err := readBlock(d, c.g, e.addr())
	if n := nodeBlock(b); err == nil && n.nid() == nid && n.isInode() {
		return n
	}
	return nil
}
