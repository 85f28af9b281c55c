package dev

import (
	"slices"
	"sort"
)

// span is a run of staged pages [first, end): either pages with contents of
// their own, whose epochs are kept page by page, or a range staged to read as
// zeros or as a pattern has it, which is one span however long it is.
type span struct {
	first, end int64 // page numbers
	zero       bool
	pattern    Pattern // nil for zeros and pages
	epoch      uint32  // of the zeros or the pattern; 0 for pages
}

// pages reports whether the pages have contents of their own.
func (s span) pages() bool { return !s.zero && s.pattern == nil }

// part is the pages [first, end) of s.
func (s span) part(first, end int64) span {
	s.first, s.end = first, end
	return s
}

// joins reports whether s and o are of one kind, so that they can be one span
// where they touch.
func (s span) joins(o span) bool {
	return s.zero == o.zero && s.epoch == o.epoch && s.pattern == o.pattern
}

// spanBlock is how many spans a block of a spanSet holds at most: small enough
// that inserting moves little memory, large enough that blocks are few.
const spanBlock = 256

// spanSet is an ordered set of spans that do not overlap and are as long as
// can be. It is a list of blocks, so that both random and sequential staging
// stay cheap with millions of spans.
type spanSet struct{ blocks [][]span }

// cursor names a span in a spanSet; it is valid until the set changes.
type cursor struct{ block, i int }

func (s *spanSet) empty() bool { return len(s.blocks) == 0 }

// seek is the first span that ends after page.
func (s *spanSet) seek(page int64) cursor {
	b := sort.Search(len(s.blocks), func(i int) bool {
		blk := s.blocks[i]
		return blk[len(blk)-1].end > page
	})
	if b == len(s.blocks) {
		return cursor{b, 0}
	}
	blk := s.blocks[b]
	return cursor{b, sort.Search(len(blk), func(i int) bool { return blk[i].end > page })}
}

// get is the span at c; false past the last one.
func (s *spanSet) get(c cursor) (span, bool) {
	if c.block >= len(s.blocks) {
		return span{}, false
	}
	return s.blocks[c.block][c.i], true
}

// next is the cursor of the span after the one at c.
func (s *spanSet) next(c cursor) cursor {
	if c.i+1 < len(s.blocks[c.block]) {
		return cursor{c.block, c.i + 1}
	}
	return cursor{c.block + 1, 0}
}

// at is the span that holds page.
func (s *spanSet) at(page int64) (span, bool) {
	sp, ok := s.get(s.seek(page))
	return sp, ok && sp.first <= page
}

// put makes n's pages what n says, whatever they were before.
func (s *spanSet) put(n span) {
	from := s.seek(n.first - 1) // also the one that only touches n
	to := from
	var left, right span
	for sp, ok := s.get(to); ok && sp.first <= n.end; sp, ok = s.get(to) {
		to = s.next(to)
		if sp.joins(n) {
			n.first, n.end = min(n.first, sp.first), max(n.end, sp.end)
			continue
		}
		if sp.first < n.first {
			left = sp.part(sp.first, min(sp.end, n.first))
		}
		if sp.end > n.end {
			right = sp.part(max(sp.first, n.end), sp.end)
		}
	}
	s.replace(from, to, left, n, right)
}

// replace puts the spans that are not empty in the place of [from, to).
func (s *spanSet) replace(from, to cursor, with ...span) {
	with = slices.DeleteFunc(with, func(sp span) bool { return sp.end <= sp.first })
	if from.block == len(s.blocks) { // behind the last span
		if from.block == 0 {
			s.blocks = append(s.blocks, with)
			return
		}
		last := len(s.blocks) - 1
		s.settle(last, last+1, append(s.blocks[last], with...))
		return
	}
	if to.block == from.block {
		s.settle(from.block, from.block+1, slices.Replace(s.blocks[from.block], from.i, to.i, with...))
		return
	}
	joined := append(slices.Clone(s.blocks[from.block][:from.i]), with...)
	end := to.block
	if to.i > 0 {
		joined = append(joined, s.blocks[to.block][to.i:]...)
		end++
	}
	s.settle(from.block, end, joined)
}

// settle makes blk, halved when it is too long, the blocks [from, to).
func (s *spanSet) settle(from, to int, blk []span) {
	if len(blk) <= spanBlock {
		if to-from == 1 {
			s.blocks[from] = blk
			return
		}
		s.blocks = slices.Replace(s.blocks, from, to, blk)
		return
	}
	half := len(blk) / 2
	s.blocks = slices.Replace(s.blocks, from, to, slices.Clone(blk[:half]), blk[half:])
}
