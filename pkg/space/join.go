package space

import (
	"cmp"
	"slices"
)

// Append adds e to es, as part of the last extent where it goes on with that.
func Append(es []Extent, e Extent) []Extent {
	if n := len(es); n > 0 && es[n-1].End() == uint64(e.Start) && uint64(es[n-1].Len)+uint64(e.Len) < 1<<32 {
		es[n-1].Len += e.Len
		return es
	}
	return append(es, e)
}

// Concat is a followed by b, joined where they touch. Neither is changed.
func Concat(a, b []Extent) []Extent {
	es := slices.Clone(a)
	for _, e := range b {
		es = Append(es, e)
	}
	return es
}

// Join is es in ascending order, with what touches joined. They must not
// overlap. es itself is sorted.
func Join(es []Extent) []Extent {
	slices.SortFunc(es, func(a, b Extent) int { return cmp.Compare(a.Start, b.Start) })
	var out []Extent
	for _, e := range es {
		out = Append(out, e)
	}
	return out
}

// Units is how many units es have together.
func Units(es []Extent) (n uint64) {
	for _, e := range es {
		n += uint64(e.Len)
	}
	return n
}
