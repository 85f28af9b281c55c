package fat

import (
	"context"
	"slices"
	"sort"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// maxDirBytes is what is read of a directory: [FAT] 65536 entries. The chain
// may be longer; its clusters are claimed, its entries are seen by nobody.
const maxDirBytes = maxDirEntries * entryLen

// entryRef names an entry: its directory, its slot there, and the first slot
// of its long name (the slot itself where it has none).
type entryRef struct{ dir, slot, long int32 }

// dirNode is a directory that the walk has reached.
type dirNode struct {
	start   uint32 // first cluster; 0 is the fixed root of FAT12 and FAT16
	parent  int32  // index in walk.dirs; the root is its own
	name    string
	ref     entryRef       // its entry; not set for the root
	size    uint32         // as the entry has it; should be 0
	extents []space.Extent // its clusters, as far as the chain is sound
	clipped bool           // the chain goes on beyond maxDirBytes
	cut     bool           // the chain ends in a fault: there may be more of it
	garbage bool           // what it holds is no directory
}

// sharedAt is a cluster at which a chain ran into one claimed before.
type sharedAt struct {
	cluster uint32
	owner   // the later one
}

// twiceDir is an entry that leads to a directory already reached.
type twiceDir struct {
	first int32 // the directory as it was reached first
	ref   entryRef
	name  string
}

// walk goes through everything that the directories lead to, level by level
// and in order of location, and claims the clusters. Memory is one bit a
// cluster, a node a directory, and a batch of directory contents.
//
// Only a cluster that is claimed twice starts the search for its owners
// (owners.go): nothing is kept for each cluster to name them.
//
// What is noted of faults (scans, faults, shared, twice, layout, labels) has no
// limit of its own, as a repair wants all of it, and needs none: no field says how
// much it is. Each note stands for a slot of 32 bytes that was read, which gives
// but a few. Slots are at most 65536 of each directory, and a cluster is read for
// one alone, however many entries lead there (for two where a directory begins
// within the chain of another); one of which most slots cannot be entries gives
// one note, directory-garbage, and not one a slot. So notes take a small multiple
// of what the directories take on the disk, and of a sound volume nothing.
type walk struct {
	c       *checker
	tab     *table
	used    *space.Map
	claimed *space.Map
	quiet   bool // judge chains only, names and fields not

	dirs    []dirNode
	order   []int32          // directories as they were taken in
	byStart map[uint32]int32 // directories by first cluster
	scans   []scanNote       // what the slots themselves show
	faults  []chainFault
	shared  []sharedAt
	twice   []twiceDir
	layout  []layoutNote
	labels  []labelAt
	settled []int32 // slots of each directory that are settled, nil where all are

	files, fragmented uint64
	rootBroken        bool // its chain has no first cluster
	rootFault         chain
	rootEmpty         bool // nothing is in it
	chains, sound     uint64
	bytesRead         int64
	progress          func(done, total int64)
	done, total       int64 // clusters, for progress
	paths             vol.DirPaths
}

func newWalk(c *checker, t *table, used *space.Map) *walk {
	return &walk{c: c, tab: t, used: used, claimed: space.NewMap(c.g.Clusters), byStart: map[uint32]int32{}}
}

// run walks the whole tree.
func (w *walk) run(ctx context.Context) error {
	w.total = int64(w.used.CountUsed())
	if err := w.addRoot(); err != nil || w.rootBroken {
		return err
	}
	return w.descend(ctx, []int32{0})
}

// descend walks what the directories of level lead to.
func (w *walk) descend(ctx context.Context, level []int32) error {
	for len(level) > 0 {
		sort.Slice(level, func(i, j int) bool { return w.dirs[level[i]].start < w.dirs[level[j]].start })
		from := int32(len(w.dirs))
		if err := w.runLevel(ctx, level); err != nil {
			return err
		}
		level = level[:0]
		for i := from; i < int32(len(w.dirs)); i++ {
			level = append(level, i)
		}
	}
	return nil
}

// addRoot claims the root directory.
func (w *walk) addRoot() error {
	g := w.c.g
	root := dirNode{}
	if g.Type == FAT32 {
		root.start = g.RootCluster
		ch, err := w.claim(root.start, func(e space.Extent) { root.extents = append(root.extents, e) })
		if err != nil {
			return err
		}
		if ch.n == 0 {
			w.rootBroken, w.rootFault = true, ch
			return nil
		}
		w.byStart[root.start] = 0
		root.clipped, root.cut = w.tooLong(ch.n), ch.end != endEOC
		w.dirs = append(w.dirs, root)
		if ch.end != endEOC {
			w.fault(chainFault{slug: ch.slug(), root: true, isDir: true, start: root.start}, ch)
		}
		return nil
	}
	w.dirs = append(w.dirs, root)
	return nil
}

// tooLong reports whether a directory of n clusters is more than is read.
func (w *walk) tooLong(n uint32) bool { return int64(n)*w.c.g.ClusterSize() > maxDirBytes }

// dirBytes is how much of directory i is read.
func (w *walk) dirBytes(i int32) int64 { return w.nodeBytes(&w.dirs[i]) }

func (w *walk) nodeBytes(d *dirNode) int64 {
	if d.start == 0 {
		return w.c.g.RootBytes()
	}
	var n int64
	for _, e := range d.extents {
		n += int64(e.Len) * w.c.g.ClusterSize()
	}
	return min(n, maxDirBytes)
}

// ranges calls fn with the bytes of directory i, in order, up to the limit.
func (w *walk) ranges(i int32, fn func(dev.Range) error) error {
	return w.nodeRanges(&w.dirs[i], fn)
}

func (w *walk) nodeRanges(d *dirNode, fn func(dev.Range) error) error {
	left := w.nodeBytes(d)
	if d.start == 0 {
		return fn(dev.Range{Off: w.c.g.RootOff(), Len: left})
	}
	for _, e := range d.extents {
		r := w.c.g.ClusterRange(e.Start, e.Len)
		if r.Len = min(r.Len, left); r.Len == 0 {
			break
		}
		if err := fn(r); err != nil {
			return err
		}
		left -= r.Len
	}
	return nil
}

// read is the contents of directory i.
func (w *walk) read(i int32) ([]byte, error) { return w.readNode(&w.dirs[i], nil) }

// readNode is the contents of a directory, in buf if it is large enough.
func (w *walk) readNode(d *dirNode, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(w.nodeBytes(d)))
	err := w.nodeRanges(d, func(r dev.Range) error {
		n := len(buf)
		buf = buf[:n+int(r.Len)]
		_, err := w.c.d.ReadAt(buf[n:], r.Off)
		return err
	})
	return buf, err
}

// slotOff is where slot k of directory i lies, bytes from the start of the
// volume.
func (w *walk) slotOff(i int32, k int) int64 { return w.nodeSlotOff(&w.dirs[i], k) }

func (w *walk) nodeSlotOff(d *dirNode, k int) int64 {
	left := int64(k) * entryLen
	if d.start == 0 {
		return w.c.g.RootOff() + left
	}
	for _, e := range d.extents {
		n := int64(e.Len) * w.c.g.ClusterSize()
		if left < n {
			return w.c.g.ClusterOff(e.Start) + left
		}
		left -= n
	}
	return 0
}

// path of directory i, with a leading slash.
func (w *walk) path(i int32) string {
	return w.paths.Of(i, func(i int32) (string, int32) { return w.dirs[i].name, w.dirs[i].parent })
}

// pathIn is the path of an entry of directory i.
func (w *walk) pathIn(i int32, name string) string {
	if p := w.path(i); p != "/" {
		return p + "/" + name
	}
	return "/" + name
}

// fault notes what is wrong with a chain.
func (w *walk) fault(f chainFault, ch chain) {
	f.n, f.last = ch.n, ch.last
	if ch.end != endEOC {
		f.at = ch.at
	}
	if ch.end == endFree {
		f.free = ch.at
	}
	w.faults = append(w.faults, f)
}

// take claims what one directory leads to.
func (w *walk) take(s *dirScan) error {
	w.order = append(w.order, s.dir)
	w.dirs[s.dir].garbage = s.garbage
	if s.isRoot() {
		w.rootEmpty = len(s.live) == 0
	}
	w.scans = append(w.scans, s.notes...)
	w.layout = append(w.layout, s.layout...)
	w.labels = append(w.labels, s.labels...)
	w.bytesRead += int64(len(s.buf))
	// Directories first: what they hold weighs more than one file's tail.
	for pass := 0; pass < 2; pass++ {
		for k := range s.live {
			e := dirEntry(s.slot(int(s.live[k].slot)))
			if e.isDir() != (pass == 0) {
				continue
			}
			var err error
			if e.isDir() {
				err = w.takeDir(s, k, e)
			} else {
				err = w.takeFile(s, k, e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// takeDir adds a directory that an entry leads to.
func (w *walk) takeDir(s *dirScan, k int, e dirEntry) error {
	start := e.start(w.c.g.Type)
	f := chainFault{ref: s.ref(k), name: s.name(k), isDir: true, start: start}
	if start == 0 && e.attr()&attrVolume != 0 {
		return nil // more likely a label: attr-directory-volume
	}
	if start == 0 {
		f.slug = "directory-without-clusters"
		w.faults = append(w.faults, f)
		return nil
	}
	if first, ok := w.byStart[start]; ok {
		w.twice = append(w.twice, twiceDir{first: first, ref: f.ref, name: f.name})
		return nil
	}
	d := dirNode{start: start, parent: s.dir, name: f.name, ref: f.ref, size: e.size()}
	ch, err := w.claim(start, func(x space.Extent) { d.extents = append(d.extents, x) })
	if err != nil {
		return err
	}
	w.count(ch)
	switch {
	case ch.end == endShared:
		w.share(ch, owner{ref: f.ref, name: f.name, isDir: true, start: start})
		if ch.n == 0 {
			// The cluster is part of another chain. If it is a directory after
			// all, what it leads to must not be taken for lost.
			proof, err := w.proofOf(start, s.dir)
			if err != nil || proof == noProof {
				return err
			}
			d.extents = []space.Extent{{Start: start, Len: 1}}
		}
	case ch.end != endEOC:
		if f.slug = ch.slug(); ch.n == 0 {
			f.slug = "start-invalid"
			w.fault(f, ch)
			return nil
		}
		w.fault(f, ch)
	}
	d.clipped, d.cut = w.tooLong(ch.n), ch.end != endEOC
	w.byStart[start] = int32(len(w.dirs))
	w.dirs = append(w.dirs, d)
	return nil
}

// count a chain that an entry leads to. One that runs into another says nothing.
func (w *walk) count(ch chain) {
	w.done += int64(ch.n)
	switch ch.end {
	case endShared:
		return
	case endEOC:
		w.sound++
	}
	w.chains++
}

// fatLooksLost: of the chains that entries lead to as good as none has an end.
func (w *walk) fatLooksLost() bool { return w.chains >= 4 && w.sound*20 < w.chains }

// share notes that the chain of o ran into another.
func (w *walk) share(ch chain, o owner) {
	o.prefix, o.before = ch.n, ch.last
	w.shared = append(w.shared, sharedAt{ch.at, o})
}

// takeFile claims the clusters of a file and compares them with its size.
func (w *walk) takeFile(s *dirScan, k int, e dirEntry) error {
	w.files++
	start, size := e.start(w.c.g.Type), e.size()
	need := w.c.g.clustersFor(size)
	if start == 0 && size == 0 {
		return nil
	}
	note := func(slug string, ch chain) {
		w.fault(chainFault{slug: slug, ref: s.ref(k), name: s.name(k), start: start, size: size, need: need}, ch)
	}
	if start == 0 {
		note("size-without-clusters", chain{})
		return nil
	}
	ch, err := w.claim(start, nil)
	if err != nil {
		return err
	}
	w.count(ch)
	if ch.frags > 1 {
		w.fragmented++
	}
	switch {
	case ch.end == endShared:
		w.share(ch, owner{ref: s.ref(k), name: s.name(k), start: start, size: size})
	case ch.end != endEOC && ch.n == 0:
		note("start-invalid", ch)
	case ch.end != endEOC:
		note(ch.slug(), ch)
	case ch.n < need:
		note("size-exceeds-clusters", ch)
	case need == 0:
		note("empty-with-clusters", ch)
	case ch.n > need:
		note("clusters-beyond-size", ch)
	}
	return nil
}
