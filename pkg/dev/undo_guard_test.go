package dev_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// guarded is a machine after a commit of pages 20 and 30 that kept its log, which
// guards pages 19 to 31 and, in two ranges that overlap, 40 to 42.
func guarded(t *testing.T, image dev.Device) *devtest.World {
	t.Helper()
	const page = 4096
	w := devtest.NewWorld(image)
	txn := dev.Begin(w.Device())
	must(t, write(txn, 20*page, page), write(txn, 30*page, 100), commitWith(txn, dev.CommitOptions{
		Undo: w.Journal(), Keep: true,
		Guard: []dev.Range{{Off: 41 * page, Len: 2 * page}, {Off: 19 * page, Len: 13 * page}, {Off: 40 * page, Len: 2 * page}, {Off: 1 << 40, Len: 1}},
	}))
	return w
}

// changedAt is w with another byte at off.
func changedAt(t *testing.T, w *devtest.World, off int64) *devtest.World {
	t.Helper()
	w = w.After(devtest.All())
	b := []byte{0}
	_, err := w.Device().ReadAt(b, off)
	must(t, err)
	b[0]++
	_, err = w.Device().WriteAt(b, off)
	must(t, err)
	return w
}

// TestUndoGuard: what is changed in a range that a log guards makes it stale, wherever
// in it, what is changed beside it does not; and what the log guards is not restored.
func TestUndoGuard(t *testing.T) {
	image := speckled(300_000, 3)
	w := guarded(t, image)
	for page := int64(16); page < 50; page++ { // those before tell whose a log is
		for _, off := range []int64{page * 4096, page*4096 + 4095} {
			changed, want := changedAt(t, w, off), dev.UndoFinished
			if page >= 19 && page < 32 || page >= 40 && page < 43 {
				want = dev.UndoStale
			}
			if info, err := dev.InspectUndo(context.Background(), changed.Journal(), changed.Device()); err != nil || info.State != want {
				t.Errorf("byte %d: %+v, %v, want %v", off, info, err, want)
			}
		}
	}
	info, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device())
	if err != nil || info.Blocks != 2 || info.Bytes != 2*4096 {
		t.Errorf("%+v, %v", info, err)
	}
	equal(t, w.Device(), image)
}

// TestUndoGuardCrash cuts the power at every write of a commit that guards.
func TestUndoGuardCrash(t *testing.T) {
	devtest.Matrix(t, devtest.Case{Image: imageForChanges, Change: changes(dev.CommitOptions{Guard: []dev.Range{{Len: 600_000}}})})
}

// TestUndoGuardUnread: what cannot be read when the commit is made is not guarded, and
// what cannot be read later keeps the log from being applied, but with force.
func TestUndoGuardUnread(t *testing.T) {
	image := speckled(300_000, 3)
	w := guarded(t, image)
	f := devtest.NewFault(w.Device())
	badSector(f, 41*4096, false, devtest.Read)
	if _, err := dev.ApplyUndo(context.Background(), w.Journal(), f); !errors.Is(err, dev.ErrUndoUnread) {
		t.Errorf("%v", err)
	}
	if info, err := dev.ForceUndo(context.Background(), w.Journal(), f); err != nil || info.Unread != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	equal(t, w.Device(), image)

	w = devtest.NewWorld(image)
	f = devtest.NewFault(w.Device())
	badSector(f, 41*4096, false, devtest.Read)
	txn := dev.Begin(f)
	must(t, write(txn, 40_960, 1), commitWith(txn, dev.CommitOptions{Undo: w.Journal(), Keep: true, Guard: []dev.Range{{Off: 41 * 4096, Len: 512}}}))
	if info, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device()); err != nil || info.State != dev.UndoFinished {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestUndoGuardRandom holds many ranges of pages against a naive set of bytes.
func TestUndoGuardRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 30 {
		image := speckled(200_000, rnd.Uint64())
		w := devtest.NewWorld(image)
		txn := dev.Begin(w.Device())
		written, covered := make([]bool, 200_000), make([]bool, 200_000)
		o := dev.CommitOptions{Undo: w.Journal(), Keep: true}
		for range 5 {
			page := 16 + rnd.Int64N(30)
			must(t, write(txn, page*4096, 4096))
			for i := range int64(4096) {
				written[page*4096+i] = true
			}
			r := dev.Range{Off: 65_536 + rnd.Int64N(130_000), Len: rnd.Int64N(30_000)}
			o.Guard = append(o.Guard, r)
			for i := r.Off; i < min(r.End(), 200_000); i++ {
				covered[i] = true
			}
		}
		must(t, commitWith(txn, o))
		for range 60 {
			off := 65_536 + rnd.Int64N(200_000-65_536)
			changed := changedAt(t, w, off)
			info, err := dev.InspectUndo(context.Background(), changed.Journal(), changed.Device())
			if stale := info.State == dev.UndoStale; err != nil || stale != (written[off] || covered[off]) {
				t.Fatalf("byte %d, written %v, guarded %v: %v, %v", off, written[off], covered[off], info.State, err)
			}
		}
	}
}
