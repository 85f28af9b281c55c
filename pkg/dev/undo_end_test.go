package dev_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// TestCommitEndFails has the sync fail with which a commit ends. What it has written
// of the log by then, zeros over the header or the mark, is what reading gives, and
// must not keep the commit from being taken back, wherever the power is cut then.
func TestCommitEndFails(t *testing.T) {
	image := imageForChanges()
	for name, o := range map[string]dev.CommitOptions{"remove": {}, "keep": {Keep: true}} {
		t.Run(name, func(t *testing.T) {
			w := devtest.NewWorld(image)
			must(t, changes(o)(w.Device(), w.Journal()))
			done := w.Device()

			w = devtest.NewWorld(image)
			if err := failingEnd(w, o, false); !errors.Is(err, devtest.ErrInjected) || errors.Is(err, dev.ErrNotRestored) || w.HasLog() {
				t.Fatalf("%v, is the log there: %v", err, w.HasLog())
			}
			equal(t, w.Device(), image)
			ops := w.Ops()
			for cut := range ops {
				w := devtest.NewWorld(image)
				w.CutAt(cut)
				if err := failingEnd(w, o, false); err == nil {
					t.Fatalf("cut %d: no error", cut)
				}
				for seed := range uint64(8) {
					beforeOrAfter(t, fmt.Sprintf("power cut at operation %d (%v), seed %d", cut, ops[cut], seed),
						w.After(devtest.Random(seed)), image, done)
				}
			}
		})
	}
}

// TestCommitEndFailsForGood has the log take nothing any more from the sync on with
// which a commit ends. Whichever state of the log is on the disk, it must go with the
// image, which is as after the commit.
func TestCommitEndFailsForGood(t *testing.T) {
	image := imageForChanges()
	for name, o := range map[string]dev.CommitOptions{"remove": {}, "keep": {Keep: true}} {
		t.Run(name, func(t *testing.T) {
			w := devtest.NewWorld(image)
			must(t, changes(o)(w.Device(), w.Journal()))
			done := w.Device()
			w = devtest.NewWorld(image)
			if err := failingEnd(w, o, true); !errors.Is(err, devtest.ErrInjected) || !errors.Is(err, dev.ErrNotRestored) {
				t.Fatal(err)
			}
			for seed := range uint64(20) {
				beforeOrAfter(t, fmt.Sprintf("seed %d", seed), w.After(devtest.Random(seed)), image, done)
			}
		})
	}
}

// failingEnd is a commit the last sync of whose log fails, and with ever all that
// follow.
func failingEnd(w *devtest.World, o dev.CommitOptions, ever bool) error {
	const end = 2 // after those of the records and of the header
	f := devtest.NewFault(w.Device())
	if ever {
		f.From(devtest.LogSync, end, devtest.ErrInjected)
	} else {
		f.Once(devtest.LogSync, end, devtest.ErrInjected)
	}
	return changes(o)(f, f.Journal(w.Journal()))
}

// beforeOrAfter takes back what an armed log calls for, and holds the image against
// what it was before a commit and what the commit makes of it.
func beforeOrAfter(t *testing.T, step string, w *devtest.World, before, after dev.Device) {
	t.Helper()
	info, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device())
	if err == nil && info.State == dev.UndoArmed {
		_, err = dev.ApplyUndo(context.Background(), w.Journal(), w.Device())
	}
	if err != nil || info.State.Err() != nil {
		t.Errorf("%s: the log: %+v, %v", step, info, err)
	}
	old, err := devtest.Diff(w.Device(), before)
	must(t, err)
	now, err := devtest.Diff(w.Device(), after)
	must(t, err)
	if !old.Empty() && !now.Empty() {
		t.Fatalf("%s: the log was %v; bytes %v are not as before, bytes %v not as after", step, info.State, old, now)
	}
}
