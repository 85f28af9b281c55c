package vol

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// EachFree is Volume.FreeRanges for a format that has its free runs, of which
// at says where they lie, and with slack the tails of its files, both in rising
// order.
func EachFree(ctx context.Context, free iter.Seq[space.Extent], at Locator, slack bool, tailsOf func(context.Context) ([]dev.Range, error), fn func(dev.Range) error) (total FreeTotal, err error) {
	var tails []dev.Range
	if slack {
		if tails, err = tailsOf(ctx); err != nil {
			return total, err
		}
	}
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

// Tails collects what in gives of each directory of a tree, and of the directories
// in it, level by level: bytes of files that no one can read, for EachFree. It
// returns them in rising order.
func Tails[Dir any](ctx context.Context, root Dir, in func(Dir) (tails []dev.Range, kids []Dir, err error)) ([]dev.Range, error) {
	var out []dev.Range
	for level := []Dir{root}; len(level) > 0; {
		var next []Dir
		for _, d := range level {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			tails, kids, err := in(d)
			if err != nil {
				return nil, err
			}
			out, next = append(out, tails...), append(next, kids...)
		}
		level = next
	}
	slices.SortFunc(out, func(a, b dev.Range) int { return cmp.Compare(a.Off, b.Off) })
	return out, nil
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

// RangeEnd is where length bytes of a file end that begin at off. What cannot be a
// range is ErrUsage, one beyond what 63 bits hold ErrRequest.
func RangeEnd(path string, off, length int64) (int64, error) {
	if off < 0 || length < 0 {
		return 0, Usagef("%s: a range of %d bytes at %d", path, length, off)
	}
	if length > math.MaxInt64-off {
		return 0, Refusef("%s: a file cannot have %d + %d bytes", path, off, length)
	}
	return off + length, nil
}
