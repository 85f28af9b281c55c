package lfs

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// forget clears the entries of the summary of a log.
func (l *lab) forget(log int) {
	l.editSummary(log, func(b summaryBlock) { clear(b[:segmentBlocks*summaryLen]) })
}

// repairedTwice repairs a lab in which a block belongs to two, proves that nothing is
// left, and gives how that was repaired.
func (l *lab) repairedTwice(decide vol.Decider) (*dev.Txn, string) {
	l.t.Helper()
	txn := dev.Begin(l.d)
	l.t.Cleanup(txn.Rollback)
	res, err := vol.Fsck(l.t.Context(), txn, Driver(), vol.CheckOptions{}, decide, nil)
	if err != nil || res.Left(vol.SevWarning) {
		l.t.Fatalf("%v, %q", err, found(res))
	}
	if again := checked(l.t, txn); again.Left(vol.SevWarning) {
		l.t.Errorf("then there is %q", found(again))
	}
	for _, o := range res.Outcomes {
		if o.Slug == "addr-twice" {
			return txn, o.Repaired.Name
		}
	}
	l.t.Fatalf("found %q", found(res))
	return nil, ""
}

// TestCopyBlock: of a block that belongs to two, and nothing tells to whom, both have a
// copy. With what tells the other has a hole, or back what is its own.
func TestCopyBlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		forget bool
		decide vol.Decider
		how    string
		want   func(shared, own []byte) []byte // what the loser has
	}{
		{"nothing tells", true, voltest.Always, fixCopy, func(shared, _ []byte) []byte { return shared }},
		{"cleared by choice", true, func(f *vol.Finding) int { return len(f.Offered()) - 1 }, fixClear, func(_, own []byte) []byte { return make([]byte, len(own)) }},
		{"the summary tells", false, voltest.Always, fixClear, func(_, own []byte) []byte { return own }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "")
			x, y := l.at["attributes"], l.at["kept"]
			shared, own := l.read(x.pages[0]), l.read(y.pages[0])
			y.editInode(func(n nodeBlock) { n.putWord(0, x.pages[0]) })
			if c.forget {
				l.forget(warmData)
			}
			d, how := l.repairedTwice(c.decide)
			if how != c.how {
				t.Errorf("it is repaired by %s, should be %s", how, c.how)
			}
			got := map[string][]byte{}
			for _, name := range []string{"attributes", "kept"} {
				got[name] = contentsOf(t, d, name)[:100]
			}
			// Who has it where nothing tells is who comes first.
			if !bytes.Equal(got["attributes"], shared[:100]) {
				got["attributes"], got["kept"] = got["kept"], got["attributes"]
			}
			if want := c.want(shared, own); !bytes.Equal(got["attributes"], shared[:100]) || !bytes.Equal(got["kept"], want[:100]) {
				t.Errorf("the files hold %x and %x", got["attributes"][:8], got["kept"][:8])
			}
		})
	}
}

// twoFiles is a lab with files of four blocks each, which say whose they are.
func twoFiles(t *testing.T) (l *lab, first, second *built) {
	l = fill(newBuilder(t, 64<<20, vol.FormatOptions{}))
	four := []uint32{0, 1, 2, 3}
	first, second = l.file(l.root, "first", file{pages: four}), l.file(l.root, "second", file{pages: four})
	for _, x := range []*built{first, second} {
		for page, blk := range x.pages {
			l.edit(blk, func(b []byte) { copy(b, textf("block %d of %s", page, x.name)) })
		}
	}
	l.finish()
	return l, first, second
}

// TestCopyRun: blocks beside one another that belong to two are no sign of whose they
// are, and both have a copy; of one alone it is whose blocks beside it are.
func TestCopyRun(t *testing.T) {
	for n, how := range map[int]string{1: fixClear, 2: fixCopy, 4: fixCopy} {
		l, first, second := twoFiles(t)
		want := contentsOf(t, l.d, "first")
		second.editInode(func(b nodeBlock) {
			for page := range n {
				b.putWord(page, first.pages[uint32(page)])
			}
		})
		l.forget(warmData)
		d, by := l.repairedTwice(voltest.Always)
		shared := n * int(l.g.BlockSize)
		lost := how == fixClear
		if by != how || !bytes.Equal(contentsOf(t, d, "first"), want) || bytes.Equal(contentsOf(t, d, "second")[:shared], want[:shared]) == lost {
			t.Errorf("%d blocks: repaired by %s, should be %s; the files hold %.20q and %.20q", n, by, how, contentsOf(t, d, "first"), contentsOf(t, d, "second"))
		}
	}
}

// TestNoNodeKeepsBlock: a block that NAT takes for a node, and is none, is left to one of
// the files that lead to it.
func TestNoNodeKeepsBlock(t *testing.T) {
	l, first, second := twoFiles(t)
	want := contentsOf(t, l.d, "first")
	second.editInode(func(b nodeBlock) { b.putWord(0, first.pages[0]) })
	x := l.at["direct"]
	l.editNAT(x.nodes[1].nid, func(e natEntry) { e.put(0, x.ino, first.pages[0]) })
	d, _ := l.repairedTwice(voltest.Always)
	if !bytes.Equal(contentsOf(t, d, "first"), want) {
		t.Errorf("it holds %.20q", contentsOf(t, d, "first"))
	}
}

// TestDirectoryKeepsBlock: what a directory and a file both lead to belongs to the one
// that it is a block of, and is not copied.
func TestDirectoryKeepsBlock(t *testing.T) {
	for _, back := range []bool{false, true} {
		l := newLab(t, "")
		dir, x := l.at["many"], l.at["attributes"]
		want, err := treeFiles(l.d)
		l.must(err)
		l.forget(hotData)
		l.forget(warmData)
		if back { // the directory leads to a block of the file
			last := slices.Max(keysOf(dir.pages))
			dir.editInode(func(n nodeBlock) { n.putWord(int(last)+1, x.pages[0]) })
		} else {
			x.editInode(func(n nodeBlock) { n.putWord(0, dir.pages[1]) })
		}
		d, how := l.repairedTwice(voltest.Always)
		got, err := treeFiles(d)
		l.must(err)
		for p, b := range want {
			if is, ok := got[p]; !ok || is != b && (back || p != "/attributes") {
				t.Errorf("%v: %s is another", back, p)
			}
		}
		if how != fixClear {
			t.Errorf("%v: it is repaired by %s", back, how)
		}
	}
}

func keysOf(m map[uint32]uint32) (out []uint32) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestCopyNoRoom: where no block is left nothing is copied, and it is said why.
func TestCopyNoRoom(t *testing.T) {
	l := newLab(t, "")
	x, y := l.at["attributes"], l.at["kept"]
	y.editInode(func(n nodeBlock) { n.putWord(0, x.pages[0]) })
	l.forget(warmData)
	l.alterPack(func(c checkpoint) { c.put64(cpUserBlocks, c.validBlocks()) })
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || res.Unproven != nil || !res.Left(vol.SevError) || !slices.Contains(slugs(res), "addr-twice") {
		t.Fatalf("%v, %q", err, found(res))
	}
	again := checked(t, txn)
	if !slices.Contains(slugs(again), "addr-twice") {
		t.Errorf("then there is %q", found(again))
	}
}

// TestNodeIsNoDirectory: a node that a directory leads to as one of its blocks is not
// mended as if it had entries.
func TestNodeIsNoDirectory(t *testing.T) {
	l := newLab(t, "")
	want, err := treeFiles(l.d)
	l.must(err)
	x := l.at["direct"].nodes[1]
	l.edit(x.addr, func(b []byte) { // pointers that look like entries
		d := newDentryBlock(b)
		for i := range 8 {
			d.setUsed(i)
		}
	})
	dir := l.at["many"]
	dir.editInode(func(n nodeBlock) { n.putWord(int(slices.Max(keysOf(dir.pages)))+1, x.addr) })
	before := l.read(x.addr)
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, func(f *vol.Finding) int {
		if strings.HasPrefix(f.Slug, "dentry") || f.Slug == "addr-twice" {
			return 0
		}
		return -1
	}, nil)
	if err != nil || !slices.Contains(slugs(res), "addr-twice") {
		t.Fatalf("%v, %q", err, found(res))
	}
	after, err := readBlock(txn, l.g, x.addr)
	l.must(err)
	if !bytes.Equal(after, before) {
		t.Errorf("the node is another: %q", found(res))
	}
	got, err := treeFiles(txn)
	l.must(err)
	for p := range want {
		if _, ok := got[p]; !ok && strings.HasPrefix(p, "/many/") {
			t.Errorf("%s is lost", p)
		}
	}
}
