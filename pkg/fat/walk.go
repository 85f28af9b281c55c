package fat

import (
	"context"
	"runtime"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
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
	extents []space.Extent // its clusters, as far as the chain is sound
	clipped bool           // the chain goes on beyond maxDirBytes
}

// chainFault is an entry whose chain and size do not fit together.
type chainFault struct {
	slug  string
	ref   entryRef
	root  bool // it is the root directory, which has no entry
	name  string
	isDir bool
	start uint32 // as the entry has it
	size  uint32
	need  uint32 // clusters that the size takes
	n     uint32 // sound clusters of the chain
	last  uint32 // the last of them, 0 for none
	at    uint32 // the cluster or value that ended it, 0 where it ended well
}

// sharedAt is a cluster at which a chain ran into one claimed before.
type sharedAt struct {
	cluster uint32
	ref     entryRef // of the later entry
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
// (links.go): nothing is kept for each cluster to name them.
type walk struct {
	c       *checker
	tab     *table
	used    *space.Map
	claimed *space.Map
	quiet   bool // judge chains only, names and fields not

	dirs    []dirNode
	byStart map[uint32]int32 // directories by first cluster
	scans   []scanNote       // what the slots themselves show
	faults  []chainFault
	shared  []sharedAt
	twice   []twiceDir
	layout  []layoutNote
	labels  []labelAt

	files, fragmented uint64
	rootBroken        bool
	rootFault         chain
	bytesRead         int64
	progress          func(done, total int64)
	done              int64
}

func newWalk(c *checker, t *table, used *space.Map) *walk {
	return &walk{c: c, tab: t, used: used, claimed: space.NewMap(c.g.Clusters), byStart: map[uint32]int32{}}
}

// endKind says how a chain ends.
type endKind int

const (
	endEOC endKind = iota
	endOutOfRange
	endFree
	endBad
	endLoop
	endShared
)

// chain is what claiming one found.
type chain struct {
	n     uint32 // sound clusters
	last  uint32 // the last of them
	frags uint32 // extents
	end   endKind
	at    uint32 // the cluster or value at which it ended
}

// claim follows the chain from start and marks its clusters. It stops before
// a cluster that is not sound or not free to be claimed, so it always ends.
// With each set, it is called for each extent.
func (w *walk) claim(start uint32, each func(space.Extent)) (chain, error) {
	var ch chain
	run := space.Extent{}
	flush := func() {
		if run.Len > 0 {
			ch.frags++
			if each != nil {
				each(run)
			}
		}
	}
	for c := start; ; {
		ch.at = c
		if !w.c.g.Valid(c) {
			ch.end = endOutOfRange
			break
		}
		v, err := w.tab.get(c)
		if err != nil {
			return ch, err
		}
		if v == entryFree {
			ch.end = endFree
			break
		}
		if v == entryBad {
			ch.end = endBad
			break
		}
		if !w.claimed.SetNew(c - firstCluster) {
			ch.end = endShared
			break
		}
		if run.Len > 0 && c == run.Start+run.Len {
			run.Len++
		} else {
			flush()
			run = space.Extent{Start: c, Len: 1}
		}
		ch.n, ch.last = ch.n+1, c
		if isEOC(v) {
			ch.end = endEOC
			break
		}
		c = v
	}
	flush()
	if ch.end == endShared && ch.n > 0 {
		return w.loopOrShared(start, ch)
	}
	return ch, nil
}

// loopOrShared tells a chain that came back to itself from one that ran into
// another.
func (w *walk) loopOrShared(start uint32, ch chain) (chain, error) {
	c := start
	for i := uint32(0); i < ch.n; i++ {
		if c == ch.at {
			ch.end = endLoop
			return ch, nil
		}
		v, err := w.tab.get(c)
		if err != nil {
			return ch, err
		}
		c = v
	}
	return ch, nil
}

// run walks the whole tree.
func (w *walk) run(ctx context.Context) error {
	if err := w.addRoot(); err != nil || w.rootBroken {
		return err
	}
	level := []int32{0}
	for len(level) > 0 {
		sort.Slice(level, func(i, j int) bool { return w.dirs[level[i]].start < w.dirs[level[j]].start })
		from := int32(len(w.dirs))
		for len(level) > 0 {
			n := w.batch(level)
			if err := w.runBatch(ctx, level[:n]); err != nil {
				return err
			}
			level = level[n:]
		}
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
		w.dirs = append(w.dirs, root)
		if ch.end != endEOC {
			w.fault(chainFault{slug: ch.slug(), root: true, isDir: true, start: root.start}, ch)
		}
		return nil
	}
	w.dirs = append(w.dirs, root)
	return nil
}

// Directories are read in batches of at most this many, and bytes.
const (
	batchDirs  = 256
	batchBytes = 4 << 20
)

// batch is how many directories of the level are read together.
func (w *walk) batch(level []int32) int {
	var sum int64
	for i, d := range level {
		if sum += w.dirBytes(d); i >= batchDirs || i > 0 && sum > batchBytes {
			return i
		}
	}
	return len(level)
}

// dirBytes is how much of a directory is read.
func (w *walk) dirBytes(i int32) int64 {
	d := &w.dirs[i]
	if d.start == 0 {
		return w.c.g.RootBytes()
	}
	var n int64
	for _, e := range d.extents {
		n += int64(e.Len) * w.c.g.ClusterSize()
	}
	return min(n, maxDirBytes)
}

// runBatch reads and scans directories side by side, then takes in what they
// hold one after another, so that the result does not depend on timing.
func (w *walk) runBatch(ctx context.Context, batch []int32) error {
	plug := dev.NewPlug(w.c.d, 0)
	for _, i := range batch {
		w.ranges(i, func(r dev.Range) error { plug.Add(r); return nil })
	}
	for _, r := range plug.Unplug() {
		w.c.d.Readahead(r)
	}
	scans := make([]*dirScan, len(batch))
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(w.workers())
	for k, i := range batch {
		eg.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := w.scan(i)
			scans[k] = s
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	for _, s := range scans {
		if err := w.take(s); err != nil {
			return err
		}
	}
	if w.progress != nil {
		w.progress(w.done, int64(w.used.CountUsed()))
	}
	return nil
}

func (w *walk) workers() int {
	if w.c.o.Workers > 0 {
		return w.c.o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// ranges calls fn with the bytes of directory i, in order, up to the limit.
func (w *walk) ranges(i int32, fn func(dev.Range) error) error {
	left := w.dirBytes(i)
	d := &w.dirs[i]
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
func (w *walk) read(i int32) ([]byte, error) {
	buf := make([]byte, 0, w.dirBytes(i))
	err := w.ranges(i, func(r dev.Range) error {
		n := len(buf)
		buf = buf[:n+int(r.Len)]
		_, err := w.c.d.ReadAt(buf[n:], r.Off)
		return err
	})
	return buf, err
}

// slotOff is where slot k of directory i lies, bytes from the start of the
// volume.
func (w *walk) slotOff(i int32, k int) int64 {
	left := int64(k) * entryLen
	d := &w.dirs[i]
	if d.start == 0 {
		return w.c.g.RootOff() + left
	}
	for _, e := range d.extents {
		if n := int64(e.Len) * w.c.g.ClusterSize(); left < n {
			return w.c.g.ClusterOff(e.Start) + left
		} else {
			left -= n
		}
	}
	return 0
}

// path of directory i, with a leading slash.
func (w *walk) path(i int32) string {
	var parts []string
	for i != 0 {
		parts = append(parts, w.dirs[i].name)
		i = w.dirs[i].parent
	}
	s := ""
	for k := len(parts) - 1; k >= 0; k-- {
		s += "/" + parts[k]
	}
	if s == "" {
		return "/"
	}
	return s
}

// pathIn is the path of an entry of directory i.
func (w *walk) pathIn(i int32, name string) string {
	if p := w.path(i); p != "/" {
		return p + "/" + name
	}
	return "/" + name
}

// slug of the fault that ended the chain.
func (ch chain) slug() string {
	switch ch.end {
	case endFree:
		return "chain-free"
	case endBad:
		return "chain-bad"
	case endLoop:
		return "chain-loop"
	default:
		return "chain-out-of-range"
	}
}

// fault notes what is wrong with a chain.
func (w *walk) fault(f chainFault, ch chain) {
	f.n, f.last = ch.n, ch.last
	if ch.end != endEOC {
		f.at = ch.at
	}
	w.faults = append(w.faults, f)
}

// take claims what one directory leads to.
func (w *walk) take(s *dirScan) error {
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
	if start == 0 {
		f.slug = "directory-without-clusters"
		w.faults = append(w.faults, f)
		return nil
	}
	if first, ok := w.byStart[start]; ok {
		w.twice = append(w.twice, twiceDir{first: first, ref: f.ref, name: f.name})
		return nil
	}
	d := dirNode{start: start, parent: s.dir, name: f.name, ref: f.ref}
	ch, err := w.claim(start, func(x space.Extent) { d.extents = append(d.extents, x) })
	if err != nil {
		return err
	}
	w.done += int64(ch.n)
	switch {
	case ch.end == endShared:
		w.shared = append(w.shared, sharedAt{ch.at, f.ref})
		if ch.n == 0 {
			// The cluster is part of another chain. If it is a directory after
			// all, what it leads to must not be taken for lost.
			ok, err := w.looksLikeDir(start)
			if err != nil || !ok {
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
	d.clipped = int64(ch.n)*w.c.g.ClusterSize() > maxDirBytes
	w.byStart[start] = int32(len(w.dirs))
	w.dirs = append(w.dirs, d)
	return nil
}

// looksLikeDir reports whether cluster c starts with a dot entry that leads to
// c itself.
func (w *walk) looksLikeDir(c uint32) (bool, error) {
	e := make(dirEntry, entryLen)
	if _, err := w.c.d.ReadAt(e, w.c.g.ClusterOff(c)); err != nil {
		return false, err
	}
	return string(e.name()) == dotName && e.isDir() && e.start(w.c.g.Type) == c, nil
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
	w.done += int64(ch.n)
	if ch.frags > 1 {
		w.fragmented++
	}
	switch {
	case ch.end == endShared:
		w.shared = append(w.shared, sharedAt{ch.at, s.ref(k)})
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

// lostRuns are the clusters in use that nothing claimed and that are not
// marked as bad, as runs of cluster numbers.
func (w *walk) lostRuns() ([]space.Extent, error) {
	var out []space.Extent
	for e := range space.DiffRuns(w.used, w.claimed) {
		run := space.Extent{}
		for i := uint32(0); i < e.Len; i++ {
			c := e.Start + i + firstCluster
			bad := false
			if w.c.bad > 0 || w.quiet {
				v, err := w.tab.get(c)
				if err != nil {
					return nil, err
				}
				bad = v == entryBad
			}
			switch {
			case bad && run.Len > 0:
				out, run = append(out, run), space.Extent{}
			case bad:
			case run.Len == 0:
				run = space.Extent{Start: c, Len: 1}
			default:
				run.Len++
			}
		}
		if run.Len > 0 {
			out = append(out, run)
		}
	}
	return out, nil
}
