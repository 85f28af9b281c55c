package fat

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Remove is vol.Volume.
func (v *volume) Remove(ctx context.Context, r vol.RemoveRequest) (*vol.RemoveResult, error) {
	c, err := v.begin(false)
	if err != nil {
		return nil, err
	}
	return vol.RemoveEntries(ctx, r, &removal{c, c.ds})
}

// removal is a change that takes entries away.
type removal struct {
	*change
	*folders
}

// Start is vol.RemoveFolders. No directory but the root of FAT12 and FAT16 is
// without clusters.
func (*removal) Start(dir *folder) uint32 { return dir.First() }

// Open is vol.RemoveFolders.
func (rm *removal) Open(dir *folder, slot int, at string) (*folder, bool, []space.Extent, error) {
	e := dir.at(slot)
	if e.isDir() {
		f := &folder{path: at, parent: dir, slot: slot}
		err := rm.load(f, e.start(rm.g.Type))
		return f, true, f.Old, err
	}
	es, err := rm.clustersOf(at, e)
	return nil, false, es, err
}

// Each is vol.RemoveFolders.
func (rm *removal) Each(dir *folder, fn func(slot int, name string) error) (err error) {
	eachEntry(dir.used(), func(n namedEntry) bool {
		if !n.isDot() && !n.e.isVolume() {
			err = fn(n.slot, n.name(rm.cp))
		}
		return err == nil
	})
	return err
}

// Drop is vol.RemoveFolders.
func (rm *removal) Drop(gone func(*folder) bool) { rm.all = slices.DeleteFunc(rm.all, gone) }

// Clear is vol.RemoveFolders.
func (*removal) Clear(dir *folder, slots map[int]bool) { dir.clear(slots) }

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
