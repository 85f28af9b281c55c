package lfs

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
	for line := range strings.Lines(string(b)) {
		code, slug, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(code, "F2FS-") {
			continue
		}
		if !ok || issued[code] != "" {
			t.Errorf("%q is no code and slug, or the code stands twice", line)
		}
		issued[code] = slug
	}
	form := regexp.MustCompile(`^F2FS-0[1-9][0-9]{2}$`)
	now := map[string]bool{}
	for _, p := range Problems() {
		now[p.Code] = true
		if !form.MatchString(p.Code) || issued[p.Code] != p.Slug {
			t.Errorf("%s %s was issued for %q", p.Code, p.Slug, issued[p.Code])
		}
	}
	for code, slug := range issued {
		if !now[code] {
			t.Errorf("%s %s has vanished from the catalogue", code, slug)
		}
	}
}
