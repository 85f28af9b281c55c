package exfat

import (
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tables is what the root directory says of the volume: the two tables that
// every one has, [exFAT] §7.1 and §7.2, and the label.
type tables struct {
	root    []space.Extent
	bitmap  tableFile
	upcase  tableFile
	label   string
	unknown string // an entry that nobody may pass over
}

// tableFile is one of the tables: its entry, and where it lies.
type tableFile struct {
	entry   entry // nil: there is none
	more    int   // further entries of the type
	extents []space.Extent
}

// flaw is why a table cannot be used, by slug of the catalogue.
type flaw struct {
	slug string
	error
}

func flawed(slug, format string, args ...any) error {
	return &flaw{slug, fmt.Errorf(format, args...)}
}

// readTables reads the root directory. Neither table is looked at yet.
func readTables(t *table) (*tables, error) {
	x := new(tables)
	var err error
	if x.root, err = t.rootClusters(); err != nil {
		return nil, err
	}
	s, err := vol.ReadSlots(t.d, t.g.rangesOf(x.root), maxDirSlots)
	if err != nil {
		return nil, err
	}
	eachSlotRun(s, func(r slotRun) bool {
		e := entry(s.At(r.first))
		switch e.kind() {
		case typeBitmap:
			// §7.1.2: with one FAT there is one bitmap, which has the flag 0.
			// [Linux] takes the first such.
			x.bitmap.add(e, e[offBitmapFlags]&1 == 0)
		case typeUpcase:
			x.upcase.add(e, true)
		case typeLabel:
			if x.label == "" {
				x.label = labelText(e)
			}
		case typeFile:
		default:
			if r.kind == slotOdd && e.isPrimary() && x.unknown == "" {
				x.unknown = r.why
			}
		}
		return true
	})
	return x, nil
}

func (f *tableFile) add(e entry, fits bool) {
	if f.entry != nil || !fits {
		f.more++
		return
	}
	f.entry = append(entry(nil), e...)
}

// maxDirSlots is how many slots a directory has at most, [exFAT] §7.4.
const maxDirSlots = maxDirBytes / entryLen

// rootClusters are the clusters of the root directory, which is a chain of a
// length that nothing but its end mark tells.
func (t *table) rootClusters() ([]space.Extent, error) {
	most, _ := t.g.ClustersFor(maxDirBytes)
	return t.follow(t.g.RootCluster, 0, min(most, t.g.Clusters))
}

// rangesOf are the bytes of the volume in es.
func (g *Geometry) rangesOf(es []space.Extent) []dev.Range { return g.locator().Ranges(es) }

// findBitmap settles where the bitmap lies. What speaks against it is a *flaw.
func (x *tables) findBitmap(t *table) (*bitmap, error) {
	f := &x.bitmap
	if f.entry == nil {
		return nil, flawed("bitmap-none", "the root directory has no entry for the allocation bitmap")
	}
	// Table 22: what lies behind the last bit, up to the end of the clusters,
	// is reserved, so that a longer one is no mistake.
	if n := f.entry.length(); n < uint64(t.g.BitmapBytes()) {
		return nil, flawed("bitmap-length", "the allocation bitmap has %d bytes, %d clusters need %d", n, t.g.Clusters, t.g.BitmapBytes())
	}
	if err := f.find(t, "bitmap-chain", "the allocation bitmap"); err != nil {
		return nil, err
	}
	return newBitmap(t.d, t.g, f.extents), nil
}

// find follows the chain of a table. It is told beforehand what of the FAT is
// about to be read: formatters lay tables out in one run.
func (f *tableFile) find(t *table, slug, what string) (err error) {
	first := f.entry.first()
	if n, ok := t.g.ClustersFor(f.entry.length()); ok && t.g.Valid(first) {
		t.d.Readahead(dev.Range{Off: t.g.FatOff() + 4*int64(first), Len: 4 * int64(min(n, t.g.Last()-first+1))})
	}
	f.extents, err = t.clustersOf(first, f.entry.length(), false)
	if b := new(brokenChain); errors.As(err, &b) {
		return flawed(slug, "%s: %w", what, err)
	}
	return err
}

// readUpcase loads the up-case table. With a *flaw there may be a table all the
// same, one that does not fit its checksum.
func (x *tables) readUpcase(t *table) (*upcaseTable, error) {
	f := &x.upcase
	if f.entry == nil {
		return nil, flawed("upcase-none", "the root directory has no entry for the up-case table")
	}
	n := f.entry.length()
	if n == 0 || n > maxUpcaseBytes {
		return nil, flawed("upcase-table", "the up-case table has %d bytes", n)
	}
	if err := f.find(t, "upcase-chain", "the up-case table"); err != nil {
		return nil, err
	}
	raw := make([]byte, 0, n)
	for _, r := range t.g.rangesOf(f.extents) {
		part := raw[len(raw):min(int64(n), int64(len(raw))+r.Len)]
		if _, err := t.d.ReadAt(part, r.Off); err != nil {
			return nil, err
		}
		raw = raw[:len(raw)+len(part)]
	}
	up, err := parseUpcase(raw)
	switch {
	case err != nil:
		return nil, flawed("upcase-table", "%v", err)
	case tableChecksum(raw) != f.entry.u32(offTableChecksum):
		return up, flawed("upcase-table", "the up-case table's checksum is %#x, not %#x", tableChecksum(raw), f.entry.u32(offTableChecksum))
	case !up.mandatoryOK():
		return up, flawed("upcase-table", "the first %d entries of the up-case table are not what they must be", mandatoryUnits)
	}
	return up, nil
}
