// Package space is about allocation units: extents, the free-space map and
// the allocator that all formats share. A unit is a cluster (FAT, exFAT) or a
// block (F2FS), counted from 0; the format packages translate. It imports
// nothing of the project.
package space

import (
	"errors"
	"fmt"
)

// Extent is a run of Len units from unit Start on.
type Extent struct{ Start, Len uint32 }

// End is the first unit after e. It is 64 bits wide: Start+Len may be 2^32.
func (e Extent) End() uint64 { return uint64(e.Start) + uint64(e.Len) }

func (e Extent) String() string { return fmt.Sprintf("%d+%d", e.Start, e.Len) }

// Request says what an allocation must be like.
type Request struct {
	Units uint32 // how many; 0 gives nothing
	Goal  uint32 // where to look first: a hint, unless Exact
	Exact bool   // the first extent must start at Goal
	// Contiguous asks for one extent; without it the result is as few
	// extents as the free space allows.
	Contiguous bool
	// Align, if above 1, asks that each extent start at a unit u with
	// u % Align == Phase. (With Exact the first extent is free of that.)
	Align, Phase uint32
}

// ErrNoSpace: fewer units are free than asked for.
// ErrNotContiguous: enough are free, but not in one run (or not at Goal, or
// not on the boundary) as the request wants them.
var (
	ErrNoSpace       = errors.New("not enough free space")
	ErrNotContiguous = errors.New("no free run is long enough")
)

// Allocator hands out units in batches. Implementations are safe for
// concurrent use.
type Allocator interface {
	// Alloc appends the extents that serve r to dst: one batch, fewest
	// extents, all or nothing.
	Alloc(dst []Extent, r Request) ([]Extent, error)
	// Release gives extents back run by run. They become reusable at Commit,
	// not before: a transaction must not overwrite what it may have to
	// restore. A unit released twice, or never allocated, is an error and
	// nothing is released.
	Release(es []Extent) error
	// Commit makes released units reusable.
	Commit()
	// Free is how many units are free now (released ones are not yet).
	Free() uint64
}
