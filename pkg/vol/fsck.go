package vol

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
)

// maxRounds bounds how often repairs may call for another look. Each round
// mends all that one pass found, so a volume with a fault in every pass needs
// as many rounds as passes, and the proof; a repair that brings what was hidden
// to light needs more.
const maxRounds = 32

// Outcome is one finding and what became of it.
type Outcome struct {
	*Finding
	Repaired *Repair // nil: left as it was
	// Mendable: a repair could be carried out here and now. One that is not
	// may all the same name the repairs that are right for it.
	Mendable bool
}

// Result of a Fsck.
type Result struct {
	// Outcomes in the order in which they were found. Of one problem at most
	// maxListed are in it; the rest is counted in one more, which has no place.
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
	s := &session{d: d, drv: drv, o: o, decide: decide, sink: sink,
		left: map[string]*standing{}, mended: map[string]mends{}, asked: map[*Finding]int{}, more: map[string]*more{}}
	for s.res.Rounds = 1; ; s.res.Rounds++ {
		again, err := s.round(ctx)
		if err != nil {
			return nil, err
		}
		if !again {
			s.dropGone()
			break
		}
		if s.res.Rounds == maxRounds {
			s.res.Unproven = fmt.Errorf("the repairs do not come to an end after %d rounds", maxRounds)
			break
		}
	}
	s.addMore()
	return &s.res, nil
}

type session struct {
	d      dev.Device
	drv    *Driver
	o      CheckOptions
	decide Decider
	sink   Sink
	res    Result
	left   map[string]*standing // findings left, by Key
	mended map[string]mends     // repairs carried out, by Key
	more   map[string]*more     // findings beyond maxListed, by code
	asked  map[*Finding]int     // what was decided on findings that still wait
	now    [SevError + 1]int    // findings of this round that stand
	held   bool                 // nothing is mended in the rest of this round
}

// mends counts the rounds in which the same was mended, up to the last one.
type mends struct{ n, last int }

// standing is a finding that was left.
type standing struct {
	at       int // in Result.Outcomes
	declined bool
	round    int // in which it was met last
}

// round runs the passes until one of them mended something.
func (s *session) round(ctx context.Context) (mended bool, err error) {
	c := s.drv.Check(s.d, s.o)
	defer func() {
		s.res.Info, s.res.Stats = c.Info(), c.Stats()
	}()
	s.res.Stopped = false
	s.now, s.held = [SevError + 1]int{}, false
	for _, m := range s.more {
		m.met, m.left = 0, 0
	}
	for _, p := range c.Passes() {
		if s.sink != nil {
			s.sink.Pass(p.Name, s.res.Rounds)
		}
		r := &Report{s: s}
		err := p.Run(ctx, r)
		if err != nil && !errors.Is(err, ErrStop) {
			return false, err
		}
		fixed, ferr := s.settle(ctx, r.queue)
		s.held = s.held || r.hold
		if ferr != nil {
			return false, ferr
		}
		if fixed {
			if f, ok := c.(Finisher); ok {
				return true, f.Finish(ctx)
			}
			return true, nil
		}
		if err != nil {
			s.res.Stopped = true
			return false, nil
		}
	}
	return false, nil
}

// settle decides on the findings of one pass and carries the repairs out.
func (s *session) settle(ctx context.Context, queue []queued) (fixed bool, err error) {
	for _, q := range queue {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		key := q.f.Key()
		st := s.left[key]
		if st != nil && (st.declined || !q.mendable()) {
			// Left before, and reported.
			st.round = s.res.Rounds
			s.now[q.f.Severity]++
			continue
		}
		rep, declined, err := s.repair(ctx, q, key)
		if err != nil {
			return false, err
		}
		if rep != nil {
			fixed, s.res.Repaired = true, true
		}
		s.note(q.f, key, rep, declined, q.mendable())
	}
	return fixed, nil
}

// note keeps what became of f.
func (s *session) note(f *Finding, key string, rep *Repair, declined, mendable bool) {
	st := s.left[key]
	if s.sink != nil && (st == nil || rep != nil) {
		s.sink.Finding(f, rep)
	}
	if rep == nil {
		s.now[f.Severity]++
	}
	switch {
	case st != nil:
		s.res.Outcomes[st.at] = Outcome{f, rep, mendable}
	case s.list(f):
		st = &standing{at: len(s.res.Outcomes)}
		s.res.Outcomes = append(s.res.Outcomes, Outcome{f, rep, mendable})
	default:
		s.more[f.Code].count(rep)
		return
	}
	if rep != nil {
		delete(s.left, key)
		return
	}
	st.declined, st.round = declined, s.res.Rounds
	s.left[key] = st
}

// dropGone takes findings out that were left and that the last round, in which
// nothing was mended, did not meet: a repair of something else mended them.
// Where that round stopped before its end nothing is known of them.
func (s *session) dropGone() {
	if s.res.Stopped {
		return
	}
	gone := map[int]bool{}
	for _, st := range s.left {
		if st.round < s.res.Rounds {
			gone[st.at] = true
		}
	}
	i := -1
	s.res.Outcomes = slices.DeleteFunc(s.res.Outcomes, func(Outcome) bool {
		i++
		return gone[i]
	})
}

// maxMends is in how many rounds the same finding may be mended at the same
// place: more means that the repair does not hold.
const maxMends = 3

func (s *session) repair(ctx context.Context, q queued, key string) (rep *Repair, declined bool, err error) {
	if !q.mendable() || s.decide == nil {
		return nil, false, nil
	}
	offered := q.f.Offered()
	i, asked := s.asked[q.f]
	if delete(s.asked, q.f); !asked {
		i = s.decide(q.f)
	}
	if i < 0 || i >= len(offered) {
		return nil, true, nil
	}
	m := s.mended[key]
	if m.n == maxMends && m.last != s.res.Rounds {
		s.res.Unproven = fmt.Errorf("%s %s: repair %q does not hold", q.f.Code, q.f.Loc.Path, offered[i].Name)
		return nil, true, nil
	}
	if err := q.fix(ctx, offered[i]); err != nil {
		if errors.Is(err, ErrNotNow) {
			q.f.Detail = joinWords(q.f.Detail, whyNot(err))
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("repair %s (%s): %w", q.f.Code, offered[i].Name, err)
	}
	if m.last != s.res.Rounds {
		s.mended[key] = mends{m.n + 1, s.res.Rounds}
	}
	return &offered[i], false, nil
}

// ErrNotNow from a Fix, which has changed nothing then: the repair is not
// possible on this volume, or not before others are made. The finding is left,
// unless it is met again in a later round.
var ErrNotNow = errors.New("repair is not possible here")

// NotNow is ErrNotNow with the reason in words, which the finding gives if it is
// left in the end.
func NotNow(why string) error { return &notNow{why} }

type notNow struct{ why string }

func (e *notNow) Error() string { return ErrNotNow.Error() + ": " + e.why }
func (e *notNow) Unwrap() error { return ErrNotNow }

// whyNot is the reason that a repair was not possible, "" where none was given.
func whyNot(err error) string {
	if n := (*notNow)(nil); errors.As(err, &n) {
		return "not repaired: " + n.why
	}
	return ""
}

func joinWords(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
