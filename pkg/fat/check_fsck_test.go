package fat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// script is a format whose volume is a list of faults, so that the rounds of
// vol.Fsck can be tested by themselves: pass runs for each pass of each round.
type script struct {
	problems []vol.Problem
	passes   []func(s *script, r *vol.Report) error
	round    int
	log      []string
	state    map[string]int
}

func newScript(passes ...func(s *script, r *vol.Report) error) *script {
	mend := []vol.Repair{{Name: "mend", Title: "mend it"}}
	return &script{passes: passes, state: map[string]int{}, problems: []vol.Problem{
		{Code: "T-1", Slug: "a", Severity: vol.SevError, Repairs: mend}, {Code: "T-2", Slug: "b", Severity: vol.SevError, Repairs: mend},
		{Code: "T-3", Slug: "c", Severity: vol.SevWarning, Repairs: mend}, {Code: "T-4", Slug: "none", Severity: vol.SevError},
	}}
}

func (s *script) run(t *testing.T, decide vol.Decider) *vol.Result {
	t.Helper()
	drv := &vol.Driver{Problems: s.problems, Check: func(dev.Device, vol.CheckOptions) vol.Checker {
		s.round++
		return s
	}}
	res, err := vol.Fsck(context.Background(), dev.NewMem(1), drv, vol.CheckOptions{}, decide, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (s *script) Info() vol.Info   { return vol.Info{} }
func (s *script) Stats() vol.Stats { return vol.Stats{} }
func (s *script) Passes() (ps []vol.Pass) {
	for _, p := range s.passes {
		ps = append(ps, vol.Pass{Run: func(_ context.Context, r *vol.Report) error { return p(s, r) }})
	}
	return ps
}

// found reports a finding of the slug at a place; mending it sets the state.
func (s *script) found(r *vol.Report, slug string, at int64) {
	f := vol.Finding{Problem: vol.Find(s.problems, slug), Loc: vol.Location{Range: dev.Range{Off: at, Len: 1}}}
	r.Found(f, func(context.Context, vol.Repair) error {
		s.log = append(s.log, fmt.Sprintf("%d:%s", s.round, slug))
		s.state[slug]++
		return nil
	})
}

// until reports slug as long as it has not been mended n times.
func until(slug string, n int) func(s *script, r *vol.Report) error {
	return func(s *script, r *vol.Report) error {
		if s.state[slug] < n {
			s.found(r, slug, 1)
		}
		return nil
	}
}

func outcomes(res *vol.Result) (out []string) {
	for _, o := range res.Outcomes {
		out = append(out, fmt.Sprintf("%s:%v", o.Slug, o.Repaired != nil))
	}
	return out
}

func TestFsckRounds(t *testing.T) {
	s := newScript(until("a", 1), until("b", 1), until("c", 1))
	res := s.run(t, voltest.Always)
	if got := strings.Join(s.log, " "); got != "1:a 2:b 3:c" || res.Rounds != 4 || res.Unproven != nil || !res.Repaired {
		t.Errorf("%s in %d rounds, %v", got, res.Rounds, res.Unproven)
	}
	s = newScript(until("a", 1), until("b", 1))
	res = s.run(t, nil)
	if got := outcomes(res); !slices.Equal(got, []string{"a:false", "b:false"}) || res.Rounds != 1 || res.Repaired {
		t.Errorf("%v in %d rounds", got, res.Rounds)
	}
}

// A repair that has to be made again and again does not hold.
func TestFsckDoesNotHold(t *testing.T) {
	res := newScript(until("a", 99)).run(t, voltest.Always)
	if res.Unproven == nil || !strings.Contains(res.Unproven.Error(), "T-1") {
		t.Errorf("%v", res.Unproven)
	}
	// Many at the same place in one round are one mend.
	res = newScript(func(s *script, r *vol.Report) error {
		for range 5 {
			if s.state["a"] < 5 {
				s.found(r, "a", 1)
			}
		}
		return nil
	}).run(t, voltest.Always)
	if res.Unproven != nil || res.Rounds != 2 {
		t.Errorf("%v after %d rounds", res.Unproven, res.Rounds)
	}
	// Always another place: the rounds are bounded.
	res = newScript(func(s *script, r *vol.Report) error {
		s.found(r, "a", int64(s.round))
		return nil
	}).run(t, voltest.Always)
	if res.Unproven == nil {
		t.Error("it came to an end")
	}
}

// What another repair mends along the way is not left.
func TestFsckGone(t *testing.T) {
	pass := func(s *script, r *vol.Report) error {
		if s.state["b"] == 0 {
			r.Found(vol.Finding{Problem: vol.Find(s.problems, "a")}, nil)
			s.found(r, "b", 1)
		}
		return nil
	}
	if got := outcomes(newScript(pass).run(t, voltest.Always)); !slices.Equal(got, []string{"b:true"}) {
		t.Errorf("%v", got)
	}
}

// What could not be mended at first is mended when it can be.
func TestFsckLater(t *testing.T) {
	pass := func(s *script, r *vol.Report) error {
		if s.state["a"] == 0 {
			r.Found(vol.Finding{Problem: vol.Find(s.problems, "a")}, func(context.Context, vol.Repair) error {
				if s.state["b"] == 0 {
					return fmt.Errorf("not yet: %w", vol.ErrNotNow)
				}
				s.state["a"]++
				return nil
			})
		}
		return until("b", 1)(s, r)
	}
	if got := outcomes(newScript(pass).run(t, voltest.Always)); !slices.Equal(got, []string{"a:true", "b:true"}) {
		t.Errorf("%v", got)
	}
}

// What was declined is asked once.
func TestFsckDeclined(t *testing.T) {
	asked := 0
	res := newScript(until("a", 1), until("b", 1), until("c", 1)).run(t, func(f *vol.Finding) int {
		if f.Slug != "a" {
			return 0
		}
		asked++
		return -1
	})
	if got := outcomes(res); asked != 1 || !slices.Equal(got, []string{"a:false", "b:true", "c:true"}) {
		t.Errorf("asked %d times, %v", asked, got)
	}
}

// Left counts what stands in this round, not what was mended in one before.
func TestFsckLeft(t *testing.T) {
	var left []int
	last := func(_ *script, r *vol.Report) error {
		left = append(left, r.Left(vol.SevError))
		return nil
	}
	none := func(s *script, r *vol.Report) error {
		r.Found(vol.Finding{Problem: vol.Find(s.problems, "none")}, nil)
		return nil
	}
	newScript(until("a", 1), last).run(t, voltest.Always)
	newScript(none, until("c", 1), last).run(t, voltest.Always)
	newScript(until("a", 1), until("b", 1), last).run(t, nil)
	if !slices.Equal(left, []int{0, 1, 2}) {
		t.Errorf("%v", left)
	}
}

// Held: where something is not settled nothing that rests on it is mended,
// unless it is settled in this run.
func TestFsckHold(t *testing.T) {
	hold := func(s *script, r *vol.Report) error {
		if s.state["a"] == 0 {
			r.Hold()
			s.found(r, "a", 1)
		}
		return nil
	}
	if got := outcomes(newScript(hold, until("b", 1)).run(t, voltest.Always)); !slices.Equal(got, []string{"a:true", "b:true"}) {
		t.Errorf("%v", got)
	}
	not := func(f *vol.Finding) int { return strings.Index("ba", f.Slug) * -1 }
	if got := outcomes(newScript(hold, until("b", 1)).run(t, not)); !slices.Equal(got, []string{"a:false", "b:false"}) {
		t.Errorf("%v", got)
	}
}

// A pass that stops ends the round, and what it reported is still mended.
func TestFsckStop(t *testing.T) {
	stop := func(s *script, r *vol.Report) error {
		if s.state["a"] == 0 {
			s.found(r, "a", 1)
			return fmt.Errorf("enough: %w", vol.ErrStop)
		}
		return nil
	}
	res := newScript(stop, until("b", 1)).run(t, voltest.Always)
	if got := outcomes(res); !slices.Equal(got, []string{"a:true", "b:true"}) || res.Stopped {
		t.Errorf("%v, stopped %v", got, res.Stopped)
	}
	res = newScript(stop, until("b", 1)).run(t, nil)
	if got := outcomes(res); !slices.Equal(got, []string{"a:false"}) || !res.Stopped {
		t.Errorf("%v, stopped %v", got, res.Stopped)
	}
}

// Of a million findings some are listed, all are counted, and those that can be
// are mended.
func TestFsckMany(t *testing.T) {
	const n = 200_000
	many := func(slug string) func(s *script, r *vol.Report) error {
		return func(s *script, r *vol.Report) error {
			if s.state[slug] >= n {
				return nil
			}
			for i := range int64(n) {
				s.found(r, slug, i)
			}
			return nil
		}
	}
	res := newScript(many("a")).run(t, nil)
	if got := counts(res)["a"]; got != n || len(res.Outcomes) > n/10 || !res.Left(vol.SevError) {
		t.Errorf("%d counted, %d listed", got, len(res.Outcomes))
	}
	s := newScript(many("a"))
	res = s.run(t, voltest.Always)
	if got := counts(res)["a"]; got != n || len(res.Outcomes) > n/10 || res.Left(vol.SevInfo) || s.state["a"] != n {
		t.Errorf("%d counted, %d listed, %d mended", got, len(res.Outcomes), s.state["a"])
	}
}

// An error of a pass, or of a repair, is that the volume could not be checked.
func TestFsckError(t *testing.T) {
	bad := errors.New("bad sector")
	for name, pass := range map[string]func(s *script, r *vol.Report) error{
		"pass": func(*script, *vol.Report) error { return bad },
		"fix": func(s *script, r *vol.Report) error {
			r.Found(vol.Finding{Problem: vol.Find(s.problems, "a")}, func(context.Context, vol.Repair) error { return bad })
			return nil
		},
	} {
		s := newScript(pass)
		drv := &vol.Driver{Problems: s.problems, Check: func(dev.Device, vol.CheckOptions) vol.Checker { return s }}
		if _, err := vol.Fsck(context.Background(), dev.NewMem(1), drv, vol.CheckOptions{}, voltest.Always, nil); !errors.Is(err, bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
