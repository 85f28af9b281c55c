package voltest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Damage is what a way to break a volume is for: the row of the catalogue that it
// must show as, and the repair of it that is chosen, "" for the first one.
type Damage struct {
	Title, Slug, Fix string
	Stays            bool // there is no repair
}

// Reached holds a catalogue against the damages: each row has one, and each repair
// of each row.
func Reached(t *testing.T, problems []vol.Problem, damages []Damage) {
	t.Helper()
	reached := map[string]bool{}
	for _, d := range damages {
		p := vol.Find(problems, d.Slug)
		if p == nil {
			t.Errorf("damage %s has no row", d.Title)
			continue
		}
		reached[d.Slug] = true
		fix := d.Fix
		if fix == "" && len(p.Repairs) > 0 && !d.Stays {
			fix = p.Repairs[0].Name
		}
		reached[d.Slug+" "+fix] = true
	}
	for _, p := range problems {
		if !reached[p.Slug] {
			t.Errorf("no damage for %s %s", p.Code, p.Slug)
		}
		for _, r := range p.Repairs {
			if !reached[p.Slug+" "+r.Name] {
				t.Errorf("no damage for the repair %q of %s %s", r.Name, p.Code, p.Slug)
			}
		}
	}
}

// Mended reports whether a finding of the slug was mended by the repair fix, ""
// being any.
func Mended(res *vol.Result, slug, fix string) bool {
	return slices.ContainsFunc(res.Outcomes, func(o vol.Outcome) bool {
		return o.Slug == slug && o.Repaired != nil && (fix == "" || o.Repaired.Name == fix)
	})
}

// SameFiles holds the files that there are against those that were planted, but for
// the files gone; one that ends in "/" is a directory with all that is in it.
func SameFiles(t testing.TB, got, planted map[string]string, gone []string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(planted)) {
		if slices.ContainsFunc(gone, func(g string) bool { return g == path || strings.HasSuffix(g, "/") && strings.HasPrefix(path, g) }) {
			continue
		}
		if b, ok := got[path]; !ok {
			t.Errorf("%s is lost", path)
		} else if b != planted[path] {
			t.Errorf("%s holds something else: %d bytes instead of %d", path, len(b), len(planted[path]))
		}
	}
}

// Reading is what a reader that knows nothing of our code finds on a volume: the
// files, and whether there is one of that name, or near it, with these contents.
type Reading struct {
	Files map[string]string
	Holds func(path, contents string) bool
}

// RepairsLossless repairs d with the repairs that lose nothing: every file that
// could be read before can be read after, by the same name and with the same
// contents, as they were planted. What could be read wrongly does not count. read
// fails where there is no volume.
func RepairsLossless(t *testing.T, d dev.Device, drv *vol.Driver, planted map[string]string, read func() (Reading, error)) {
	t.Helper()
	before, unread := read()
	tx := dev.Begin(d)
	res, err := vol.Fsck(context.Background(), tx, drv, vol.CheckOptions{}, Lossless, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Unproven != nil {
		Log(t, res)
		t.Fatalf("unproven: %v", res.Unproven)
	}
	for _, o := range res.Outcomes {
		if o.Repaired != nil && o.Repaired.Loss != vol.LossNone {
			t.Errorf("not lossless: %s", Line(o))
		}
	}
	commit(t, tx)
	now, err := read()
	if err != nil && unread == nil {
		t.Fatal(err)
	}
	for path, b := range before.Files {
		if want, ok := planted[path]; ok && b == want && !now.Holds(path, b) {
			t.Errorf("%s was there before", path)
			Log(t, res)
		}
	}
}
