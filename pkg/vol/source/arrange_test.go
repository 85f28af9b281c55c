package source

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fatkit/fatkit/pkg/vol"
)

// arranged is what arrange does, by copying: entries in order, and the index that the
// contents of each had.
func arranged(es []vol.Entry) (out []vol.Entry, from []int) {
	var order []int
	for i := range es {
		if es[i].Kind != 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return ComparePaths(es[a].Path, es[b].Path) })
	first := map[int]int{}
	for to, i := range order {
		owner := i
		if es[i].Same >= 0 {
			owner = es[i].Same
		}
		e := es[i]
		if at, met := first[owner]; met {
			e.Same = at
		} else {
			e = es[owner]
			e.Path, e.Origin = es[i].Path, es[i].Origin
			first[owner] = to
		}
		out, from = append(out, e), append(from, owner)
	}
	return out, from
}

// Entries come into order where they are, with names of one file before and after
// each other, and some that are left out.
func TestArrange(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for round := range 500 {
		var es []vol.Entry
		var files []int
		for i := range rnd.IntN(30) {
			p := fmt.Sprintf("%c/%c%d", 'a'+rnd.IntN(3), 'a'+rnd.IntN(20), i)
			e := vol.Entry{Path: p, Origin: "of " + p, Same: -1, Size: int64(i)}
			switch e.Kind = vol.KindFile; {
			case rnd.IntN(8) == 0:
				e.Kind = 0
			case len(files) > 0 && rnd.IntN(2) == 0:
				e.Same = files[rnd.IntN(len(files))]
			default:
				files = append(files, i)
			}
			es = append(es, e)
		}
		want, wantFrom := arranged(es)
		got, from := arrange(slices.Clone(es))
		gotFrom := make([]int, len(got))
		for i := range got {
			if gotFrom[i] = from(i); got[i].Same >= 0 && i < len(wantFrom) {
				gotFrom[i] = wantFrom[i] // it has no contents of its own
			}
		}
		if d := cmp.Diff(want, got) + cmp.Diff(wantFrom, gotFrom); d != "" && len(want)+len(got) > 0 {
			t.Fatalf("round %d: %s", round, d)
		}
	}
}
