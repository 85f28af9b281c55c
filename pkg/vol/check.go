package vol

import (
	"context"
	"errors"
)

// CheckOptions of one check.
type CheckOptions struct {
	Workers int // goroutines to use; 0 is one a core
	// What becomes of a log that a mount would replay: NoReplay leaves it,
	// DiscardLog gives it up.
	NoReplay, DiscardLog bool
	ReadOptions
}

// Checker is one round over one volume: it reads, reports, and offers fixes.
// A new one is made for each round, on the state the repairs left.
type Checker interface {
	// Passes in the order they are run. A pass may rely on what the ones
	// before it found; ErrStop from one ends the round.
	Passes() []Pass
	// Info is what is known of the volume so far.
	Info() Info
	// Stats is what was counted so far.
	Stats() Stats
}

// Finisher is a Checker whose fixes leave something to be written: it is told
// when all fixes of a pass were made. Nothing of a round is read after that.
type Finisher interface {
	Finish(ctx context.Context) error
}

// Pass is one step of a round.
type Pass struct {
	Name string
	Run  func(ctx context.Context, r *Report) error
}

// ErrStop ends a round: what was reported makes going on pointless.
var ErrStop = errors.New("cannot go on checking")

// Stats counts what a check saw. Clusters are the format's own unit.
type Stats struct {
	Files, Directories       uint64
	Clusters, Used, Free     uint64
	Bad                      uint64
	FragmentedFiles          uint64
	BytesRead                int64
	FragmentedKnown, Counted bool `json:"-"`
}

// Decider says which of the repairs that f offers is to be carried out: an
// index into f.Offered(), or -1 for none.
type Decider func(f *Finding) int

// Sink is told of everything as it happens.
type Sink interface {
	Pass(name string, round int)
	Progress(done, total int64)
	Finding(f *Finding, repaired *Repair)
}

// PassCounter is a Sink that wants to know how many passes a round has, before
// the first.
type PassCounter interface {
	Passes(n int)
}

// Fix carries out the repair named by r. It changes only the device that the
// check runs on.
type Fix func(ctx context.Context, r Repair) error

// Report takes the findings of one pass.
type Report struct {
	s     *session
	queue []queued
	hold  bool
}

type queued struct {
	f   *Finding
	fix Fix
}

// mendable reports whether there is anything to decide.
func (q *queued) mendable() bool { return q.fix != nil && len(q.f.Offered()) > 0 }

// Found reports f. Where the decider chooses a repair, fix is called after the
// pass, in the order of the reports. A nil fix means that f cannot be mended.
func (r *Report) Found(f Finding, fix Fix) {
	if r.s.held {
		fix = nil
	}
	if !r.s.counts(&f, fix) {
		r.queue = append(r.queue, queued{&f, fix})
	}
}

// Hold says that something is not settled on which the passes to come rest:
// unless this pass mends it, they report but do not mend.
func (r *Report) Hold() { r.hold = true }

// Left counts the findings of severity s or worse that stand: those left in
// earlier passes of this round, and those of this pass so far. A mark that
// calls for a check may go only when nothing else is left.
func (r *Report) Left(s Severity) int {
	n := 0
	for _, k := range r.s.now[s:] {
		n += k
	}
	for _, q := range r.queue {
		if q.f.Severity >= s {
			n++
		}
	}
	return n
}

// Progress tells how far the pass is.
func (r *Report) Progress(done, total int64) {
	if r.s.sink != nil {
		r.s.sink.Progress(done, total)
	}
}
