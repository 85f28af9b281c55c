package exfat

import (
	"math/rand/v2"
	"testing"
)

// TestSetChecksums: two at once are as one at a time, and as [exFAT] §6.3.3
// Figure 2 has it, byte by byte.
func TestSetChecksums(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		n := (1 + rnd.IntN(19)) * entryLen
		a, b := make([]byte, n), make([]byte, n)
		for i := range a {
			a[i], b[i] = byte(rnd.Uint32()), byte(rnd.Uint32())
		}
		slow := func(set []byte) (s uint16) {
			for i, v := range set {
				if i != 2 && i != 3 {
					s = (s&1)<<15 + s>>1 + uint16(v)
				}
			}
			return s
		}
		s, u := setChecksums(a, b)
		if s != slow(a) || u != slow(b) || s != setChecksum(a) || u != setChecksum(b) {
			t.Fatalf("%d bytes: %#x %#x, want %#x %#x", n, s, u, slow(a), slow(b))
		}
	}
}
