package vol

import (
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Sizes of a directory of the FAT family, bytes.
const (
	// SlotLen is the length of an entry: 32 bytes in FAT and exFAT alike.
	SlotLen = 32
	// slotBlock is the unit in which slots are kept and written: the smallest
	// sector there is.
	slotBlock = 512
	// slotRead is how much of a directory is read at once: a long one in few
	// reads, and little beyond the end of a short one in large clusters.
	slotRead = 64 << 10
	// longestGap is how many free slots in a row are told apart by number; no
	// entry takes as many.
	longestGap = 32
)

// Slots is a directory of a format of the FAT family as the commands that
// change a volume see it: its 32-byte slots in memory, up to the end mark,
// which is a slot that begins with 0. It knows which slots are free and which
// have changed, and nothing of what is in them.
type Slots struct {
	b     []byte // whole blocks
	end   int    // slots before the end mark
	tail  int    // how many of them, the last ones, are free
	limit int
	gaps  [longestGap + 1][]gap // free slots by length, see Room
	dirty []bool                // by block
	old   tailView
}

// gap is a run of free slots.
type gap struct{ first, n int }

// NewSlots is a directory without slots that may get up to limit of them.
func NewSlots(limit int) *Slots { return &Slots{limit: limit} }

// ReadSlots reads the slots that lie in ranges of d, up to the end mark, and at
// most limit.
func ReadSlots(d dev.Device, ranges []dev.Range, limit int) (*Slots, error) {
	s := NewSlots(limit)
	defer func() { s.old = tailView{d: d, at: ranges, end: s.end, seen: s.end} }()
	for _, r := range ranges {
		for !r.Empty() && len(s.b) < limit*SlotLen {
			n := min(r.Len, slotRead)
			had := len(s.b)
			s.b = slices.Grow(s.b, max(int(n), had))[:had+int(n)]
			if _, err := d.ReadAt(s.b[had:], r.Off); err != nil {
				return nil, err
			}
			if s.findEnd(had / SlotLen) {
				return s, nil
			}
			r = dev.Range{Off: r.Off + n, Len: r.Len - n}
		}
	}
	s.end = min(len(s.b)/SlotLen, limit)
	return s, nil
}

// findEnd looks for the end mark from slot i on. Where it is, the slots that
// follow are dropped.
func (s *Slots) findEnd(i int) bool {
	for n := min(len(s.b)/SlotLen, s.limit); i < n; i++ {
		if s.b[i*SlotLen] != 0 {
			continue
		}
		s.end = i
		keep := ((i+1)*SlotLen + slotBlock - 1) / slotBlock * slotBlock
		s.b = append([]byte(nil), s.b[:min(keep, len(s.b))]...)
		return true
	}
	return false
}

// End is the number of slots before the end mark; Limit how many there may be.
func (s *Slots) End() int   { return s.end }
func (s *Slots) Limit() int { return s.limit }

// At is one slot, Run n adjacent ones. What is changed there is to be marked.
func (s *Slots) At(i int) []byte     { return s.Run(i, 1) }
func (s *Slots) Run(i, n int) []byte { return s.b[i*SlotLen : (i+n)*SlotLen : (i+n)*SlotLen] }

// Free notes that n slots from first on are free, for Room.
func (s *Slots) Free(first, n int) {
	switch {
	case n <= 0:
	case first+n == s.end:
		s.tail = n // no gap, but part of what follows it
	default:
		k := min(n, longestGap)
		s.gaps[k] = append(s.gaps[k], gap{first, n})
	}
}

// Room takes n adjacent free slots: from the smallest gap that holds them, else
// from where the last entry ends. As gaps are kept by length, that does not
// depend on how many there are. ok is false where the directory is full.
func (s *Slots) Room(n int) (first int, ok bool) {
	for k := min(n, longestGap); k <= longestGap; k++ {
		last := len(s.gaps[k]) - 1
		if last < 0 || s.gaps[k][last].n < n {
			continue
		}
		g := s.gaps[k][last]
		s.gaps[k] = s.gaps[k][:last]
		s.Free(g.first+n, g.n-n)
		return g.first, true
	}
	first = s.end - s.tail
	if first+n > s.limit {
		return 0, false
	}
	s.tail = max(0, s.tail-n)
	if first+n > s.end {
		s.end = first + n
		s.extend()
	}
	return first, true
}

// extend makes the memory for the slots up to the end, and ends them: what
// lies behind the end mark on the disk may be anything.
func (s *Slots) extend() {
	need := min(s.end+1, s.limit)
	if grow := (need*SlotLen+slotBlock-1)/slotBlock*slotBlock - len(s.b); grow > 0 {
		s.b = append(s.b, make([]byte, grow)...)
	}
	if need > s.end {
		clear(s.At(s.end))
		s.Mark(s.end, 1)
	}
}

// Mark notes that n slots from first on have changed.
func (s *Slots) Mark(first, n int) {
	from, to := first*SlotLen/slotBlock, ((first+n)*SlotLen-1)/slotBlock
	for len(s.dirty) <= to {
		s.dirty = append(s.dirty, false)
	}
	for b := from; b <= to; b++ {
		s.dirty[b] = true
	}
}

// Changed tells whether a slot was marked.
func (s *Slots) Changed() bool { return slices.Contains(s.dirty, true) }

// Store writes the blocks that have changed to ranges of d, in one piece for
// each range and run of blocks. A block that only holds the end mark may have
// no place: the end of the ranges is mark enough.
func (s *Slots) Store(d dev.Device, ranges []dev.Range) error {
	for b := 0; b < len(s.dirty); {
		if !s.dirty[b] {
			b++
			continue
		}
		from := b
		for b < len(s.dirty) && s.dirty[b] {
			b++
		}
		if err := s.write(d, ranges, int64(from)*slotBlock, int64(b)*slotBlock); err != nil {
			return err
		}
	}
	s.dirty = nil
	return nil
}

// write writes the bytes from … to-1 of the slots.
func (s *Slots) write(d dev.Device, ranges []dev.Range, from, to int64) error {
	to = min(to, int64(len(s.b)))
	pos := int64(0)
	for _, r := range ranges {
		part := dev.Range{Off: from, Len: to - from}.Intersect(dev.Range{Off: pos, Len: r.Len})
		if !part.Empty() {
			if _, err := d.WriteAt(s.b[part.Off:part.End()], r.Off+part.Off-pos); err != nil {
				return err
			}
		}
		pos += r.Len
	}
	return nil
}
