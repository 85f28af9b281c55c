package dev_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// changes are commits that touch everything a commit can meet: several epochs,
// pages that change in two of them, data over holes and holes over data, zeros,
// pages that stay the same, the ends of the image.
func changes(o dev.CommitOptions) func(dev.Device, dev.Journal) error {
	return func(d dev.Device, j dev.Journal) error {
		txn := dev.Begin(d)
		defer txn.Close()
		size := d.Size()
		same := make([]byte, 8192)
		if _, err := d.ReadAt(same, 8192); err != nil {
			return err
		}
		rnd := rand.New(rand.NewPCG(9, 9))
		big := make([]byte, size/4)
		fill(big, rnd)
		_, err := txn.WriteAt(same, 8192)
		_, err2 := txn.WriteAt(big, size/3)
		err = errors.Join(err, err2,
			write(txn, 100, 30), write(txn, 40000, 5),
			txn.Zero(dev.Range{Off: size/2 + 300, Len: size / 8}), txn.Sync(),
			write(txn, 1000, 20), write(txn, 66000, 10000), txn.Sync(),
			txn.Zero(dev.Range{Off: size - 70000, Len: 70000}), write(txn, size-9, 9), txn.Sync(),
			write(txn, 100, 31))
		if err != nil {
			return err
		}
		o := o
		o.Undo = j
		o.Label = "test"
		return commitWith(txn, o)
	}
}

func imageForChanges() dev.Device { return speckled(600_000, 7) }

func TestCommitCrash(t *testing.T) {
	for name, o := range map[string]dev.CommitOptions{"remove": {}, "keep": {Keep: true}} {
		t.Run(name, func(t *testing.T) {
			devtest.Matrix(t, devtest.Case{Image: imageForChanges, Change: changes(o)})
		})
	}
}

func TestCommitFault(t *testing.T) {
	for name, o := range map[string]dev.CommitOptions{"remove": {}, "keep": {Keep: true}} {
		t.Run(name, func(t *testing.T) {
			devtest.FaultMatrix(t, devtest.Case{Image: imageForChanges, Change: changes(o)})
		})
	}
}

// TestCommitNestedCrash commits two inner transactions into an outer one.
func TestCommitNestedCrash(t *testing.T) {
	change := func(d dev.Device, j dev.Journal) error {
		outer := dev.Begin(d)
		defer outer.Close()
		part, err := dev.Section(outer, dev.Range{Off: 512, Len: 500_000})
		if err != nil {
			return err
		}
		for range 2 {
			if err := changes(dev.CommitOptions{})(part, nil); err != nil {
				return err
			}
		}
		return commitWith(outer, dev.CommitOptions{Undo: j})
	}
	c := devtest.Case{Image: imageForChanges, Change: change, Max: 60}
	devtest.Matrix(t, c)
	devtest.FaultMatrix(t, c)
}

// TestCommitManyPages has more writes than a Matrix tries, in many epochs.
func TestCommitManyPages(t *testing.T) {
	change := func(d dev.Device, j dev.Journal) error {
		txn := dev.Begin(d)
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range 250 {
			if err := write(txn, rnd.Int64N(d.Size()-4), 4); err != nil {
				return err
			}
			if i%9 == 0 {
				_ = txn.Sync()
			}
		}
		return commitWith(txn, dev.CommitOptions{Undo: j})
	}
	image := func() dev.Device {
		m := dev.NewMem(4 << 20)
		must(t, write(m, 1<<20, 2<<20))
		return m
	}
	devtest.Matrix(t, devtest.Case{Image: image, Change: change, Max: 40})
	devtest.FaultMatrix(t, devtest.Case{Image: image, Change: change, Max: 40})
}

// TestUndoFinished takes a kept commit back, with the power cut everywhere.
func TestUndoFinished(t *testing.T) {
	image := imageForChanges()
	w := devtest.NewWorld(image)
	must(t, changes(dev.CommitOptions{Keep: true})(w.Device(), w.Journal()))
	info, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device())
	if err != nil || info.State != dev.UndoFinished || info.Label != "test" || info.Blocks == 0 || info.Bytes == 0 {
		t.Fatalf("%+v, %v", info, err)
	}
	for cut := range 10_000 {
		for _, s := range []devtest.Survival{devtest.None(), devtest.All(), devtest.Prefix(), devtest.Random(uint64(cut))} {
			run := w.After(devtest.All())
			run.CutAt(cut)
			_, err := dev.ApplyUndo(context.Background(), run.Journal(), run.Device())
			if err == nil {
				equal(t, run.Device(), image)
				if run.HasLog() {
					t.Error("the log is still there")
				}
				again := run.After(devtest.None()) // the removal is lost
				info, err := dev.InspectUndo(context.Background(), again.Journal(), again.Device())
				if err != nil || info.State != dev.UndoIncomplete {
					t.Errorf("the log that came back: %+v, %v", info, err)
				}
				return
			}
			after := run.After(s)
			_, err = dev.ApplyUndo(context.Background(), after.Journal(), after.Device())
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("cut %d, %v: %v", cut, s, err)
			}
			equal(t, after.Device(), image)
		}
	}
}

func equal(t testing.TB, got, want dev.Device) {
	t.Helper()
	if d, err := devtest.Diff(got, want); err != nil || d.Len > 0 {
		t.Fatalf("images differ at %v (%v)", d, err)
	}
}

// kept is a machine whose image was changed by a commit that kept its log.
func kept(t testing.TB) *devtest.World {
	t.Helper()
	w := devtest.NewWorld(imageForChanges())
	must(t, changes(dev.CommitOptions{Keep: true})(w.Device(), w.Journal()))
	return w
}

// cutMidway is a machine whose power went while the image was written.
func cutMidway(t testing.TB) *devtest.World {
	t.Helper()
	w := devtest.NewWorld(imageForChanges())
	ops := func() []devtest.Op {
		w := devtest.NewWorld(imageForChanges())
		must(t, changes(dev.CommitOptions{})(w.Device(), w.Journal()))
		return w.Ops()
	}()
	last := 0
	for i, o := range ops {
		if o.Kind == devtest.Write {
			last = i
		}
	}
	w.CutAt(last)
	if err := changes(dev.CommitOptions{})(w.Device(), w.Journal()); err == nil {
		t.Fatal("no error at the power cut")
	}
	return w.After(devtest.All())
}

func TestUndoRefuses(t *testing.T) {
	flip := func(t *testing.T, w *devtest.World, off int64) {
		lf, err := w.Journal().Open()
		must(t, err)
		b := make([]byte, 1)
		_, err = lf.ReadAt(b, off)
		must(t, err)
		b[0] ^= 0x40
		_, err = lf.WriteAt(b, off)
		must(t, err)
	}
	truncate := func(t *testing.T, w *devtest.World, by int64) {
		lf, err := w.Journal().Open()
		must(t, err)
		size, err := lf.Size()
		must(t, err, lf.Truncate(size-by))
	}
	tests := []struct {
		name  string
		world func(testing.TB) *devtest.World
		spoil func(*testing.T, *devtest.World)
		want  dev.UndoState
	}{
		{"kept", kept, func(*testing.T, *devtest.World) {}, dev.UndoFinished},
		{"cut", cutMidway, func(*testing.T, *devtest.World) {}, dev.UndoArmed},
		{"magic", kept, func(t *testing.T, w *devtest.World) { flip(t, w, 0) }, dev.UndoDamaged},
		{"version", cutMidway, func(t *testing.T, w *devtest.World) { flip(t, w, 8) }, dev.UndoDamaged},
		{"size in header", kept, func(t *testing.T, w *devtest.World) { flip(t, w, 17) }, dev.UndoDamaged},
		{"label", kept, func(t *testing.T, w *devtest.World) { flip(t, w, 81) }, dev.UndoDamaged},
		{"mark", kept, func(t *testing.T, w *devtest.World) { flip(t, w, 512) }, dev.UndoDamaged},
		{"mark of none", cutMidway, func(t *testing.T, w *devtest.World) { flip(t, w, 900) }, dev.UndoDamaged},
		{"record", cutMidway, func(t *testing.T, w *devtest.World) { flip(t, w, 4096+9) }, dev.UndoDamaged},
		{"payload", cutMidway, func(t *testing.T, w *devtest.World) { flip(t, w, 4096+32+100) }, dev.UndoDamaged},
		{"last byte missing", kept, func(t *testing.T, w *devtest.World) { truncate(t, w, 1) }, dev.UndoDamaged},
		{"much missing", cutMidway, func(t *testing.T, w *devtest.World) { truncate(t, w, 90000) }, dev.UndoDamaged},
		{"changed since", kept, func(t *testing.T, w *devtest.World) {
			must(t, write(w.Device(), 66100, 1), write(w.Device(), 66100, 1), w.Device().Zero(dev.Range{Off: 66100, Len: 3}))
		}, dev.UndoStale},
		{"another image", kept, func(t *testing.T, w *devtest.World) { must(t, write(w.Device(), 20000, 9)) }, dev.UndoForeign},
		{"another image, armed", cutMidway, func(t *testing.T, w *devtest.World) { must(t, write(w.Device(), 20000, 9)) }, dev.UndoForeign},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.world(t)
			tt.spoil(t, w)
			before := contents(t, w.Device())
			info, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device())
			if err != nil || info.State != tt.want {
				t.Fatalf("inspect: %+v, %v; want state %v", info, err, tt.want)
			}
			if !bytes.Equal(before, contents(t, w.Device())) {
				t.Fatal("inspecting changed the image")
			}
			info, err = dev.ApplyUndo(context.Background(), w.Journal(), w.Device())
			if !errors.Is(err, tt.want.Err()) || info.State != tt.want {
				t.Fatalf("apply: %+v, %v", info, err)
			}
			if tt.want.Err() == nil {
				equal(t, w.Device(), imageForChanges())
				return
			}
			if !bytes.Equal(before, contents(t, w.Device())) {
				t.Fatal("a refused log changed the image")
			}
			if !w.HasLog() {
				t.Fatal("the refused log is gone")
			}
		})
	}
}

func TestUndoOtherSize(t *testing.T) {
	w := cutMidway(t)
	other := speckled(600_512, 7)
	info, err := dev.InspectUndo(context.Background(), w.Journal(), other)
	if err != nil || info.State != dev.UndoForeign {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestUndoStates(t *testing.T) {
	for s, want := range map[dev.UndoState]string{dev.UndoNone: "none", dev.UndoArmed: "armed", dev.UndoStale: "stale", -1: "unknown", 7: "unknown"} {
		if s.String() != want {
			t.Errorf("%d is %q", int(s), s)
		}
	}
}

func TestUndoNone(t *testing.T) {
	w := devtest.NewWorld(imageForChanges())
	if info, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device()); err != nil || info.State != dev.UndoNone {
		t.Errorf("inspect: %+v, %v", info, err)
	}
	if _, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("apply: %v", err)
	}
}

// TestUndoUnread has a part of the image that cannot be read. Whose the log is can be
// told unless that is where the image begins and the log does not have it; what was
// written there since cannot, so nothing is put back.
func TestUndoUnread(t *testing.T) {
	eio := errors.New("input/output error")
	for off, want := range map[int64]dev.UndoState{500: dev.UndoFinished, 20_500: dev.UndoNone, 200_500: dev.UndoFinished} {
		w := kept(t)
		f := devtest.NewFault(w.Device())
		f.Where(func(o devtest.Op) bool { return o.Kind == devtest.Read && o.Off <= off && off < o.End() }, eio)
		if info, err := dev.InspectUndo(context.Background(), w.Journal(), f); !errors.Is(err, eio) || !errors.Is(err, dev.ErrUndoUnread) || info.State != want {
			t.Errorf("byte %d: inspect: %+v, %v", off, info, err)
		}
		before := len(w.Ops())
		if _, err := dev.ApplyUndo(context.Background(), w.Journal(), f); !errors.Is(err, eio) || len(w.Ops()) != before || !w.HasLog() ||
			!strings.Contains(err.Error(), fmt.Sprintf("at byte %d (512 bytes)", off/512*512)) {
			t.Errorf("byte %d: apply: %v, %v", off, err, w.Ops()[before:])
		}
	}
}

// TestInspectCancelled: a log may be as large as the image, so looking at one can be
// stopped.
func TestInspectCancelled(t *testing.T) {
	w := cutMidway(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if info, err := dev.InspectUndo(ctx, w.Journal(), w.Device()); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", info, err)
	}
}

// cancelling is a device that cancels whoever writes to it, and writes all the same.
type cancelling struct {
	dev.Device
	cancel func()
}

func (d cancelling) WriteAt(p []byte, off int64) (int, error) {
	d.cancel()
	return d.Device.WriteAt(p, off)
}

func (d cancelling) Zero(r dev.Range) error {
	d.cancel()
	return d.Device.Zero(r)
}

// TestUndoCancelled: a log that is being applied is applied to its end, for an image half
// restored is of no use; before that nothing changes.
func TestUndoCancelled(t *testing.T) {
	keptWorld := func(t testing.TB) *devtest.World {
		t.Helper()
		w := devtest.NewWorld(imageForChanges())
		must(t, changes(dev.CommitOptions{Keep: true})(w.Device(), w.Journal()))
		return w
	}
	for name, world := range map[string]func(testing.TB) *devtest.World{"armed": cutMidway, "kept": keptWorld} {
		w := world(t)
		before := contents(t, w.Device())
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := dev.ApplyUndo(ctx, w.Journal(), w.Device()); !errors.Is(err, context.Canceled) || !w.HasLog() {
			t.Errorf("%s: cancelled before it began: %v", name, err)
		}
		if !bytes.Equal(before, contents(t, w.Device())) {
			t.Errorf("%s: cancelled before it began, it changed the image", name)
		}
		ctx, cancel = context.WithCancel(context.Background())
		if _, err := dev.ApplyUndo(ctx, w.Journal(), cancelling{w.Device(), cancel}); err != nil || ctx.Err() == nil || w.HasLog() {
			t.Errorf("%s: cancelled while it writes: %v, log %v", name, err, w.HasLog())
		}
		equal(t, w.Device(), imageForChanges())
	}
}

func TestUndoReadOnly(t *testing.T) {
	w := cutMidway(t)
	image := &ram{b: contents(t, w.Device()), readOnly: true}
	if info, err := dev.InspectUndo(context.Background(), w.Journal(), image); err != nil || info.State != dev.UndoArmed {
		t.Errorf("inspect: %+v, %v", info, err)
	}
	if _, err := dev.ApplyUndo(context.Background(), w.Journal(), image); !errors.Is(err, dev.ErrReadOnly) {
		t.Errorf("apply: %v", err)
	}
}

func TestCommitLogExists(t *testing.T) {
	w := cutMidway(t)
	before := contents(t, w.Device())
	err := changes(dev.CommitOptions{})(w.Device(), w.Journal())
	if !errors.Is(err, dev.ErrUndoExists) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("commit: %v", err)
	}
	if !bytes.Equal(before, contents(t, w.Device())) {
		t.Error("the image was changed")
	}
	if !w.HasLog() {
		t.Error("the log is gone")
	}
}

// TestCommitCancelled cancels at every step of the progress.
func TestCommitCancelled(t *testing.T) {
	image := imageForChanges()
	for step := 1; step < 1000; step++ {
		ctx, cancel := context.WithCancel(context.Background())
		w := devtest.NewWorld(image)
		txn := dev.Begin(w.Device())
		must(t, write(txn, 0, 5000), txn.Zero(dev.Range{Off: 100_000, Len: 200_000}), txn.Sync(), write(txn, 400_000, 100_000))
		calls := 0
		_, err := txn.Commit(ctx, dev.CommitOptions{Undo: w.Journal(), Progress: func(done, total int64) {
			if calls++; calls == step {
				cancel()
			}
			if done < 0 || done > total {
				t.Errorf("progress %d of %d", done, total)
			}
		}})
		cancel()
		if w.HasLog() {
			t.Errorf("step %d: a log is left", step)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || !txn.Dirty() {
			t.Errorf("step %d: %v", step, err)
		}
		equal(t, w.Device(), image)
		must(t, commitWith(txn, dev.CommitOptions{Undo: w.Journal()})) // it can be tried again
	}
}

// TestCommitNotRestored has a sector that reads but can not be written.
func TestCommitBadSector(t *testing.T) {
	for name, torn := range map[string]bool{"unchanged": false, "torn": true} {
		t.Run(name, func(t *testing.T) {
			image := imageForChanges()
			w := devtest.NewWorld(image)
			f := devtest.NewFault(w.Device())
			eio := errors.New("input/output error")
			f.Where(func(o devtest.Op) bool {
				bad := (o.Kind == devtest.Write || o.Kind == devtest.Zero) && o.Off <= 67000 && 67000 < o.End()
				if bad && torn {
					_ = write(w.Device(), 67000, 1)
				}
				return bad
			}, eio)
			err := changes(dev.CommitOptions{})(f, f.Journal(w.Journal()))
			if !errors.Is(err, eio) || errors.Is(err, dev.ErrNotRestored) != torn || w.HasLog() != torn {
				t.Fatalf("%v", err)
			}
			if torn { // and now on another disk: the sector is neither old nor new
				if _, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device()); !errors.Is(err, dev.ErrUndoStale) {
					t.Errorf("%v", err)
				}
				_, err := dev.ForceUndo(context.Background(), w.Journal(), w.Device())
				must(t, err)
			}
			equal(t, w.Device(), image)
		})
	}
}

// TestCommitWritesWhatDiffers counts what a commit reads, logs and writes.
func TestCommitWritesWhatDiffers(t *testing.T) {
	const size = 64 << 20
	tests := []struct {
		name  string
		stage func(*dev.Txn) error
		want  dev.CommitStats
		read  int64 // of the base, the first 64 KiB for the identity not counted
	}{
		{"over a hole", func(x *dev.Txn) error { return write(x, 4<<20, 32<<20) }, dev.CommitStats{BytesWritten: 32 << 20, UndoBytes: 4096 + 32 + 32<<20/512*4}, 0},
		{"zeros over a hole", func(x *dev.Txn) error { return x.Zero(dev.Range{Off: 4 << 20, Len: 60 << 20}) }, dev.CommitStats{}, 0},
		{"zero pages over a hole", func(x *dev.Txn) error { return dev.WriteZeros(x, dev.Range{Off: 4 << 20, Len: 60 << 20}) }, dev.CommitStats{}, 0},
		{"the same", func(x *dev.Txn) error { return write(x, 1<<20, 1<<20) }, dev.CommitStats{}, 1 << 20},
		{"zeros over data", func(x *dev.Txn) error { return x.Zero(dev.Range{Len: size}) }, dev.CommitStats{BytesZeroed: 1 << 20, UndoBytes: 4096 + 32 + 1<<20 + 1<<20/512*4}, 1 << 20},
		{"a byte", func(x *dev.Txn) error { return x.Zero(dev.Range{Off: 1<<20 + 9, Len: 1}) }, dev.CommitStats{BytesWritten: 4096, UndoBytes: 4096 + 32 + 4096 + 32}, 8192},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := dev.NewMem(size)
			must(t, write(m, 1<<20, 1<<20))
			trace := devtest.NewTrace(m)
			txn := dev.Begin(trace)
			must(t, tt.stage(txn))
			stats, err := txn.Commit(context.Background(), dev.CommitOptions{Undo: devtest.NewWorld(m).Journal()})
			if err != nil || stats != tt.want {
				t.Errorf("%+v, %v, want %+v", stats, err, tt.want)
			}
			if got := trace.Counts().Bytes[devtest.Read] - 64<<10; got != tt.read {
				t.Errorf("%d bytes read, want %d", got, tt.read)
			}
		})
	}
}

// TestUndoLargeRecords takes back what needs several records in a row.
func TestUndoLargeRecords(t *testing.T) {
	image := dev.NewMem(8 << 20)
	for off := int64(0); off < image.Size(); off += 3 << 20 {
		must(t, write(image, off, 2<<20))
	}
	w := devtest.NewWorld(image)
	txn := dev.Begin(w.Device())
	p := bytes.Repeat([]byte("new"), 2<<20)
	_, err := txn.WriteAt(p, 12_345)
	must(t, err, commitWith(txn, dev.CommitOptions{Undo: w.Journal(), Keep: true}))
	info, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device())
	if err != nil || info.Blocks < 6 {
		t.Errorf("%+v, %v", info, err)
	}
	equal(t, w.Device(), image)
}

// TestCommitDiscardsLog fails to sync a log that is complete, gets rid of it,
// and loses the removal with the power.
func TestCommitDiscardsLog(t *testing.T) {
	w := devtest.NewWorld(imageForChanges())
	f := devtest.NewFault(w.Device())
	f.Once(devtest.LogSync, 1, devtest.ErrInjected)
	if err := changes(dev.CommitOptions{})(f, f.Journal(w.Journal())); !errors.Is(err, devtest.ErrInjected) || w.HasLog() {
		t.Fatalf("%v", err)
	}
	back := 0
	for seed := range uint64(40) {
		after := w.After(devtest.Random(seed))
		info, err := dev.InspectUndo(context.Background(), after.Journal(), after.Device())
		switch {
		case err != nil || info.State != dev.UndoIncomplete && info.State != dev.UndoNone:
			t.Fatalf("the log that came back: %+v, %v", info, err)
		case info.State == dev.UndoIncomplete:
			back++
		}
	}
	if back == 0 {
		t.Error("the log never came back")
	}
}

func TestFileJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.fatkit-undo")
	image := imageForChanges()
	w := devtest.NewWorld(image)
	j := dev.FileJournal(path)
	if j.Name() != path {
		t.Errorf("name %q", j.Name())
	}
	must(t, changes(dev.CommitOptions{})(w.Device(), j))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the log is left: %v", err)
	}
	w = devtest.NewWorld(image)
	must(t, changes(dev.CommitOptions{Keep: true})(w.Device(), j))
	if err := changes(dev.CommitOptions{})(w.Device(), j); !errors.Is(err, dev.ErrUndoExists) {
		t.Errorf("commit over a log: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	info, err := dev.ApplyUndo(context.Background(), j, w.Device())
	if err != nil || info.State != dev.UndoFinished {
		t.Errorf("%+v, %v", info, err)
	}
	equal(t, w.Device(), image)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is left: %v", err)
	}
}

func TestUndoLabel(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for label, want := range map[string]string{"": "", "fatkit check -y": "fatkit check -y", long: long[:256], "x" + long: "x" + long[:254], "a\xffb": "a?b"} {
		m := dev.NewMem(1 << 20)
		txn := dev.Begin(m)
		must(t, write(txn, 0, 1))
		j := devtest.NewWorld(m).Journal()
		must(t, commitWith(txn, dev.CommitOptions{Undo: j, Keep: true, Label: label}))
		if info, err := dev.InspectUndo(context.Background(), j, m); err != nil || info.Label != want {
			t.Errorf("%+v, %v", info, err)
		}
	}
}
