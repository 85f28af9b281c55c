package exfat

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// TestUpcaseStandard: [exFAT] §7.2.5.1 gives the size and the checksum of the
// recommended table.
func TestUpcaseStandard(t *testing.T) {
	b := standardUpcase()
	if sum := tableChecksum(b); len(b) != standardBytes || sum != standardSum {
		t.Fatalf("the table has %d bytes with checksum %#x, must have %d with %#x", len(b), sum, standardBytes, uint32(standardSum))
	}
	u, err := parseUpcase(b)
	if err != nil {
		t.Fatal(err)
	}
	if !u.mandatoryOK() || u.entries != upcaseUnits || *u != *standardTable() {
		t.Errorf("the stored table does not come back: %d entries", u.entries)
	}
	for from, to := range map[rune]rune{
		'a': 'A', 'z': 'Z', 'A': 'A', '0': '0', 'é': 'É', '÷': '÷', 'ÿ': 'Ÿ', 'ß': 'ß', 'я': 'Я', 'ς': 'Σ', 'ա': 'Ա', 'ａ': 'Ａ', 'ⓐ': 'Ⓐ',
		'日': '日', '\uFFFF': '\uFFFF', '\uFFFE': '\uFFFE', '\uD7FF': '\uD7FF',
	} {
		if got := u.fold(uint16(from)); got != uint16(to) {
			t.Errorf("upper case of %q is %#x, want %q", from, got, to)
		}
	}
}

func TestUpcaseMandatory(t *testing.T) {
	for _, c := range []struct {
		change func(*upcaseTable)
		want   bool
	}{
		{func(*upcaseTable) {}, true},
		{func(u *upcaseTable) { u.to['a'] = 'a' }, false},
		{func(u *upcaseTable) { u.to[0] = 1 }, false},
		{func(u *upcaseTable) { u.to[127] = 128 }, false},
		{func(u *upcaseTable) { u.to[128] = 127 }, true},
	} {
		u := standardTable()
		c.change(u)
		if u.mandatoryOK() != c.want {
			t.Errorf("mandatoryOK is %v, want %v", !c.want, c.want)
		}
	}
}

func units(vs ...uint16) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// TestUpcaseParse: tables in other forms than the recommended one, and bytes
// that are no table.
func TestUpcaseParse(t *testing.T) {
	standard := standardTable()
	whole := standard.to[:]
	for _, c := range []struct {
		name    string
		stored  []byte
		entries int
		bad     string
	}{
		{"uncompressed", units(whole...), upcaseUnits, ""},
		{"one entry", units(7), 1, ""},
		{"one run", units(0xFFFF, 0xFFFF, 0xFFFF), upcaseUnits, ""},
		{"run of none", units(0xFFFF, 0, 5), 1, ""},
		{"only runs", units(0xFFFF, 0x8000, 0xFFFF, 0x8000), upcaseUnits, ""},
		{"last entry", units(0xFFFF, 0xFFFE, 3, 4), upcaseUnits, ""},
		{"empty", nil, 0, "empty"},
		{"odd", []byte{1, 0, 2}, 0, "odd"},
		{"long", make([]byte, maxUpcaseBytes+2), 0, "more than"},
		{"one more", append(units(whole...), 1, 0), 0, "behind its last"},
		{"run without length", units(1, 0xFFFF), 0, "within a run"},
		{"run too long", units(1, 2, 0xFFFF, 0xFFFF), 0, "beyond"},
		{"two runs too long", units(0xFFFF, 0x8000, 0xFFFF, 0x8001), 0, "beyond"},
		{"mark behind the end", units(0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF), 0, "within a run"},
	} {
		u, err := parseUpcase(c.stored)
		switch {
		case c.bad == "" && err != nil, c.bad != "" && err == nil:
			t.Errorf("%s: %v", c.name, err)
		case err != nil && !strings.Contains(err.Error(), c.bad):
			t.Errorf("%s: %v, want %q", c.name, err, c.bad)
		case err == nil && u.entries != c.entries:
			t.Errorf("%s: %d entries, want %d", c.name, u.entries, c.entries)
		case err == nil && u.fold(0xFFF0) != 0xFFF0:
			t.Errorf("%s: %#x becomes %#x", c.name, 0xFFF0, u.fold(0xFFF0))
		}
	}
}

// TestUpcaseCompress: whatever the table, it comes back from what is stored,
// and that is never longer than without compression.
func TestUpcaseCompress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := identityTable()
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			u := rapid.Uint16Max(0xFFFE).Draw(t, "unit")
			want.to[u] = rapid.Uint16Max(0xFFFE).Draw(t, "upper")
		}
		b := compressUpcase(want)
		got, err := parseUpcase(b)
		if err != nil {
			t.Fatal(err)
		}
		if got.to != want.to || got.entries != upcaseUnits || len(b) > 2*upcaseUnits {
			t.Fatalf("another table comes back from %d bytes", len(b))
		}
	})
}

// TestUpcaseHash: the hash is that of the definition, byte by byte, and does
// not depend on the case.
func TestUpcaseHash(t *testing.T) {
	u := standardTable()
	plain := func(name []uint16) uint16 {
		var s uint16
		for _, c := range name {
			for _, b := range units(u.fold(c)) {
				s = (s<<15 | s>>1) + uint16(b)
			}
		}
		return s
	}
	for _, name := range []string{"", "a", "README.txt", "Ünï©ödé 日本語 😀", strings.Repeat("z", 255)} {
		n := utf16.Encode([]rune(name))
		if got := u.hash(n); got != plain(n) {
			t.Errorf("%q: hash %#x, want %#x", name, got, plain(n))
		}
		up := utf16.Encode([]rune(strings.ToUpper(name)))
		if u.hash(up) != u.hash(n) || !u.equalFold(up, n) {
			t.Errorf("%q is not the same name in upper case", name)
		}
	}
	if u.equalFold([]uint16{'a'}, []uint16{'a', 'b'}) || u.equalFold([]uint16{'a'}, []uint16{'b'}) {
		t.Error("different names are equal")
	}
}

func FuzzUpcase(f *testing.F) {
	f.Add(standardUpcase())
	f.Add(units(0xFFFF, 0xFFFF, 0xFFFF))
	f.Add(units(0xFFFF, 0, 0xFFFF, 0xFFFF))
	f.Add([]byte{0xFF})
	f.Fuzz(func(t *testing.T, stored []byte) {
		u, err := parseUpcase(stored)
		if err != nil {
			return
		}
		if u.entries > upcaseUnits || len(stored)%2 != 0 {
			t.Fatalf("%d entries from %d bytes", u.entries, len(stored))
		}
		// What stands for FFFFh would be taken for a run when stored again.
		for c := range u.to[:upcaseUnits-1] {
			if u.to[c] == identityRun {
				return
			}
		}
		again, err := parseUpcase(compressUpcase(u))
		if err != nil || again.to != u.to {
			t.Fatalf("stored again it is another table: %v", err)
		}
		name := []uint16{'a', 0xFFFF, 0}
		if u.hash(name) != u.hash([]uint16{u.to['a'], u.to[0xFFFF], u.to[0]}) && u.fold(u.fold('a')) == u.fold('a') &&
			u.fold(u.fold(0)) == u.fold(0) && u.fold(u.fold(0xFFFF)) == u.fold(0xFFFF) {
			t.Fatal("the hash depends on the case")
		}
	})
}

func BenchmarkUpcaseFold(b *testing.B) {
	u := standardTable()
	name := utf16.Encode([]rune("IMG_20240131_235959.jpeg"))
	other := utf16.Encode([]rune("img_20240131_235959.JPEG"))
	b.SetBytes(int64(len(name)))
	for b.Loop() {
		if !u.equalFold(name, other) {
			b.Fatal("the names differ")
		}
	}
}

func BenchmarkUpcaseHash(b *testing.B) {
	u := standardTable()
	name := utf16.Encode([]rune("IMG_20240131_235959.jpeg"))
	b.SetBytes(int64(len(name)))
	for b.Loop() {
		u.hash(name)
	}
}

func BenchmarkUpcaseParse(b *testing.B) {
	stored := standardUpcase()
	for b.Loop() {
		if _, err := parseUpcase(stored); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpcaseStandard(b *testing.B) {
	want := standardUpcase()
	for b.Loop() {
		if !bytes.Equal(standardUpcase(), want) {
			b.Fatal("another table")
		}
	}
}
