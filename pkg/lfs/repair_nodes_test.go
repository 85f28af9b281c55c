package lfs

import (
	"maps"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestNodesComeBack: files whose nodes stand in the place of each other, or have a
// damaged footer, are as they were after a repair, names and contents.
func TestNodesComeBack(t *testing.T) {
	exchange := func(l *lab, a, b uint32) {
		was := l.read(a)
		l.write(a, l.read(b))
		l.write(b, was)
	}
	inodes := func(a, b string) func(l *lab) {
		return func(l *lab) { exchange(l, l.at[a].addr, l.at[b].addr) }
	}
	for _, c := range []struct {
		name, features string
		do             func(l *lab)
	}{
		{"files", "", inodes("plain", "inline")},
		{"files with checksums", labFeatures, inodes("plain", "kept")},
		{"directories", "", inodes("dir", "many")},
		{"a file and a directory", "", inodes("plain", "many")},
		{"nodes of a file", "", func(l *lab) {
			x := l.at["direct"]
			exchange(l, x.nodes[1].addr, x.nodes[2].addr)
		}},
		{"an inode and a node", "", func(l *lab) { exchange(l, l.at["plain"].addr, l.at["direct"].nodes[1].addr) }},
		{"footer of a file", "", func(l *lab) { l.edit(l.at["plain"].addr, func(b []byte) { b[len(b)-footerNid] ^= 1 }) }},
		{"footer of a directory", "", func(l *lab) { l.edit(l.at["many"].addr, func(b []byte) { b[len(b)-footerIno+2] ^= 1 }) }},
	} {
		l := newLab(t, c.features)
		want, err := treeFiles(l.d)
		l.must(err)
		c.do(l)
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Left(vol.SevWarning) || !slices.Contains(slugs(res), "node-footer") {
			t.Fatalf("%s: found %q, %v", c.name, found(res), err)
		}
		got, err := treeFiles(txn)
		l.must(err)
		if !maps.Equal(got, want) {
			t.Errorf("%s: files are not what they were: %q", c.name, found(res))
		}
		txn.Rollback()
	}
}
