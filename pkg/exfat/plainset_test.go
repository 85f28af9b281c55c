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
	"github.com/fatkit/fatkit/pkg/vol/voltest"
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
	for seed := range voltest.Rounds(t, 300) {
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

// TestManyDirectories: what a check finds does not depend on how many work at
// it, in a tree whose directories are scanned while others are taken in.
func TestManyDirectories(t *testing.T) {
	l := newLab(t, "4k")
	l.dir("/T", l.run(6), noFat)
	for i := range 150 {
		dir := fmt.Sprintf("/T/D%03d", i)
		l.dir(dir, l.run(1), noFat*byte(i%2))
		for k := range 2 {
			l.file(fmt.Sprintf("%s/F%d.BIN", dir, k), l.every(1+k, 2), noFat*byte(1-k))
		}
	}
	l.count()
	if res := fsck(t, l.m, nil); len(res.Outcomes) > 0 || res.Stats.Directories < 150 {
		report(t, res)
		t.Fatal(res.Stats)
	}
	alike(t, l.m, "sound")
	for seed := range voltest.Rounds(t, 40) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 5))
		c := l.clone(t)
		for range 1 + rnd.IntN(30) {
			n := c.node(fmt.Sprintf("/T/D%03d", rnd.IntN(150)))
			off := n.slots[rnd.IntN(len(n.slots))] + int64(rnd.IntN(32))
			if rnd.IntN(3) > 0 {
				off = c.offset(n.start) + int64(rnd.IntN(6*32))
			}
			c.put(off, c.get(off)^1<<rnd.IntN(8))
		}
		alike(t, c.m, seed)
		var first []string
		for _, workers := range []int{1, 2, 9} {
			res, err := vol.Fsck(context.Background(), c.m, Driver(), vol.CheckOptions{Workers: workers}, nil, nil)
			must(t, err)
			var got []string
			for _, o := range res.Outcomes {
				got = append(got, fmt.Sprint(line(o), o.Loc, o.Related))
			}
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Errorf("%d: with %d workers %q, with one %q", seed, workers, got, first)
			}
		}
	}
}
