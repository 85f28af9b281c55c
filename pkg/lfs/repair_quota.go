package lfs

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// maxQuotaBytes bounds the quota files that are mended: some 200 000 owners.
const maxQuotaBytes = 16 << 20

// quotaTable is a quota file in memory, to be changed.
type quotaTable struct {
	h *handle
	b []byte
}

// quotaFix sets what a quota file says of one id.
func (c *checker) quotaFix(kind int, nid, id uint32, use quotaUse) vol.Fix {
	return c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error {
		q, err := c.quotaTable(ctx, nid)
		if err != nil {
			return err
		}
		return q.set(id, use)
	})
}

// quotaFileFix makes a quota file anew, with what is in use, and the limits that
// can still be read.
func (c *checker) quotaFileFix(kind int, nid uint32) vol.Fix {
	return c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error {
		q, err := c.quotaTable(ctx, nid)
		if err != nil {
			return err
		}
		have := c.countUsage(kind)
		root, limits, old := have[0], q.limits(), q.b
		q.b = newQuotaFile(kind, 0, int(root.inodes), root.space)
		if len(old) >= quotaBlock && (binary.LittleEndian.Uint32(old) == quotaMagic(kind) || binary.LittleEndian.Uint32(old[4:]) == quotaVersion) {
			copy(q.b[quotaInfo:quotaInfoBlocks], old[quotaInfo:]) // how long more is let pass
		}
		for _, id := range slices.Sorted(maps.Keys(have)) {
			if err := q.set(id, have[id]); err != nil {
				return err
			}
		}
		for _, id := range slices.Sorted(maps.Keys(limits)) {
			if err := q.set(id, have[id]); err != nil {
				return err
			}
			if err := q.putLimits(id, limits[id]); err != nil {
				return err
			}
		}
		return nil
	})
}

// quotaTable reads a quota file, once for a pass.
func (c *checker) quotaTable(ctx context.Context, nid uint32) (*quotaTable, error) {
	if q := c.m.quotas[nid]; q != nil {
		return q, nil
	}
	// A record that is missing takes a block of each level of the tree.
	need := uint64(quotaDepth*c.records(nid)) + repairBlocks
	if err := c.spare(ctx, need); err != nil {
		return nil, err
	}
	h, err := c.handle(ctx, nid)
	if err != nil {
		return nil, err
	}
	q := &quotaTable{h: h}
	if h.b.size() > maxQuotaBytes || h.b.fileType() != modeFile || h.b.inline()&inlineData != 0 {
		return nil, vol.ErrNotNow
	}
	q.b = make([]byte, h.b.size()/quotaBlock*quotaBlock)
	for page := range h.w.g.pages(int64(len(q.b))) {
		b, err := h.readPage(page)
		if err != nil {
			return nil, notNow(err)
		}
		copy(q.b[int64(page)*h.w.g.BlockSize:], b)
	}
	c.m.quotas[nid] = q
	return q, nil
}

// putUsage has the quota files count what repairs have changed, where they counted
// right before. Where one cannot be changed it is left, for the next round to find.
func (c *checker) putUsage() error {
	if !c.m.counted || len(c.m.quotas) > 0 {
		return nil
	}
	for kind, nid := range c.g.QuotaInos {
		ok, err := c.canCount(kind)
		if err != nil {
			return err
		}
		if !ok || c.m.handles[nid] != nil {
			continue
		}
		if err := notNow(c.m.w.putUsage(kind)); err != nil && !errors.Is(err, vol.ErrNotNow) {
			return err
		}
	}
	return nil
}

// canCount tells whether a quota file can be read, and what is new in it has room.
func (c *checker) canCount(kind int) (bool, error) {
	w := c.m.w
	ids := w.changedIDs(kind)
	if len(ids) == 0 {
		return false, nil
	}
	h, err := w.open(textf("<quota %d>", kind), c.g.QuotaInos[kind])
	if err == nil && (h.b.fileType() != modeFile || h.b.inline()&inlineData != 0 || h.b.size() > maxQuotaBytes) {
		return false, nil
	}
	if err == nil {
		var why string
		if _, why, err = parseQuota(h.quotaBlock, kind); why != "" {
			return false, nil
		}
	}
	if err != nil {
		if err = notNow(err); errors.Is(err, vol.ErrNotNow) {
			err = nil
		}
		return false, err
	}
	need := uint64(len(ids))*(quotaDepth+1) + repairBlocks
	free := w.userBlocks - min(w.validBlocks, w.userBlocks)
	return free >= need && w.logs.reach(need+uint64(len(c.m.handles))), nil
}

// quotaBlock is block n of a quota file, nil where it has none; it is good until the
// next call.
func (h *handle) quotaBlock(n uint32) ([]byte, error) {
	off, bs := int64(n)*quotaBlock, h.w.g.BlockSize
	if off >= int64(h.b.size()) {
		return nil, nil
	}
	b, err := h.readPage(uint64(off / bs))
	if b == nil || err != nil {
		return nil, err
	}
	return b[off%bs:][:quotaBlock], nil
}

// records is how many owners a quota file has records of, or should have.
func (c *checker) records(nid uint32) (n int) {
	for kind, q := range c.g.QuotaInos {
		if q == nid {
			n = len(c.countUsage(kind))
		}
	}
	return n
}

func (q *quotaTable) block(n uint32) []byte {
	if (uint64(n)+1)*quotaBlock > uint64(len(q.b)) || n == 0 {
		return nil
	}
	return q.b[uint64(n)*quotaBlock:][:quotaBlock]
}

// grow makes a block at the end.
func (q *quotaTable) grow() uint32 {
	le := binary.LittleEndian
	n := max(le.Uint32(q.b[quotaInfoBlocks:]), 2)
	if uint64(n)*quotaBlock > uint64(len(q.b)) {
		n = uint32(len(q.b) / quotaBlock)
	}
	if int(n) == len(q.b)/quotaBlock {
		q.b = append(q.b, make([]byte, quotaBlock)...)
	}
	clear(q.block(n))
	le.PutUint32(q.b[quotaInfoBlocks:], n+1)
	return n
}

// set writes what is in use to the record of an id.
func (q *quotaTable) set(id uint32, use quotaUse) error {
	rec, err := q.find(id)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	le.PutUint32(rec, id)
	le.PutUint64(rec[quotaInodes:], use.inodes)
	le.PutUint64(rec[quotaSpace:], use.space)
	return nil
}

// find is the record of an id, which is made, in a leaf of its own, if there is
// none. [Linux] fs/quota/quota_tree.c as layout.
func (q *quotaTable) find(id uint32) ([]byte, error) {
	le := binary.LittleEndian
	if len(q.b) < 2*quotaBlock || len(q.b) > maxQuotaBytes {
		return nil, vol.ErrNotNow
	}
	n, made := uint32(1), false
	for level := range quotaDepth {
		at := 4 * int(byte(id>>(8*(quotaDepth-1-level))))
		next := le.Uint32(q.block(n)[at:])
		if next == 0 {
			next, made = q.grow(), level == quotaDepth-1
			le.PutUint32(q.block(n)[at:], next)
		}
		if q.block(next) == nil {
			return nil, vol.ErrNotNow
		}
		n = next
	}
	rec := q.record(n, id, made)
	if rec == nil {
		return nil, vol.ErrNotNow
	}
	return rec, nil
}

// record is that of an id in a leaf, or room for it: the first one if the leaf
// was just made.
func (q *quotaTable) record(n, id uint32, made bool) []byte {
	le := binary.LittleEndian
	b := q.block(n)
	if made {
		le.PutUint16(b[quotaLeafCount:], 1)
		return b[quotaLeaf:][:quotaRecord]
	}
	var free []byte
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		switch rec := b[at:][:quotaRecord]; {
		case dev.AllZero(rec):
			free = rec
		case le.Uint32(rec) == id:
			return rec
		}
	}
	if free != nil {
		le.PutUint16(b[quotaLeafCount:], le.Uint16(b[quotaLeafCount:])+1)
	}
	return free
}

// store writes the file back.
func (q *quotaTable) store() error {
	bs := q.h.w.g.BlockSize
	for page := range q.h.w.g.pages(int64(len(q.b))) {
		b := make([]byte, bs)
		copy(b, q.b[int64(page)*bs:])
		if err := q.h.writePage(page, b); err != nil {
			return err
		}
	}
	q.h.b.put64(inodeSize, uint64(len(q.b)))
	return nil
}
