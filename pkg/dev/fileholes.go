package dev

import "os"

// DataRanges are the bytes of a file of size bytes that are not holes, in
// rising order; nil where all are data, or the file system does not tell.
func DataRanges(f *os.File, size int64) []Range {
	rs := []Range{}
	for at := int64(0); at < size; {
		r, ok := seekData(f, at, size)
		if !ok {
			return nil
		}
		if r.Empty() {
			break
		}
		rs = append(rs, r)
		at = r.End()
	}
	if len(rs) == 1 && rs[0].Len == size {
		return nil
	}
	return rs
}
