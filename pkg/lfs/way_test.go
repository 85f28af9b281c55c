package lfs

import "testing"

// TestWay: the nodes of a file follow one another in their places, each is found by
// its place, and from a place back to its number.
func TestWay(t *testing.T) {
	for _, size := range []int64{4096, 16384} {
		g := &Geometry{BlockSize: size}
		per := uint64(g.per().nodeSlots())
		last := 2 + 2*per + per*per - 1 // of direct nodes
		for _, node := range []uint64{0, 1, 2, 3, 1 + per, 2 + per, 1 + 2*per, 2 + 2*per, 3 + 2*per, 1 + 3*per, 2 + 3*per, last - 1, last} {
			place, ok := g.directPlace(node)
			if back, direct := g.directAt(place); !ok || !direct || back != node {
				t.Fatalf("direct node %d is at place %d (%v), which is node %d (%v)", node, place, ok, back, direct)
			}
			steps, depth := g.stepsTo(place)
			if want := 1 + min(1, int(node/2)) + min(1, int(node/(2+2*per))); depth != want || steps[depth-1].place != place {
				t.Fatalf("direct node %d: %d steps to place %d: %v", node, depth, place, steps)
			}
			for i, st := range steps[:depth-1] {
				if !isIndirect(st.place, uint32(per)) {
					t.Fatalf("direct node %d: step %d is place %d, which is a direct node's", node, i, st.place)
				}
				if up, n := g.stepsTo(st.place); n != i+1 || up[i] != st {
					t.Fatalf("direct node %d: step %d is %v, by itself %v", node, i, st, up)
				}
			}
		}
		if _, ok := g.directPlace(last + 1); ok {
			t.Errorf("there is a direct node %d", last+1)
		}
		// A place is a direct node's, or one that leads to some: none is left out.
		node := uint64(0)
		for place := uint32(1); node < 2+4*per; place++ {
			n, ok := g.directAt(place)
			if ok == isIndirect(place, uint32(per)) || ok && n != node {
				t.Fatalf("place %d is node %d (%v), should be %d", place, n, ok, node)
			}
			if ok {
				node++
			}
			if _, depth := g.stepsTo(place); depth == 0 {
				t.Fatalf("there is no way to place %d", place)
			}
		}
		for _, place := range []uint32{0, xattrPlace, uint32(5 + 2*per + 1 + per*(per+1))} {
			if _, depth := g.stepsTo(place); depth != 0 {
				t.Errorf("there are %d steps to place %d", depth, place)
			}
		}
	}
}
