package voltest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Hitter damages a volume at random.
type Hitter struct {
	T    testing.TB
	Rnd  *rand.Rand
	Good dev.Device // the volume before any damage
	D    *dev.Mem
}

// Pick is one of a list; ok is false where it is empty.
func Pick[T any](rnd *rand.Rand, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[rnd.IntN(len(list))], true
}

// Put writes b.
func (h *Hitter) Put(off int64, b ...byte) {
	h.T.Helper()
	if _, err := h.D.WriteAt(b, off); err != nil {
		h.T.Fatal(err)
	}
}

// Read is what stands there by now.
func (h *Hitter) Read(off, n int64) []byte {
	h.T.Helper()
	b := make([]byte, n)
	if _, err := h.D.ReadAt(b, off); err != nil {
		h.T.Fatal(err)
	}
	return b
}

// Byte changes one bit of n bytes, or one byte.
func (h *Hitter) Byte(off, n int64) string {
	off += h.Rnd.Int64N(n)
	b := h.Read(off, 1)[0] ^ 1<<h.Rnd.IntN(8)
	if h.Rnd.IntN(3) == 0 {
		b = byte(h.Rnd.Uint32())
	}
	h.Put(off, b)
	return fmt.Sprintf("byte at %d is %#x", off, b)
}

// Fill overwrites n bytes as failing media do: with zeros, with what erased flash
// holds, with noise, or with what belongs to one of the places from.
func (h *Hitter) Fill(off, n int64, from []int64) string {
	b := make([]byte, n)
	what := "zeros"
	switch h.Rnd.IntN(4) {
	case 0:
		what = "FF"
		for i := range b {
			b[i] = 0xFF
		}
	case 1:
		if at, ok := Pick(h.Rnd, from); ok && at+n <= h.D.Size() {
			what = fmt.Sprintf("what is at %d", at)
			b = h.Read(at, n)
		}
	case 2:
		what = "noise"
		for i := range b {
			b[i] = byte(h.Rnd.Uint32())
		}
	}
	h.Put(off, b...)
	return fmt.Sprintf("%d bytes at %d are %s", n, off, what)
}

// Swap exchanges what stands at a list of places with what stands at another.
func (h *Hitter) Swap(a, b []int64, n int64) {
	for i := range a {
		x, y := h.Read(a[i], n), h.Read(b[i], n)
		h.Put(a[i], y...)
		h.Put(b[i], x...)
	}
}

// Copy puts what stood at places of the sound volume to others.
func (h *Hitter) Copy(from, to []int64, n int64) {
	h.T.Helper()
	b := make([]byte, n)
	for i := range from {
		if _, err := h.Good.ReadAt(b, from[i]); err != nil {
			h.T.Fatal(err)
		}
		h.Put(to[i], b...)
	}
}
