package vol

import (
	"errors"
	"testing"
)

func TestParseSerial(t *testing.T) {
	for in, want := range map[string]uint32{
		"1234-ABCD": 0x1234ABCD, "1234-abcd": 0x1234ABCD, "1234abcd": 0x1234ABCD, "0x1234ABCD": 0x1234ABCD, "0X1": 1, "2a": 0x2A, "0": 0,
	} {
		if got, err := ParseSerial(in); got != want || err != nil {
			t.Errorf("%q is %08X, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "123456789", "0x", "0x123456789", "12345-678", "+1234567", "-123", "1_000", "0000-00000", "00x1-2345", "1234-", "none",
	} {
		if _, err := ParseSerial(in); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestSerialFrom(t *testing.T) {
	seen := map[uint32]uint64{}
	for seed := range uint64(100_000) {
		s := SerialFrom(seed)
		if old, twice := seen[s]; twice && seed < 10_000 || s == 0 {
			t.Fatalf("seeds %d and %d give %08x", old, seed, s)
		}
		seen[s] = seed
	}
	if len(seen) < 99_900 {
		t.Errorf("100000 seeds give %d serial numbers", len(seen))
	}
}

func TestSerial(t *testing.T) {
	if s, err := (&FormatOptions{ID: "12-3"}).Serial(); !errors.Is(err, ErrUsage) {
		t.Errorf("%08X, %v", s, err)
	}
	if s, err := (&FormatOptions{ID: "0xF", Seed: 7}).Serial(); s != 0xF || err != nil {
		t.Errorf("%08X, %v", s, err)
	}
	if s, err := (&FormatOptions{Seed: 7}).Serial(); s != SerialFrom(7) || err != nil {
		t.Errorf("%08X, %v", s, err)
	}
}
