package vol

import (
	"reflect"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

func TestFillSteps(t *testing.T) {
	body := func(off, n int64, data []byte) Step {
		return Step{Phase: Body, Range: dev.Range{Off: off, Len: n}, Data: data}
	}
	a, b := []byte("aaa"), []byte("b")
	for _, c := range []struct {
		in     dev.Range
		pieces []Piece
		want   []Step
	}{
		{dev.Range{Off: 5}, nil, nil},
		{dev.Range{Off: 5, Len: 3}, nil, []Step{body(5, 3, nil)}},
		{dev.Range{Off: 5, Len: 4}, []Piece{{5, a}, {8, b}}, []Step{body(5, 3, a), body(8, 1, b)}},
		{dev.Range{Len: 20}, []Piece{{4, a}, {10, b}}, []Step{body(0, 4, nil), body(4, 3, a), body(7, 3, nil), body(10, 1, b), body(11, 9, nil)}},
	} {
		if got := FillSteps(c.in, c.pieces); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, should be %v", c.in, got, c.want)
		}
	}
}

func TestWipeSteps(t *testing.T) {
	steps := WipeSteps(1 << 30)
	if len(steps) != len(Signatures(1<<30)) || WipeSteps(0) != nil {
		t.Fatalf("%v", steps)
	}
	for i, r := range Signatures(1 << 30) {
		if s := steps[i]; s.Phase != Wipe || s.Range != r || s.Data != nil {
			t.Errorf("%v for %v", s, r)
		}
	}
}

func TestAppendRegion(t *testing.T) {
	var rs []Region
	for _, r := range []struct {
		name string
		end  int64
	}{{"nothing", 0}, {"first", 3}, {"none", 3}, {"before", 2}, {"last", 10}} {
		rs = AppendRegion(rs, r.name, r.end)
	}
	want := []Region{{"first", dev.Range{Len: 3}}, {"last", dev.Range{Off: 3, Len: 7}}}
	if !reflect.DeepEqual(rs, want) {
		t.Errorf("%v, should be %v", rs, want)
	}
}
