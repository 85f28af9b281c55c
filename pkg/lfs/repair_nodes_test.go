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

// TestCopiedNode: the copy of another inode does not become the one that was there,
// neither with -p nor with -y: what it leads to is the other one's.
func TestCopiedNode(t *testing.T) {
	for how, decide := range map[string]vol.Decider{"-p": voltest.Lossless, "-y": voltest.Always} {
		l := newLab(t, "")
		want, err := treeFiles(l.d)
		l.must(err)
		l.write(l.at["inline"].addr, l.read(l.root.addr))
		txn := dev.Begin(l.d)
		if _, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, decide, nil); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		got, err := treeFiles(txn)
		l.must(err)
		for p, b := range want {
			if is, ok := got[p]; p != "/inline" && (!ok || is != b) {
				t.Errorf("%s: %s is another", how, p)
			}
		}
		for p := range got {
			if _, ok := want[p]; !ok && p != "/lost+found/" {
				t.Errorf("%s: there is %s", how, p)
			}
		}
		txn.Rollback()
	}
}

// TestDotWithoutLength: an entry . that has no length is mended, and not made anew, also
// where another file leads to the inode that it is in, which -p leaves so.
func TestDotWithoutLength(t *testing.T) {
	l := newLab(t, "")
	l.at["small"].editEntry(".", func(d dentryBlock, i int) {
		e := d.entry(i)
		e.put(e.hash(), 1<<30, 0, e.fileType())
	})
	l.at["many"].editInode(func(n nodeBlock) { n.putWord(60, l.at["small"].addr) })
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Lossless, nil)
	if err != nil || res.Unproven != nil || slices.Contains(slugs(checked(t, txn)), "dot") {
		t.Errorf("%v, %+v, then %q", err, res, found(checked(t, txn)))
	}
}
