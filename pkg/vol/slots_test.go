package vol

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// scatteredRanges are ranges of n bytes in all on a device, not in order.
func scatteredRanges(rnd *rand.Rand, pieces int, piece int64) []dev.Range {
	var rs []dev.Range
	for _, k := range rnd.Perm(pieces) {
		rs = append(rs, dev.Range{Off: int64(k) * (piece + 512), Len: piece})
	}
	return rs
}

// Any sequence of entries taken and stored reads back, and nothing else of the
// device changes.
func TestSlots(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	for round := range 60 {
		piece := int64(512) << rnd.IntN(4)
		rs := scatteredRanges(rnd, 20, piece)
		limit := int(20 * piece / SlotLen)
		if round%3 == 0 {
			limit = limit/2 - 3
		}
		d := dev.NewMem(1 << 20)
		garbage := bytes.Repeat([]byte{0xEE}, 1<<20)
		if _, err := d.WriteAt(garbage, 0); err != nil {
			t.Fatal(err)
		}
		if err := d.Zero(dev.Range{Off: rs[0].Off, Len: 32}); err != nil {
			t.Fatal(err)
		}
		model := make([]byte, 0, limit) // the first byte of each slot
		for range 6 {
			s, err := ReadSlots(d, rs, limit)
			if err != nil {
				t.Fatal(err)
			}
			if s.End() != len(model) || s.Limit() != limit || s.Changed() {
				t.Fatalf("%d slots, want %d", s.End(), len(model))
			}
			for i := 0; i < len(model); i++ {
				n := 0
				for i+n < len(model) && model[i+n] == 0xE5 {
					n++
				}
				s.Free(i, n)
				i += n
			}
			model = addEntries(t, rnd, s, model)
			if err := s.Store(d, rs); err != nil {
				t.Fatal(err)
			}
			for i := range model { // some are given back
				if rnd.IntN(5) == 0 {
					model[i] = 0xE5
					s.At(i)[0] = 0xE5
					s.Mark(i, 1)
				}
			}
			if err := s.Store(d, rs); err != nil || s.Changed() {
				t.Fatal(err)
			}
			checkSlots(t, d, rs, model, limit)
		}
	}
}

func addEntries(t *testing.T, rnd *rand.Rand, s *Slots, model []byte) []byte {
	t.Helper()
	for range 1 + rnd.IntN(15) {
		n := 1 + rnd.IntN(5)
		first, ok := s.Room(n)
		if !ok {
			if len(model)+n <= s.Limit() {
				t.Fatalf("no room for %d behind %d of %d", n, len(model), s.Limit())
			}
			continue
		}
		v := byte(1 + rnd.IntN(200))
		for i := first; i < first+n; i++ {
			if i < len(model) {
				if model[i] != 0xE5 {
					t.Fatalf("slot %d is taken", i)
				}
				model[i] = v
			} else {
				model = append(model, v)
			}
			copy(s.At(i), bytes.Repeat([]byte{v}, SlotLen))
		}
		s.Mark(first, n)
	}
	if s.End() != len(model) {
		t.Fatalf("%d slots, want %d", s.End(), len(model))
	}
	return model
}

// checkSlots reads the device as if it were one piece.
func checkSlots(t *testing.T, d dev.Device, rs []dev.Range, model []byte, limit int) {
	t.Helper()
	var all []byte
	for _, r := range rs {
		b := make([]byte, r.Len)
		if _, err := d.ReadAt(b, r.Off); err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for i, v := range model {
		if all[i*SlotLen] != v {
			t.Fatalf("slot %d is %#x, want %#x", i, all[i*SlotLen], v)
		}
	}
	if n := len(model); n < limit && n*SlotLen < len(all) && all[n*SlotLen] != 0 {
		t.Fatalf("no end mark in slot %d", n)
	}
	between := make([]byte, 512)
	for _, r := range rs {
		if _, err := d.ReadAt(between, r.End()); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(between, []byte{0xEE}) != 512 {
			t.Fatalf("something was written at %d", r.End())
		}
	}
}

// A gap of many slots serves many entries.
func TestSlotsLongGap(t *testing.T) {
	s := NewSlots(1000)
	if _, ok := s.Room(500); !ok {
		t.Fatal("no room")
	}
	s.Free(10, 100)
	s.Free(300, 200) // up to the end
	for i := range 10 {
		if first, ok := s.Room(10); !ok || first != 10+10*i {
			t.Fatalf("slot %d, %v", first, ok)
		}
	}
	if first, ok := s.Room(40); !ok || first != 300 || s.End() != 500 {
		t.Errorf("slot %d, %d slots", first, s.End())
	}
	if first, ok := s.Room(200); !ok || first != 340 || s.End() != 540 {
		t.Errorf("slot %d, %d slots", first, s.End())
	}
	if _, ok := s.Room(461); ok {
		t.Error("461 more fit")
	}
}

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]string{"a": "a", "/a/b": "a|b", "::/a//b": "a|b", "::a": "a", "./a/./b": "a|b"} {
		parts, err := SplitPath(path)
		got := ""
		for i, p := range parts {
			if i > 0 {
				got += "|"
			}
			got += p
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "/", "a/", "../a", "a/../b", ".", "::"} {
		if _, err := SplitPath(path); !errors.Is(err, ErrRequest) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if a, b := JoinPath("/", "x"), JoinPath("/y", "x"); a != "/x" || b != "/y/x" {
		t.Errorf("%q, %q", a, b)
	}
}

// Pages of a transaction that were staged for something nearby, before or
// after, must not bring back what the zeroed bytes held.
func TestZeroFresh(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	for round := range 200 {
		m := dev.NewMem(64 << 10)
		old := bytes.Repeat([]byte{0xD5}, 64<<10)
		if _, err := m.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		tx := dev.Begin(m)
		raw := dev.Device(m)
		if round%4 == 0 {
			raw = nil
		}
		r := dev.Range{Off: rnd.Int64N(30_000), Len: 1 + rnd.Int64N(30_000)}
		stage := func() {
			for _, off := range []int64{r.Off - 1, r.End()} {
				if _, err := tx.WriteAt([]byte{0x11}, max(0, off)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if round%2 == 0 {
			stage()
		}
		if err := ZeroFresh(context.Background(), tx, raw, []dev.Range{r}); err != nil {
			t.Fatal(err)
		}
		if r.Off > 0 {
			stage()
		}
		if _, err := tx.Commit(context.Background(), dev.CommitOptions{}); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 64<<10)
		if _, err := m.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		if r.Off > 0 && len(bytes.Trim(got[r.Off:r.End()], "\x00")) > 0 || got[r.End()+1] != 0xD5 {
			t.Fatalf("%v is not all zeros, or more than that", r)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := dev.NewMem(4096)
	if err := ZeroFresh(ctx, m, m, []dev.Range{{Len: 5}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
