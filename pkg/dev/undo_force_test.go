package dev_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// badSector makes operations of these kinds fail that touch byte off, until it is
// written to where healed by that.
func badSector(f *devtest.Fault, off int64, heals bool, kinds ...devtest.Kind) {
	healed := false
	f.Where(func(o devtest.Op) bool {
		if o.Off > off || off >= o.End() {
			return false
		}
		for _, k := range kinds {
			if o.Kind == k && !healed {
				return true
			}
		}
		healed = healed || heals && o.Kind == devtest.Write
		return false
	}, errors.New("input/output error"))
}

// TestUndoForcedUnread has a sector that cannot be read until it is written to, as
// disks have them: with force the old bytes are written over it, wherever it is, of a
// run that was finished and of one that was cut short.
func TestUndoForcedUnread(t *testing.T) {
	for name, world := range map[string]func(testing.TB) *devtest.World{"kept": kept, "cut": cutMidway} {
		for off, unread := range map[int64]int64{500: 512, 20_500: 0, 200_500: 512} {
			w := world(t)
			f := devtest.NewFault(w.Device())
			badSector(f, off, true, devtest.Read)
			if _, err := dev.ApplyUndo(context.Background(), w.Journal(), f); !errors.Is(err, dev.ErrUndoUnread) || !w.HasLog() {
				t.Errorf("%s, byte %d: without force: %v", name, off, err)
			}
			info, err := dev.ForceUndo(context.Background(), w.Journal(), f)
			if err != nil || info.Unread != unread || w.HasLog() {
				t.Errorf("%s, byte %d: %+v, %v", name, off, info, err)
			}
			equal(t, w.Device(), imageForChanges())
		}
	}
}

// TestUndoForcedForeign: that a sector cannot be read does not make the log of another
// image, or of one that was changed since, one to trust where it is the image's
// beginning, which the log lacks.
func TestUndoForcedForeign(t *testing.T) {
	w := kept(t)
	must(t, write(w.Device(), 200_000, 1)) // where the run wrote, too
	before := len(w.Ops())
	f := devtest.NewFault(w.Device())
	badSector(f, 20_500, false, devtest.Read)
	if info, err := dev.ForceUndo(context.Background(), w.Journal(), f); !errors.Is(err, dev.ErrUndoUnread) || len(w.Ops()) != before {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestUndoForcedUnwritable has a sector that can neither be read nor written: all else
// is restored, the error says what is not, and the log stays.
func TestUndoForcedUnwritable(t *testing.T) {
	w := kept(t)
	f := devtest.NewFault(w.Device())
	bad := int64(221_184) // of the first sector from there on with old data, which the run wrote over
	for old := make([]byte, 512); dev.AllZero(old); {
		bad += 512
		_, err := imageForChanges().ReadAt(old, bad)
		must(t, err)
	}
	badSector(f, bad, false, devtest.Read, devtest.Write)
	info, err := dev.ForceUndo(context.Background(), w.Journal(), f)
	if err == nil || !strings.Contains(err.Error(), "all is restored but 512 bytes") || info.Unread != 512 || !w.HasLog() {
		t.Fatalf("%+v, %v", info, err)
	}
	d, err := devtest.Diff(w.Device(), imageForChanges())
	must(t, err)
	if d.Off < bad || d.End() > bad+512 {
		t.Errorf("not as before: %v", d)
	}
	// And when it can be written again, what the log holds is put back as it is armed.
	if info, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device()); err != nil || info.State != dev.UndoArmed {
		t.Errorf("%+v, %v", info, err)
	}
	equal(t, w.Device(), imageForChanges())
}
