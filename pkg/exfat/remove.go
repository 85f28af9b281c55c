package exfat

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Remove is vol.Volume.
func (v *volume) Remove(ctx context.Context, r vol.RemoveRequest) (*vol.RemoveResult, error) {
	c, err := v.begin()
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

// Start is vol.RemoveFolders.
func (*removal) Start(dir *folder) uint32 { return dir.First() }

// Open is vol.RemoveFolders. The clusters are also those of what stands behind
// the name: [exFAT] §8.2 has a set go with all that it owns.
func (rm *removal) Open(dir *folder, slot int, at string) (kid *folder, isDir bool, es []space.Extent, err error) {
	f := file{dir: dir, slot: slot, path: at}
	set := f.set()
	if set.isDir() {
		kid, err = rm.folderAt(f)
	} else if err = rm.usable(f); err == nil {
		var cs clusters
		cs, err = rm.clustersOf(at, set)
		es = cs.Old
	}
	if kid != nil {
		es = kid.Old
	}
	if err != nil {
		return nil, false, nil, err
	}
	more, err := rm.behind(at, set)
	return kid, kid != nil, space.Concat(es, more), err
}

// behind are the clusters of benign entries behind the name, [exFAT] §6.4.
func (rm *removal) behind(at string, set entrySet) (es []space.Extent, err error) {
	for i := set.behindNames(); i < set.slots(); i++ {
		e := set.at(i)
		if !e.mayOwn() {
			continue
		}
		more, err := rm.t.clustersOf(e.first(), e.length(), e.noFatChain())
		if err != nil {
			return nil, damagedChain(at, err)
		}
		if err := rm.marked(at, more); err != nil {
			return nil, err
		}
		es = space.Concat(es, more)
	}
	return es, nil
}

// Each is vol.RemoveFolders. What cannot be may own clusters: nothing can be
// said of what goes with it.
func (*removal) Each(dir *folder, fn func(slot int, name string) error) (err error) {
	if dir.odd != "" {
		return vol.DamagedAt(dir.path, "%s", dir.odd)
	}
	eachSlotRun(dir.slots, func(r slotRun) bool {
		switch r.kind {
		case slotFile:
			err = fn(r.first, setAt(dir.slots, r.first).name())
		case slotOther:
			// [exFAT] §8.2: a benign one that is not known is not to be changed.
			err = vol.Refusef("%s holds an entry of type %#02x, which is not known and may have clusters of its own", dir.path, dir.slots.At(r.first)[0])
		}
		return err == nil
	})
	return err
}

// Drop is vol.RemoveFolders.
func (rm *removal) Drop(gone func(*folder) bool) { rm.all = slices.DeleteFunc(rm.all, gone) }

// Clear is vol.RemoveFolders: [exFAT] §6.2.1.4, nothing of an entry changes but
// the bit for "in use".
func (*removal) Clear(dir *folder, slots map[int]bool) {
	for slot := range slots {
		set := setAt(dir.slots, slot)
		n := set.slots()
		for i := range n {
			set.at(i).retire()
		}
		dir.slots.Mark(slot, n)
	}
	dir.edited = true
}
