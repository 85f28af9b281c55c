package dev

import "io"

// sparsePage is the least that is left as a hole, in bytes: the block of most
// file systems.
const sparsePage = 4096

// SparseWriter writes a file from its start on and leaves out what is zeros, which
// become holes. Who uses it sets the size of the file at the end.
type SparseWriter struct {
	w   io.WriterAt
	off int64
}

// NewSparseWriter is a SparseWriter on w, from byte 0 on. w is empty or reads as zeros.
func NewSparseWriter(w io.WriterAt) *SparseWriter { return &SparseWriter{w: w} }

// Write is io.Writer. Pages of 4 KiB of p count, so p is a multiple of that as long as
// more follows; pages of data that lie together are one write.
func (s *SparseWriter) Write(p []byte) (done int, err error) {
	for done < len(p) {
		n, zero := alike(p[done:])
		if !zero {
			m, err := s.w.WriteAt(p[done:done+n], s.off)
			if err != nil {
				return done + m, err
			}
		}
		done, s.off = done+n, s.off+int64(n)
	}
	return done, nil
}

// Skip leaves out n bytes, which are zeros.
func (s *SparseWriter) Skip(n int64) { s.off += n }

// alike is how many bytes p begins with in pages that are all zeros, or all not.
func alike(p []byte) (n int, zero bool) {
	for n < len(p) {
		page := p[n:min(n+sparsePage, len(p))]
		if z := AllZero(page); n == 0 {
			zero = z
		} else if z != zero {
			break
		}
		n += len(page)
	}
	return n, zero
}
