package fat

import (
	"fmt"
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
	path     string // "/", "/A/B"
	parent   *folder
	slot     int  // of its entry, in parent
	fresh    bool // not on the disk yet
	fixed    bool // the root of FAT12 and FAT16
	limit    int  // slots it may have
	clusters []uint32
	added    []space.Extent // clusters that this change gives it, by number
	slots    []byte         // whole blocks of blockLen
	end      int            // slots before the end mark
	names    map[string]int32
	gaps     [maxLongSlots + 2][]gap // free slots by length, see room
	dirty    []bool                  // of the blocks of slots
	kids     map[int]*folder         // by slot
}

// gap is a run of free slots.
type gap struct{ first, n int }

// blockLen is the unit in which slots are kept and written: the smallest
// sector there is.
const blockLen = 512

// folders are the directories of a volume that a change has come by.
type folders struct {
	d    dev.Device
	g    *Geometry
	t    *table
	now  stamp
	root *folder
	all  []*folder // parents before their children
}

// newFolders reads the root directory.
func newFolders(d dev.Device, g *Geometry, t *table, now stamp) (*folders, error) {
	ds := &folders{d: d, g: g, t: t, now: now}
	root := &folder{path: "/", limit: maxDirEntries}
	var err error
	if g.Type == FAT32 {
		err = ds.load(root, g.RootCluster)
	} else {
		root.fixed, root.limit = true, int(g.RootEntries)
		err = ds.fill(root, []dev.Range{{Off: g.RootOff(), Len: vol.RoundUp(g.RootBytes(), g.SectorSize)}})
	}
	if err != nil {
		return nil, err
	}
	ds.root = root
	ds.all = append(ds.all, root)
	return ds, nil
}

// damaged is vol.ErrDamaged with what and where.
func damaged(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s; run check first", vol.ErrDamaged, path, fmt.Sprintf(format, args...))
}

// load reads the directory that starts in cluster start into f.
func (ds *folders) load(f *folder, start uint32) error {
	most := int(maxDirEntries * entryLen / ds.g.ClusterSize())
	for c := start; ; {
		if !ds.g.Valid(c) {
			return damaged(f.path, "the chain of the directory leads to cluster %d of %d", c, ds.g.Last())
		}
		v, err := ds.t.get(c)
		switch {
		case err != nil:
			return err
		case v == entryFree || v == entryBad:
			return damaged(f.path, "cluster %d of the directory is marked as free or bad", c)
		case len(f.clusters) > most:
			// More than 65536 entries ([FAT]), or a loop.
			return damaged(f.path, "the chain of the directory does not end after %d clusters", most)
		}
		f.clusters = append(f.clusters, c)
		if isEOC(v) {
			break
		}
		c = v
	}
	return ds.fill(f, ds.ranges(f.clusters))
}

// ranges are the bytes of clusters, joined where they touch.
func (ds *folders) ranges(clusters []uint32) []dev.Range {
	var rs []dev.Range
	for _, c := range clusters {
		r := ds.g.ClusterRange(c, 1)
		if n := len(rs); n > 0 && rs[n-1].End() == r.Off {
			rs[n-1].Len += r.Len
			continue
		}
		rs = append(rs, r)
	}
	return rs
}

// folderRead is how much of a directory is read at once: a long one in few
// reads, and little beyond the end of a short one in large clusters.
const folderRead = 64 << 10

// fill reads the slots of f up to the end mark from ranges.
func (ds *folders) fill(f *folder, ranges []dev.Range) error {
	for _, r := range ranges {
		for !r.Empty() && len(f.slots) < f.limit*entryLen {
			n := min(r.Len, folderRead)
			had := len(f.slots)
			f.slots = append(f.slots, make([]byte, n)...)
			if _, err := ds.d.ReadAt(f.slots[had:], r.Off); err != nil {
				return err
			}
			if f.findEnd(had / entryLen) {
				return nil
			}
			r = dev.Range{Off: r.Off + n, Len: r.Len - n}
		}
	}
	f.end = min(len(f.slots)/entryLen, f.limit)
	f.index()
	return nil
}

// findEnd looks for the end mark from slot i on. Where it is, the slots that
// follow are dropped and the index is made.
func (f *folder) findEnd(i int) bool {
	for n := min(len(f.slots)/entryLen, f.limit); i < n; i++ {
		if f.at(i).isEnd() {
			f.end = i
			keep := int(vol.RoundUp(int64(i+1)*entryLen, blockLen))
			f.slots = append([]byte(nil), f.slots[:keep]...)
			f.index()
			return true
		}
	}
	return false
}

func (f *folder) at(slot int) dirEntry { return f.slots[slot*entryLen : (slot+1)*entryLen] }

// start is the first cluster, 0 for a fixed root.
func (f *folder) start() uint32 {
	if len(f.clusters) == 0 {
		return 0
	}
	return f.clusters[0]
}

// index collects the names and the gaps.
func (f *folder) index() {
	f.names = make(map[string]int32)
	f.kids = make(map[int]*folder)
	var units []uint16
	eachEntry(f.slots, f.end, func(n namedEntry) bool {
		if n.e.isVolume() {
			return true
		}
		units = shortUnits(n.e.name(), units[:0])
		f.addName(units, n.slot)
		if n.long != nil {
			f.addName(n.long, n.slot)
		}
		return true
	})
	// Free slots before the end mark are no gap but part of what follows it.
	for f.end > 0 && f.at(f.end-1).isFree() {
		f.end--
	}
	for i := 0; i < f.end; i++ {
		first := i
		for i < f.end && f.at(i).isFree() {
			i++
		}
		f.addGap(gap{first, i - first})
	}
}

// addName puts a name into the index; of two equal ones the first counts.
func (f *folder) addName(units []uint16, slot int) {
	key := nameKey(units)
	if _, twice := f.names[key]; !twice {
		f.names[key] = int32(slot)
	}
}

// nameKey is a string that is the same for names that are the same.
func nameKey(units []uint16) string {
	var buf [2 * maxLongUnits]byte
	b := buf[:0]
	for _, u := range units {
		u = foldUnit(u)
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// namedEntry is the slot of a file or directory, and its long name.
type namedEntry struct {
	e     dirEntry
	slot  int
	first int      // of the slots that belong to it
	long  []uint16 // nil for none; valid until the next entry
}

// name is what a user sees.
func (n namedEntry) name() string {
	if n.long != nil {
		return decodeUnits(n.long)
	}
	return decodeShort(n.e.name(), n.e[offNTRes])
}

// eachEntry calls fn for the entries in use among the first end slots, labels
// included, until it returns false. Long-name slots that do not belong to what
// follows them are passed over, as [FAT] "Long Directory Entries" says.
func eachEntry(slots []byte, end int, fn func(namedEntry) bool) {
	var l longReader
	for i := range end {
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
	name := parts[len(parts)-1]
	slot, ok := dir.lookup(name)
	switch {
	case !ok && !create:
		return file{}, missing(path, dir, name)
	case !ok:
		slot, err = ds.create(dir, name, attrArchive)
	case dir.at(slot).isDir():
		err = fmt.Errorf("%w: %s is a directory", vol.ErrRequest, path)
	}
	return file{dir: dir, slot: slot, path: path}, err
}

// missing is the error that dir has nothing called name, on the way to path.
func missing(path string, dir *folder, name string) error {
	return vol.NoSuch(path, dir.path, name, func(yield func(string) bool) {
		eachEntry(dir.slots, dir.end, func(n namedEntry) bool { return n.e.isVolume() || yield(n.name()) })
	})
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
	e := dir.at(slot)
	if !e.isDir() {
		return nil, fmt.Errorf("%w: %s: %q in %s is not a directory", vol.ErrRequest, path, name, dir.path)
	}
	if kid := dir.kids[slot]; kid != nil {
		return kid, nil
	}
	kid := &folder{path: vol.JoinPath(dir.path, name), parent: dir, slot: slot, limit: maxDirEntries}
	if err := ds.load(kid, e.start(ds.g.Type)); err != nil {
		return nil, err
	}
	dir.kids[slot] = kid
	ds.all = append(ds.all, kid)
	return kid, nil
}

// lookup finds a name, in whatever case, among the long and the short ones.
func (f *folder) lookup(name string) (slot int, ok bool) {
	s, ok := f.names[nameKey(utf16.Encode([]rune(name)))]
	return int(s), ok
}
