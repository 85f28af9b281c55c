package vol

import (
	"cmp"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// Locator says where the bytes of an extent lie on a volume.
type Locator func(space.Extent) dev.Range

// Ranges are the bytes of es, one range for each.
func (at Locator) Ranges(es []space.Extent) []dev.Range {
	rs := make([]dev.Range, len(es))
	for i, e := range es {
		rs[i] = at(e)
	}
	return rs
}

// Places are where the bytes of a file lie that has the extents es.
func (at Locator) Places(es []space.Extent) []Place {
	ps := make([]Place, len(es))
	pos := int64(0)
	for i, e := range es {
		ps[i] = Place{Pos: pos, At: at(e)}
		pos += ps[i].At.Len
	}
	return ps
}

// EachRun calls fn with the bytes of the volume that hold the range r of a
// file with the extents es, run by run, and returns how many there were.
func (at Locator) EachRun(es []space.Extent, r dev.Range, fn func(dev.Range) error) (runs uint64, err error) {
	pos := int64(0)
	for _, e := range es {
		run := at(e)
		part := r.Intersect(dev.Range{Off: pos, Len: run.Len})
		if !part.Empty() {
			runs++
			if err := fn(dev.Range{Off: run.Off + part.Off - pos, Len: part.Len}); err != nil {
				return runs, err
			}
		}
		pos += run.Len
	}
	return runs, nil
}

// Runs are the ranges that EachRun gives.
func (at Locator) Runs(es []space.Extent, r dev.Range) (rs []dev.Range) {
	_, _ = at.EachRun(es, r, func(r dev.Range) error { // the function never fails
		rs = append(rs, r)
		return nil
	})
	return rs
}

// Result is what became of the file at path, with the extents es, of which
// size bytes are its own and valid of them are written.
func (at Locator) Result(path string, es []space.Extent, size, valid int64) FileResult {
	r := FileResult{Path: path, Size: size, Valid: valid}
	for _, e := range es {
		run := at(e)
		r.Extents = append(r.Extents, FileExtent{Extent: e, Off: run.Off, Length: run.Len})
		r.Allocated += run.Len
	}
	return r
}

// Zeroed is what zeroing the range r of a file with the extents es, in
// clusters of clusterSize bytes, amounts to.
func (at Locator) Zeroed(path string, es []space.Extent, r dev.Range, clusterSize int64) ZeroedFile {
	z := ZeroedFile{Path: path, Offset: r.Off, Length: r.Len}
	if !r.Empty() {
		z.Blocks = uint64((r.End()-1)/clusterSize - r.Off/clusterSize + 1)
		z.Runs = uint64(len(at.Runs(es, r)))
	}
	return z
}

// Owned is an extent and what it belongs to.
type Owned struct {
	space.Extent
	Path string
}

// Shared looks for two of all that have a cluster in common; a starts before b,
// or with it. all is sorted.
func Shared(all []Owned) (a, b Owned, ok bool) {
	slices.SortFunc(all, func(a, b Owned) int { return cmp.Compare(a.Start, b.Start) })
	for i := 1; i < len(all); i++ {
		if all[i-1].End() > uint64(all[i].Start) {
			return all[i-1], all[i], true
		}
	}
	return a, b, false
}
