package lfs

import "testing"

// TestLevelShown: what the entries of a directory say of its level counts where nearly
// all agree, and not where it may be chance.
func TestLevelShown(t *testing.T) {
	count := func(entries int, right map[int]int) *levelCount {
		n := &levelCount{entries: entries}
		for l, k := range right {
			n.right[l] = k
		}
		return n
	}
	for _, c := range []struct {
		name  string
		n     *levelCount
		level int
		want  int
		wrong bool
	}{
		{"all by the usual one", count(100, map[int]int{0: 100, 1: 60}), 63, 0, true},
		{"all but some", count(100, map[int]int{0: 95, 1: 60}), 1, 0, true},
		{"they disagree", count(100, map[int]int{0: 50, 1: 60}), 2, 1, false},
		{"one entry is wrong", count(100, map[int]int{3: 99, 0: 20}), 3, 3, false},
		{"few, and the usual one", count(7, map[int]int{2: 7}), 0, 2, false},
		{"many, and the usual one", count(8, map[int]int{2: 8}), 0, 2, true},
		{"one, and a level that cannot be", count(1, map[int]int{0: 1, 4: 1}), 255, 0, true},
	} {
		if got, wrong := c.n.shown(c.level); wrong != c.wrong || wrong && got != c.want {
			t.Errorf("%s: %d, %v", c.name, got, wrong)
		}
	}
}
