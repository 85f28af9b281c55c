package exfat

import (
	"errors"
	"fmt"
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
	parts, err := vol.SplitPath(path)
	if err != nil {
		return file{}, err
	}
	dir := ds.root
	for _, p := range parts[:len(parts)-1] {
		if dir, err = ds.enter(dir, p, path, create); err != nil {
			return file{}, err
		}
	}
	f := file{dir: dir, path: path}
	name := parts[len(parts)-1]
	slot, ok := dir.lookup(name)
	switch f.slot = slot; {
	case !ok && !create:
		return f, missing(path, dir, name)
	case !ok:
		f.slot, err = ds.create(dir, name, attrArchive)
		return f, err
	case f.set().isDir():
		return f, fmt.Errorf("%w: %s is a directory", vol.ErrRequest, path)
	}
	return f, ds.usable(f)
}

// missing is the error that dir has nothing called name, on the way to path.
func missing(path string, dir *folder, name string) error {
	return vol.NoSuch(path, dir.path, name, func(yield func(string) bool) {
		eachSlotRun(dir.slots, func(r slotRun) bool {
			return r.kind != slotFile || yield(setAt(dir.slots, r.first).name())
		})
	})
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

// enter goes from dir into its directory name; path is for messages.
func (ds *folders) enter(dir *folder, name, path string, create bool) (*folder, error) {
	slot, ok := dir.lookup(name)
	if !ok && !create {
		return nil, missing(path, dir, name)
	}
	if !ok {
		return ds.makeFolder(dir, name)
	}
	if kid := dir.kids[slot]; kid != nil {
		return kid, nil
	}
	f := file{dir: dir, slot: slot, path: vol.JoinPath(dir.path, name)}
	if !f.set().isDir() {
		return nil, fmt.Errorf("%w: %s: %q in %s is not a directory", vol.ErrRequest, path, name, dir.path)
	}
	kid, err := ds.folderAt(f)
	if err != nil {
		return nil, err
	}
	dir.kids[slot] = kid
	ds.all = append(ds.all, kid)
	return kid, nil
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

// Root is vol.Folders.
func (ds *folders) Root() *folder { return ds.root }

// Path is vol.Folders.
func (*folders) Path(dir *folder) string { return dir.path }

// Lookup is vol.Folders.
func (*folders) Lookup(dir *folder, name string) (slot int, ok bool) { return dir.lookup(name) }

// Enter is vol.Folders.
func (ds *folders) Enter(dir *folder, name, at string, create bool) (*folder, error) {
	return ds.enter(dir, name, at, create)
}
