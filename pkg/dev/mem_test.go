package dev

import (
	"bytes"
	"sync"
	"testing"
)

func TestMemHuge(t *testing.T) {
	const size = 16 << 40
	m := NewMem(size)
	last := []byte{1, 2, 3}
	for _, off := range []int64{0, 5 << 40, size - 3} {
		if _, err := m.WriteAt(last, off); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Allocated(); got != 3*memChunk {
		t.Errorf("%d bytes of memory", got)
	}
	for _, tt := range []struct {
		off  int64
		want Range
	}{
		{0, Range{0, memChunk}},
		{memChunk, Range{5 << 40, memChunk}},
		{5<<40 + memChunk, Range{size - memChunk, memChunk}},
		{size - 1, Range{size - 1, 1}},
		{size, Range{size, 0}},
	} {
		if got := m.NextData(tt.off); got != tt.want {
			t.Errorf("NextData(%d) = %v, want %v", tt.off, got, tt.want)
		}
	}
	if err := m.Zero(Range{Off: 1, Len: size - 1}); err != nil {
		t.Fatal(err)
	}
	if got := m.Allocated(); got != memChunk {
		t.Errorf("%d bytes of memory after zeroing all but one", got)
	}
	if _, err := m.WriteAt(make([]byte, 1<<20), 7<<40); err != nil || m.Allocated() != memChunk {
		t.Errorf("zeros written to a hole take memory: %d (%v)", m.Allocated(), err)
	}
}

func TestMemEdges(t *testing.T) {
	for _, size := range []int64{-5, 0} {
		if m := NewMem(size); m.Size() != 0 || m.NextData(0) != (Range{}) || m.Zero(Range{}) != nil {
			t.Errorf("a Mem of %d bytes: %d, %v", size, m.Size(), m.NextData(0))
		}
	}
	m := NewMem(memChunk + 10)
	if _, err := m.WriteAt(pattern(memChunk+10), 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Discard(Range{Off: memChunk, Len: 10}); err != nil || m.Allocated() != memChunk {
		t.Errorf("the short last chunk is kept: %d (%v)", m.Allocated(), err)
	}
	for _, r := range []Range{{-1, 1}, {memChunk + 10, 1}, {0, memChunk + 11}, {1, 1<<63 - 1}} {
		wantError(t, m.Zero(r), "zero", ErrRange)
	}
	_, err := m.ReadAt(make([]byte, 2), memChunk+9)
	wantError(t, err, "read", ErrRange)
	_, err = m.WriteAt(make([]byte, 2), memChunk+9)
	wantError(t, err, "write", ErrRange)

	m.SetReadOnly(true)
	if !m.Limits().ReadOnly {
		t.Error("not read-only")
	}
	_, err = m.WriteAt([]byte{1}, 0)
	wantError(t, err, "write", ErrReadOnly)
	wantError(t, m.Zero(Range{0, 1}), "zero", ErrReadOnly)
	wantError(t, m.Discard(Range{0, 1}), "zero", ErrReadOnly)
	m.SetReadOnly(false)
	m.Readahead(Range{Len: 1 << 62})
	if m.Sync() != nil || m.Close() != nil || m.Limits().ReadOnly {
		t.Error("sync or close fails, or still read-only")
	}
	got := make([]byte, memChunk)
	if _, err := m.ReadAt(got, 0); err != nil || !bytes.Equal(got, pattern(memChunk)) {
		t.Errorf("contents after close: %v", err)
	}
}

func TestMemConcurrent(t *testing.T) {
	m := NewMem(4 << 20)
	var wg sync.WaitGroup
	for g := range int64(4) {
		wg.Go(func() {
			p, q := pattern(3000), make([]byte, 3000)
			for i := range int64(50) {
				off := g<<20 + i*5000
				m.WriteAt(p, off)
				m.NextData(off)
				m.ReadAt(q, off)
				if !bytes.Equal(p, q) {
					t.Errorf("goroutine %d reads something else", g)
				}
				m.Zero(Range{Off: off, Len: 3000})
			}
		})
	}
	wg.Wait()
}
