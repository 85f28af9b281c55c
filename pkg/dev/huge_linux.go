package dev

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page in bytes, where there are any: other sizes
// only make the advice less useful.
const hugePage = 2 << 20

// adviseHuge asks for large pages for the part of b that can be made of them. It
// is advice: that it is not taken does no harm.
func adviseHuge(b []byte) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := int(-at % hugePage)
	if n := (len(b) - skip) / hugePage * hugePage; n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
