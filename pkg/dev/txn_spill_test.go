package dev_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// TestTxnSpill stages far more than may stay in memory.
func TestTxnSpill(t *testing.T) {
	const size = 24 << 20
	rnd := rand.New(rand.NewPCG(3, 4))
	base := &ram{b: make([]byte, size)}
	txn := dev.Begin(base)
	txn.SpillAfter(2 << 20)
	model := make([]byte, size)
	for range 1500 {
		p := make([]byte, 1+rnd.IntN(128<<10))
		off := rnd.IntN(size - len(p))
		if rnd.IntN(8) == 0 {
			if err := txn.Zero(dev.Range{Off: int64(off), Len: int64(len(p))}); err != nil {
				t.Fatal(err)
			}
			clear(model[off : off+len(p)])
			continue
		}
		fill(p[:min(len(p), 64)], rnd)
		if _, err := txn.WriteAt(p, int64(off)); err != nil {
			t.Fatal(err)
		}
		copy(model[off:], p)
	}
	if !bytes.Equal(contents(t, txn), model) {
		t.Fatal("the staged state differs")
	}
	if !bytes.Equal(base.b, make([]byte, size)) {
		t.Fatal("the base was written before the commit")
	}
	if _, err := txn.Commit(context.Background(), dev.CommitOptions{Undo: devtest.NewWorld(base).Journal()}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(base.b, model) {
		t.Fatal("the committed state differs")
	}
}

func TestTxnSpillFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	t.Setenv("TMP", missing)
	txn := dev.Begin(dev.NewMem(8 << 20))
	txn.SpillAfter(2 << 20)
	must(t, write(txn, 0, 2<<20))
	want := contents(t, txn)
	var e *dev.Error
	if err := write(txn, 2<<20, 4096); !errors.As(err, &e) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(contents(t, txn), want) {
		t.Error("the write that failed has changed something")
	}
	txn.Rollback()
	must(t, write(txn, 0, 2<<20))
}

// TestTxnSpillLeavesNothing looks for the temporary file.
func TestTxnSpillLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	txn := dev.Begin(dev.NewMem(8 << 20))
	txn.SpillAfter(1 << 20)
	must(t, write(txn, 0, 8<<20), txn.Close())
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
