package lfs

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// A block of records, [Linux] fs/quota/quotaio_v2.h struct qt_disk_dqdbheader:
// blocks that have room are in a list, which the header of the file begins.
const (
	quotaLeafNext    = 0
	quotaLeafPrev    = 4
	quotaLeafRecords = (quotaBlock - quotaLeaf) / quotaRecord
)

// enter makes a record for an id that has none. [Linux]
// behaviour fs/quota/quota_tree.c do_insert_tree(), find_free_dqentry().
func (q *quotaPages) enter(id uint32, c quotaChange) error {
	le := binary.LittleEndian
	leaf, err := q.leaf()
	if err != nil {
		return err
	}
	n := uint32(1)
	for level := range quotaDepth {
		at := 4 * int(byte(id>>(8*(quotaDepth-1-level))))
		b, err := q.at(n)
		if err != nil {
			return err
		}
		next := le.Uint32(b[at:])
		if next == 0 {
			if next = leaf; level < quotaDepth-1 {
				if next, err = q.grow(); err != nil {
					return err
				}
			}
			if err := q.put32(n, at, next); err != nil {
				return err
			}
		}
		n = next
	}
	if n != leaf { // the id shares its last block of the tree with what is in another leaf
		return vol.Dirtyf("%s: the tree leads from %d to a block without its record; run check -p", q.h.path, id)
	}
	return q.record(leaf, id, c)
}

// record puts the record of an id into a leaf that has room. One that is
// full then leaves the list.
func (q *quotaPages) record(leaf, id uint32, c quotaChange) error {
	le := binary.LittleEndian
	b, err := q.at(leaf)
	if err != nil {
		return err
	}
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		rec := b[at : at+quotaRecord]
		if !dev.AllZero(rec) {
			continue
		}
		le.PutUint32(rec, id)
		le.PutUint64(rec[quotaInodes:], uint64(max(0, c.inodes)))
		le.PutUint64(rec[quotaSpace:], uint64(max(0, c.space)))
		n := le.Uint16(b[quotaLeafCount:]) + 1
		le.PutUint16(b[quotaLeafCount:], n)
		q.dirty = true
		if n < quotaLeafRecords {
			return nil
		}
		next := le.Uint32(b[quotaLeafNext:])
		clear(b[quotaLeafNext:quotaLeafCount])
		if err := q.put32(0, quotaInfoEntry, next); err != nil || next == 0 {
			return err
		}
		return q.put32(next, quotaLeafPrev, 0)
	}
	return vol.Dirtyf("%s: block %d is listed as one with room for records, and has none; run check -p", q.h.path, leaf)
}

// leaf is the block of records that a new one goes to.
func (q *quotaPages) leaf() (uint32, error) {
	head, err := q.at(0)
	if err != nil {
		return 0, err
	}
	if n := binary.LittleEndian.Uint32(head[quotaInfoEntry:]); n != 0 {
		return n, nil
	}
	n, err := q.grow()
	if err != nil {
		return 0, err
	}
	return n, q.put32(0, quotaInfoEntry, n)
}

// put32 sets a word of a block.
func (q *quotaPages) put32(n uint32, at int, v uint32) error {
	b, err := q.at(n)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b[at:], v)
	q.dirty = true
	return nil
}

// grow makes a block of zeros at the end of the file.
func (q *quotaPages) grow() (uint32, error) {
	head, err := q.at(0)
	if err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(head[quotaInfoBlocks:])
	if n < 2 || int64(n) > maxQuotaBytes/quotaBlock {
		return 0, vol.Dirtyf("%s: it says that it has %d blocks; run check -p", q.h.path, n)
	}
	if err := q.put32(0, quotaInfoBlocks, n+1); err != nil {
		return 0, err
	}
	end := int64(n+1) * quotaBlock
	bs := q.h.w.g.BlockSize
	if page := uint64(int64(n) * quotaBlock / bs); page != q.page {
		if err := q.store(); err != nil {
			return 0, err
		}
		b, err := q.h.readPage(page)
		if err != nil {
			return 0, err
		}
		if b == nil {
			if err := q.h.roomFor(page); err != nil {
				return 0, err
			}
			b = make([]byte, bs)
		}
		q.page, q.b = page, b
	}
	b, err := q.at(n)
	if err != nil {
		return 0, err
	}
	clear(b)
	q.dirty = true
	q.h.b.put64(inodeSize, max(q.h.b.size(), uint64(end)))
	return n, nil
}
