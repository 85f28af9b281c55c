package space

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Unserved is the request of a batch that could not be met.
type Unserved struct {
	Index   int // in the batch
	Request Request
	Err     error // ErrNoSpace or ErrNotContiguous
}

func (u *Unserved) Error() string { return u.Err.Error() }
func (u *Unserved) Unwrap() error { return u.Err }

// AllocEach serves all requests of a change, or none: the extents of each, by
// its place in rs. It is the first lesson for a change of many files: what each
// of them lacks is one request, made before anything grows.
//
// Requests that go on where a file ends come first, as any other could have
// been put there; the rest in the order of rs. Where that leaves one of them
// without a run that is long enough, the long ones are tried before the short.
//
// The error is an *Unserved, or that of ctx.
func (g *Groups) AllocEach(ctx context.Context, rs []Request) ([][]Extent, error) {
	order := make([]int, len(rs))
	for i := range order {
		order[i] = i
	}
	exact := func(i int) int {
		if rs[i].Exact {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(exact(a), exact(b)) })
	out, err := g.allocEach(ctx, rs, order)
	if errors.Is(err, ErrNotContiguous) {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(exact(a), exact(b)), cmp.Compare(rs[b].Units, rs[a].Units))
		})
		out, err = g.allocEach(ctx, rs, order)
	}
	return out, err
}

func (g *Groups) allocEach(ctx context.Context, rs []Request, order []int) ([][]Extent, error) {
	out := make([][]Extent, len(rs))
	for _, i := range order {
		err := ctx.Err()
		if err == nil {
			out[i], err = g.Alloc(nil, rs[i])
			if err != nil {
				err = &Unserved{Index: i, Request: rs[i], Err: err}
			}
		}
		if err != nil {
			for _, es := range out {
				// They have just been handed out, so they are taken back.
				_ = g.Cancel(es)
			}
			return nil, err
		}
	}
	return out, nil
}
