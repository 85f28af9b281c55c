package vol

import "math/bits"

// PowerOfTwo tells whether n is one.
func PowerOfTwo(n int64) bool { return n > 0 && bits.OnesCount64(uint64(n)) == 1 }

// RoundUp is the first multiple of to that is not below n.
func RoundUp(n, to int64) int64 { return DivUp(n, to) * to }

// DivUp is n / by, rounded up; n is not negative.
func DivUp(n, by int64) int64 {
	q := n / by
	if n%by > 0 {
		q++ // n+by-1 could be too large
	}
	return q
}

// FirstWhere is the first of 0 … n-1 for which ok holds, as it does for all
// that follow, or n. (sort.Search takes an int, which may have 32 bits.)
func FirstWhere(n int64, ok func(int64) bool) int64 {
	lo, hi := int64(0), n
	for lo < hi {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
