package dev

// section is a Device over the range r of d, which is no section itself.
type section struct {
	d Device
	r Range
}

var _ Device = (*section)(nil)

// Section is a Device over the range r of d: a partition, or the volume at an
// offset. ErrRange if r leaves d. Closing it leaves d open; errors of d name
// bytes of d.
func Section(d Device, r Range) (Device, error) {
	if err := CheckRange("open", r, d.Size()); err != nil {
		return nil, err
	}
	base, off := Base(d)
	return &section{d: base, r: Range{Off: off + r.Off, Len: r.Len}}, nil
}

// Base is the device that d is a section of and the offset in bytes at which d
// begins there; d itself and 0 if it is none.
func Base(d Device) (Device, int64) {
	if s, ok := d.(*section); ok {
		return s.d, s.r.Off
	}
	return d, 0
}

// at is the range r of s as one of s.d, or ErrRange, which names r as it is.
func (s *section) at(op string, r Range) (Range, error) {
	if err := CheckRange(op, r, s.r.Len); err != nil {
		return Range{}, err
	}
	return Range{Off: s.r.Off + r.Off, Len: r.Len}, nil
}

func (s *section) ReadAt(p []byte, off int64) (int, error) {
	r, err := s.at("read", Range{Off: off, Len: int64(len(p))})
	if err != nil {
		return 0, err
	}
	return s.d.ReadAt(p, r.Off)
}

func (s *section) WriteAt(p []byte, off int64) (int, error) {
	r, err := s.at("write", Range{Off: off, Len: int64(len(p))})
	if err != nil {
		return 0, err
	}
	return s.d.WriteAt(p, r.Off)
}

func (s *section) Size() int64    { return s.r.Len }
func (s *section) Limits() Limits { return s.d.Limits() }

func (s *section) NextData(off int64) Range {
	off = max(off, 0)
	if off >= s.r.Len {
		return Range{Off: s.r.Len}
	}
	left := Range{Off: s.r.Off + off, Len: s.r.Len - off}
	data := s.d.NextData(left.Off).Intersect(left)
	if data.Empty() {
		return Range{Off: s.r.Len}
	}
	return Range{Off: data.Off - s.r.Off, Len: data.Len}
}

func (s *section) Readahead(r Range) {
	r = r.Intersect(Range{Len: s.r.Len})
	if !r.Empty() {
		s.d.Readahead(Range{Off: s.r.Off + r.Off, Len: r.Len})
	}
}

func (s *section) Zero(r Range) error {
	r, err := s.at("zero", r)
	if err != nil {
		return err
	}
	return s.d.Zero(r)
}

// ZeroKeep is for the function of that name.
func (s *section) ZeroKeep(r Range) error {
	r, err := s.at("zero", r)
	if err != nil {
		return err
	}
	return ZeroKeep(s.d, r)
}

func (s *section) Discard(r Range) error {
	r, err := s.at("discard", r)
	if err != nil {
		return err
	}
	return s.d.Discard(r)
}

func (s *section) Sync() error  { return s.d.Sync() }
func (s *section) Close() error { return nil }
