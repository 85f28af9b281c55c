package devtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// ErrInjected is the error that FaultMatrix lets operations fail with.
var ErrInjected = errors.New("injected fault")

// FaultMatrix runs a change again and again and lets each of its operations
// fail, reading included, once, and then also for good from there on. The
// change must return an error and leave the image as before, or at least say
// with dev.ErrNotRestored that undoing is called for; then the fault is gone
// and the undo must do it.
func FaultMatrix(t testing.TB, c Case) {
	t.Helper()
	r := start(t, c)
	w := NewWorld(r.before)
	trace := NewTrace(w.Device())
	if err := c.Change(trace, trace.Journal(w.Journal())); err != nil {
		t.Fatalf("the change fails by itself: %v", err)
	}
	ops := trace.Ops()
	for _, n := range sample(ops, r.Max) {
		nth := 0
		for _, o := range ops[:n] {
			if o.Kind == ops[n].Kind {
				nth++
			}
		}
		for _, ever := range []bool{false, true} {
			r.fault(ops[n].Kind, nth, ever)
		}
		if t.Failed() {
			return
		}
	}
}

// fault is one run in which the nth operation of a kind fails.
func (r *run) fault(k Kind, nth int, ever bool) {
	r.t.Helper()
	step := fmt.Sprintf("%v number %d fails", k, nth)
	w := NewWorld(r.before)
	f := NewFault(w.Device())
	if ever {
		step += ", and so do all later ones"
		f.From(k, nth, ErrInjected)
	} else {
		f.Once(k, nth, ErrInjected)
	}
	err := r.Change(f, f.Journal(w.Journal()))
	if f.Hits() == 0 {
		r.t.Errorf("%s: that never came to pass: the change is not the same each time", step)
	}
	left := w.After(All()).Device()
	w.recover(r.t, step)
	if !errors.Is(err, dev.ErrNotRestored) {
		r.verify(step, left, err)
		// An error nobody has to act on must not leave a log that acts later.
		if d, e := Diff(left, w.Device(), r.Ignore...); e != nil || d.Len > 0 {
			r.t.Errorf("%s: the log that is left undoes the change at bytes %v (%v); the change returned %v", step, d, e, err)
		}
	}
	r.verify(step+", then undo", w.Device(), err)
	if err == nil || errors.Is(err, ErrInjected) {
		return
	}
	r.t.Errorf("%s: the error does not say why: %v", step, err)
}
