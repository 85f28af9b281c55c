package voltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Line is an outcome as text, with the repair behind an arrow.
func Line(o vol.Outcome) string {
	s := strings.Join([]string{o.Code, o.Slug, o.Severity.String(), o.Loc.Path, o.Message()}, " ")
	if o.Repaired != nil {
		s += " -> " + o.Repaired.Name
	}
	return s
}

// Log logs all outcomes of a check.
func Log(t testing.TB, res *vol.Result) {
	t.Helper()
	for _, o := range res.Outcomes {
		t.Log(Line(o))
	}
}

// Choose is Always, but takes the repair fix for slug where that is offered.
func Choose(slug, fix string) vol.Decider {
	return func(f *vol.Finding) int {
		if f.Slug == slug && fix != "" {
			if i := slices.IndexFunc(f.Offered(), func(r vol.Repair) bool { return r.Name == fix }); i >= 0 {
				return i
			}
		}
		return Always(f)
	}
}

// Lossless is the Decider of -p: the first repair that loses nothing.
func Lossless(f *vol.Finding) int {
	if f.Severity < vol.SevWarning {
		return -1
	}
	return slices.IndexFunc(f.Offered(), func(r vol.Repair) bool { return r.Loss == vol.LossNone })
}
