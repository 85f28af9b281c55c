package vol

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

func TestEachFree(t *testing.T) {
	free := slices.Values([]space.Extent{{Start: 1, Len: 2}, {Start: 5, Len: 1}})
	at := func(e space.Extent) dev.Range { return dev.Range{Off: int64(e.Start) * 10, Len: int64(e.Len) * 10} }
	tails := []dev.Range{{Off: 5, Len: 1}, {Off: 35, Len: 5}, {Off: 45, Len: 5}, {Off: 70, Len: 9}}
	want := []dev.Range{{Off: 5, Len: 1}, {Off: 10, Len: 20}, {Off: 35, Len: 5}, {Off: 45, Len: 5}, {Off: 50, Len: 10}, {Off: 70, Len: 9}}
	for most := range len(want) + 1 { // fn fails after that many
		var got []dev.Range
		full := errors.New("no more")
		total, err := EachFree(t.Context(), free, at, true, func(context.Context) ([]dev.Range, error) { return tails, nil }, func(r dev.Range) error {
			if len(got) == most {
				return full
			}
			got = append(got, r)
			return nil
		})
		if !slices.Equal(got, want[:most]) || errors.Is(err, full) != (most < len(want)) {
			t.Errorf("after %d: %v, %v", most, got, err)
		}
		if most == len(want) && !reflect.DeepEqual(total, FreeTotal{Clusters: 3, Runs: 2}) {
			t.Errorf("%+v", total)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := EachFree(ctx, free, at, false, nil, func(dev.Range) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		off, length int64
		keep        bool
		want        dev.Range
	}{
		{0, 5, false, dev.Range{Len: 5}}, {8, 5, false, dev.Range{Off: 8, Len: 5}}, {8, 5, true, dev.Range{Off: 8, Len: 2}}, {20, 5, true, dev.Range{Off: 20}},
		{3, -1, false, dev.Range{Off: 3, Len: 7}}, {3, -1, true, dev.Range{Off: 3, Len: 7}}, {20, -1, false, dev.Range{Off: 20}}, {4, 0, false, dev.Range{Off: 4}},
	} {
		if got := (ZeroFile{Offset: c.off, Length: c.length}).Within(10, c.keep); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
