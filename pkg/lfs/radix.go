package lfs

import "slices"

// Digits of sortByKey: three of 11 bits are a number of 32.
const (
	keyDigit  = 11
	keyValues = 1 << keyDigit
	keyDigits = 3
	keyFew    = 256 // fewer are sorted by comparing: counting digits would cost more
)

// sortByKey sorts s by a number, and keeps the order of equals: a digit at a
// time, the least significant first. A million block addresses take some tenth
// of what comparing them takes. Digits that are the same in all are skipped, so
// small numbers take one pass.
func sortByKey[T any](s []T, key func(*T) uint32) {
	if len(s) < keyFew {
		slices.SortStableFunc(s, func(a, b T) int { return int(int64(key(&a)) - int64(key(&b))) })
		return
	}
	var counts [keyDigits][keyValues]uint32
	for i := range s {
		k := key(&s[i])
		counts[0][k%keyValues]++
		counts[1][k>>keyDigit%keyValues]++
		counts[2][k>>(2*keyDigit)]++
	}
	first := key(&s[0])
	var to []T
	from := s
	for d := range uint(keyDigits) {
		at := &counts[d]
		if int(at[first>>(keyDigit*d)%keyValues]) == len(s) {
			continue
		}
		sum := uint32(0)
		for v, n := range at {
			at[v], sum = sum, sum+n
		}
		if to == nil {
			to = make([]T, len(s))
		}
		for i := range from {
			v := key(&from[i]) >> (keyDigit * d) % keyValues
			to[at[v]] = from[i]
			at[v]++
		}
		from, to = to, from
	}
	if &from[0] != &s[0] {
		copy(s, from)
	}
}
