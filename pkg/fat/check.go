package fat

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checker is one round over one volume. The passes fill it in as they go:
// boot finds the geometry, fat the allocation map, tree everything that
// directories lead to; links, layout, space and flags judge what those found.
type checker struct {
	d        dev.Device
	o        vol.CheckOptions
	problems map[string]*vol.Problem

	boot  bootSector // the sector that counts: sector 0, or the backup where that is lost
	g     *Geometry
	fat   int        // the FAT that counts
	used  *space.Map // bit i: the FAT entry of cluster i+2 is not free
	bad   uint32     // clusters marked as bad
	walk  *walk      // what the tree pass found
	stats vol.Stats
	label []byte             // of the root directory, nil for none
	sets  map[int32]*nameSet // names of directories in which entries are renamed
}

// newChecker is Driver.Check.
func newChecker(d dev.Device, o vol.CheckOptions) vol.Checker {
	c := &checker{d: d, o: o, problems: map[string]*vol.Problem{}}
	ps := Problems()
	for i := range ps {
		c.problems[ps[i].Slug] = &ps[i]
	}
	return c
}

// Passes in order; each relies on what the ones before it left in c.
func (c *checker) Passes() []vol.Pass {
	return []vol.Pass{
		{Name: "boot sector", Run: c.checkBoot},
		{Name: "FAT", Run: c.checkFAT},
		{Name: "directories", Run: c.checkTree},
		{Name: "links", Run: c.checkLinks},
		{Name: "layout", Run: c.checkLayout},
		{Name: "space", Run: c.checkSpace},
		{Name: "flags", Run: c.checkFlags},
	}
}

// Info is what is known of the volume so far.
func (c *checker) Info() vol.Info {
	if c.g == nil {
		return vol.Info{}
	}
	i := vol.Info{
		Type: c.g.Type.String(), Size: c.g.VolumeBytes(),
		SectorSize: int(c.g.SectorSize), ClusterSize: int(c.g.ClusterSize()), Clusters: uint64(c.g.Clusters),
	}
	if c.boot.hasExt() {
		i.ID = formatID(c.boot.serial())
	}
	if c.label != nil {
		i.Label = labelText(c.label)
	} else if l := labelText(c.boot.label()); c.boot.hasExt() && l != noName {
		i.Label = l
	}
	return i
}

// Stats is what was counted so far.
func (c *checker) Stats() vol.Stats { return c.stats }

const noName = "NO NAME"

func formatID(v uint32) string { return fmt.Sprintf("%04X-%04X", v>>16, v&0xFFFF) }

// found makes a finding of the row slug at loc. The options set the rest.
func (c *checker) found(slug string, loc vol.Location, opts ...func(*vol.Finding)) vol.Finding {
	p := c.problems[slug]
	if p == nil {
		// A slug without a row is a mistake in this package, not on the media.
		panic("fat: no problem " + slug)
	}
	f := vol.Finding{Problem: p, Loc: loc}
	for _, o := range opts {
		o(&f)
	}
	return f
}

func detail(format string, args ...any) func(*vol.Finding) {
	return func(f *vol.Finding) { f.Detail = fmt.Sprintf(format, args...) }
}

func gotWant(got, want any) func(*vol.Finding) {
	return func(f *vol.Finding) { f.Got, f.Want = got, want }
}

func offer(names ...string) func(*vol.Finding) {
	return func(f *vol.Finding) { f.Offer = append([]string{}, names...) }
}

func related(ls ...vol.Location) func(*vol.Finding) {
	return func(f *vol.Finding) { f.Related = ls }
}

// at is a place in the volume's metadata.
func at(off, n int64) vol.Location { return vol.Location{Range: dev.Range{Off: off, Len: n}} }

// patch changes n bytes at off.
func (c *checker) patch(off, n int64, change func(b []byte)) error {
	b := make([]byte, n)
	if _, err := c.d.ReadAt(b, off); err != nil {
		return err
	}
	change(b)
	_, err := c.d.WriteAt(b, off)
	return err
}

// always turns a change without choices into a Fix.
func always(fn func() error) vol.Fix {
	return func(context.Context, vol.Repair) error { return fn() }
}
