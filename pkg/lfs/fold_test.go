package lfs

import (
	"strings"
	"testing"
)

// TestFoldName: what is folded, what is taken as it is, and what nobody can tell.
func TestFoldName(t *testing.T) {
	long := strings.Repeat("é", 127)
	for name, want := range map[string]string{
		"README.TXT": "readme.txt", "ÄÖÜ": "a\u0308o\u0308u\u0308", "Straße": "strasse", "ΣΑΣ": "σασ", "İ": "i\u0307",
		"がぎ": "か\u3099き\u3099", "한": "\u1112\u1161\u11ab", "日本": "日本", "\xff\xfeA": "\xff\xfeA", long: long,
		// The kernel has room for 254 bytes of a folded name.
		capitals(254): strings.Repeat("a", 254), capitals(255): capitals(255),
		strings.Repeat("Ä", 84) + "AB": strings.Repeat("a\u0308", 84) + "ab", strings.Repeat("Ä", 84) + "ABC": strings.Repeat("Ä", 84) + "ABC",
	} {
		if got, ok := foldName(nil, []byte(name)); !ok || string(got) != want {
			t.Errorf("%q folds to %q, %v, should be %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"a\u00ADb", "\U00010570", "\u2126"} {
		if got, ok := foldName(nil, []byte(name)); ok {
			t.Errorf("%q folds to %q", name, got)
		}
	}
}

func capitals(n int) string { return strings.Repeat("A", n) }
