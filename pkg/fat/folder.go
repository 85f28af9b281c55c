package fat

import (
	"iter"
	"slices"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// folder is a directory as the commands that change a volume see it: its slots
// up to the end mark, in memory, and an index of its names, so that looking up
// or adding 65 000 files reads it once and is linear. (The check has a view of
// its own, which makes less of memory and nothing of names.)
type folder struct {
	vol.Clusters
	path   string // "/", "/A/B"
	parent *folder
	slot   int  // of its entry, in parent
	fresh  bool // not on the disk yet
	fixed  bool // the root of FAT12 and FAT16, which has no clusters
	slots  *vol.Slots
	names  *vol.NameTable  // see nameRef
	kids   map[int]*folder // by slot
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
	now  stamp
	cp   codepage
	keys *vol.NameKeys
	root *folder
	all  []*folder // parents before their children
}

// newFolders reads the root directory.
func newFolders(d dev.Device, g *Geometry, t *table, now stamp, cp codepage) (*folders, error) {
	ds := &folders{d: d, g: g, t: t, now: now, cp: cp, keys: vol.NewNameKeys(foldUnit)}
	ds.root = &folder{path: "/", fixed: g.Type != FAT32}
	ds.all = append(ds.all, ds.root)
	return ds, ds.loadRoot(ds.root)
}

// loadRoot is load for the root directory.
func (ds *folders) loadRoot(root *folder) error {
	if root.fixed {
		return ds.read(root, int(ds.g.RootEntries))
	}
	return ds.load(root, ds.g.RootCluster)
}

// reread reads f anew, from where it starts after the change.
func (ds *folders) reread(f *folder) (*folder, error) {
	again := &folder{path: f.path, fixed: f.fixed}
	if f.parent == nil {
		return again, ds.loadRoot(again)
	}
	return again, ds.load(again, f.First())
}

// load reads the directory that starts in cluster start into f.
func (ds *folders) load(f *folder, start uint32) (err error) {
	if f.Old, err = ds.t.dirClusters(f.path, start); err != nil {
		return err
	}
	return ds.read(f, maxDirEntries)
}

// clustersOf are the clusters of the file that e stands for, which must be as many as
// its size takes: what a broken chain grows by would be lost with it, or overwrite
// another file.
func (ds *folders) clustersOf(path string, e dirEntry) ([]space.Extent, error) {
	start, size := e.start(ds.g.Type), int64(e.size())
	if size == 0 {
		if start != 0 {
			return nil, vol.DamagedAt(path, "the file is empty but has cluster %d", start)
		}
		return nil, nil
	}
	es, last, err := ds.t.fileClusters(path, start, size)
	if err == nil && !isEOC(last) {
		err = vol.DamagedAt(path, "it has more clusters than its %d bytes take", size)
	}
	return es, err
}

// read reads the slots of f, of which there may be limit, and indexes them.
func (ds *folders) read(f *folder, limit int) (err error) {
	if f.slots, err = vol.ReadSlots(ds.d, ds.ranges(f), limit); err == nil {
		ds.index(f)
	}
	return err
}

// ranges are the bytes of f on the volume, with what the change adds.
func (ds *folders) ranges(f *folder) []dev.Range {
	if f.fixed {
		return []dev.Range{ds.g.rootRange()}
	}
	return ds.g.locator().Ranges(f.All())
}

func (f *folder) at(slot int) dirEntry { return f.slots.At(slot) }

// used are the bytes of the slots before the end mark.
func (f *folder) used() []byte { return f.slots.Run(0, f.slots.End()) }

// index collects the names and the free slots.
func (ds *folders) index(f *folder) {
	ds.nameless(f)
	f.kids = make(map[int]*folder)
	eachEntry(f.used(), func(n namedEntry) bool {
		if n.e.isVolume() {
			return true
		}
		f.addNames(n.slot, n.long != nil)
		return true
	})
	for i := 0; i < f.slots.End(); i++ {
		first := i
		for i < f.slots.End() && f.at(i).isFree() {
			i++
		}
		f.slots.Free(first, i-first)
	}
}

// nameRef is one of the names of the entry in a slot as a table of names knows it.
func nameRef(slot int, long bool) int32 {
	if long {
		return int32(2*slot + 1)
	}
	return int32(2 * slot)
}

// nameless gives f a table without names.
func (ds *folders) nameless(f *folder) {
	f.names = vol.NewNameTable(ds.keys, func(ref int32, dst []uint16) []uint16 {
		slot := int(ref / 2)
		if ref%2 == 0 {
			return ds.cp.units(f.at(slot).name(), dst)
		}
		return f.longName(slot, dst)
	}, nil)
}

// addNames puts the names of the entry in a slot into the table.
func (f *folder) addNames(slot int, long bool) {
	f.names.Add(nameRef(slot, false))
	if long {
		f.names.Add(nameRef(slot, true))
	}
}

// longName appends the long name that lies, whole, before a slot: its start is in
// the slot that is nearest.
func (f *folder) longName(slot int, dst []uint16) []uint16 {
	for last := false; !last && slot > 0; {
		slot--
		var units [ldirChars]uint16
		s := longSlot(f.at(slot))
		s.units(&units)
		end := slices.Index(units[:], 0)
		if last = s.isLast(); end < 0 {
			end = ldirChars
		}
		dst = append(dst, units[:end]...)
	}
	return dst
}

// namedEntry is the slot of a file or directory, and its long name.
type namedEntry struct {
	e     dirEntry
	slot  int
	first int      // of the slots that belong to it
	long  []uint16 // nil for none; valid until the next entry
}

// name is what a user sees.
func (n namedEntry) name(cp codepage) string {
	if n.long != nil {
		return decodeUnits(n.long)
	}
	return cp.decode(n.e.name(), n.e[offNTRes])
}

// eachEntry calls fn for the entries in use among slots, labels included, until
// it returns false. No slot may be an end mark. Long-name slots that do not
// belong to what follows them are passed over, as [FAT] "Long Directory
// Entries" says.
func eachEntry(slots []byte, fn func(namedEntry) bool) {
	var l longReader
	for i := range len(slots) / entryLen {
		e := dirEntry(slots[i*entryLen : (i+1)*entryLen])
		switch {
		case e.isFree():
			l.want = 0
		case e.isLong():
			l.take(longSlot(e), i)
		default:
			n := namedEntry{e: e, slot: i, first: i}
			if n.long = l.name(e.name()); n.long != nil {
				n.first = l.first
			}
			l.want = 0
			if !fn(n) {
				return
			}
		}
	}
}

// longReader puts a long name together from its slots.
type longReader struct {
	units [maxLongSlots * ldirChars]uint16
	n     int // slots
	want  int // the number that the slot before had; 0: there is no name
	sum   byte
	first int
}

func (l *longReader) take(s longSlot, slot int) {
	switch {
	case s.isLast() && s.ordOK():
		l.n, l.sum, l.first = s.ord(), s.chksum(), slot
	case l.want > 1 && !s.isLast() && s.ord() == l.want-1 && s.chksum() == l.sum:
	default:
		l.want = 0
		return
	}
	l.want = s.ord()
	s.units((*[ldirChars]uint16)(l.units[(l.want-1)*ldirChars:]))
}

// name is the long name if it is complete and belongs to the short one.
func (l *longReader) name(short []byte) []uint16 {
	if l.want != 1 || l.sum != nameSum(short) {
		return nil
	}
	units := l.units[:l.n*ldirChars]
	for i, u := range units {
		if u == 0 {
			return units[:i]
		}
	}
	return units
}

// file is a place in a directory.
type file struct {
	dir  *folder
	slot int
	path string
}

func (f file) entry() dirEntry { return f.dir.at(f.slot) }

// changed notes that the entry has.
func (f file) changed() { f.dir.slots.Mark(f.slot, 1) }

// resolve finds the file at path; with create what is missing is made.
func (ds *folders) resolve(path string, create bool) (file, error) {
	dir, slot, _, err := vol.FindFile(ds, path, create)
	return file{dir: dir, slot: slot, path: path}, err
}

// lookup finds a name, in whatever case, among the long and the short ones.
func (f *folder) lookup(name string) (slot int, ok bool) {
	ref, ok := f.names.Find(utf16.Encode([]rune(name)))
	return int(ref / 2), ok
}

// Root is vol.FolderTree.
func (ds *folders) Root() *folder { return ds.root }

// Path is vol.FolderTree.
func (*folders) Path(dir *folder) string { return dir.path }

// Lookup is vol.FolderTree.
func (*folders) Lookup(dir *folder, name string) (slot int, ok bool) { return dir.lookup(name) }

// IsDir is vol.FolderTree.
func (*folders) IsDir(dir *folder, slot int) bool { return dir.at(slot).isDir() }

// Names is vol.FolderTree.
func (ds *folders) Names(dir *folder) iter.Seq[string] {
	return func(yield func(string) bool) {
		eachEntry(dir.used(), func(n namedEntry) bool { return n.e.isVolume() || yield(n.name(ds.cp)) })
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
	kid := &folder{path: at, parent: dir, slot: slot}
	if err := ds.load(kid, dir.at(slot).start(ds.g.Type)); err != nil {
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
