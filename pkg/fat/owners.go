package fat

import (
	"cmp"
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// owner is one chain that goes through a shared cluster.
type owner struct {
	ref    entryRef
	root   bool
	name   string
	isDir  bool
	start  uint32
	size   uint32
	prefix uint32   // clusters of the chain before the shared one
	before uint32   // the last of them, 0 for none
	total  uint32   // clusters of the chain in all
	proof  dirProof // for a directory that starts with the shared cluster
	holds  rootKind // for a directory: what the shared cluster looks like
	slots  int      // and how many slots up to an end mark it would have there
}

// findOwners goes through all chains again, in the order of the walk, to find
// for each shared cluster the owner that claimed it; those that came later are
// known. So the cost is that of a walk, however many chains run into however
// many others. It is nothing where there is no shared cluster.
func (c *checker) findOwners(ctx context.Context) (map[uint32][]owner, error) {
	shared := c.walk.shared
	if len(shared) == 0 {
		return nil, nil
	}
	f := &ownerFinder{w: *c.walk, found: make(map[uint32][]owner, len(shared))}
	f.w.quiet, f.w.claimed = true, space.NewMap(c.g.Clusters)
	for _, s := range shared {
		if _, ok := f.found[s.cluster]; !ok {
			f.clusters = append(f.clusters, s.cluster)
			f.found[s.cluster] = nil
		}
	}
	slices.Sort(f.clusters)
	if err := f.trace(owner{ref: entryRef{slot: -1}, root: true, isDir: true, start: f.w.dirs[0].start}, nil); err != nil {
		return nil, err
	}
	for _, dir := range f.w.order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.entries(dir); err != nil {
			return nil, err
		}
	}
	for _, s := range shared {
		f.found[s.cluster] = append(f.found[s.cluster], s.owner)
	}
	return f.found, f.finish()
}

// ownerFinder repeats the claims of a walk.
type ownerFinder struct {
	w        walk
	clusters []uint32 // that are shared, in order
	found    map[uint32][]owner
}

// entries traces what the entries of a directory lead to, as walk.take does.
func (f *ownerFinder) entries(dir int32) error {
	s, err := f.w.scan(dir)
	if err != nil {
		return err
	}
	for pass := 0; pass < 2; pass++ {
		for k := range s.live {
			e := dirEntry(s.slot(int(s.live[k].slot)))
			start := e.start(f.w.c.g.Type)
			if start == 0 || e.isDir() != (pass == 0) {
				continue
			}
			ref := s.ref(k)
			if first, ok := f.w.byStart[start]; ok && e.isDir() && f.w.dirs[first].ref != ref {
				continue // it is reached by another entry
			}
			o := owner{ref: ref, isDir: e.isDir(), start: start, size: e.size()}
			if err := f.trace(o, func() string { return s.name(k) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// trace claims the chain of o and notes the shared clusters in it.
func (f *ownerFinder) trace(o owner, name func() string) error {
	if o.start == 0 {
		return nil
	}
	_, err := f.w.claim(o.start, func(e space.Extent) {
		i, _ := slices.BinarySearch(f.clusters, e.Start)
		for ; i < len(f.clusters) && f.clusters[i] < e.Start+e.Len; i++ {
			cl := f.clusters[i]
			h := o
			h.prefix += cl - e.Start
			if cl > e.Start {
				h.before = cl - 1
			}
			if name != nil {
				h.name = name()
			}
			f.found[cl] = append(f.found[cl], h)
		}
		o.prefix, o.before = o.prefix+e.Len, e.Start+e.Len-1
	})
	return err
}

// finish works out the lengths of the chains.
func (f *ownerFinder) finish() error {
	tails, err := f.tails()
	if err != nil {
		return err
	}
	for cl, owners := range f.found {
		for i := range owners {
			o := &owners[i]
			o.total = o.prefix + tails[cl]
			if !o.isDir {
				continue
			}
			buf, err := f.w.c.readSome(f.w.c.g.ClusterRange(cl, 1), bootSectorLen)
			if err != nil {
				return err
			}
			o.holds = looksLike(f.w.c.g, f.w.c.cp, buf)
			o.slots, _ = tally(f.w.c.g, f.w.c.cp, buf)
			if o.prefix == 0 && !o.root {
				if o.proof, err = f.w.proofOf(o.start, o.ref.dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tails counts the clusters from each shared one to the end of its chain. What
// lies between two shared clusters is walked once.
func (f *ownerFinder) tails() (map[uint32]uint32, error) {
	tails := make(map[uint32]uint32, len(f.clusters))
	seen := space.NewMap(f.w.c.g.Clusters)
	for _, cl := range f.clusters {
		var path []uint32 // shared clusters on the way
		var lens []uint32 // clusters from each to the next
		known := uint32(0)
		for f.w.c.g.Valid(cl) {
			n, ok := tails[cl]
			if ok {
				known = n
				break
			}
			v, err := f.w.tab.get(cl)
			if err != nil {
				return nil, err
			}
			if v == entryFree || v == entryBad || !seen.SetNew(cl-firstCluster) {
				break // the end, or it has come back to itself
			}
			if _, shared := f.found[cl]; shared {
				path, lens = append(path, cl), append(lens, 0)
			}
			lens[len(lens)-1]++
			cl = v
		}
		for i := len(path) - 1; i >= 0; i-- {
			known += lens[i]
			tails[path[i]] = known
		}
	}
	return tails, nil
}

// unsettled finds the slots that lie in clusters to which another chain leads
// too, and that do not look like a directory. They may be entries or the
// contents of a file: until it is known which, nothing of what they say is
// mended, and neither what is in directories that only they lead to.
func (w *walk) unsettled() error {
	if len(w.shared) == 0 {
		return nil
	}
	shared := slices.Clone(w.shared)
	slices.SortStableFunc(shared, func(a, b sharedAt) int { return cmp.Compare(a.cluster, b.cluster) })
	w.settled = make([]int32, len(w.dirs))
	for i := range w.dirs {
		ref := w.dirs[i].ref
		if i > 0 && ref.slot >= w.settled[ref.dir] {
			continue // 0: nothing is
		}
		var err error
		if w.settled[i], err = w.settledSlots(int32(i), shared); err != nil {
			return err
		}
	}
	return nil
}

// settledSlots is how many slots directory i has before the first cluster that
// it shares and that is none of a directory; shared is in order of clusters.
func (w *walk) settledSlots(i int32, shared []sharedAt) (int32, error) {
	per := int32(w.c.g.ClusterSize() / entryLen)
	slots := int32(0)
	for _, e := range w.dirs[i].extents {
		k, _ := slices.BinarySearchFunc(shared, e.Start, func(s sharedAt, c uint32) int { return cmp.Compare(s.cluster, c) })
		for ; k < len(shared) && shared[k].cluster < e.Start+e.Len; k++ {
			at := slots + int32(shared[k].cluster-e.Start)*per
			if w.hangsOn(shared[k].ref, i, at) {
				continue // it is the directory that leads there, see heaviest
			}
			if ok, err := w.isDirAt(i, shared[k].cluster, at == 0); err != nil {
				return 0, err
			} else if !ok {
				return at, nil
			}
		}
		if slots += int32(e.Len) * per; slots >= maxDirEntries {
			break
		}
	}
	return maxDirEntries, nil
}

// isDirAt reports whether cluster cl of directory i is one of a directory; first
// says that it is to start with it.
func (w *walk) isDirAt(i int32, cl uint32, first bool) (bool, error) {
	if first {
		if i == 0 {
			return true, nil // the root is where the boot sector says
		}
		if proof, err := w.proofOf(cl, w.dirs[i].parent); err != nil || proof != noProof {
			return true, err
		}
	} else if other, err := w.looksLikeDir(cl); err != nil || other {
		return false, err // a directory begins there, and its dot entries prove it
	}
	buf, err := w.c.readSome(w.c.g.ClusterRange(cl, 1), bootSectorLen)
	if slots, _ := tally(w.c.g, w.c.cp, buf); first && slots < several {
		return false, err // it may be a file's: see dirWeight
	}
	return looksLike(w.c.g, w.c.cp, buf) != rootOther, err
}

// isSettled reports whether slot of a directory is known to be one.
func (w *walk) isSettled(dir, slot int32) bool { return w.settled == nil || slot < w.settled[dir] }

// ifSettled is fix, or nil where the n slots from slot on are not settled.
func (w *walk) ifSettled(dir, slot, n int32, fix vol.Fix) vol.Fix {
	if !w.isSettled(dir, slot+n-1) {
		return nil
	}
	return fix
}
