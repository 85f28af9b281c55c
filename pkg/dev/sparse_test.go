package dev

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// recorder is what was written, over what is there where nothing was.
type recorder struct {
	data   []byte
	writes []Range
}

func (r *recorder) WriteAt(p []byte, off int64) (int, error) {
	r.writes = append(r.writes, Range{off, int64(len(p))})
	return copy(r.data[off:], p), nil
}

// What is written reads back, no page of zeros is written, and pages that lie
// together are written at once.
func TestSparseWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1}), 0, 20).Draw(t, "pages")
		var want []byte
		for _, b := range pages {
			page := make([]byte, sparsePage)
			page[len(page)-1] = b
			want = append(want, page...)
		}
		want = append(want, make([]byte, rapid.IntRange(0, 9).Draw(t, "tail"))...)
		piece := sparsePage * rapid.IntRange(1, 8).Draw(t, "piece")
		r := &recorder{data: make([]byte, len(want))}
		w := NewSparseWriter(r)
		for p := want; len(p) > 0; {
			n, err := w.Write(p[:min(piece, len(p))])
			if err != nil || n != min(piece, len(p)) {
				t.Fatalf("%d bytes written, %v", n, err)
			}
			p = p[n:]
		}
		if !bytes.Equal(r.data, want) {
			t.Fatal("it reads differently")
		}
		for i, at := range r.writes {
			for off := at.Off; off < at.End(); off += sparsePage {
				if AllZero(want[off:min(off+sparsePage, at.End())]) {
					t.Fatalf("zeros are written at %d", off)
				}
			}
			if i > 0 && r.writes[i-1].End() == at.Off && at.Off%int64(piece) != 0 {
				t.Fatalf("%d and %d are two writes", r.writes[i-1].Off, at.Off)
			}
		}
	})
}
