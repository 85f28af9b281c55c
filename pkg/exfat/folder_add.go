package exfat

import (
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// create adds a set for name, which is not there yet.
func (ds *folders) create(f *folder, name string, attr uint16) (slot int, err error) {
	units, err := encodeName(name)
	if err != nil {
		return 0, err
	}
	if f.odd != "" {
		// What is not whole may be a file of this name.
		return 0, vol.DamagedAt(f.path, "%s", f.odd)
	}
	set := newEntrySet(ds.up, units, setFields{attr: attr, at: ds.now})
	slot, ok := f.slots.Room(set.slots())
	if !ok {
		return 0, fmt.Errorf("%w: %s is full: a directory has at most %d bytes", vol.ErrRequest, f.path, maxDirBytes)
	}
	err = f.slots.Growing(slot, set.slots(), func(s []byte) bool { return entry(s).inUse() })
	switch {
	case errors.Is(err, vol.ErrBehindEnd):
		return 0, vol.DamagedAt(f.path, "%w", err)
	case err != nil:
		return 0, err
	}
	copy(f.slots.Run(slot, set.slots()), set)
	f.slots.Mark(slot, set.slots())
	f.names.Add(int32(slot))
	f.edited = true
	return slot, nil
}

// NewFolder is vol.FolderTree: it adds a directory. Where it lies is settled later, by place.
func (ds *folders) NewFolder(parent *folder, name string) (*folder, error) {
	slot, err := ds.create(parent, name, attrDirectory)
	if err != nil {
		return nil, err
	}
	f := &folder{path: vol.JoinPath(parent.path, name), parent: parent, slot: slot, fresh: true,
		slots: vol.NewSlots(maxDirSlots), kids: make(map[int]*folder)}
	ds.nameless(f)
	parent.kids[slot] = f
	ds.all = append(ds.all, f)
	return f, nil
}

// missing is how many clusters f needs beyond those it has.
func (f *folder) missing(g *Geometry) uint32 {
	need, _ := g.ClustersFor(uint64(f.slots.End()) * entryLen)
	if f.fresh {
		need = max(need, 1)
	}
	if had := uint32(f.Count()); need > had {
		return need - had
	}
	return 0
}

// place puts into the set of f what it has become: [exFAT] §7.6.5 and §7.6.6,
// the length of a directory is that of its clusters, and all of it is valid.
// The root has no set; its chain says it all.
func (ds *folders) place(f *folder) {
	if f.parent == nil || !f.edited && !f.fresh {
		return
	}
	at := file{dir: f.parent, slot: f.slot}
	set := at.set()
	if len(f.Add) > 0 {
		n := f.Count() * uint64(ds.g.ClusterSize)
		set.allocate(f.First(), n, n, f.contiguous())
	}
	if !f.dated {
		set.file().touch(ds.now)
	}
	set.seal()
	at.changed()
}

// store writes what has changed of f.
func (ds *folders) store(f *folder) error {
	return f.slots.Store(ds.d, ds.g.rangesOf(f.All()))
}
