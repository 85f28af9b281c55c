package vol

import "testing"

func TestRounding(t *testing.T) {
	for _, c := range []struct{ n, by, div, up int64 }{{0, 8, 0, 0}, {1, 8, 1, 8}, {7, 8, 1, 8}, {8, 8, 1, 8}, {9, 8, 2, 16}, {12, 5, 3, 15}, {1 << 60, 3, (1<<60)/3 + 1, (1<<60)/3*3 + 3}} {
		if div, up := DivUp(c.n, c.by), RoundUp(c.n, c.by); div != c.div || up != c.up {
			t.Errorf("%d by %d: %d and %d, should be %d and %d", c.n, c.by, div, up, c.div, c.up)
		}
	}
	for n := int64(-9); n <= 70; n++ {
		want := n == 1 || n == 2 || n == 4 || n == 8 || n == 16 || n == 32 || n == 64
		if PowerOfTwo(n) != want {
			t.Errorf("%d: %v", n, !want)
		}
	}
	for n := range int64(20) {
		for first := range n + 5 {
			if got := FirstWhere(n, func(i int64) bool { return i >= first }); got != min(n, first) {
				t.Errorf("from %d of %d on: %d", first, n, got)
			}
		}
	}
}
