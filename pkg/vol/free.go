package vol

import (
	"context"
	"iter"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// EachFree is Volume.FreeRanges for a format that has its free runs, of which
// at says where they lie, and the tails of its files, both in rising order.
func EachFree(ctx context.Context, free iter.Seq[space.Extent], at Locator, tails []dev.Range, fn func(dev.Range) error) (total FreeTotal, err error) {
	for e := range free {
		r := at(e)
		for len(tails) > 0 && tails[0].Off < r.Off {
			if err := fn(tails[0]); err != nil {
				return total, err
			}
			tails = tails[1:]
		}
		if err := ctx.Err(); err != nil {
			return total, err
		}
		if err := fn(r); err != nil {
			return total, err
		}
		total.Runs++
		total.Clusters += uint64(e.Len)
	}
	for _, r := range tails {
		if err := fn(r); err != nil {
			return total, err
		}
	}
	return total, nil
}

// Within is the range that f asks for in a file of size bytes: to the end of
// the file where it says so, and with keepSize no further.
func (f ZeroFile) Within(size int64, keepSize bool) dev.Range {
	r := dev.Range{Off: f.Offset, Len: f.Length}
	if f.Length < 0 || keepSize && r.End() > size {
		r.Len = max(0, size-r.Off)
	}
	return r
}
