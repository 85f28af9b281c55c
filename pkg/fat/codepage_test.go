package fat

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// With a named code page letters beyond ASCII are in short names, too, and read
// back in it; without one they are not.
func TestCodepage(t *testing.T) {
	cp, err := newCodepage(850)
	must(t, err)
	u := func(s string) []uint16 { return utf16.Encode([]rune(s)) }
	for name, want := range map[string]string{"GRÜSSE.TXT": "GR\x9aSSE  TXT", "ÅRET": "\x8fRET       "} {
		short, _, ok := cp.fits(u(name))
		if !ok || string(short[:]) != want {
			t.Errorf("%s fits as %q, %v", name, short, ok)
		}
		if got := cp.decode(short[:], 0); got != name {
			t.Errorf("%s reads back as %s", name, got)
		}
		if _, _, ok := dosPage().fits(u(name)); ok {
			t.Errorf("%s fits in a page that nobody named", name)
		}
	}
	for _, name := range []string{"grüsse.txt", "日本.TXT", "Ж"} {
		if short, _, ok := cp.fits(u(name)); ok {
			t.Errorf("%s fits as %q", name, short)
		}
	}
	short, err := cp.alias(u("Grüße aus München.txt"), func([11]byte) bool { return false })
	if err != nil || string(short[:]) != "GR\x9a\xe1EA~1TXT" {
		t.Errorf("alias %q, %v", short, err)
	}
	// Õ (0xE5 in page 850) at the start is stored as 0x05: [FAT] DIR_Name[0].
	if short, _, ok := cp.fits(u("ÕX")); !ok || short[0] != entryKanji || cp.decode(short[:], 0) != "ÕX" {
		t.Errorf("ÕX fits as %q, %v", short, ok)
	}
	// % is another character in page 864, so a name with it has a long one.
	if arabic, err := newCodepage(864); err != nil || arabic.decode([]byte("A%         "), 0) != "A\u066A" {
		t.Errorf("page 864: %v", err)
	} else if _, _, ok := arabic.fits(u("A%")); ok {
		t.Error("A% fits in page 864")
	}
	if _, err := newCodepage(12345); !errors.Is(err, vol.ErrUsage) {
		t.Errorf("code page 12345: %v", err)
	}
}

// What was put with a code page is found with it.
func TestPutInCodepage(t *testing.T) {
	m := formatted(t, "fat16", 9<<20, 2048)
	ctx := context.Background()
	txn := dev.Begin(m)
	o := vol.ReadOptions{Codepage: 866}
	v, err := open(ctx, txn, vol.OpenOptions{Raw: m, ReadOptions: o})
	must(t, err)
	e := vol.Entry{Path: "ПРИВЕТ.ТХТ", Same: -1}
	e.Kind = vol.KindFile
	_, err = v.Put(ctx, &vol.PutRequest{Entries: []vol.Entry{e}})
	must(t, err)
	_, err = txn.Commit(ctx, dev.CommitOptions{})
	must(t, err)
	sound(t, m)
	for page, found := range map[int]bool{866: true, 850: false} {
		tree, err := read(ctx, m, vol.ReadOptions{Codepage: page})
		must(t, err)
		if _, err := vol.Resolve(tree, "привет.тхт"); (err == nil) != found {
			t.Errorf("page %d: %v", page, err)
		}
	}
}

// Characters of two bytes: a name has its short one by bytes, and none is cut in
// two. 0x5C and other bytes that mean something alone mean nothing in them, and a
// leading 0xE5 is kept as 0x05.
func TestDoubleByteNames(t *testing.T) {
	type taken = map[string]bool
	for _, c := range []struct {
		page        int
		name, short string // short is "" where a long name is needed
		alias       string
		taken       taken
	}{
		{932, "表.TXT", "", "\x95\x5c      TXT", nil},
		{932, "表ソ.tx", "", "\x95\x5c\x83\x5c    TX ", nil},
		{932, "漢字名前", "\x8a\xbf\x8e\x9a\x96\xbc\x91\x4f   ", "", nil},
		{932, "a漢字名前", "", "A\x8a\xbf\x8e\x9a~1    ", nil},              // seven bytes do not leave room for a half
		{932, "漢字名前の一覧.text", "", "\x8a\xbf\x8e\x9a\x96\xbc~1TEX", nil}, // six do
		{932, "x漢字.漢字", "", "X\x8a\xbf\x8e\x9a~1 \x8a\xbf ", nil},
		{932, "ab漢字名前.t", "", "AB\x8a\xbf\x8e\x9a~1T  ", nil},
		{932, "漢字 名前.t", "", "\x8a\xbf\x8e\x9a\x96\xbc~2T  ", taken{"\x8a\xbf\x8e\x9a\x96\xbc~1T  ": true}},
		{932, "ｶﾅ", "\xb6\xc5         ", "", nil},
		{932, "纂", "\x8e\x5b         ", "", nil},
		{932, "蕁", "\x05\x40         ", "", nil}, // E5 40
		{932, "Ａｂ", "", "\x82\x60\x82\x61       ", nil},
		{932, "ａ", "", "\x82\x60         ", nil},
		{932, "ah漢Ⅰ", "", "AH\x8a\xbf\x87\x54     ", nil},
		{932, "~한글", "", "~__~1      ", nil},
		{936, "中文文件.TXT", "\xd6\xd0\xce\xc4\xce\xc4\xbc\xfeTXT", "", nil},
		{936, "€.1", "\x80       1  ", "", nil},
		{949, "한글.이", "\xc7\xd1\xb1\xdb    \xc0\xcc ", "", nil},
		{950, "許功蓋", "", "\xb3\x5c\xa5\x5c\xbb\x5c     ", nil},
		{950, "ひ", "", "_~1        ", nil}, // the Web has it, Windows does not
	} {
		cp, err := newCodepage(c.page)
		must(t, err)
		units := utf16.Encode([]rune(c.name))
		short, nt, ok := cp.fits(units)
		if ok != (c.short != "") || ok && string(short[:]) != c.short {
			t.Errorf("%d: %s fits as %q, %v", c.page, c.name, short, ok)
		}
		if ok {
			if got := cp.decode(short[:], nt); got != c.name {
				t.Errorf("%d: %s reads back as %s", c.page, c.name, got)
			}
			continue
		}
		got, err := cp.alias(units, func(n [11]byte) bool { return c.taken[string(n[:])] })
		if err != nil || string(got[:]) != c.alias {
			t.Errorf("%d: %s has the alias %q, %v, not %q", c.page, c.name, got, err, c.alias)
		}
	}
}

// Whatever a name is, its short names are made of whole characters that are
// allowed, and those that need no long name read back as they were.
func TestCodepageNamesRandom(t *testing.T) {
	pages := map[int]codepage{}
	for _, number := range codepageNumbers() {
		cp, err := newCodepage(number)
		must(t, err)
		pages[number] = cp
	}
	rapid.Check(t, func(t *rapid.T) {
		cp := pages[rapid.SampledFrom(codepageNumbers()).Draw(t, "page")]
		letters := slices.Sorted(maps.Keys(cp.codes))
		unit := rapid.OneOf(rapid.Map(rapid.SampledFrom(letters), func(u uint16) uint16 { return u }),
			rapid.Map(rapid.SampledFrom([]byte("abcXYZ019 .~_-+[%")), func(c byte) uint16 { return uint16(c) }), rapid.Uint16Range(0xA0, 0xD7FF))
		name := rapid.SliceOfN(unit, 1, 14).Draw(t, "name")
		if short, nt, ok := cp.fits(name); ok {
			if got := cp.decode(short[:], nt); got != string(utf16.Decode(name)) && !strings.Contains(got, `\x`) {
				t.Fatalf("%q fits as %q, which reads back as %q", utf16.Decode(name), short, got)
			}
			if got := cp.units(short[:], nil); !slices.EqualFunc(got, name, func(a, b uint16) bool { return foldUnit(a) == foldUnit(b) }) {
				t.Fatalf("%q fits as %q, which compares as %q", utf16.Decode(name), short, utf16.Decode(got))
			}
		}
		used := map[[11]byte]bool{}
		for range 20 {
			short, err := cp.alias(name, func(n [11]byte) bool { return used[n] })
			if err != nil {
				t.Fatal(err)
			}
			used[short] = true
			for _, u := range cp.units(short[:], nil) {
				if u&0xFC00 == 0xDC00 {
					t.Fatalf("%q has the alias %q, with half of a character", utf16.Decode(name), short)
				}
			}
			for i, c := range cp.lone(short[:]) {
				if c != ' ' && classifyShort(c, i) != shortOK || c == entryDeleted && i == 0 {
					t.Fatalf("%q has the alias %q, with %#02x", utf16.Decode(name), short, c)
				}
			}
		}
	})
}

// Whatever the bytes of a short name are, they are read in every page, each name
// as another one, and mended to one that is allowed.
func TestCodepageBytesRandom(t *testing.T) {
	for _, number := range codepageNumbers() {
		cp, err := newCodepage(number)
		must(t, err)
		rapid.Check(t, func(t *rapid.T) {
			kind := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{' ', 0x05, 0x5C, 0x7C, 0x81, 0xE5, 0xFC, 'a', 'A', '.'}))
			name := rapid.SliceOfN(kind, 11, 11).Draw(t, "name")
			if cp.decode(name, lcaseBase|lcaseExtension) == "" && trimSpaces(name) > 0 {
				t.Fatalf("page %d: % x is read as nothing", number, name)
			}
			at := -1
			for i := range cp.lone(name) {
				if i <= at || i > 10 || at >= 0 && i-at > 1 && cp.double == nil {
					t.Fatalf("page %d: % x: byte %d after %d", number, name, i, at)
				}
				at = i
			}
			clean := cp.cleanShort(name)
			for i, c := range cp.lone(clean[:]) {
				if k := classifyShort(c, i); k != shortOK {
					t.Fatalf("page %d: % x becomes % x with %#02x", number, name, clean, c)
				}
			}
			for n := range 9 {
				if k := cp.cut(clean[:8], n); k > n || k < n-1 || cp.double == nil && k != n {
					t.Fatalf("page %d: %d bytes of % x are cut to %d", number, n, clean, k)
				}
			}
		})
	}
}
