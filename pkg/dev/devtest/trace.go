package devtest

import (
	"slices"
	"sync"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Counts are numbers of operations and bytes by Kind.
type Counts struct {
	Ops   [kinds]int
	Bytes [kinds]int64
}

// Trace is a Device that records what is done to another one, and to the
// journals that its Journal method wraps, in one order. It is safe for
// concurrent use as far as the device is.
type Trace struct {
	dev.Device
	mu     sync.Mutex
	ops    []Op
	counts Counts
	ahead  []dev.Range
}

// NewTrace traces d.
func NewTrace(d dev.Device) *Trace {
	t := &Trace{}
	t.Device = hooked{d, t.record}
	return t
}

// Journal is j, traced along with the device.
func (t *Trace) Journal(j dev.Journal) dev.Journal { return hookedJournal{j, t.record} }

func (t *Trace) record(o Op) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ops = append(t.ops, o)
	t.counts.Ops[o.Kind]++
	t.counts.Bytes[o.Kind] += o.Len
	return nil
}

// Readahead records the advice; see Readaheads.
func (t *Trace) Readahead(r dev.Range) {
	t.mu.Lock()
	t.ahead = append(t.ahead, r)
	t.mu.Unlock()
	t.Device.Readahead(r)
}

// Readaheads are the ranges of the advice given so far.
func (t *Trace) Readaheads() []dev.Range {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.ahead)
}

// Ops are the operations so far, of the given kinds or of all.
func (t *Trace) Ops(only ...Kind) []Op {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ops []Op
	for _, o := range t.ops {
		if len(only) == 0 || slices.Contains(only, o.Kind) {
			ops = append(ops, o)
		}
	}
	return ops
}

// Counts are the numbers so far.
func (t *Trace) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}

// Reset forgets all that was recorded.
func (t *Trace) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ops, t.counts, t.ahead = nil, Counts{}, nil
}
