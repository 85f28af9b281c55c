package devtest

import (
	"sync"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Fault is a Device that fails where it is told to, and so do the journals
// that its Journal method wraps. The operation that fails has no effect.
type Fault struct {
	dev.Device
	mu    sync.Mutex
	seen  [kinds]int
	rules []rule
	hits  int
}

type rule struct {
	match func(Op) bool
	kind  Kind // -1: any
	nth   int
	ever  bool
	err   error
}

// NewFault is d without faults so far.
func NewFault(d dev.Device) *Fault {
	f := &Fault{}
	f.Device = hooked{d, f.check}
	return f
}

// Journal is j with the faults of the device.
func (f *Fault) Journal(j dev.Journal) dev.Journal { return hookedJournal{j, f.check} }

// Once makes the nth operation of a kind, counted from 0 and from NewFault on,
// fail with err.
func (f *Fault) Once(k Kind, nth int, err error) { f.add(rule{kind: k, nth: nth, err: err}) }

// From makes the nth operation of a kind and all later ones fail with err.
func (f *Fault) From(k Kind, nth int, err error) {
	f.add(rule{kind: k, nth: nth, ever: true, err: err})
}

// Where makes every operation that match picks fail with err, such as all
// writes to a bad sector.
func (f *Fault) Where(match func(Op) bool, err error) { f.add(rule{match: match, kind: -1, err: err}) }

// Hits is how many operations failed.
func (f *Fault) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

func (f *Fault) add(r rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, r)
}

func (f *Fault) check(o Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.seen[o.Kind]
	f.seen[o.Kind]++
	for _, r := range f.rules {
		hit := r.kind == o.Kind && (r.nth == n || r.ever && r.nth < n)
		if r.match != nil {
			hit = r.match(o)
		}
		if hit {
			f.hits++
			return &dev.Error{Op: o.Kind.String(), Range: o.Range, Err: r.err}
		}
	}
	return nil
}
