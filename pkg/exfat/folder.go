package exfat

import (
	"errors"
	"fmt"
	"iter"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// folder is a directory as the commands that change a volume see it: its slots
// in memory, and an index of its names, so that looking up or adding 65 000
// files reads it once and is linear.
type folder struct {
	clusters
	path   string
	parent *folder
	slot   int  // of its set, in parent
	fresh  bool // not on the disk yet
	slots  *vol.Slots
	names  *vol.NameTable // by slot
	odd    string         // something in it that cannot be, or nobody may pass over
	kids   map[int]*folder
	edited bool // entries came or went
	dated  bool // its times are those that were asked for
}

// Where is vol.Changing.
func (f *folder) Where() (string, *vol.Clusters) { return f.path, &f.Clusters }

// Changed is vol.Changing.
func (f *folder) Changed() bool { return f.slots.Changed() }

// folders are the directories of a volume that a change has come by.
type folders struct {
	d    dev.Device
	g    *Geometry
	t    *table
	m    *space.Map // what is in use, to be read only
	up   *upcaseTable
	keys *vol.NameKeys
	now  stamp
	root *folder
	all  []*folder // parents before their children
}

// openFolders reads the root directory.
func (v *volume) openFolders() (*folders, error) {
	ds := &folders{d: v.d, g: v.g, t: newTable(v.d, v.g), m: v.m, up: v.upcase, keys: vol.NewNameKeys(v.upcase.fold), now: v.now}
	es, err := ds.t.rootClusters()
	if err != nil {
		return nil, damagedChain("/", err)
	}
	ds.root = &folder{path: "/", clusters: clusters{Clusters: vol.Clusters{Old: es}, root: true}}
	ds.all = append(ds.all, ds.root)
	return ds, ds.load(ds.root)
}

// damagedChain is err, as damage of path where it tells of a chain.
func damagedChain(path string, err error) error {
	if b := new(brokenChain); errors.As(err, &b) {
		return vol.DamagedAt(path, "%w", err)
	}
	return err
}

// clustersOf are the clusters that a set names. All of them must be marked as
// used: what is not could be given to another any time.
func (ds *folders) clustersOf(path string, set entrySet) (clusters, error) {
	st := set.stream()
	es, err := ds.t.clustersOf(st.first(), st.length(), st.noFatChain())
	if err != nil {
		return clusters{}, damagedChain(path, err)
	}
	return clusters{Clusters: vol.Clusters{Old: es}, noFat: st.noFatChain()}, ds.marked(path, es)
}

// marked is damage where a cluster of es is marked as free.
func (ds *folders) marked(path string, es []space.Extent) error {
	for _, e := range es {
		e.Start -= firstCluster
		if n := ds.m.CountUsedIn(e); n != uint64(e.Len) {
			return vol.DamagedAt(path, "%d of its clusters are marked as free", uint64(e.Len)-n)
		}
	}
	return nil
}

// load reads the slots of f, whose clusters are known, and indexes the names.
func (ds *folders) load(f *folder) error {
	if err := ds.marked(f.path, f.Old); err != nil {
		return err
	}
	var err error
	if f.slots, err = vol.ReadSlots(ds.d, ds.g.rangesOf(f.Old), maxDirSlots); err != nil {
		return err
	}
	ds.index(f)
	return nil
}

// nameless gives f a table without names.
func (ds *folders) nameless(f *folder) {
	f.names = vol.NewNameTable(ds.keys, func(slot int32, dst []uint16) []uint16 {
		return setAt(f.slots, int(slot)).units(dst)
	}, nil)
}

// index collects the names and the free slots.
func (ds *folders) index(f *folder) {
	ds.nameless(f)
	f.kids = make(map[int]*folder)
	eachSlotRun(f.slots, func(r slotRun) bool {
		switch r.kind {
		case slotFree:
			f.slots.Free(r.first, r.n)
		case slotFile:
			f.names.Add(int32(r.first))
		case slotOdd:
			if f.odd == "" {
				f.odd = fmt.Sprintf("it holds %s, in slot %d", r.why, r.first)
			}
		}
		return true
	})
}

// file is a place in a directory.
type file struct {
	dir  *folder
	slot int
	path string
}

func (f file) set() entrySet { return setAt(f.dir.slots, f.slot) }

// changed notes that a set has: its first two slots, which are all that is
// ever changed of one that was there before.
func (f file) changed() { f.dir.slots.Mark(f.slot, 2) }

// resolve finds the file at path; with create what is missing is made.
func (ds *folders) resolve(path string, create bool) (file, error) {
	dir, slot, made, err := vol.FindFile(ds, path, create)
	f := file{dir: dir, slot: slot, path: path}
	if err == nil && !made {
		err = ds.usable(f)
	}
	return f, err
}

// usable refuses a set that must not be changed.
func (ds *folders) usable(f file) error {
	if why := f.set().flaw(ds.up); why != "" {
		return vol.DamagedAt(f.path, "%s", why)
	}
	if kind := f.set().unknown(); kind != 0 {
		return fmt.Errorf("%w: %s has an entry of type %#02x, which is not known and forbids changes", vol.ErrRequest, f.path, kind)
	}
	return nil
}

// folderAt reads the directory that has its set at f.
func (ds *folders) folderAt(f file) (*folder, error) {
	kid, err := ds.unread(f)
	if err == nil {
		err = ds.load(kid)
	}
	return kid, err
}

// unread is that directory without its slots.
func (ds *folders) unread(f file) (*folder, error) {
	set := f.set()
	if err := ds.usable(f); err != nil {
		return nil, err
	}
	// §7.4: at most 256 MiB. Of whole clusters, or no system mounts it.
	if n := set.stream().length(); n > maxDirBytes || n%uint64(ds.g.ClusterSize) != 0 {
		return nil, vol.DamagedAt(f.path, "a directory cannot have %d bytes in clusters of %d", n, ds.g.ClusterSize)
	}
	cs, err := ds.clustersOf(f.path, set)
	if err != nil {
		return nil, err
	}
	return &folder{path: f.path, parent: f.dir, slot: f.slot, clusters: cs}, nil
}

// lookup finds a name, in whatever case.
func (f *folder) lookup(name string) (slot int, ok bool) {
	s, ok := f.names.Find(utf16.Encode([]rune(name)))
	return int(s), ok
}

// Root is vol.FolderTree.
func (ds *folders) Root() *folder { return ds.root }

// Path is vol.FolderTree.
func (*folders) Path(dir *folder) string { return dir.path }

// Lookup is vol.FolderTree.
func (*folders) Lookup(dir *folder, name string) (slot int, ok bool) { return dir.lookup(name) }

// IsDir is vol.FolderTree.
func (*folders) IsDir(dir *folder, slot int) bool { return setAt(dir.slots, slot).isDir() }

// Names is vol.FolderTree.
func (*folders) Names(dir *folder) iter.Seq[string] {
	return func(yield func(string) bool) {
		eachSlotRun(dir.slots, func(r slotRun) bool {
			return r.kind != slotFile || yield(setAt(dir.slots, r.first).name())
		})
	}
}

// NewFile is vol.FolderTree.
func (ds *folders) NewFile(dir *folder, name string) (slot int, err error) {
	return ds.create(dir, name, attrArchive)
}

// Kid is vol.FolderTree.
func (ds *folders) Kid(dir *folder, slot int, at string) (*folder, error) {
	if kid := dir.kids[slot]; kid != nil {
		return kid, nil
	}
	kid, err := ds.folderAt(file{dir: dir, slot: slot, path: at})
	if err != nil {
		return nil, err
	}
	dir.kids[slot] = kid
	ds.all = append(ds.all, kid)
	return kid, nil
}

// Enter is vol.Folders.
func (ds *folders) Enter(dir *folder, name, at string, create bool) (*folder, error) {
	return vol.EnterFolder(ds, dir, name, at, create)
}
