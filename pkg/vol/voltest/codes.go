package voltest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Codes holds the catalogue of a format against testdata/codes.golden at the
// root of the tree. Codes are permanent: the file names every one that was ever
// issued, and grows at its end, so a code may neither vanish nor change its
// meaning, and a new row needs a new line there, added by hand. Those of the
// format begin with prefix, as "FAT-", and number matches what follows.
func Codes(t *testing.T, problems []vol.Problem, prefix, number string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "codes.golden"))
	if err != nil {
		t.Fatal(err)
	}
	issued := issuedCodes(t, string(b), prefix)
	form := regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + number + "$")
	now := map[string]bool{}
	for _, p := range problems {
		now[p.Code] = true
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
		if !now[code] {
			t.Errorf("%s %s has vanished from the catalogue", code, slug)
		}
	}
}

// issuedCodes are the slugs by code in golden of those that begin with prefix.
func issuedCodes(t *testing.T, golden, prefix string) map[string]string {
	t.Helper()
	issued, slugs := map[string]string{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(golden, "\n"), "\n") {
		code, slug, ok := strings.Cut(line, " ")
		if !ok {
			t.Errorf("line %d: %q is no code and slug", i+1, line)
		}
		if !strings.HasPrefix(code, prefix) {
			continue
		}
		if issued[code] != "" || slugs[slug] {
			t.Errorf("line %d: the code %s or the slug %s stands twice", i+1, code, slug)
		}
		issued[code], slugs[slug] = slug, true
	}
	return issued
}
