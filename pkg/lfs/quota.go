package lfs

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/fatkit/fatkit/pkg/dev"
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
	// In a record.
	quotaInodeLimit = 8 // hard
	quotaInodes     = 24
	quotaSpaceLimit = 32 // hard, in KiB
	quotaSpace      = 48
)

// quotaName is what the ids of a quota file are of.
func quotaName(kind int) string { return [quotaKinds]string{"user", "group", "project"}[kind] }

func quotaMagic(kind int) uint32 { return [quotaKinds]uint32{0xD9C01F11, 0xD9C01927, 0xD9C03F14}[kind] }

// quotaUse is what one user, group or project has.
type quotaUse struct{ space, inodes uint64 }

// checkQuotas holds the quota files against the inodes.
func (c *checker) checkQuotas(r *vol.Report) error {
	c.usageRight = true
	for kind, nid := range c.g.QuotaInos {
		if nid == 0 {
			continue
		}
		i, ok := c.walk.inodeOf(nid)
		switch {
		case !ok:
			c.usageRight = false
			c.quotaLost(r, kind, nid, "is lost")
			continue
		case c.walk.inodes[i].dir >= 0:
			c.usageRight = false
			c.quotaLost(r, kind, nid, "is a file with a name")
			continue
		}
		switch of, err := c.quotaKind(i, nid); {
		case err != nil:
			return err
		case of != kind:
			c.usageRight = false
			c.quotaLost(r, kind, nid, textf("is the quota file %d", of))
			continue
		}
		loc := vol.Location{Path: textf("<quota %d>", kind), Cluster: c.walk.index.nodes[c.walk.inodes[i].node].addr}
		stored, why, err := parseQuota(c.newQuotaFile(i).at, kind)
		if err != nil {
			return err
		}
		if why != "" {
			c.usageRight = false
			r.Found(c.cat.Found("quota-file", loc, vol.Detail("%s", why), vol.Offer(fixRebuild)), c.quotaFileFix(kind, nid))
			continue
		}
		c.compareUsage(r, loc, kind, nid, stored)
	}
	return nil
}

// quotaKind is the kind that a quota file is of: where the superblock names it for
// several, that by its magic number, else the first. For the others it would be made
// anew in turn, and never be right.
func (c *checker) quotaKind(i int32, nid uint32) (int, error) {
	of := slices.Index(c.g.QuotaInos[:], nid)
	head, err := c.newQuotaFile(i).at(0)
	if err != nil || head == nil {
		return of, err
	}
	for kind, ino := range c.g.QuotaInos {
		if ino == nid && binary.LittleEndian.Uint32(head) == quotaMagic(kind) {
			return kind, nil
		}
	}
	return of, nil
}

// quotaFile reads blocks of a quota file, which the walk has met. What it has no
// block for is zeros.
type quotaFile struct {
	c     *checker
	addrs map[uint64]uint32 // by page
	block []byte            // the one that was read last
	page  uint64
}

func (c *checker) newQuotaFile(i int32) *quotaFile {
	f := &quotaFile{c: c, addrs: map[uint64]uint32{}, block: make([]byte, c.g.BlockSize), page: 1<<64 - 1}
	for _, p := range c.walk.quota {
		if p.inode == i {
			f.addrs[p.page] = p.addr
		}
	}
	return f
}

// quotaBlocks gives block n of a quota file, as quotaFile.at does.
type quotaBlocks func(n uint32) ([]byte, error)

// at is block n of the file, nil where there is none; it is good until the next
// call.
func (f *quotaFile) at(n uint32) ([]byte, error) {
	off := int64(n) * quotaBlock
	page := uint64(off / f.c.g.BlockSize)
	addr, ok := f.addrs[page]
	if !ok {
		return nil, nil
	}
	if page != f.page {
		if _, err := f.c.d.ReadAt(f.block, f.c.g.BlockOff(addr)); err != nil {
			return nil, err
		}
		f.page = page
	}
	return f.block[off%f.c.g.BlockSize:][:quotaBlock], nil
}

// parseQuota is the usage by id, or what is wrong with the file.
func parseQuota(at quotaBlocks, kind int) (map[uint32]quotaUse, string, error) {
	head, err := at(0)
	switch {
	case err != nil:
		return nil, "", err
	case head == nil:
		return nil, "it is too short", nil
	}
	if m := binary.LittleEndian.Uint32(head); m != quotaMagic(kind) {
		return nil, textf("magic number %#x, should be %#x", m, quotaMagic(kind)), nil
	}
	if v := binary.LittleEndian.Uint32(head[4:]); v != quotaVersion {
		return nil, textf("version %d", v), nil
	}
	q := &quotaTree{at: at, seen: map[uint32]int{}, use: map[uint32]quotaUse{}}
	err = q.walk(1, 0)
	return q.use, q.bad, err
}

type quotaTree struct {
	at   quotaBlocks
	seen map[uint32]int // depths by block
	use  map[uint32]quotaUse
	bad  string
}

// walk goes through block n of the tree; leaves are below the fourth level. A
// block that is met twice, which only leaves may be, is read once.
func (q *quotaTree) walk(n uint32, depth int) error {
	if was, met := q.seen[n]; met {
		if was != depth || depth < quotaDepth {
			q.bad = textf("block %d of the tree is in it twice", n)
		}
		return nil
	}
	q.seen[n] = depth
	b, err := q.at(n)
	switch {
	case err != nil:
		return err
	case b == nil:
		q.bad = textf("block %d of the tree does not exist", n)
		return nil
	case depth == quotaDepth:
		q.leaf(b)
		return nil
	}
	b = append([]byte{}, b...) // its children are read into the same place
	for i := 0; i < quotaBlock; i += 4 {
		next := binary.LittleEndian.Uint32(b[i:])
		if next == 0 {
			continue
		}
		if err := q.walk(next, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (q *quotaTree) leaf(b []byte) {
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		rec := b[at : at+quotaRecord]
		if dev.AllZero(rec) {
			continue
		}
		id := binary.LittleEndian.Uint32(rec)
		if _, twice := q.use[id]; twice {
			q.bad = textf("there are two records of %d", id)
		}
		q.use[id] = quotaUse{inodes: binary.LittleEndian.Uint64(rec[quotaInodes:]), space: binary.LittleEndian.Uint64(rec[quotaSpace:])}
	}
}

// compareUsage holds what is stored against what each id has.
func (c *checker) compareUsage(r *vol.Report, loc vol.Location, kind int, nid uint32, stored map[uint32]quotaUse) {
	have := c.countUsage(kind)
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
			c.usageRight = false
			f := c.cat.Found("quota-usage", loc, vol.Detail("%s %d: %d bytes and %d inodes, should be %d and %d",
				quotaName(kind), id, s.space, s.inodes, h.space, h.inodes))
			f.Loc.Same = textf("quota %d %d", kind, id)
			r.Found(f, c.quotaFix(kind, nid, id, h))
		}
	}
}

// countUsage counts what each id has: the blocks of an inode without that of the
// inode itself. The quota files are nobody's.
func (c *checker) countUsage(kind int) map[uint32]quotaUse {
	have := map[uint32]quotaUse{}
	for i := range c.walk.inodes {
		x := &c.walk.inodes[i]
		if c.g.isQuota(x.nid) {
			continue
		}
		o := &c.walk.owners[i]
		id, blocks := o.ids[kind], o.blocks
		if x.body >= 0 {
			blocks = c.walk.bodies[x.body].counted
		}
		u := have[id]
		u.inodes++
		u.space += (blocks - 1) * uint64(c.g.BlockSize)
		have[id] = u
	}
	return have
}
