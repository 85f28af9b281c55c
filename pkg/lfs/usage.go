package lfs

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// quotaChange is what a change adds to the usage of one user, group or project.
type quotaChange struct {
	space  int64 // bytes
	inodes int64
}

// ids are whom an inode counts for, by kind.
func (n nodeBlock) ids() (ids [quotaKinds]uint32) {
	ids[userQuota], ids[groupQuota] = n.uid(), n.gid()
	if n.hasExtraField(inodeProject + 4) {
		ids[projectQuota] = n.project()
	}
	return ids
}

// charge counts space and inodes for the owners of an inode. The files of the
// quotas themselves are nobody's.
func (w *writer) charge(n nodeBlock, space, inodes int64) {
	if w.g.isQuota(n.nid()) {
		return
	}
	for kind, id := range n.ids() {
		c := w.usage[kind][id]
		w.usage[kind][id] = quotaChange{c.space + space, c.inodes + inodes}
	}
}

// putQuotas writes into the quota files what usage has become since it was last
// called. Of what was not counted right before, nothing is known; it stays marked
// as that.
func (w *writer) putQuotas() error {
	if w.keepQuotas {
		return nil
	}
	for kind := range w.g.QuotaInos {
		if err := w.putUsage(kind); err != nil {
			return err
		}
	}
	return nil
}

// changedIDs are those whose usage of a kind of quota has changed.
func (w *writer) changedIDs(kind int) []uint32 {
	if w.g.QuotaInos[kind] == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(w.usage[kind]))
	return slices.DeleteFunc(ids, func(id uint32) bool { return w.usage[kind][id] == quotaChange{} })
}

// putUsage writes into one quota file what usage has become. After an error it may
// have a part of that; its blocks are counted.
func (w *writer) putUsage(kind int) error {
	ids := w.changedIDs(kind)
	if len(ids) == 0 {
		return nil
	}
	h, err := w.open(textf("<quota %d>", kind), w.g.QuotaInos[kind])
	if err != nil {
		return err
	}
	q := &quotaPages{h: h, kind: kind}
	for _, id := range ids {
		if err = q.take(kind, id, w.usage[kind][id]); err != nil {
			break
		}
	}
	if err := q.store(); err != nil {
		return err
	}
	clear(w.usage[kind])
	return err
}

// quotaPages is a quota file with one page in hand.
type quotaPages struct {
	h     *handle
	kind  int
	page  uint64
	b     []byte
	dirty bool
}

// at is block n of the file.
func (q *quotaPages) at(n uint32) ([]byte, error) {
	off := int64(n) * quotaBlock
	bs := q.h.w.g.BlockSize
	if page := uint64(off / bs); q.b == nil || page != q.page {
		if err := q.store(); err != nil {
			return nil, err
		}
		b, err := q.h.readPage(page)
		if err != nil {
			return nil, err
		}
		q.page, q.b = page, b
	}
	if q.b == nil {
		return nil, vol.Dirtyf("%s: it has no block %d; run check -p", q.h.path, n)
	}
	return q.b[off%bs:][:quotaBlock], nil
}

// store writes the page in hand, and with it the inode.
func (q *quotaPages) store() error {
	if !q.dirty {
		return nil
	}
	q.dirty = false
	if err := q.h.writePage(q.page, q.b); err != nil {
		return err
	}
	return q.h.store()
}

// take counts a change for one id, which gets a record with its first file.
func (q *quotaPages) take(kind int, id uint32, c quotaChange) error {
	head, err := q.at(0)
	if err != nil {
		return err
	}
	if m := binary.LittleEndian.Uint32(head); m != quotaMagic(kind) {
		return vol.Dirtyf("%s: its magic number is %#x; run check -p", q.h.path, m)
	}
	done, err := q.add(id, c)
	switch {
	case done || err != nil:
		return err
	case c.inodes <= 0:
		return vol.Dirtyf("%s: it has no record of %d, who owns files; run check -p", q.h.path, id)
	}
	return q.enter(id, c)
}

// add counts a change in the record of one id; ok is false where there is none.
func (q *quotaPages) add(id uint32, c quotaChange) (ok bool, err error) {
	n := uint32(1)
	for level := range quotaDepth {
		b, err := q.at(n)
		if err != nil {
			return false, err
		}
		n = binary.LittleEndian.Uint32(b[4*(id>>(8*(quotaDepth-1-level))&0xFF):])
		if n == 0 {
			return false, nil
		}
	}
	b, err := q.at(n)
	if err != nil {
		return false, err
	}
	for at := quotaLeaf; at+quotaRecord <= quotaBlock; at += quotaRecord {
		rec := b[at : at+quotaRecord]
		if binary.LittleEndian.Uint32(rec) == id && !dev.AllZero(rec) {
			if err := q.within(rec, id, c); err != nil {
				return false, err
			}
			for _, f := range []struct {
				off int
				by  int64
			}{{quotaInodes, c.inodes}, {quotaSpace, c.space}} {
				was := int64(binary.LittleEndian.Uint64(rec[f.off:]))
				binary.LittleEndian.PutUint64(rec[f.off:], uint64(max(0, was+f.by)))
			}
			q.dirty = true
			return true, nil
		}
	}
	return false, nil
}

// within refuses a change by which somebody comes to have more than the hard limit
// in a record, as the kernel refuses it to everybody but root: [Linux] behaviour
// dquot_add_space(), dquot_add_inodes(). A limit of space counts in KiB. A soft
// limit may be passed; a kernel starts its time when it meets that.
func (q *quotaPages) within(rec []byte, id uint32, c quotaChange) error {
	le := binary.LittleEndian
	for _, f := range []struct {
		off, limit int
		by         int64
		unit       uint64
		what       string
	}{{quotaInodes, quotaInodeLimit, c.inodes, 1, "files"}, {quotaSpace, quotaSpaceLimit, c.space, 1024, "bytes"}} {
		limit, have := le.Uint64(rec[f.limit:]), le.Uint64(rec[f.off:])
		if q.h.w.limitless || f.by <= 0 || limit == 0 || limit > math.MaxUint64/f.unit {
			continue
		}
		if limit *= f.unit; have > limit || uint64(f.by) > limit-have {
			return vol.Refusef("%s %d may have %d %s by its quota, has %d, and would have %d more", quotaName(q.kind), id, limit, f.what, have, f.by)
		}
	}
	return nil
}
