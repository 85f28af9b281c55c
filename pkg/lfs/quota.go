package lfs

import (
	"encoding/binary"
	"sort"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Quota files, [Linux] fs/quota/quotaio_v2.h and quota_tree.h as layout:
// blocks of 1 KiB, a header, a radix tree of four levels, leaves of records.
const (
	quotaBlock   = 1024
	quotaDepth   = 4
	quotaRecord  = 72
	quotaLeaf    = 16 // header of a leaf block
	quotaVersion = 1
	maxQuotaFile = 64 << 20 // bytes that are read of one
	quotaInodes  = 24       // in a record
	quotaSpace   = 48
)

func quotaMagic(kind int) uint32 { return [quotaKinds]uint32{0xD9C01F11, 0xD9C01927, 0xD9C03F14}[kind] }

// quotaUse is what one user, group or project has.
type quotaUse struct{ space, inodes uint64 }

// checkQuotas holds the quota files against the inodes.
func (c *checker) checkQuotas(r *vol.Report) error {
	for kind, nid := range c.g.QuotaInos {
		i, ok := c.walk.inodeOf(nid)
		if nid == 0 || !ok {
			continue
		}
		file, err := c.quotaFile(i)
		if err != nil {
			return err
		}
		loc := vol.Location{Path: textf("<quota %d>", kind), Cluster: c.walk.index.nodes[c.walk.inodes[i].node].addr}
		stored, why := parseQuota(file, kind)
		if why != "" {
			r.Found(c.cat.Found("quota-file", loc, vol.Detail("%s", why)), nil)
			continue
		}
		c.compareUsage(r, loc, kind, stored)
	}
	return nil
}

// quotaFile reads a quota file by the blocks that the walk met.
func (c *checker) quotaFile(i int32) ([]byte, error) {
	x := &c.walk.inodes[i]
	buf := make([]byte, min(x.pages*uint64(c.g.BlockSize), maxQuotaFile))
	for _, p := range c.walk.quota {
		off := int64(p.page) * c.g.BlockSize
		if p.inode != i || off+c.g.BlockSize > int64(len(buf)) {
			continue
		}
		if _, err := c.d.ReadAt(buf[off:off+c.g.BlockSize], c.g.BlockOff(p.addr)); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// parseQuota is the usage by id, or what is wrong with the file.
func parseQuota(f []byte, kind int) (map[uint32]quotaUse, string) {
	if len(f) < 2*quotaBlock {
		return nil, "it is too short"
	}
	if m := binary.LittleEndian.Uint32(f); m != quotaMagic(kind) {
		return nil, textf("magic number %#x, should be %#x", m, quotaMagic(kind))
	}
	if v := binary.LittleEndian.Uint32(f[4:]); v != quotaVersion {
		return nil, textf("version %d", v)
	}
	q := &quotaTree{f: f, seen: map[uint32]bool{}, use: map[uint32]quotaUse{}}
	q.walk(1, 0)
	return q.use, q.bad
}

type quotaTree struct {
	f    []byte
	seen map[uint32]bool
	use  map[uint32]quotaUse
	bad  string
}

// walk goes through block n of the tree; leaves are below the fourth level. A
// block that is met twice, which only leaves may be, is read once.
func (q *quotaTree) walk(n uint32, depth int) {
	if int64(n+1)*quotaBlock > int64(len(q.f)) {
		q.bad = textf("block %d of the tree does not exist", n)
		return
	}
	if q.seen[n] {
		return
	}
	q.seen[n] = true
	b := q.f[n*quotaBlock : (n+1)*quotaBlock]
	if depth == quotaDepth {
		q.leaf(b)
		return
	}
	for i := 0; i < quotaBlock; i += 4 {
		if next := binary.LittleEndian.Uint32(b[i:]); next != 0 {
			q.walk(next, depth+1)
		}
	}
}

func (q *quotaTree) leaf(b []byte) {
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		rec := b[at : at+quotaRecord]
		if allZero(rec) {
			continue
		}
		id := binary.LittleEndian.Uint32(rec)
		q.use[id] = quotaUse{inodes: binary.LittleEndian.Uint64(rec[quotaInodes:]), space: binary.LittleEndian.Uint64(rec[quotaSpace:])}
	}
}

// compareUsage counts what each id has: the blocks of an inode without that of
// the inode itself. The quota files are nobody's.
func (c *checker) compareUsage(r *vol.Report, loc vol.Location, kind int, stored map[uint32]quotaUse) {
	have := map[uint32]quotaUse{}
	for i := range c.walk.inodes {
		x := &c.walk.inodes[i]
		if c.walk.isQuota(x.nid) {
			continue
		}
		id := [quotaKinds]uint32{x.uid, x.gid, x.project}[kind]
		u := have[id]
		u.inodes++
		u.space += (x.counted - 1) * uint64(c.g.BlockSize)
		have[id] = u
	}
	ids := map[uint32]bool{}
	for id := range have {
		ids[id] = true
	}
	for id := range stored {
		ids[id] = true
	}
	sorted := make([]uint32, 0, len(ids))
	for id := range ids {
		sorted = append(sorted, id)
	}
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	for _, id := range sorted {
		if s, h := stored[id], have[id]; s != h {
			f := c.cat.Found("quota-usage", loc, vol.Detail("%s %d: %d bytes and %d inodes, should be %d and %d",
				[quotaKinds]string{"user", "group", "project"}[kind], id, s.space, s.inodes, h.space, h.inodes))
			f.Loc.Range.Off = int64(id) // tells the findings of one file apart
			r.Found(f, nil)
		}
	}
}
