package lfs

import "slices"

// sortByKey sorts s by a number, and keeps the order of equals: a digit of 11
// bits at a time, the least significant first. A million block addresses take
// three passes over them, some tenth of what comparing them takes.
func sortByKey[T any](s []T, key func(*T) uint32) {
	const (
		digit  = 11
		values = 1 << digit
		few    = 256 // where counting digits costs more than comparing
	)
	if len(s) < few {
		slices.SortStableFunc(s, func(a, b T) int { return int(int64(key(&a)) - int64(key(&b))) })
		return
	}
	to := make([]T, len(s))
	from, n := s, 0 // n is how often the two changed places
	for shift := 0; shift < 32; shift += digit {
		var at [values]int
		for i := range from {
			at[key(&from[i])>>shift%values]++
		}
		if at[key(&from[0])>>shift%values] == len(s) {
			continue // the digit is the same in all
		}
		sum := 0
		for v, count := range at {
			at[v], sum = sum, sum+count
		}
		for i := range from {
			v := key(&from[i]) >> shift % values
			to[at[v]] = from[i]
			at[v]++
		}
		from, to = to, from
		n++
	}
	if n%2 != 0 {
		copy(s, from)
	}
}
