package vol

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/space"
)

// RemoveFolders are Folders that entries can be taken from.
type RemoveFolders[D comparable] interface {
	Folders[D]
	// Start is the first cluster, by which a directory is known however it was
	// come by; 0 for one without clusters.
	Start(dir D) uint32
	// Open is what the entry in a slot leads to: its clusters, and kid where it
	// is a directory, which does not become one of the Folders.
	Open(dir D, slot int, at string) (kid D, isDir bool, es []space.Extent, err error)
	// Each calls fn for all entries of a directory, until an error of fn, which
	// it returns.
	Each(dir D, fn func(slot int, name string) error) error
	// Free gives clusters back when the change is committed.
	Free(at string, es []space.Extent)
	// Drop leaves directories out of the change that are gone.
	Drop(gone func(D) bool)
	// Clear makes the slots of entries free.
	Clear(dir D, slots map[int]bool)
}

// removing is one call of RemoveEntries.
type removing[D comparable] struct {
	RemoveFolders[D]
	ctx       context.Context
	recursive bool
	gone      map[removed]bool
	dirs      map[uint32]bool    // directories that are gone, by Start
	slots     map[D]map[int]bool // to be cleared
	res       RemoveResult
}

// removed is where an entry is, whichever way its directory was come by.
type removed struct {
	dir  uint32
	slot int
}

// RemoveEntries stages that what r names is taken from directories of the FAT
// family: it is Volume.Remove for them.
//
// After an error nothing that was staged may be committed.
func RemoveEntries[D comparable](ctx context.Context, r RemoveRequest, f RemoveFolders[D]) (*RemoveResult, error) {
	rm := &removing[D]{RemoveFolders: f, ctx: ctx, recursive: r.Recursive, gone: make(map[removed]bool),
		dirs: make(map[uint32]bool), slots: make(map[D]map[int]bool)}
	for _, p := range r.Paths {
		if err := rm.path(p); err != nil {
			return nil, err
		}
	}
	gone := func(dir D) bool { return rm.dirs[f.Start(dir)] }
	f.Drop(gone)
	for dir, slots := range rm.slots {
		if !gone(dir) {
			f.Clear(dir, slots)
		}
	}
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	return &rm.res, nil
}

// path takes one path away. One that went with a directory before is done.
func (rm *removing[D]) path(p string) error {
	parts, err := SplitPath(p)
	if err != nil {
		return err
	}
	dir := rm.Root()
	for _, name := range parts[:len(parts)-1] {
		if slot, ok := rm.Lookup(dir, name); ok && rm.gone[removed{rm.Start(dir), slot}] {
			return nil
		}
		if dir, err = rm.Enter(dir, name, p, false); err != nil {
			return err
		}
	}
	name := parts[len(parts)-1]
	slot, ok := rm.Lookup(dir, name)
	if !ok {
		return NoSuch(p, rm.Path(dir), name, NoNames)
	}
	if rm.slots[dir] == nil {
		rm.slots[dir] = make(map[int]bool)
	}
	rm.slots[dir][slot] = true
	return rm.entry(dir, slot, JoinPath(rm.Path(dir), name), 0)
}

// entry gives back what an entry leads to.
func (rm *removing[D]) entry(dir D, slot int, at string, depth int) error {
	if err := rm.ctx.Err(); err != nil {
		return err
	}
	key := removed{rm.Start(dir), slot}
	if rm.gone[key] {
		return nil
	}
	rm.gone[key] = true
	kid, isDir, es, err := rm.Open(dir, slot, at)
	if err != nil {
		return err
	}
	if isDir {
		if err := rm.inside(kid, at, depth); err != nil {
			return err
		}
		rm.res.Directories++
		rm.dirs[rm.Start(kid)] = true
	} else {
		rm.res.Files++
	}
	rm.Free(at, es)
	rm.res.ClustersFreed += space.Units(es)
	return nil
}

// inside gives back what is in a directory. That a directory is its own child
// shows when its clusters are given back twice.
func (rm *removing[D]) inside(dir D, at string, depth int) error {
	return rm.Each(dir, func(slot int, name string) error {
		switch {
		case !rm.recursive:
			return Refusef("%s is a directory that is not empty; -r removes it with all that is in it", at)
		case depth > MaxDepth:
			return fmt.Errorf("%w: %s: directories are more than %d deep; run check first", ErrDamaged, at, MaxDepth)
		}
		return rm.entry(dir, slot, JoinPath(at, name), depth+1)
	})
}
