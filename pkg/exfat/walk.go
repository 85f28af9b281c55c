package exfat

import (
	"context"
	"sort"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
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
	cut     bool           // there may be more of them, see chain.cut
	ends    []int64        // bytes up to the end of each, made by slotOff
}

// streamFault is a stream whose clusters do not fit.
type streamFault struct {
	stream
	chain
	slug string
	// startDoubted: its first cluster may be what is wrong.
	startDoubted bool
}

// twiceDir is an entry that leads to a directory already reached.
type twiceDir struct {
	stream
	first int32
}

// walk goes through everything that the directories lead to and claims the
// clusters. What something speaks against is put off until all else has claimed
// its own, and then those with the smallest claims come first: a damaged entry
// early in the root must not take what intact files behind it own.
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
	doubted []stream        // put off
	level   []int32         // directories to be read next
	mended  map[setRef]bool // sets of which a stream was judged to have said something else
	settled []int32         // by directory: slots that no other stream leads to; nil for all
	partial map[int32]int32 // by directory that is cut: the slot of the set that would go on

	files, fragmented uint64
	bytesRead         int64
	progress          func(done, total int64)
	onClaim           func(s *stream, ch *chain)
	runs              []space.Extent // of the file that is being claimed
	paths             vol.DirPaths
}

func newWalk(c *checker) *walk {
	return &walk{c: c, claimed: space.NewSparse(uint64(c.g.Clusters)), byStart: map[uint32]int32{}, mended: map[setRef]bool{}}
}

// again is a walk that has claimed what w has, the tables and the root, and
// nothing else.
func (w *walk) again() *walk {
	x := newWalk(w.c)
	w.claimed.Runs(space.Extent{Len: w.c.g.Clusters}, func(e space.Extent) bool {
		x.claimed.SetRunNew(e)
		return true
	})
	x.dirs = append(x.dirs, w.dirs[0])
	x.byStart[w.dirs[0].start] = 0
	return x
}

// run walks the tree from the root, whose clusters are claimed already.
func (w *walk) run(ctx context.Context) error {
	w.level = []int32{0}
	return w.descend(ctx)
}

// descend walks what the directories lead to that are to be read next.
func (w *walk) descend(ctx context.Context) error {
	for {
		if err := w.runLevels(ctx); err != nil {
			return err
		}
		if len(w.doubted) == 0 {
			return nil
		}
		if err := w.takeDoubted(w.nextDoubted()); err != nil {
			return err
		}
	}
}

// takeDoubted mends and takes streams of the same rank, those last that would
// start elsewhere than they say: the checksum of a set, [exFAT] §6.3.3, is of 16
// bits that rotate, so that another field that was hit may look like the first
// cluster. That must not take clusters to which an entry leads that was hit, too.
func (w *walk) takeDoubted(streams []stream) error {
	var moved []stream
	for _, st := range streams {
		was := st
		if err := w.mend(&st); err != nil {
			return err
		}
		if st.start != was.start {
			moved = append(moved, was)
			continue
		}
		if err := w.take(&st); err != nil {
			return err
		}
	}
	for _, st := range moved {
		if err := w.mend(&st); err != nil {
			return err
		}
		if err := w.take(&st); err != nil {
			return err
		}
	}
	return nil
}

// nextDoubted are those of the streams put off for which most speaks:
// directories before files, as what they lead to may be sound, and small claims
// before large ones.
func (w *walk) nextDoubted() []stream {
	rank := func(s *stream) int {
		if s.isDir {
			return 2 * int(s.trust)
		}
		return 2*int(s.trust) + 1
	}
	d := w.doubted
	sort.SliceStable(d, func(i, j int) bool {
		a, b := rank(&d[i]), rank(&d[j])
		return a < b || a == b && d[i].need < d[j].need
	})
	n := sort.Search(len(d), func(i int) bool { return rank(&d[i]) > rank(&d[0]) })
	w.doubted = d[n:]
	return d[:n:n]
}

// takeScan takes in what one directory holds.
func (w *walk) takeScan(s *dirScan) error {
	w.notes = append(w.notes, s.notes...)
	w.ends = append(w.ends, s.ends...)
	w.bytesRead += s.read
	w.files += s.files
	if s.partial > 0 {
		if w.partial == nil {
			w.partial = map[int32]int32{}
		}
		w.partial[s.dir] = s.partial - 1
	}
	for i := range s.said {
		p := &s.said[i]
		var err error
		if p.n > 0 {
			err = w.takePlain(s.dir, p)
		} else {
			err = w.offer(&s.streams[p.slot])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// offer takes a stream, or puts it off.
func (w *walk) offer(s *stream) error {
	if err := w.judge(s); err != nil {
		return err
	}
	if s.trust != trusted && (!s.sealed || s.length != 0 && w.c.g.Valid(s.start)) {
		w.doubted = append(w.doubted, *s)
		return nil
	}
	return w.take(s)
}

// take claims what one stream says it owns, and notes what does not fit.
func (w *walk) take(s *stream) error {
	fault := func(slug string, ch chain) {
		w.faults = append(w.faults, streamFault{stream: *s, chain: ch, slug: slug})
	}
	if s.mended != "" {
		w.mended[s.ref] = true
	}
	if s.length == 0 {
		if s.start != 0 && s.kind != ofOther {
			fault("empty-with-clusters", chain{})
		}
		if s.isDir {
			w.dirs = append(w.dirs, dirNode{parent: s.ref.dir, name: s.name, ref: s.ref})
		}
		return nil
	}
	if !w.c.g.Valid(s.start) {
		if s.kind != ofOther {
			fault("start-invalid", chain{})
		}
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
	if w.onClaim != nil {
		w.onClaim(s, &ch)
	}
	if s.kind == ofOther {
		return nil
	}
	if len(ch.extents) > 1 && !s.isDir && s.kind == ofFile {
		w.fragmented++
	}
	if s.mended != "" {
		fault(s.mended, ch)
	}
	if err := w.noteEnd(s, ch); err != nil {
		return err
	}
	if s.isDir && ch.n > 0 {
		w.enter(s, ch)
	}
	return nil
}

// noteEnd notes how the clusters of a stream end, if not well.
func (w *walk) noteEnd(s *stream, ch chain) error {
	f := streamFault{stream: *s, chain: ch}
	switch ch.end {
	case endShared:
		f.slug = "cross-linked"
		w.shared = append(w.shared, f)
		return nil
	case endBroken:
		f.slug = "chain-broken"
	case endLoop:
		f.slug = "chain-loop"
	case endShort, endHeap:
		f.slug = "length-exceeds-clusters"
	case endLong:
		switch {
		case !w.c.g.Valid(ch.stop):
			f.slug = "chain-broken"
		case ch.holds(ch.stop):
			f.slug = "chain-loop"
		default:
			f.slug = "clusters-beyond-length"
		}
	}
	if !s.sealed && s.kind == ofFile && s.trust == unsound {
		// An entry that was hit, and leads to clusters that are marked as free:
		// if others are lost that fit it, it led there.
		used, err := w.c.bits.used(s.start)
		if err != nil {
			return err
		}
		f.startDoubted = !used
	}
	if f.slug != "" || f.startDoubted {
		w.faults = append(w.faults, f)
	}
	return nil
}

// enter adds a directory to those that are read next.
func (w *walk) enter(s *stream, ch chain) {
	w.byStart[s.start] = int32(len(w.dirs))
	w.level = append(w.level, int32(len(w.dirs)))
	w.dirs = append(w.dirs, dirNode{start: s.start, length: s.length, noFat: s.noFat, parent: s.ref.dir, name: s.name, ref: s.ref, extents: ch.extents, cut: ch.cut()})
}

// path of directory i, with a leading slash.
func (w *walk) path(i int32) string {
	return w.paths.Of(i, func(i int32) (string, int32) { return w.dirs[i].name, w.dirs[i].parent })
}

// pathIn is the path of an entry of directory i.
func (w *walk) pathIn(i int32, name string) string { return pathBelow(w.path(i), name) }

func pathBelow(dir, name string) string {
	if dir != "/" {
		return dir + "/" + name
	}
	return "/" + name
}

// slotOff is where slot k of directory i lies, bytes from the start of the
// volume; 0 where the directory has no such slot.
func (w *walk) slotOff(i, k int32) int64 {
	d := &w.dirs[i]
	if len(d.ends) != len(d.extents) {
		d.ends = d.ends[:0]
		end := int64(0)
		for _, e := range d.extents {
			end += int64(e.Len) * w.c.g.ClusterSize
			d.ends = append(d.ends, end)
		}
	}
	at := int64(k) * entryLen
	n := sort.Search(len(d.ends), func(n int) bool { return d.ends[n] > at })
	if n == len(d.ends) {
		return 0
	}
	e := d.extents[n]
	return w.c.g.ClusterOff(e.Start) + at - (d.ends[n] - int64(e.Len)*w.c.g.ClusterSize)
}
