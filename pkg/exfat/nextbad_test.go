package exfat

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestNextBad: the bad marks of a FAT are those of its entries, not what two of
// them make together.
func TestNextBad(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	values := []uint32{0, fatBad, fatEOC, 0xFFF7FFFF, 0xFFFFF700, 0xFFFFFF, 0xF7F7F7F7, 7}
	for range 500 {
		b := make([]byte, 4*rnd.IntN(40))
		var want, got []int
		for i := 0; i < len(b); i += 4 {
			v := values[rnd.IntN(len(values))]
			binary.LittleEndian.PutUint32(b[i:], v)
			if v == fatBad {
				want = append(want, i)
			}
		}
		for i := nextBad(b, 0); i >= 0; i = nextBad(b, i+4) {
			got = append(got, i)
		}
		if len(got) != len(want) {
			t.Fatalf("% x: %v, want %v", b, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("% x: %v, want %v", b, got, want)
			}
		}
	}
	if nextBad(nil, 0) >= 0 {
		t.Error("a bad mark in nothing")
	}
}
