package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// TestUndoOfAFailingDisk: where the image cannot be read an undo says so, with the place
// and what can be done, and does that when it is told to.
func TestUndoOfAFailingDisk(t *testing.T) {
	w := devtest.NewWorld(dev.NewMem(1 << 20))
	txn := dev.Begin(w.Device())
	if _, err := txn.WriteAt([]byte("new"), 300_000); err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Commit(t.Context(), dev.CommitOptions{Undo: w.Journal(), Keep: true}); err != nil {
		t.Fatal(err)
	}
	disk := devtest.NewFault(w.Device())
	disk.Where(func(o devtest.Op) bool { return o.Kind == devtest.Read && o.Off <= 300_000 && 300_000 < o.End() }, errors.New("input/output error"))
	_, err := takeBack(t.Context(), w.Journal(), disk, false)
	if err == nil || !w.HasLog() {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"at byte 299520 (512 bytes)", "input/output error", "undo --force"} {
		if got := explainError(err); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	info, err := takeBack(t.Context(), w.Journal(), disk, true)
	if err != nil || info.Unread != 512 || w.HasLog() {
		t.Errorf("%+v, %v", info, err)
	}
	if d, err := devtest.Diff(w.Device(), dev.NewMem(1<<20)); err != nil || d.Len > 0 {
		t.Errorf("not as before: %v, %v", d, err)
	}
}
