package vol

import (
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// A directory grows up to what is in use behind its end mark, over free slots,
// and not a slot further; its end mark and the rest of that block count.
func TestSlotsGrowing(t *testing.T) {
	const used, free = byte(0x55), byte(0xE5)
	inUse := func(s []byte) bool { return s[0] == used }
	for _, c := range []struct {
		name     string
		at       int // the slot in use behind the end mark; -1 for none
		first, n int
		fails    bool
	}{
		{"nothing there", -1, 4, 300, false},
		{"the first slot behind the mark", 5, 4, 1, true},
		{"the mark itself would lie there", 7, 4, 3, true},
		{"in the block that is written", 15, 4, 1, true},
		{"in the next block", 16, 4, 1, false},
		{"in the next block, which is reached", 16, 4, 12, true},
		{"in a later range", 200, 4, 170, false},
		{"in a later range, which is reached", 200, 4, 196, true},
		{"a gap before the mark", 5, 1, 2, false},
		{"behind the ranges", -1, 4, 5000, false},
	} {
		d := dev.NewMem(1 << 20)
		rs := []dev.Range{{Off: 64 << 10, Len: 4 << 10}, {Off: 8 << 10, Len: 4 << 10}}
		put := func(slot int, v byte) {
			off := rs[slot/128].Off + int64(slot%128)*SlotLen
			if _, err := d.WriteAt([]byte{v}, off); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			put(i, used)
		}
		put(1, free)
		put(2, free)
		put(6, free)
		if c.at >= 0 {
			put(c.at, used)
		}
		s, err := ReadSlots(d, rs, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Growing(c.first, c.n, inUse); errors.Is(err, ErrBehindEnd) != c.fails || err != nil && !c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := NewSlots(100).Growing(0, 50, inUse); err != nil {
		t.Errorf("a new directory: %v", err)
	}
}
