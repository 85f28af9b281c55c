package dev

import "testing"

// TestMakeLarge: it is memory like any other, of every size.
func TestMakeLarge(t *testing.T) {
	type pair struct {
		a uint64
		b byte
	}
	for _, n := range []int{0, 1, 1000, 1 << 20} {
		s := MakeLarge[pair](n)
		if len(s) != 0 || cap(s) < n {
			t.Fatalf("%d: len %d, cap %d", n, len(s), cap(s))
		}
		for i := range n {
			s = append(s, pair{uint64(i), byte(i)})
		}
		for i, p := range s {
			if p != (pair{uint64(i), byte(i)}) {
				t.Fatalf("%d: element %d is %v", n, i, p)
			}
		}
	}
}
