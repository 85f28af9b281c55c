package lfs

import (
	"maps"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestGuessExtra: where the length of the extra attributes is damaged it is found
// again, be it as kernels have it or as tools do, and what is behind them is as it
// was.
func TestGuessExtra(t *testing.T) {
	const kernel = maxExtraLen
	for _, features := range []string{"extra_attr", "extra_attr,inode_checksum", labFeatures} {
		for _, length := range []uint16{0, 2, 5, 38, 65535} {
			l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: features}))
			long := func(n nodeBlock) { n.put16(inodeExtraLen, kernel) }
			xs := map[*built]uint16{}
			for name, f := range map[string]file{
				"blocks": {pages: []uint32{0, 1, 2}}, "later": {pages: []uint32{5, 2000}}, "data": {inline: []byte("some data")}, "attrs": {pages: []uint32{0}, xattrs: xattr(1, "a", []byte("b"))},
			} {
				short := uint16(extraLen(l.g.Features))
				if name != "later" { // it has holes where kernels have room, so nobody can tell
					xs[l.file(l.root, name+" short", f)] = short
				}
				f.change = long
				xs[l.file(l.root, name, f)] = kernel
			}
			l.finish()
			before := holdings(t, l.d)
			for x := range xs {
				x.editInode(func(n nodeBlock) { n.put16(inodeExtraLen, length) })
			}
			txn := dev.Begin(l.d)
			res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
			if err != nil || res.Left(vol.SevWarning) {
				t.Fatalf("%s, %d: found %q, %v", features, length, found(res), err)
			}
			for x, want := range xs {
				b, err := readBlock(txn, l.g, x.addr)
				if got := nodeBlock(b).extraLen(); err != nil || got != int(want) {
					t.Errorf("%s, %d: %s has %d bytes, should be %d: %v", features, length, x.name, got, want, err)
				}
			}
			if now := holdings(t, txn); !maps.Equal(now, before) {
				t.Errorf("%s, %d: files hold something else: %q", features, length, found(res))
			}
			txn.Rollback()
		}
	}
}
