package exfat

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checker is one round over one volume. The passes fill it in as they go: boot
// finds the geometry, root the special entries, tree everything that the
// directories lead to; links, space and flags judge what those found.
type checker struct {
	d   dev.Device
	o   vol.CheckOptions
	cat vol.Catalogue

	main   *region
	g      *Geometry
	tab    *table
	bits   *bitmap
	upcase *upcaseTable
	units  *unitTable // upcase, with what names may hold
	fold   foldHash   // with which the hashes of names start
	base   *walk      // what the tables and the root's first cluster claim
	walk   *walk
	names  map[int32]*nameSet // of directories in which entries are renamed
	sup    specials           // of the root directory
	bad    tally              // clusters with the bad mark
	missed tally              // claimed, and marked as free
	wanted *space.Sparse      // of streams that ran into another: what lies behind that
	lost   *lostClusters      // marked as used, and not claimed
	ofDirs *space.Sparse      // of all directories, made when it is asked for
	stats  vol.Stats

	weighed   map[weighed]fit // of streams whose first cluster another has
	fruitless uint64          // clusters looked at for streams that cannot have them
	behind    uint64          // and for those of sets behind end marks
	marks     map[int64]endAt // of directories that others ran into, by where their entries lie

	thorough  bool                 // no set takes the way of plain ones; tests hold the two against each other
	renamed   map[setRef]bool      // sets that got another name
	roomFrom  uint32               // no cluster before it may be given to somebody
	contests  map[contest]*overlap // of the last walk
	strays    map[int64]bool       // entries of those of which evidence says that they were led astray
	yielding  map[int64]bool       // entries that come last, by where they lie
	pending   map[setRef]bool      // sets that are mended after their streams
	faulty    map[setRef]bool      // sets whose lengths are mended after their streams
	rootFault *streamFault         // the root directory's chain is broken
	rootEnds  bool                 // its end mark stands before the fault
	rootWhole bool                 // what follows is the root's, whatever it looks like
}

// newChecker is Driver.Check.
func newChecker(d dev.Device, o vol.CheckOptions) vol.Checker {
	return &checker{d: d, o: o, cat: vol.NewCatalogue(Problems()), fold: newFoldHash()}
}

// Passes in order; each relies on what the ones before it left in c.
func (c *checker) Passes() []vol.Pass {
	return []vol.Pass{
		{Name: "boot regions", Run: c.checkBoot},
		{Name: "root entries", Run: c.checkSpecials},
		{Name: "directories", Run: c.checkTree},
		{Name: "links", Run: c.checkLinks},
		{Name: "space", Run: c.checkSpace},
		{Name: "flags", Run: c.checkFlags},
	}
}

// Info is what is known of the volume so far.
func (c *checker) Info() vol.Info {
	if c.g == nil {
		return vol.Info{Type: "exfat"}
	}
	return newInfo(c.main.boot().u32(offSerial), c.g, c.sup.label)
}

// Stats is what was counted so far.
func (c *checker) Stats() vol.Stats { return c.stats }

func (c *checker) patch(off, n int64, change func(b []byte)) error {
	return vol.Patch(c.d, off, n, change)
}
