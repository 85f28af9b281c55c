package vol

import (
	"context"
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

// maxRounds bounds how often repairs may call for another look. Each round
// mends all that one pass found, so a volume with a fault in every pass needs
// as many rounds as passes, and the proof.
const maxRounds = 12

// Outcome is one finding and what became of it.
type Outcome struct {
	*Finding
	Repaired *Repair // nil: left as it was
}

// Result of a Fsck.
type Result struct {
	Outcomes []Outcome
	Info     Info
	Stats    Stats
	Rounds   int
	// Repaired: at least one repair is staged. Unproven: what is staged must
	// not be committed, with the reason.
	Repaired bool
	Unproven error
	// Stopped: the check could not go on to its end.
	Stopped bool
}

// Left reports whether a finding of severity s or worse was left.
func (r *Result) Left(s Severity) bool {
	for _, o := range r.Outcomes {
		if o.Repaired == nil && o.Severity >= s {
			return true
		}
	}
	return false
}

// Fsck checks the volume on d in rounds. Repairs that decide chooses are
// written to d, which is a staging device (dev.Txn) wherever anything may be
// repaired; whether they are kept is the caller's to say, who must not if
// Result.Unproven is set. After a pass that mended anything the next round
// starts from the beginning, on the repaired state, so no pass relies on what
// a repair made untrue; the last round mends nothing and is the proof.
//
// An error means that the volume could not be checked.
func Fsck(ctx context.Context, d dev.Device, drv *Driver, o CheckOptions, decide Decider, sink Sink) (*Result, error) {
	s := &session{d: d, drv: drv, o: o, decide: decide, sink: sink, seen: map[string]bool{}, mended: map[string]int{}}
	for s.res.Rounds = 1; ; s.res.Rounds++ {
		again, err := s.round(ctx)
		if err != nil {
			return nil, err
		}
		if !again {
			break
		}
		if s.res.Rounds == maxRounds {
			s.res.Unproven = fmt.Errorf("the repairs do not come to an end after %d rounds", maxRounds)
			break
		}
	}
	return &s.res, nil
}

type session struct {
	d      dev.Device
	drv    *Driver
	o      CheckOptions
	decide Decider
	sink   Sink
	res    Result
	seen   map[string]bool // findings left, by Key: reported once
	mended map[string]int  // repairs carried out, by Key
}

// round runs the passes until one of them mended something.
func (s *session) round(ctx context.Context) (mended bool, err error) {
	c := s.drv.Check(s.d, s.o)
	defer func() {
		s.res.Info, s.res.Stats = c.Info(), c.Stats()
	}()
	s.res.Stopped = false
	for _, p := range c.Passes() {
		if s.sink != nil {
			s.sink.Pass(p.Name, s.res.Rounds)
		}
		r := &Report{sink: s.sink, left: s.left}
		err := p.Run(ctx, r)
		if err != nil && !errors.Is(err, ErrStop) {
			return false, err
		}
		fixed, ferr := s.settle(ctx, r.queue)
		if ferr != nil {
			return false, ferr
		}
		if fixed {
			return true, nil
		}
		if err != nil {
			s.res.Stopped = true
			return false, nil
		}
	}
	return false, nil
}

// left counts the findings that were left so far.
func (s *session) left(sev Severity) int {
	n := 0
	for _, o := range s.res.Outcomes {
		if o.Repaired == nil && o.Severity >= sev {
			n++
		}
	}
	return n
}

// settle decides on the findings of one pass and carries the repairs out.
func (s *session) settle(ctx context.Context, queue []queued) (fixed bool, err error) {
	for _, q := range queue {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		key := q.f.Key()
		if s.seen[key] {
			continue
		}
		rep, err := s.repair(ctx, q, key)
		if err != nil {
			return false, err
		}
		s.res.Outcomes = append(s.res.Outcomes, Outcome{q.f, rep})
		if rep == nil {
			s.seen[key] = true
		} else {
			fixed, s.res.Repaired = true, true
		}
		if s.sink != nil {
			s.sink.Finding(q.f, rep)
		}
	}
	return fixed, nil
}

// maxMends is how often the same finding may be mended at the same place:
// more means that the repair does not hold.
const maxMends = 3

func (s *session) repair(ctx context.Context, q queued, key string) (*Repair, error) {
	offered := q.f.Offered()
	if q.fix == nil || s.decide == nil || len(offered) == 0 {
		return nil, nil
	}
	i := s.decide(q.f)
	if i < 0 || i >= len(offered) {
		return nil, nil
	}
	if s.mended[key]++; s.mended[key] > maxMends {
		s.res.Unproven = fmt.Errorf("%s %s: repair %q does not hold", q.f.Code, q.f.Loc.Path, offered[i].Name)
		return nil, nil
	}
	if err := q.fix(ctx, offered[i]); err != nil {
		if errors.Is(err, ErrNotNow) {
			return nil, nil
		}
		return nil, fmt.Errorf("repair %s (%s): %w", q.f.Code, offered[i].Name, err)
	}
	return &offered[i], nil
}

// ErrNotNow from a Fix: the repair is not possible on this volume; the finding
// is left.
var ErrNotNow = errors.New("repair is not possible here")
