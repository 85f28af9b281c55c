package lfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestQuotaLimits: however a quota file is damaged, the limits stay that can
// still be read, and how long more is let pass.
func TestQuotaLimits(t *testing.T) {
	le := binary.LittleEndian
	want := map[uint32][]byte{}
	for _, id := range []uint32{1000, 70_000, 1 << 31} {
		rec := make([]byte, quotaRecord)
		le.PutUint32(rec, id)
		le.PutUint64(rec[40:], uint64(id)<<10)
		le.PutUint64(rec[16:], uint64(id))
		want[id] = rec
	}
	for _, c := range []struct {
		name string
		do   func(b []byte) // nil: the inode goes
	}{
		{name: "usage", do: func(b []byte) { b[newQuotaLeaf*quotaBlock+quotaLeaf+quotaInodes]++ }},
		{name: "magic", do: func(b []byte) { b[0] ^= 1 }},
		{name: "version", do: func(b []byte) { b[4] = 9 }},
		{name: "root", do: func(b []byte) { clear(b[quotaBlock : 2*quotaBlock]); le.PutUint32(b[quotaBlock:], 1<<20) }},
		{name: "tree", do: func(b []byte) { le.PutUint32(b[2*quotaBlock:], 1<<20) }},
		{name: "loop", do: func(b []byte) { le.PutUint32(b[quotaBlock:], 1) }},
		{name: "far", do: func(b []byte) { le.PutUint32(b[quotaBlock:], 1<<32-1) }},
		{name: "inode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "quota")
			ino := l.g.QuotaInos[userQuota]
			editQuota(t, l.d, ino, func(q *quotaTable) {
				le.PutUint32(q.b[quotaInfo:], 12345)
				for id, rec := range want {
					if err := q.set(id, quotaUse{}); err != nil {
						t.Fatal(err)
					}
					if err := q.putLimits(id, rec); err != nil {
						t.Fatal(err)
					}
				}
			})
			if res := checked(t, l.d); len(res.Outcomes) > 0 {
				t.Fatalf("to begin with there is %q", found(res))
			}
			if c.do == nil {
				loseInode(t, l.d, ino)
			} else {
				editQuota(t, l.d, ino, func(q *quotaTable) { c.do(q.b) })
			}
			if res := checked(t, l.d); len(res.Outcomes) == 0 {
				t.Fatal("nothing is found")
			}
			res, err := vol.Fsck(t.Context(), l.d, Driver(), vol.CheckOptions{}, voltest.Always, nil)
			if err != nil || res.Unproven != nil || res.Left(vol.SevWarning) {
				t.Fatalf("%v, %q", err, found(res))
			}
			if again := checked(t, l.d); len(again.Outcomes) > 0 {
				t.Errorf("then there is %q", found(again))
			}
			editQuota(t, l.d, ino, func(q *quotaTable) {
				if got := q.limits(); !maps.EqualFunc(got, want, func(a, b []byte) bool {
					return bytes.Equal(a[8:24], b[8:24]) && bytes.Equal(a[32:48], b[32:48])
				}) {
					t.Errorf("the limits are %v, were %v: %q", got, want, found(res))
				}
				if got := le.Uint32(q.b[quotaInfo:]); got != 12345 {
					t.Errorf("more is let pass for %d seconds", got)
				}
			})
		})
	}
}

// editQuota changes a quota file, as one change.
func editQuota(t *testing.T, d dev.Device, ino uint32, fn func(q *quotaTable)) {
	t.Helper()
	err := edited(t, d, func(c *batch) error {
		c.w.keepQuotas = true
		h, err := c.w.open("<quota>", ino)
		if err != nil {
			return err
		}
		q := &quotaTable{h: h, b: make([]byte, h.b.size()/quotaBlock*quotaBlock)}
		for page := range c.w.g.pages(int64(len(q.b))) {
			b, err := h.readPage(page)
			if err != nil {
				return err
			}
			copy(q.b[int64(page)*c.w.g.BlockSize:], b)
		}
		fn(q)
		c.files[ino] = "<quota>"
		return errors.Join(q.store(), h.store())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loseInode takes an inode out of NAT, and what it was with it.
func loseInode(t *testing.T, d dev.Device, ino uint32) {
	t.Helper()
	l, err := load(t.Context(), d, loadOptions{force: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := l.s.readNAT(d, ino)
	if err != nil {
		t.Fatal(err)
	}
	index, slot := l.g.NATIndex(ino)
	at := l.g.BlockOff(l.g.NATAddr(index, testMSB(l.s.natVersions, index))) + int64(slot)*natLen
	for _, r := range []dev.Range{l.g.BlockRange(e.addr(), 1), {Off: at, Len: natLen}} {
		if err := vol.Patch(d, r.Off, r.Len, func(b []byte) { clear(b) }); err != nil {
			t.Fatal(err)
		}
	}
}
