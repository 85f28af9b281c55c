package exfat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// thoroughly is a check in which no set takes the way of plain ones.
func thoroughly(t testing.TB, d dev.Device) *vol.Result {
	t.Helper()
	drv := *Driver()
	drv.Check = func(d dev.Device, o vol.CheckOptions) vol.Checker {
		c := newChecker(d, o).(*checker)
		c.thorough = true
		return c
	}
	res, err := vol.Fsck(context.Background(), d, &drv, vol.CheckOptions{}, nil, nil)
	must(t, err)
	return res
}

// alike holds what a check finds against what it finds when it takes no short
// way.
func alike(t *testing.T, d dev.Device, what any) {
	t.Helper()
	got, want := fsck(t, d, nil), thoroughly(t, d)
	lines := func(r *vol.Result) (out []string) {
		for _, o := range r.Outcomes {
			out = append(out, fmt.Sprint(line(o), o.Loc, o.Related, o.Mendable))
		}
		return out
	}
	got.Stats.BytesRead, want.Stats.BytesRead = 0, 0 // windows are read in another order
	if !slices.Equal(lines(got), lines(want)) || !reflect.DeepEqual(got.Stats, want.Stats) || got.Stopped != want.Stopped {
		t.Errorf("%v: two ways differ", what)
		report(t, got)
		t.Log(got.Stats)
		t.Log("without plain sets:")
		report(t, want)
		t.Log(want.Stats)
	}
}

// TestPlainSets: the short way of sound sets finds what the long way does, on
// every injury, on what is legal, and on bytes changed at random.
func TestPlainSets(t *testing.T) {
	labs := threeLabs(t)
	for _, kind := range []string{"512", "4k", "32k"} {
		alike(t, labs[kind].m, kind)
		for name, do := range oddities() {
			if name == "longest name" && kind == "512" {
				continue
			}
			l := labs[kind].clone(t)
			do(l)
			alike(t, l.m, name)
		}
	}
	all := injuries()
	for i := range all {
		for _, kind := range all[i].labs() {
			if labs[kind] == nil {
				continue
			}
			l := labs[kind].clone(t)
			all[i].hit(l)
			alike(t, l.m, all[i].title()+" "+kind)
		}
	}
	for seed := range seeds(t, 300) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 4))
		l := labs[randomKind(rnd)].clone(t)
		areas := l.metadata()
		for range 1 + rnd.IntN(12) {
			a := areas[rnd.IntN(len(areas))]
			off := a.Off + rnd.Int64N(a.Len)
			l.put(off, l.get(off)^1<<rnd.IntN(8))
		}
		alike(t, l.m, seed)
	}
}
