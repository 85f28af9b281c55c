package dev

import "unsafe"

// MakeLarge is memory for n elements, none of them in use yet: in large pages,
// where the system has them and it is several of them. What is written once from
// end to end costs less so than with a fault for each small page.
func MakeLarge[T any](n int) []T {
	s := make([]T, 0, n)
	if n > 0 {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(n)*unsafe.Sizeof(s[:1][0])))
	}
	return s
}
