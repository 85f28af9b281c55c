package vol

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Catalogue finds the rows of a format's problems by slug, for its checker.
type Catalogue map[string]*Problem

// NewCatalogue indexes ps.
func NewCatalogue(ps []Problem) Catalogue {
	c := make(Catalogue, len(ps))
	for i := range ps {
		c[ps[i].Slug] = &ps[i]
	}
	return c
}

// Found makes a finding of the row slug at loc; the options set the rest. A
// slug without a row is a mistake of the format package, never of the media,
// and panics.
func (c Catalogue) Found(slug string, loc Location, opts ...Option) Finding {
	p := c[slug]
	if p == nil {
		panic("no problem " + slug + " in the catalogue")
	}
	f := Finding{Problem: p, Loc: loc}
	for _, o := range opts {
		o(&f)
	}
	return f
}

// Option sets a part of a Finding.
type Option func(*Finding)

// Detail says in words what is there.
func Detail(format string, args ...any) Option {
	return func(f *Finding) { f.Detail = fmt.Sprintf(format, args...) }
}

// GotWant are the value that is there and the one that should be; a nil want
// is not known.
func GotWant(got, want any) Option {
	return func(f *Finding) { f.Got, f.Want = got, want }
}

// Offer names the repairs of the row that are possible here, the best first.
func Offer(names ...string) Option {
	return func(f *Finding) { f.Offer = append([]string{}, names...) }
}

// Related names other places that have to do with it.
func Related(ls ...Location) Option {
	return func(f *Finding) { f.Related = ls }
}

// At is a place in a volume's metadata, bytes from its start.
func At(off, n int64) Location { return Location{Range: dev.Range{Off: off, Len: n}} }

// Always turns a change without choices into a Fix.
func Always(fn func() error) Fix {
	return func(context.Context, Repair) error { return fn() }
}

// Patch changes n bytes at off of d.
func Patch(d dev.Device, off, n int64, change func(b []byte)) error {
	b := make([]byte, n)
	if _, err := d.ReadAt(b, off); err != nil {
		return err
	}
	change(b)
	_, err := d.WriteAt(b, off)
	return err
}
