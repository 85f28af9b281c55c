package dev

import (
	"math/rand/v2"
	"testing"
)

// TestSpanSet puts thousands of spans and compares with an array of pages.
func TestSpanSet(t *testing.T) {
	const pages = 20_000
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var s spanSet
		model := make([]span, pages) // end 0: not in the set
		for i := range 12_000 {
			n := span{zero: rnd.IntN(3) == 0}
			if !n.zero && rnd.IntN(2) == 0 {
				n.pattern = shifted{by: rnd.Int64N(2)}
			}
			n.first = rnd.Int64N(pages)
			n.end = min(pages, n.first+1+rnd.Int64N([]int64{1, 1, 1, 30, 6000}[rnd.IntN(4+i%400/399)]))
			if !n.pages() {
				n.epoch = uint32(rnd.IntN(3))
			}
			s.put(n)
			for page := n.first; page < n.end; page++ {
				model[page] = n.part(page, page+1)
			}
			if i%1000 == 999 {
				checkSpans(t, &s, model)
			}
		}
	}
}

func checkSpans(t *testing.T, s *spanSet, model []span) {
	t.Helper()
	var last span
	spans := 0
	seen := make([]span, len(model))
	for c := (cursor{}); ; c = s.next(c) {
		sp, ok := s.get(c)
		if !ok {
			break
		}
		if sp.end <= sp.first || sp.first < last.end || sp.first == last.end && spans > 0 && sp.joins(last) {
			t.Fatalf("span %v after %v", sp, last)
		}
		for page := sp.first; page < sp.end; page++ {
			seen[page] = sp.part(page, page+1)
			if at, ok := s.at(page); !ok || at != sp {
				t.Fatalf("page %d is in %v, not in %v", page, at, sp)
			}
		}
		last = sp
		spans++
	}
	for i, want := range model {
		if seen[i] != want {
			t.Fatalf("page %d is %v, want %v", i, seen[i], want)
		}
	}
	for _, b := range s.blocks {
		if len(b) == 0 || len(b) > spanBlock {
			t.Fatalf("a block of %d spans", len(b))
		}
	}
}
