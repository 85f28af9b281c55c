package space

import "testing"

// Walks of lead units that come to a loop of others are noticed in time; those that
// meet each unit once never are.
func TestLoopFinder(t *testing.T) {
	for lead := range uint32(70) {
		for round := uint32(1); round < 70; round++ {
			l := LoopFinder{}
			steps, c := uint32(0), uint32(1)
			for ; !l.Met(c); steps++ {
				if c++; c > lead+round {
					c = lead + 1
				}
				if steps > 3*(lead+round) {
					t.Fatalf("a loop of %d behind %d units is not noticed", round, lead)
				}
			}
			if steps < lead+round {
				t.Fatalf("a loop of %d behind %d units is seen after %d steps", round, lead, steps)
			}
		}
	}
	l := LoopFinder{}
	for c := uint32(100000); c > 0; c-- {
		if l.Met(c) {
			t.Fatalf("%d was met once", c)
		}
	}
}
