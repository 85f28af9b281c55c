package lfs

import (
	"bytes"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestXattrsKept: of a list of attributes that is damaged those stay that are whole
// before the damage, and all where the number of their words was.
func TestXattrsKept(t *testing.T) {
	colour, long := xattr(xattrUser, "colour", []byte("blue")), xattr(xattrUser, "long", bytes.Repeat([]byte{0x55}, 900))
	const flexible = "extra_attr,flexible_inline_xattr"
	for _, c := range []struct {
		name, features string
		slug           string
		want           []string
		do             func(n nodeBlock, list []byte)
	}{
		{"value beyond all", "", "xattr-list", []string{"user.colour"}, func(_ nodeBlock, list []byte) { list[xattrHeaderLen+len(colour)+3] = 0xFF }},
		{"name beyond all", "", "xattr-list", []string{"user.colour"}, func(_ nodeBlock, list []byte) {
			list[xattrHeaderLen+len(colour)+1] = 0xFF
			list[xattrHeaderLen+len(colour)+3] = 0x10
		}},
		{"the first", "", "xattr-list", nil, func(_ nodeBlock, list []byte) { list[xattrHeaderLen+3] = 0xFF }},
		{"no words", flexible, "inode-inline-xattr", []string{"user.colour", "user.long"}, func(n nodeBlock, _ []byte) { n.put16(inodeXattrWords, 0) }},
		{"few words", flexible, "inode-inline-xattr", []string{"user.colour", "user.long"}, func(n nodeBlock, _ []byte) { n.put16(inodeXattrWords, 5) }},
		{"many words", flexible, "inode-inline-xattr", []string{"user.colour", "user.long"}, func(n nodeBlock, _ []byte) { n.put16(inodeXattrWords, 1000) }},
	} {
		l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: c.features}))
		x := l.file(l.root, "both", file{pages: []uint32{0}, xattrs: append(slices.Clone(colour), long...), more: []byte{}})
		l.finish()
		x.editInode(func(n nodeBlock) { c.do(n, n[x.xattrOff():]) })
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || !slices.Equal(slugs(res), []string{c.slug}) || res.Left(vol.SevWarning) {
			t.Fatalf("%s: found %q, %v", c.name, found(res), err)
		}
		if res := checked(t, txn); len(res.Outcomes) > 0 {
			t.Errorf("%s: then there is %q", c.name, found(res))
		}
		w := reader(&loaded{d: txn, sb: l.sb, g: l.g, s: stateOf(t, txn)})
		h, err := w.open("both", x.ino)
		l.must(err)
		xs, err := h.xattrs()
		l.must(err)
		var got []string
		for _, a := range xs {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: it has %q, should have %q", c.name, got, c.want)
		}
		txn.Rollback()
	}
}

// TestXattrsNone: a file whose list of attributes does not begin as one has none, and
// can be read, as sload.f2fs leaves pages of files there.
func TestXattrsNone(t *testing.T) {
	l := newLab(t, "")
	x := l.at["attributes"]
	x.editInode(func(n nodeBlock) { n[x.xattrOff()] ^= 1 })
	w := reader(&loaded{d: l.d, sb: l.sb, g: l.g, s: stateOf(t, l.d)})
	h, err := w.open("attributes", x.ino)
	l.must(err)
	if xs, err := h.xattrs(); err != nil || len(xs) > 0 {
		t.Errorf("it has %v, %v", xs, err)
	}
}
