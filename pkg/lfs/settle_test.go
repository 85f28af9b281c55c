package lfs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// readSettled is readTree of what a mount would show.
func readSettled(ctx context.Context, t testing.TB, d dev.Device) {
	t.Helper()
	txn := dev.Begin(d)
	defer txn.Rollback()
	note, err := settleLog(ctx, txn)
	switch {
	case err != nil:
		return
	case (note != "") != txn.Dirty():
		t.Errorf("it says %q, and something is staged: %v", note, txn.Dirty())
	case note != "" && readTree(ctx, t, txn) == 0 && readTree(ctx, t, d) > 0:
		t.Error("nothing can be read any more once the log is settled")
	}
}

// settled reads a file of a volume as a mount would show it.
func settled(t *testing.T, d dev.Device, path string) []byte {
	t.Helper()
	txn := dev.Begin(d)
	defer txn.Rollback()
	if _, err := settleLog(t.Context(), txn); err != nil {
		t.Fatal(err)
	}
	return treeContents(t, txn, path)
}

// treeContents reads a file through a tree.
func treeContents(t *testing.T, d dev.Device, path string) []byte {
	t.Helper()
	tr, err := read(t.Context(), d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := vol.Resolve(tr, path)
	if err != nil {
		t.Fatal(err)
	}
	return bytesOf(t, tr, n)
}

func bytesOf(t *testing.T, tr vol.Tree, n *vol.Node) []byte {
	t.Helper()
	r, err := tr.Contents(n)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n.Size)
	if len(b) > 0 {
		if k, err := r.ReadAt(b, 0); k != len(b) {
			t.Fatalf("%s: %d of %d bytes: %v", n.Path, k, len(b), err)
		}
	}
	return b
}

// TestSettle: what was synced is read once the log is settled, and nothing of the
// volume is written; a volume without a log has nothing to be settled.
func TestSettle(t *testing.T) {
	for _, features := range []string{"", labFeatures} {
		l := newLab(t, features)
		trace := devtest.NewTrace(l.d)
		if note, err := settleLog(t.Context(), dev.Begin(trace)); note != "" || err != nil {
			t.Errorf("%q: without a log: %q, %v", features, note, err)
		}
		page := strings.Repeat("synced..", int(l.g.BlockSize)/8)
		free := l.next[warmData] + 200
		l.write(free, []byte(page))
		l.sync(free, 3)
		off := l.firstOfNode("direct") * l.g.BlockSize
		if got := treeContents(t, l.d, "direct")[off:][:l.g.BlockSize]; string(got) == page {
			t.Errorf("%q: it is there before", features)
		}
		if got := settled(t, trace, "direct")[off:][:l.g.BlockSize]; string(got) != page {
			t.Errorf("%q: the page is %q", features, got[:16])
		}
		for _, o := range trace.Ops() {
			if o.Kind != devtest.Read {
				t.Errorf("%q: %v", features, o)
			}
		}
	}
}

// firstOfNode is the first page that the first node of a file leads to.
func (l *lab) firstOfNode(name string) int64 {
	l.t.Helper()
	w := reader(&loaded{d: l.d, sb: l.sb, g: l.g, s: stateOf(l.t, l.d)})
	h, err := w.open(name, l.at[name].ino)
	l.must(err)
	_, n := h.slots()
	return int64(n)
}

// TestSettleNot: a log that cannot be carried out is an error that says why, and
// what cannot be read at all is left to the reading.
func TestSettleNot(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(l *lab)
		want string // of the error; "" for nothing to settle
	}{
		"address": {func(l *lab) { l.sync(0x7FFFFFFF, 1) }, "leads to block 0x7fffffff"},
		"in use":  {func(l *lab) { l.sync(l.at["plain"].pages[0], 1) }, "which is in use"},
		"loop": {func(l *lab) {
			l.sync(newAddr, 3)
			l.edit(l.next[warmNode]+2, func(b []byte) { nodeBlock(b).put32(len(b)-footerNext, l.next[warmNode]) })
		}, "came before"},
		"ro": {func(l *lab) {
			l.sync(newAddr, 1)
			l.alterSupers(func(b superblock) { b.put32(sbFeatures, b.features()|featReadOnly) })
		}, "feature ro"},
		"unknown": {func(l *lab) { l.sync(newAddr, 1); l.alterSupers(func(b superblock) { b.put32(sbFeatures, 1<<30) }) }, ""},
		"no pack": {func(l *lab) {
			l.sync(newAddr, 1)
			l.edit(l.g.PackBlock(0), func(b []byte) { clear(b) })
			l.edit(l.g.PackBlock(1), func(b []byte) { clear(b) })
		}, ""},
		"disabled": {func(l *lab) { l.sync(newAddr, 1); l.put32(cpFlags, cpUmount|cpDisabled) }, ""},
	} {
		l := newLab(t, "")
		c.do(l)
		txn := dev.Begin(l.d)
		note, err := settleLog(t.Context(), txn)
		if note != "" || c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v; want %q", name, note, err, c.want)
		}
	}
	l := newLab(t, "")
	l.sync(newAddr, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := settleLog(ctx, dev.Begin(l.d)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, it says %v", err)
	}
}

// TestSettleReadErrors: a read that fails while a log is settled is an error, or
// there is nothing to be settled; a panic it never is.
func TestSettleReadErrors(t *testing.T) {
	l := newLab(t, labFeatures)
	l.sync(newAddr, 3)
	trace := devtest.NewTrace(l.d)
	if note, err := settleLog(t.Context(), dev.Begin(trace)); note == "" || err != nil {
		t.Fatal(note, err)
	}
	for nth := range len(trace.Ops()) {
		fault := devtest.NewFault(l.d)
		fault.Once(devtest.Read, nth+1, errBroken)
		txn := dev.Begin(fault)
		if note, err := settleLog(t.Context(), txn); err == nil && note == "" && txn.Dirty() {
			t.Errorf("read %d fails, and something is staged for nothing", nth+1)
		}
		txn.Rollback()
	}
}
