package fat

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// free gives the clusters of path back when the change is committed.
func (c *change) free(path string, es []space.Extent) {
	c.freed = append(c.freed, freed{path, es})
}

// freed are clusters that a change takes from a file or directory.
type freed struct {
	path string
	es   []space.Extent
}

// Remove stages that files and directories are taken away.
//
// After an error nothing that was staged may be committed.
func (v *volume) Remove(ctx context.Context, r vol.RemoveRequest) (*vol.RemoveResult, error) {
	c, err := v.begin(false)
	if err != nil {
		return nil, err
	}
	rm := &removal{change: c, recursive: r.Recursive, gone: make(map[slotPlace]bool), dirs: make(map[uint32]bool), slots: make(map[*folder]map[int]bool)}
	for _, p := range r.Paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := rm.path(ctx, p); err != nil {
			return nil, err
		}
	}
	rm.settle()
	if err := c.run(ctx, vol.Placement{}); err != nil {
		return nil, err
	}
	return &rm.res, nil
}

// removal is a change that takes entries away.
type removal struct {
	*change
	recursive bool
	gone      map[slotPlace]bool
	dirs      map[uint32]bool          // first clusters of directories that are gone
	slots     map[*folder]map[int]bool // to be cleared
	res       vol.RemoveResult
}

// slotPlace is where an entry is, whichever way its directory was come by.
type slotPlace struct {
	dir  uint32 // first cluster, 0 for the root of FAT12 and FAT16
	slot int
}

// path takes one path away. One that went with a directory before is done.
func (rm *removal) path(ctx context.Context, p string) error {
	parts, err := vol.SplitPath(p)
	if err != nil {
		return err
	}
	dir := rm.ds.root
	for _, name := range parts[:len(parts)-1] {
		if slot, ok := dir.lookup(name); ok && rm.gone[slotPlace{dir.start(), slot}] {
			return nil
		}
		if dir, err = rm.ds.enter(dir, name, p, false); err != nil {
			return err
		}
	}
	name := parts[len(parts)-1]
	slot, ok := dir.lookup(name)
	if !ok {
		return missing(p, dir, name)
	}
	if err := rm.entry(ctx, dir, slot, vol.JoinPath(dir.path, name)); err != nil {
		return err
	}
	if rm.slots[dir] == nil {
		rm.slots[dir] = make(map[int]bool)
	}
	rm.slots[dir][slot] = true
	return nil
}

// entry gives back what an entry leads to.
func (rm *removal) entry(ctx context.Context, dir *folder, slot int, p string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := slotPlace{dir.start(), slot}
	if rm.gone[at] {
		return nil
	}
	rm.gone[at] = true
	e := dir.at(slot)
	if !e.isDir() {
		g := &growth{file: file{dir: dir, slot: slot, path: p}, size: int64(e.size())}
		if err := rm.readChain(g); err != nil {
			return err
		}
		rm.res.Files++
		rm.give(p, g.old)
		return nil
	}
	f := &folder{path: p, parent: dir, slot: slot}
	if err := rm.ds.load(f, e.start(rm.v.g.Type)); err != nil {
		return err
	}
	if err := rm.inside(ctx, f); err != nil {
		return err
	}
	rm.res.Directories++
	rm.dirs[f.start()] = true
	rm.give(p, f.old)
	return nil
}

// inside gives back what is in a directory. That a directory is its own child
// shows when its clusters are given back twice.
func (rm *removal) inside(ctx context.Context, f *folder) (err error) {
	eachEntry(f.used(), func(n namedEntry) bool {
		switch {
		case n.isDot() || n.e.isVolume():
			return true
		case !rm.recursive:
			err = vol.Refusef("%s is a directory that is not empty; -r removes it with all that is in it", f.path)
		case rm.depth(f) > maxDepth:
			err = damaged(f.path, "directories are more than %d deep", maxDepth)
		default:
			err = rm.entry(ctx, f, n.slot, vol.JoinPath(f.path, n.name(rm.ds.cp)))
		}
		return err == nil
	})
	return err
}

// maxDepth is how deep directories can be: a path has at most 260 characters
// for Windows and 4096 for Linux.
const maxDepth = 2048

func (rm *removal) depth(f *folder) (n int) {
	for ; f.parent != nil; f = f.parent {
		n++
	}
	return n
}

func (rm *removal) give(p string, es []space.Extent) {
	rm.free(p, es)
	rm.res.ClustersFreed += space.Units(es)
}

// settle clears the slots of what is gone, in directories that stay.
func (rm *removal) settle() {
	rm.ds.all = slices.DeleteFunc(rm.ds.all, func(f *folder) bool { return rm.dirs[f.start()] })
	for f, slots := range rm.slots {
		if !rm.dirs[f.start()] {
			f.clear(slots)
		}
	}
}

// clear frees slots and those of their long names, [FAT] DIR_Name[0].
func (f *folder) clear(slots map[int]bool) {
	eachEntry(f.used(), func(n namedEntry) bool {
		if !slots[n.slot] {
			return true
		}
		for i := n.first; i <= n.slot; i++ {
			f.at(i)[0] = entryDeleted
		}
		f.slots.Mark(n.first, n.slot-n.first+1)
		return true
	})
}
