package exfat

import (
	"context"
	"runtime"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// setRef names an entry set: its directory, the slot of its primary entry, and
// how many slots it takes.
type setRef struct{ dir, slot, n int32 }

// dirNode is a directory that the walk has reached.
type dirNode struct {
	start   uint32 // first cluster, 0 where it has none
	length  uint64 // bytes, as its entry says
	noFat   bool
	parent  int32
	name    string
	ref     setRef
	extents []space.Extent // its clusters, as far as they are sound
}

// stream is what one entry says of its clusters: that of a file, of a
// directory, or of a vendor's allocation.
type stream struct {
	ref    setRef
	at     int32 // slot of the entry that holds the allocation
	name   string
	isDir  bool
	vendor bool
	root   bool
	start  uint32
	length uint64
	need   uint32 // clusters for length, at most one more than there are
	noFat  bool
}

// chain is what following the clusters of a stream found.
type chain struct {
	n       uint32 // sound clusters
	last    uint32 // the last of them, 0 for none
	end     endKind
	stop    uint32 // the cluster or value that ended it
	extents []space.Extent
}

// endKind says how a chain ends.
type endKind int

const (
	endGood   endKind = iota
	endShort          // an end mark before the length is reached
	endLong           // no end mark where the length is reached
	endBroken         // a value that is no cluster
	endLoop
	endShared // a cluster that another has claimed
	endHeap   // a run that leaves the heap
)

// streamFault is a stream whose clusters do not fit.
type streamFault struct {
	stream
	chain
	slug string
}

// twiceDir is an entry that leads to a directory already reached.
type twiceDir struct {
	stream
	first int32
}

// walk goes through everything that the directories lead to and claims the
// clusters. What contradicts the bitmap or the heap is put off until all that
// does not has claimed its own: a damaged entry early in the root must not
// take what intact files behind it own.
type walk struct {
	c       *checker
	claimed *space.Sparse
	quiet   bool

	dirs    []dirNode
	byStart map[uint32]int32
	notes   []setNote
	faults  []streamFault
	shared  []streamFault
	twice   []twiceDir
	ends    []endNote
	doubted []stream // put off
	level   []int32  // directories to be read next

	files, fragmented uint64
	bytesRead         int64
	progress          func(done, total int64)
}

func newWalk(c *checker) *walk {
	return &walk{c: c, claimed: space.NewSparse(uint64(c.g.Clusters)), byStart: map[uint32]int32{}}
}

// claimRun claims a run of n clusters.
func (w *walk) claimRun(start, n uint32) chain {
	g := w.c.g
	fit := min(n, g.Clusters-(start-firstCluster))
	got := w.claimed.SetRunNew(space.Extent{Start: start - firstCluster, Len: fit})
	ch := chain{n: got}
	if got > 0 {
		ch.last = start + got - 1
		ch.extents = []space.Extent{{Start: start, Len: got}}
	}
	switch {
	case got < fit:
		ch.end, ch.stop = endShared, start+got
	case fit < n:
		ch.end = endHeap
	}
	return ch
}

// claimChain follows the FAT from start, through at most need clusters, and
// claims them. With need 0 it goes on to the end mark, for the root.
func (w *walk) claimChain(start, need uint32) (chain, error) {
	var ch chain
	for c := start; ; {
		if !w.c.g.Valid(c) {
			ch.end, ch.stop = endBroken, c
			break
		}
		if !w.claimed.SetNew(c - firstCluster) {
			ch.end, ch.stop = endShared, c
			break
		}
		ch.add(c)
		v, err := w.c.tab.get(c)
		if err != nil {
			return ch, err
		}
		if need != 0 && ch.n == need {
			if v != fatEOC {
				ch.end, ch.stop = endLong, v
			}
			return ch, nil
		}
		if v == fatEOC {
			if need != 0 {
				ch.end = endShort
			}
			return ch, nil
		}
		c = v
	}
	if ch.end == endShared && ch.holds(ch.stop) {
		ch.end = endLoop
	}
	return ch, nil
}

func (ch *chain) add(c uint32) {
	if k := len(ch.extents) - 1; k >= 0 && ch.extents[k].Start+ch.extents[k].Len == c {
		ch.extents[k].Len++
	} else {
		ch.extents = append(ch.extents, space.Extent{Start: c, Len: 1})
	}
	ch.n, ch.last = ch.n+1, c
}

func (ch *chain) holds(c uint32) bool {
	for _, e := range ch.extents {
		if c >= e.Start && c-e.Start < e.Len {
			return true
		}
	}
	return false
}

// claim claims the clusters of a stream, whose start is valid.
func (w *walk) claim(s *stream) (chain, error) {
	if s.noFat {
		return w.claimRun(s.start, s.need), nil
	}
	return w.claimChain(s.start, s.need)
}

// plausible reports whether nothing speaks against a stream before its
// clusters are claimed: it stays in the heap, and the bitmap has all of them
// as used.
func (w *walk) plausible(s *stream) (bool, error) {
	if s.need > w.c.g.Clusters {
		return false, nil
	}
	if s.noFat {
		if uint64(s.start-firstCluster)+uint64(s.need) > uint64(w.c.g.Clusters) {
			return false, nil
		}
		n, err := w.c.bits.countUsed(space.Extent{Start: s.start, Len: s.need})
		return n == s.need, err
	}
	c := s.start
	for n := uint32(0); n < s.need; n++ {
		if !w.c.g.Valid(c) {
			return false, nil
		}
		if used, err := w.c.bits.used(c); err != nil || !used {
			return false, err
		}
		v, err := w.c.tab.get(c)
		if err != nil {
			return false, err
		}
		c = v
	}
	return c == fatEOC, nil
}

// run walks the tree from the root, whose clusters are claimed already.
func (w *walk) run(ctx context.Context) error {
	w.level = []int32{0}
	for {
		if err := w.runLevels(ctx); err != nil {
			return err
		}
		if len(w.doubted) == 0 {
			return nil
		}
		doubted := w.doubted
		w.doubted = nil
		for i := range doubted {
			if err := w.take(&doubted[i]); err != nil {
				return err
			}
		}
		if len(w.level) == 0 && len(w.doubted) == 0 {
			return nil
		}
	}
}

// runLevels reads directories until none is waiting, each level in order of
// location.
func (w *walk) runLevels(ctx context.Context) error {
	for len(w.level) > 0 {
		level := w.level
		w.level = nil
		sort.Slice(level, func(i, j int) bool { return w.dirs[level[i]].start < w.dirs[level[j]].start })
		for len(level) > 0 {
			n := min(len(level), batchDirs)
			if err := w.runBatch(ctx, level[:n]); err != nil {
				return err
			}
			level = level[n:]
		}
	}
	return nil
}

// batchDirs is how many directories are read together.
const batchDirs = 128

// runBatch reads and scans directories side by side, then takes in what they
// hold one after another, so that the result does not depend on timing.
func (w *walk) runBatch(ctx context.Context, batch []int32) error {
	plug := dev.NewPlug(w.c.d, 0)
	for _, i := range batch {
		for _, e := range w.dirs[i].extents {
			r := w.c.g.ClusterRange(e.Start, e.Len)
			r.Len = min(r.Len, readaheadDir) // most end in their first piece
			plug.Add(r)
		}
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
	for k, s := range scans {
		if err := w.takeScan(s); err != nil {
			return err
		}
		scans[k] = nil
	}
	if w.progress != nil {
		w.progress(int64(w.claimed.CountUsed()), int64(w.c.g.Clusters))
	}
	return nil
}

const readaheadDir = 256 << 10

func (w *walk) workers() int {
	if w.c.o.Workers > 0 {
		return w.c.o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// takeScan takes in what one directory holds.
func (w *walk) takeScan(s *dirScan) error {
	w.notes = append(w.notes, s.notes...)
	w.ends = append(w.ends, s.ends...)
	w.bytesRead += s.read
	w.files += s.files
	for i := range s.streams {
		st := &s.streams[i]
		if st.length == 0 || !w.c.g.Valid(st.start) {
			if err := w.take(st); err != nil {
				return err
			}
			continue
		}
		ok, err := w.plausible(st)
		if err != nil {
			return err
		}
		if !ok {
			w.doubted = append(w.doubted, *st)
			continue
		}
		if err := w.take(st); err != nil {
			return err
		}
	}
	return nil
}

// take claims what one stream says it owns, and notes what does not fit.
func (w *walk) take(s *stream) error {
	fault := func(slug string, ch chain) {
		w.faults = append(w.faults, streamFault{stream: *s, chain: ch, slug: slug})
	}
	if s.length == 0 {
		if s.start != 0 {
			fault("empty-with-clusters", chain{})
		}
		if s.isDir {
			w.dirs = append(w.dirs, dirNode{parent: s.ref.dir, name: s.name, ref: s.ref})
		}
		return nil
	}
	if !w.c.g.Valid(s.start) {
		fault("start-invalid", chain{})
		return nil
	}
	if s.isDir {
		if first, ok := w.byStart[s.start]; ok {
			w.twice = append(w.twice, twiceDir{stream: *s, first: first})
			return nil
		}
	}
	ch, err := w.claim(s)
	if err != nil {
		return err
	}
	if len(ch.extents) > 1 {
		w.fragmented++
	}
	switch ch.end {
	case endShared:
		w.shared = append(w.shared, streamFault{stream: *s, chain: ch, slug: "cross-linked"})
	case endBroken:
		fault("chain-broken", ch)
	case endLoop:
		fault("chain-loop", ch)
	case endShort, endHeap:
		fault("length-exceeds-clusters", ch)
	case endLong:
		fault("clusters-beyond-length", ch)
	}
	if s.isDir && ch.n > 0 {
		w.enter(s, ch)
	}
	return nil
}

// enter adds a directory to those that are read next.
func (w *walk) enter(s *stream, ch chain) {
	w.byStart[s.start] = int32(len(w.dirs))
	w.level = append(w.level, int32(len(w.dirs)))
	w.dirs = append(w.dirs, dirNode{start: s.start, length: s.length, noFat: s.noFat, parent: s.ref.dir, name: s.name, ref: s.ref, extents: ch.extents})
}

// path of directory i, with a leading slash.
func (w *walk) path(i int32) string {
	s := ""
	for i != 0 {
		s = "/" + w.dirs[i].name + s
		i = w.dirs[i].parent
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

// slotOff is where slot k of directory i lies, bytes from the start of the
// volume.
func (w *walk) slotOff(i, k int32) int64 {
	left := int64(k) * entryLen
	for _, e := range w.dirs[i].extents {
		n := int64(e.Len) * w.c.g.ClusterSize
		if left < n {
			return w.c.g.ClusterOff(e.Start) + left
		}
		left -= n
	}
	return 0
}
