package dev

import (
	"bytes"
	"encoding/binary"
)

// AllZero reports whether b holds nothing but zeros: it begins with zeros, and
// every byte is like the one eight before it, which takes fewest steps to see.
func AllZero(b []byte) bool {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b) == 0 && bytes.Equal(b[8:], b[:len(b)-8])
	}
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
