package lfs

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// quotaLimits is what an administrator has set in a record of a quota file:
// limits, and until when more is let pass. [Linux] fs/quota/quotaio_v2.h struct
// v2r1_disk_dqblk.
func quotaLimits() []dev.Range {
	return []dev.Range{
		{Off: 8, Len: 16},  // of inodes, hard and soft
		{Off: 32, Len: 16}, // of space
		{Off: 56, Len: 16}, // until when
	}
}

// limits are the records of a quota file that have any, by id, as far as they
// can be read: those that the tree leads to, and those of blocks beside it that
// are leaves by their count. Of two of one id the first counts.
func (q *quotaTable) limits() map[uint32][]byte {
	out := map[uint32][]byte{}
	seen := map[uint32]bool{}
	q.limitsOf(1, 0, seen, out)
	for n := uint32(1); int(n) < len(q.b)/quotaBlock; n++ {
		if b := q.block(n); !seen[n] && isQuotaLeaf(b) {
			takeLimits(b, out)
		}
	}
	return out
}

func (q *quotaTable) limitsOf(n uint32, depth int, seen map[uint32]bool, out map[uint32][]byte) {
	b := q.block(n)
	if b == nil || seen[n] {
		return
	}
	seen[n] = true
	if depth == quotaDepth {
		takeLimits(b, out)
		return
	}
	for i := 0; i < quotaBlock; i += 4 {
		if next := binary.LittleEndian.Uint32(b[i:]); next != 0 {
			q.limitsOf(next, depth+1, seen, out)
		}
	}
}

// isQuotaLeaf tells whether a block holds as many records as it says, and
// nothing else.
func isQuotaLeaf(b []byte) bool {
	n := 0
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		if !dev.AllZero(b[at:][:quotaRecord]) {
			n++
		}
	}
	return n > 0 && int(binary.LittleEndian.Uint16(b[quotaLeafCount:])) == n && dev.AllZero(b[quotaLeafCount+2:quotaLeaf])
}

func takeLimits(b []byte, out map[uint32][]byte) {
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		rec := b[at:][:quotaRecord]
		id := binary.LittleEndian.Uint32(rec)
		if out[id] != nil || !slices.ContainsFunc(quotaLimits(), func(r dev.Range) bool { return !dev.AllZero(rec[r.Off:r.End()]) }) {
			continue
		}
		out[id] = slices.Clone(rec)
	}
}

// putLimits sets those of an id.
func (q *quotaTable) putLimits(id uint32, from []byte) error {
	rec, err := q.find(id)
	if err != nil {
		return err
	}
	for _, r := range quotaLimits() {
		copy(rec[r.Off:r.End()], from[r.Off:])
	}
	return nil
}

// quotaLost reports a quota file that is not there. It is made anew with its
// number, of the blocks that summaries say it had; or the superblock names none,
// where the number is no file's that can be one.
func (c *checker) quotaLost(r *vol.Report, kind int, nid uint32, why string) {
	loc := vol.Location{Path: textf("<quota %d>", kind)}
	f := c.cat.Found("quota-file", loc, vol.Detail("inode %d %s", nid, why))
	drop := c.superFix(func(b superblock) { b.put32(sbQuotaInos+4*kind, 0) })
	if nid < firstNid || nid >= c.g.NIDs() || c.walk.index.find(nid) >= 0 {
		f.Offer = []string{fixClear}
		r.Found(f, drop)
		return
	}
	f.Offer = []string{fixRebuild}
	r.Found(f, c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error { return c.newQuotaInode(ctx, kind, nid) }))
}

// newQuotaInode makes a quota file whose inode is gone.
func (c *checker) newQuotaInode(ctx context.Context, kind int, nid uint32) error {
	if err := c.spare(ctx, repairBlocks+uint64(quotaDepth*len(c.countUsage(kind)))); err != nil {
		return err
	}
	root, err := c.handle(ctx, rootIno)
	if err != nil {
		return err
	}
	w := root.w
	if err := w.takeInode(nid); err != nil {
		return err
	}
	h := &handle{w: w, path: textf("<quota %d>", kind), nid: nid, b: root.newInode(nid, nil, quotaMode)}
	h.b.put32(inodeParent, 0)
	h.b.put32(inodeFlags, flagImmutable|flagNoAtime)
	if err := c.fillInode(h); err != nil {
		return err
	}
	c.m.handles[nid] = h
	if h.b.size() > 0 {
		return nil // what is in it is looked at in the next round
	}
	have := c.countUsage(kind)
	q := &quotaTable{h: h, b: newQuotaFile(kind, 0, int(have[0].inodes), have[0].space)}
	for _, id := range slices.Sorted(maps.Keys(have)) {
		if err := q.set(id, have[id]); err != nil {
			return err
		}
	}
	c.m.quotas[nid] = q
	return nil
}
