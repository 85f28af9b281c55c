package lfs

import (
	"context"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// unkept is a check that keeps no summaries, as one of a large volume.
type unkept struct{ *checker }

func (c unkept) Passes() []vol.Pass {
	ps := c.checker.Passes()
	for i := range ps {
		if run := ps[i].Run; ps[i].Name == "nodes" {
			ps[i].Run = func(ctx context.Context, r *vol.Report) error {
				c.walk.ssa = nil
				return run(ctx, r)
			}
		}
	}
	return ps
}

// TestSummariesNotKept: where SSA is too large to be kept the same is found.
func TestSummariesNotKept(t *testing.T) {
	l := newLab(t, "")
	l.editSSA(true, func(e summary) { e.put(9999, 0, e.offset()) })
	want := found(l.check())
	d := *Driver()
	d.Check = func(d dev.Device, o vol.CheckOptions) vol.Checker { return unkept{newChecker(d, o).(*checker)} }
	res, err := vol.Fsck(t.Context(), l.d, &d, vol.CheckOptions{}, nil, nil)
	if err != nil || len(want) == 0 || !slices.Equal(found(res), want) {
		t.Errorf("found %q, %v; should be %q", found(res), err, want)
	}
	if g := l.g; keptSummaries(g) == nil || keptSummaries(&Geometry{BlockSize: minBlock, SSA: 1000, Main: 1001 + maxSummaries/minBlock}) != nil {
		t.Error("the bound is elsewhere")
	}
}
