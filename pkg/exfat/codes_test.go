package exfat

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCodes: codes are permanent. testdata/codes.golden names every one that
// was ever issued and grows at its end: a code may neither vanish nor change its
// meaning, and a new row needs a new line there, added by hand.
func TestCodes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "codes.golden"))
	if err != nil {
		t.Fatal(err)
	}
	issued := map[string]string{}
	slugs := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		code, slug, ok := strings.Cut(line, " ")
		if !ok || issued[code] != "" {
			t.Errorf("line %d: %q is no code and slug, or the code stands twice", i+1, line)
		}
		if strings.HasPrefix(code, "EXFAT-") {
			issued[code] = slug
			if slugs[slug] {
				t.Errorf("line %d: the slug %s stands twice", i+1, slug)
			}
			slugs[slug] = true
		}
	}
	form := regexp.MustCompile(`^EXFAT-[0-9]{4}$`)
	now := map[string]string{}
	for _, p := range Problems() {
		now[p.Code] = p.Slug
		switch was := issued[p.Code]; {
		case !form.MatchString(p.Code):
			t.Errorf("%q is no code", p.Code)
		case was == "":
			t.Errorf("%s %s is not in codes.golden", p.Code, p.Slug)
		case was != p.Slug:
			t.Errorf("%s was issued for %s, not for %s", p.Code, was, p.Slug)
		}
	}
	for code, slug := range issued {
		if now[code] == "" {
			t.Errorf("%s %s has vanished from the catalogue", code, slug)
		}
	}
}
