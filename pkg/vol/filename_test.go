package vol

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestEncodeName(t *testing.T) {
	for _, name := range []string{"a", ".a", "a b.c", "+,;=[]", "日本 é", "😀", "..a", strings.Repeat("x", 255), strings.Repeat("😀", 127)} {
		if u, err := EncodeName(name, "FAT", 255); err != nil || !slices.Equal(u, utf16.Encode([]rune(name))) {
			t.Errorf("%q is %x, %v", name, u, err)
		}
	}
	for name, why := range map[string]string{
		"": "it is empty", ".": "reserved", "..": "reserved", "\xff": "no UTF-8", "a.": "ends in a period", "a" + " ": "ends in a period or a space",
		strings.Repeat("x", 256): "256 UTF-16 units, more than 255", strings.Repeat("😀", 128): "256 UTF-16 units",
		"a/b": `'/' must not`, "a\x1Fb": `'\x1f' must not`, `a"`: "must not", "*": "must not", "C:": "must not", "<>": "must not", "?": "must not", `a\b`: "must not", "|": "must not",
	} {
		_, err := EncodeName(name, "exFAT", 255)
		if !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), "is not a name for a file on exFAT: ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, should say %s", name, err, why)
		}
	}
}
