package fat

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checker is one round over one volume. The passes fill it in as they go:
// boot finds the geometry, fat the allocation map, tree everything that
// directories lead to; links, layout, space and flags judge what those found.
type checker struct {
	d   dev.Device
	o   vol.CheckOptions
	cat vol.Catalogue
	cp  codepage
	no  error // that there is no such code page as o has

	boot     bootSector // the sector that counts: sector 0, or the backup where that is lost
	g        *Geometry
	fat      int        // the FAT that counts
	used     *space.Map // bit i: the FAT entry of cluster i+2 is not free
	bad      uint32     // clusters marked as bad
	walk     *walk      // what the tree pass found
	stats    vol.Stats
	label    []byte             // of the root directory, nil for none
	dirNames map[int32]dirNames // names of directories in which entries are renamed
	lost     *lostChains        // what the walk left, see lostChains
	spilled  bool               // a chain was cut behind the end of its directory, see reportSpills
	behind   *space.Sparse      // what entries behind end marks lead to, see hidden
	wanted   *space.Sparse      // clusters where such entries start, and that others have

	hiddenSteps uint64 // clusters looked at for such entries, see maxHiddenSteps
}

// newChecker is Driver.Check.
func newChecker(d dev.Device, o vol.CheckOptions) vol.Checker {
	c := &checker{d: d, o: o, cat: vol.NewCatalogue(Problems())}
	c.cp, c.no = newCodepage(o.Codepage)
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
	return newInfo(c.boot, c.g, c.label)
}

// Stats is what was counted so far.
func (c *checker) Stats() vol.Stats { return c.stats }

const noName = "NO NAME"

func (c *checker) patch(off, n int64, change func(b []byte)) error {
	return vol.Patch(c.d, off, n, change)
}
