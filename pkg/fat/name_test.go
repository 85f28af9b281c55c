package fat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/vol"
)

func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

func TestDecodeShort(t *testing.T) {
	for _, tt := range []struct {
		name string
		nt   byte
		want string
	}{
		{"README  TXT", 0, "README.TXT"},
		{"README  TXT", lcaseBase, "readme.TXT"},
		{"README  TXT", lcaseBase | lcaseExtension, "readme.txt"},
		{"README  TXT", 0xFF, "readme.txt"}, // the other bits are Windows' own
		{"A          ", 0, "A"},
		{".          ", 0, "."},
		{"..         ", 0, ".."},
		{"A B     C D", 0, "A B.C D"},
		{"\x05BC     \x05  ", 0, "σBC.\\x05"},
		{"\x9AB      TXT", lcaseBase, "üb.TXT"},
		{"A\x01\x7FB    TXT", 0, `A\x01\x7FB.TXT`},
		{"        TXT", 0, ".TXT"},
	} {
		if got := dosPage().decode([]byte(tt.name), tt.nt); got != tt.want {
			t.Errorf("decode(%q, %#x) = %q, want %q", tt.name, tt.nt, got, tt.want)
		}
	}
	if got := string(utf16.Decode(dosPage().units([]byte("\x9AB      TXT"), nil))); got != "ÜB.TXT" {
		t.Errorf("units gives %q", got)
	}
}

func TestDecodeUnits(t *testing.T) {
	for _, tt := range []struct {
		u    []uint16
		want string
	}{
		{units("Grüße 日本 😀"), "Grüße 日本 😀"},
		{[]uint16{'a', 0xD83D, 'b'}, "a\uFFFDb"},
		{[]uint16{0xDE00, 'b'}, "\uFFFDb"},
		{[]uint16{'a', 0xD83D}, "a\uFFFD"},
		{nil, ""},
	} {
		if got := decodeUnits(tt.u); got != tt.want {
			t.Errorf("decodeUnits(%x) = %q, want %q", tt.u, got, tt.want)
		}
	}
}

func TestFoldUnit(t *testing.T) {
	for _, tt := range []struct{ in, want rune }{
		{'a', 'A'}, {'z', 'Z'}, {'A', 'A'}, {'{', '{'}, {'ü', 'Ü'}, {'ÿ', 'Ÿ'}, {'÷', '÷'}, {'ß', 'ß'},
		{'σ', 'Σ'}, {'я', 'Я'}, {'日', '日'}, {'ａ', 'Ａ'}, {0xD83D, 0xD83D}, {'ა', 'ა'},
		{'ı', 'ı'}, {'ſ', 'ſ'}, {'K', 'K'}, {'µ', 'µ'}, // not to be taken for ASCII
	} {
		if got := foldUnit(uint16(tt.in)); got != uint16(tt.want) {
			t.Errorf("foldUnit(%q) = %q, want %q", tt.in, rune(got), tt.want)
		}
	}
	for u := range 1 << 16 {
		if f := foldUnit(uint16(u)); foldUnit(f) != f || u >= 0x80 && f < 0x80 {
			t.Fatalf("foldUnit(%#x) = %#x, which folds to %#x", u, f, foldUnit(f))
		}
	}
	if !vol.EqualFolded(units("Grüße"), units("GRÜßE"), foldUnit) || vol.EqualFolded(units("a"), units("ab"), foldUnit) || vol.EqualFolded(units("a"), units("b"), foldUnit) {
		t.Error("equalFold is wrong")
	}
}

func TestClassifyShort(t *testing.T) {
	for _, tt := range []struct {
		c    byte
		i    int
		want shortClass
	}{
		{'A', 0, shortOK}, {'a', 3, shortLower}, {' ', 0, shortLeading}, {' ', 1, shortOK}, {5, 0, shortOK},
		{5, 1, shortIllegal}, {0, 0, shortIllegal}, {0x7F, 1, shortIllegal}, {'.', 2, shortIllegal}, {'+', 2, shortLongOnly},
		{'|', 0, shortIllegal}, {0xE5, 1, shortOK}, {'~', 7, shortOK}, {'[', 0, shortLongOnly},
	} {
		if got := classifyShort(tt.c, tt.i); got != tt.want {
			t.Errorf("classifyShort(%#x, %d) = %v, want %v", tt.c, tt.i, got, tt.want)
		}
	}
	for name, want := range map[string]bool{
		"CON        ": true, "NUL     TXT": true, "COM1       ": true, "LPT9    X  ": true, "CLOCK$     ": true,
		"COM0       ": false, "COM10      ": false, "CONS       ": false, "           ": false,
	} {
		if got := isDeviceName([]byte(name)); got != want {
			t.Errorf("isDeviceName(%q) = %v", name, got)
		}
	}
}

func TestEncodeLong(t *testing.T) {
	for _, good := range []string{"a", "Grüße 日本 😀.txt", ".hidden", "a+b,c;d=e[f]", strings.Repeat("x", 255), strings.Repeat("😀", 127) + "x"} {
		if u, err := encodeLong(good); err != nil || decodeUnits(u) != good {
			t.Errorf("encodeLong(%q) = %q, %v", good, decodeUnits(u), err)
		}
	}
	for _, bad := range []string{"", ".", "..", "a.", "a ", "a\x01", "a:b", "a\\b", "a|b", `"`, "\xFF", strings.Repeat("x", 256), strings.Repeat("😀", 128)} {
		if _, err := encodeLong(bad); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("encodeLong(%q): %v, want ErrRequest", bad, err)
		}
	}
}

func TestFitsShort(t *testing.T) {
	for name, want := range map[string]string{
		"README.TXT": "README  TXT 0", "readme.txt": "README  TXT 18", "readme.TXT": "README  TXT 8", "README.txt": "README  TXT 10",
		"A": "A           0", "a1~_": "A1~_        8", "12345678.123": "12345678123 0",
		"Readme.txt": "", "a b": "", ".x": "", "a.b.c": "", "123456789": "", "a.1234": "", "a+b": "", "ü": "", "a.": "", "": "", "A.b1C": "",
	} {
		short, nt, ok := dosPage().fits(units(name))
		got := ""
		if ok {
			got = fmt.Sprintf("%s %x", short[:], nt)
		}
		if got != want {
			t.Errorf("fits(%q) = %q, want %q", name, got, want)
		}
		if ok && dosPage().decode(short[:], nt) != name {
			t.Errorf("fits(%q) reads back as %q", name, dosPage().decode(short[:], nt))
		}
	}
}

func TestShortAlias(t *testing.T) {
	taken := map[[11]byte]bool{}
	for _, tt := range []struct{ name, want string }{
		{"Readme.txt", "README  TXT"},
		{"readme.TXt", "README~1TXT"},
		{"The quick brown.fox", "THEQUI~1FOX"},
		{".gitignore", "GITIGN~1   "},
		{"a+b.txt", "A_B~1   TXT"},
		{"a,b.txt", "A_B~2   TXT"},
		{"a.json", "A~1     JSO"},
		{"a.jsonc", "A~2     JSO"},
		{"a.b.c", "AB~1    C  "},
		{"日本.txt", "__~1    TXT"},
		{"x y", "XY~1       "},
		{"Foo", "FOO        "},
		{"longlonglong.tar.gz", "LONGLO~1GZ "},
	} {
		got, err := dosPage().alias(units(tt.name), func(n [11]byte) bool { return taken[n] })
		if err != nil || string(got[:]) != tt.want {
			t.Errorf("alias(%q) = %q, %v, want %q", tt.name, got, err, tt.want)
		}
		taken[got] = true
	}
}

// Tens of thousands of similar names must each take a few looks, not as many
// as there are names.
func TestShortAliasMany(t *testing.T) {
	const names = 60000
	taken := map[[11]byte]bool{}
	looks := 0
	for i := range names {
		a, err := dosPage().alias(units(fmt.Sprintf("similar name number %05d.text", i)), func(n [11]byte) bool {
			looks++
			return taken[n]
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range a {
			if classifyShort(c, k) != shortOK {
				t.Fatalf("alias %q has byte %#x", a, c)
			}
		}
		taken[a] = true
	}
	if len(taken) != names || looks > 10*names {
		t.Errorf("%d aliases of %d names after %d looks", len(taken), names, looks)
	}
	if _, err := dosPage().alias(units("some name"), func([11]byte) bool { return true }); !errors.Is(err, errNoAlias) {
		t.Errorf("with all taken: %v", err)
	}
}

func TestLongSlotsReadBack(t *testing.T) {
	for _, n := range []int{1, 12, 13, 14, 26, 255} {
		name := units(strings.Repeat("ü", n-1) + "x")
		short := [11]byte([]byte("X~1        "))
		var slots []byte
		for _, s := range longSlots(name, nameSum(short[:])) {
			slots = append(slots, s[:]...)
		}
		slots = append(slots, newEntry(short, 0, attrArchive, stamp{})...)
		found := 0
		eachEntry(slots, func(e namedEntry) bool {
			found++
			if string(utf16.Decode(e.long)) != string(utf16.Decode(name)) || e.first != 0 || e.slot != len(slots)/entryLen-1 {
				t.Errorf("%d units: %q in slots %d to %d", n, decodeUnits(e.long), e.first, e.slot)
			}
			return true
		})
		if found != 1 {
			t.Errorf("%d units: %d entries", n, found)
		}
	}
}

// Long-name slots that belong to no entry, or not to this one, are not its name.
func TestEachEntryStrayLongNames(t *testing.T) {
	short := [11]byte([]byte("X~1        "))
	long := longSlots(units("a name of more than thirteen units"), nameSum(short[:]))
	entry := [entryLen]byte(newEntry(short, 0, attrArchive, stamp{}))
	wrongSum := longSlots(units("b"), nameSum(short[:])+1)
	for what, slots := range map[string][][entryLen]byte{
		"incomplete":   {long[0], long[1], entry},
		"out of order": {long[0], long[2], long[1], entry},
		"headless":     {long[1], long[2], entry},
		"wrong sum":    {wrongSum[0], entry},
		"interrupted":  {long[0], long[1], {entryDeleted}, long[2], entry},
	} {
		var b []byte
		for _, s := range slots {
			b = append(b, s[:]...)
		}
		eachEntry(b, func(e namedEntry) bool {
			if e.long != nil || e.name(dosPage()) != "X~1" {
				t.Errorf("%s: name is %q", what, e.name(dosPage()))
			}
			return true
		})
	}
}
