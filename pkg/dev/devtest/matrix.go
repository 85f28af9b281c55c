package devtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Case is a change of an image that must leave it as before or as after,
// whatever happens: see [Matrix] and [FaultMatrix].
type Case struct {
	// Image is what is changed. It is called once, and what it returns only
	// read: every run works on a layer of its own over it.
	Image func() dev.Device
	// Change does it, with an undo log in j. It must do the same each time,
	// and return the error of what it writes.
	Change func(d dev.Device, j dev.Journal) error
	// Verify looks at an image after a failure and after undoing; step says
	// which. Nil: it must be exactly as before or as after.
	Verify func(t testing.TB, step string, got dev.Device)
	// Ignore is what does not matter, when Verify is nil: what free clusters
	// hold is no part of a volume's state.
	Ignore []dev.Range
	// Max is how many points of failure are tried at most: 0 for 200. Which
	// ones is the same each time.
	Max int
}

// run is a Case at work.
type run struct {
	Case
	t            testing.TB
	before, done dev.Device
	ops          []Op // of the run that nothing happened to
}

func start(t testing.TB, c Case) *run {
	t.Helper()
	r := &run{Case: c, t: t, before: c.Image()}
	if r.Max == 0 {
		r.Max = 200
	}
	w := NewWorld(r.before)
	if err := c.Change(w.Device(), w.Journal()); err != nil {
		t.Fatalf("the change fails by itself: %v", err)
	}
	r.done, r.ops = w.Device(), w.Ops()
	if w.undoState(t, "complete") == dev.UndoArmed {
		t.Error("complete: the undo log is still armed")
	}
	// What a change that returned nil has done must survive.
	for _, s := range survivals(0) {
		after := w.After(s)
		step := fmt.Sprintf("complete, power cut then, of the unsynced %v survives", s)
		after.recover(t, step)
		r.verify(step, after.Device(), nil)
	}
	return r
}

// survivals are those that are tried at a cut.
func survivals(cut int) []Survival {
	seed := uint64(cut) * 4
	return []Survival{None(), All(), Even(), Odd(), Prefix(), Random(seed), Random(seed + 1), Random(seed + 2)}
}

// Matrix runs a change, counts what it does to the image and the undo log, and
// runs it again for each of these operations, to cut the power there; each
// time with several ideas of what survives in the caches. Then it does what
// the next start would, apply the log if there is a need to, sometimes with
// another power cut in between, and verifies the image.
func Matrix(t testing.TB, c Case) {
	t.Helper()
	r := start(t, c)
	for _, cut := range sample(r.ops, r.Max) {
		w := NewWorld(r.before)
		w.CutAt(cut)
		err := c.Change(w.Device(), w.Journal())
		for _, s := range survivals(cut) {
			step := fmt.Sprintf("power cut at operation %d of %d (%v), of the unsynced %v survives", cut, len(r.ops), r.ops[cut], s)
			r.reboot(step, w, s, err)
		}
		if t.Failed() {
			return // one step tells more than thousands
		}
	}
}

// reboot is what happens after a power cut of w, whose change returned err.
func (r *run) reboot(step string, w *World, s Survival, err error) {
	r.t.Helper()
	after := w.After(s)
	armed := after.undoState(r.t, step) == dev.UndoArmed
	after.recover(r.t, step)
	r.verify(step, after.Device(), err)
	n := len(after.Ops())
	if !armed || n == 0 {
		return
	}
	again := w.After(s)
	cut := rand.New(rand.NewPCG(uint64(len(w.Ops())), s.seed)).IntN(n)
	again.CutAt(cut)
	step += fmt.Sprintf(", then one at operation %d of %d of the undo", cut, n)
	if _, err := dev.ApplyUndo(context.Background(), again.Journal(), again.Device()); err == nil {
		r.t.Errorf("%s: the undo returns no error", step)
	}
	last := again.After(Random(s.seed))
	last.recover(r.t, step)
	r.verify(step, last.Device(), err)
}

// verify checks an image that was left behind by a change that returned err.
func (r *run) verify(step string, got dev.Device, err error) {
	r.t.Helper()
	if r.Verify != nil {
		r.Verify(r.t, step, got)
		return
	}
	after, e := Diff(got, r.done, r.Ignore...)
	if e != nil {
		r.t.Errorf("%s: %v", step, e)
		return
	}
	if after.Empty() {
		return
	}
	if err == nil {
		r.t.Errorf("%s: the change returned no error, but is undone or torn: bytes %v", step, after)
		return
	}
	before, e := Diff(got, r.before, r.Ignore...)
	if e != nil || !before.Empty() {
		r.t.Errorf("%s: neither as before (bytes %v differ, %v) nor as after (bytes %v differ); the change returned %v",
			step, before, e, after, err)
	}
}

// undoState is that of the machine's undo log, which can not be a bad one.
func (w *World) undoState(t testing.TB, step string) dev.UndoState {
	t.Helper()
	info, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device())
	if err != nil {
		t.Errorf("%s: inspect the undo log: %v", step, err)
	}
	if err := info.State.Err(); err != nil {
		t.Errorf("%s: %v", step, err)
	}
	return info.State
}

// recover does what the next start does: restore if that is needed, and get
// rid of a log that is worth nothing.
func (w *World) recover(t testing.TB, step string) {
	t.Helper()
	switch w.undoState(t, step) {
	case dev.UndoArmed, dev.UndoIncomplete:
		if _, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device()); err != nil {
			t.Errorf("%s: undo: %v", step, err)
		}
		if w.HasLog() {
			t.Errorf("%s: the undo log is still there after the undo", step)
		}
	}
}

// sample picks at most limit of the operations to fail at: the first and the
// last ones, those around syncs, and others at even distances.
func sample(ops []Op, limit int) []int {
	all := make([]int, len(ops))
	for i := range all {
		all[i] = i
	}
	if len(all) <= limit {
		return all
	}
	var picked []int
	for i, o := range ops {
		turn := o.Kind != Write && o.Kind != Zero && o.Kind != LogWrite && o.Kind != Read
		if turn {
			picked = append(picked, max(i-1, 0), i, min(i+1, len(ops)-1))
		}
	}
	picked = append(thin(picked, limit/2), thin(all, limit-limit/2)...)
	slices.Sort(picked)
	return slices.Compact(picked)
}

// thin is at most n of list, at even distances, with the first and last one.
func thin(list []int, n int) []int {
	if len(list) <= n || n < 2 {
		return list[:min(len(list), max(n, 0))]
	}
	out := make([]int, n)
	for i := range out {
		out[i] = list[i*(len(list)-1)/(n-1)]
	}
	return out
}
