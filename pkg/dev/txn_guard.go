package dev

import (
	"cmp"
	"slices"
)

// guard puts into the log what is to stay of the base, but for what is about to be
// written: the log has that anyhow.
func (c *commit) guard() error {
	ranges := c.guarded()
	for _, r := range ranges {
		c.total += r.Len
	}
	for _, r := range ranges {
		for r.Len > 0 {
			n := min(r.Len, undoZeros)
			err := c.undo.guard(c.ctx, c.t.base, Range{r.Off, n}, c.old)
			if err != nil {
				return err
			}
			c.progress(n)
			r = Range{r.Off + n, r.Len - n}
		}
	}
	return nil
}

// guarded is what there is to guard, in order and without overlaps: all but the pages
// of the plan, which is in order, too.
func (c *commit) guarded() []Range {
	var out []Range
	next := 0 // in the plan
	for _, r := range union(c.o.Guard, c.t.size) {
		for next < len(c.plan) {
			planned := c.t.bytes(c.plan[next].first, c.plan[next].end)
			if planned.Off >= r.End() {
				break
			}
			if planned.Off > r.Off {
				out = append(out, Range{r.Off, planned.Off - r.Off})
			}
			off := max(r.Off, planned.End())
			if r = (Range{off, r.End() - off}); r.Len <= 0 {
				break // the next range may begin in the same pages
			}
			next++
		}
		if !r.Empty() {
			out = append(out, r)
		}
	}
	return out
}

// union is the union of ranges, as far as it is below size, in order.
func union(ranges []Range, size int64) []Range {
	all := slices.Clone(ranges)
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Off, b.Off) })
	out := all[:0]
	var end int64
	for _, r := range all {
		if r = r.Intersect(Range{end, size - end}); r.Empty() {
			continue
		}
		if n := len(out); n > 0 && out[n-1].End() == r.Off {
			out[n-1].Len += r.Len
		} else {
			out = append(out, r)
		}
		end = r.End()
	}
	return out
}
