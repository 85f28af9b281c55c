package vol

// maxListed is how many findings of one problem are kept one by one. A volume
// may have tens of millions of entries with the same fault; nobody reads that
// list, and it must fit into memory.
const maxListed = 10_000

// more counts the findings of a problem beyond maxListed.
type more struct {
	problem *Problem
	listed  int // kept one by one, in all rounds
	met     int // in this round
	left    int // in this round, and not kept
	mended  int // not kept, in all rounds
}

func (m *more) count(rep *Repair) {
	if rep == nil {
		m.left++
	} else {
		m.mended++
	}
}

func (s *session) moreOf(f *Finding) *more {
	m := s.more[f.Code]
	if m == nil {
		m = &more{problem: f.Problem}
		s.more[f.Code] = m
	}
	return m
}

// list reports whether f is to be kept by itself.
func (s *session) list(f *Finding) bool {
	m := s.moreOf(f)
	if m.listed >= maxListed {
		return false
	}
	m.listed++
	return true
}

// counts reports whether f is one of so many that it is only counted, at once,
// as nothing will be done about it. What will be mended is, however many.
func (s *session) counts(f *Finding, fix Fix) bool {
	m := s.moreOf(f)
	if m.met++; m.met <= maxListed {
		return false
	}
	q := queued{f, fix}
	if s.decide != nil && q.mendable() {
		if i := s.decide(f); i >= 0 && i < len(f.Offered()) {
			s.asked[f] = i // nobody is asked twice
			return false
		}
	}
	m.left++
	s.now[f.Severity]++
	return true
}

// addMore puts what was counted into the result, one outcome a problem.
func (s *session) addMore() {
	ps := s.drv.Problems
	for i := range ps {
		m := s.more[ps[i].Code]
		if m == nil || m.left+m.mended == 0 {
			continue
		}
		f := Finding{Problem: m.problem}
		out := Outcome{Finding: &f, Mendable: len(m.problem.Repairs) > 0}
		switch {
		case m.mended == 0:
			Detail("and %d more", m.left)(&f)
		case m.left == 0:
			Detail("and %d more", m.mended)(&f)
			if len(m.problem.Repairs) > 0 {
				out.Repaired = &m.problem.Repairs[0]
			}
		default:
			Detail("and %d more, %d others were mended", m.left, m.mended)(&f)
		}
		s.res.Outcomes = append(s.res.Outcomes, out)
	}
}
