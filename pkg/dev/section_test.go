package dev

import (
	"bytes"
	"testing"
)

// noteDevice is a Mem that notes what reaches it.
type noteDevice struct {
	*Mem
	ahead, kept  []Range
	reads        []Range
	syncs, close int
}

func (d *noteDevice) Readahead(r Range) { d.ahead = append(d.ahead, r) }
func (d *noteDevice) Sync() error       { d.syncs++; return nil }
func (d *noteDevice) Close() error      { d.close++; return nil }
func (d *noteDevice) ZeroKeep(r Range) error {
	d.kept = append(d.kept, r)
	return d.Mem.Zero(r)
}

func (d *noteDevice) ReadAt(p []byte, off int64) (int, error) {
	d.reads = append(d.reads, Range{Off: off, Len: int64(len(p))})
	return d.Mem.ReadAt(p, off)
}

func mustSection(t *testing.T, d Device, r Range) Device {
	t.Helper()
	s, err := Section(d, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSection(t *testing.T) {
	d := &noteDevice{Mem: NewMem(1 << 20)}
	outer := mustSection(t, d, Range{1000, 500000})
	s := mustSection(t, outer, Range{100, 1000})
	if base, off := Base(s); base != Device(d) || off != 1100 {
		t.Errorf("base %T at %d", base, off)
	}
	if base, off := Base(d); base != Device(d) || off != 0 {
		t.Errorf("base of no section %T at %d", base, off)
	}
	if s.Size() != 1000 || s.Limits() != d.Limits() {
		t.Errorf("size %d, limits %+v", s.Size(), s.Limits())
	}
	p := pattern(1000)
	if _, err := s.WriteAt(p, 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1000)
	if _, err := d.ReadAt(got, 1100); err != nil || !bytes.Equal(got, p) {
		t.Errorf("not where it belongs: %v", err)
	}
	s.Readahead(Range{500, 5000})
	s.Readahead(Range{1000, 5})
	s.Readahead(Range{-10, 5})
	if len(d.ahead) != 1 || d.ahead[0] != (Range{1600, 500}) {
		t.Errorf("read ahead %v", d.ahead)
	}
	if err := ZeroKeep(s, Range{10, 20}); err != nil || len(d.kept) != 1 || d.kept[0] != (Range{1110, 20}) {
		t.Errorf("kept %v (%v)", d.kept, err)
	}
	if err := s.Discard(Range{990, 10}); err != nil {
		t.Error(err)
	}
	if s.Sync() != nil || d.syncs != 1 || s.Close() != nil || d.close != 0 {
		t.Errorf("%d syncs, %d closes", d.syncs, d.close)
	}
}

func TestSectionRanges(t *testing.T) {
	m := NewMem(10000)
	for _, r := range []Range{{-1, 10}, {9999, 2}, {1, 1<<63 - 1}, {0, -1}} {
		_, err := Section(m, r)
		wantError(t, err, "open", ErrRange)
	}
	if s := mustSection(t, m, Range{10000, 0}); s.Size() != 0 || !s.NextData(0).Empty() {
		t.Error("an empty section is not empty")
	}
	s := mustSection(t, m, Range{5000, 1000})
	_, err := Section(s, Range{500, 501})
	wantError(t, err, "open", ErrRange)
	for _, r := range []Range{{-1, 1}, {1000, 1}, {999, 2}} {
		_, err := s.ReadAt(make([]byte, r.Len), r.Off)
		wantError(t, err, "read", ErrRange)
		_, err = s.WriteAt(make([]byte, r.Len), r.Off)
		wantError(t, err, "write", ErrRange)
		wantError(t, s.Zero(r), "zero", ErrRange)
		wantError(t, ZeroKeep(s, r), "zero", ErrRange)
		wantError(t, s.Discard(r), "discard", ErrRange)
	}
	wantError(t, ZeroKeep(m, Range{9999, 2}), "zero", ErrRange)
	m.SetReadOnly(true)
	wantError(t, ZeroKeep(m, Range{0, 2}), "write", ErrReadOnly)
}

func TestSectionNextData(t *testing.T) {
	m := NewMem(10 * memChunk)
	for _, c := range []int64{1, 2, 7} {
		if _, err := m.WriteAt([]byte{1}, c*memChunk); err != nil {
			t.Fatal(err)
		}
	}
	s := mustSection(t, m, Range{memChunk / 2, 2 * memChunk})
	for _, tt := range []struct {
		off  int64
		want Range
	}{
		{-1, Range{memChunk / 2, memChunk + memChunk/2}},
		{0, Range{memChunk / 2, memChunk + memChunk/2}},
		{memChunk, Range{memChunk, memChunk}},
		{2 * memChunk, Range{2 * memChunk, 0}},
	} {
		if got := s.NextData(tt.off); got != tt.want {
			t.Errorf("NextData(%d) = %v, want %v", tt.off, got, tt.want)
		}
	}
	hole := mustSection(t, m, Range{3 * memChunk, 3 * memChunk})
	if got := hole.NextData(5); got != (Range{3 * memChunk, 0}) {
		t.Errorf("NextData in a hole is %v", got)
	}
}
