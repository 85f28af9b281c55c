package lfs

const (
	keyDigit  = 11 // bits of a digit of sortByKey
	keyValues = 1 << keyDigit
	keyFew    = 32 // fewer are sorted by inserting: counting digits would cost more
)

// sortByKey sorts s by a number, and keeps the order of equals: a digit at a
// time, the least significant first. A million block addresses take some tenth
// of what comparing them takes. Small numbers take fewer passes, and what is
// sorted already takes none. spare is memory for as many, which is made as it is
// needed; nil for none that is kept.
func sortByKey[T any](s []T, spare *[]T, key func(*T) uint32) {
	if len(s) < keyFew {
		insertByKey(s, key)
		return
	}
	sorted, before, top := true, uint32(0), uint32(0)
	for i := range s {
		k := key(&s[i])
		sorted, before, top = sorted && k >= before, k, max(top, k)
	}
	if sorted {
		return
	}
	from, to := s, room(spare, len(s))
	for shift := 0; top>>shift > 0; shift += keyDigit {
		var at [keyValues]uint32
		for i := range from {
			at[key(&from[i])>>shift%keyValues]++
		}
		sum := uint32(0)
		for v, n := range at {
			at[v], sum = sum, sum+n
		}
		for i := range from {
			v := key(&from[i]) >> shift % keyValues
			to[at[v]] = from[i]
			at[v]++
		}
		from, to = to, from
	}
	if &from[0] != &s[0] {
		copy(s, from)
	}
}

func insertByKey[T any](s []T, key func(*T) uint32) {
	for i := 1; i < len(s); i++ {
		for k := i; k > 0 && key(&s[k]) < key(&s[k-1]); k-- {
			s[k], s[k-1] = s[k-1], s[k]
		}
	}
}

// room is memory for n elements: what spare has, if that is enough.
func room[T any](spare *[]T, n int) []T {
	if spare == nil {
		return make([]T, n)
	}
	if cap(*spare) < n {
		*spare = make([]T, n)
	}
	return (*spare)[:n]
}
