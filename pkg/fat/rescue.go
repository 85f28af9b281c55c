package fat

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// filesPerFound is how many files go into one FOUND directory: what fits into
// 65536 slots beside the dot entries.
const filesPerFound = maxDirEntries - 2

// lostFile is a chain that is to have an entry in a FOUND directory.
type lostFile struct {
	head, n uint32
	isDir   bool
}

// rescue makes a file of each lost chain: FOUND.000/FILE0000.CHK and so on, as
// Windows names them. Lost directories become entries with all that they lead
// to. Chains that run into another, come back to themselves or are longer than
// a file can be are ended there. Nothing is written before there is room for
// all of it.
func (c *checker) rescue(ctx context.Context, lost *lostChains) error {
	files, rest, err := lost.directories(ctx)
	if err != nil {
		return err
	}
	files, ends, err := rest.files(ctx, files)
	if err != nil {
		return err
	}
	p := &linkRepair{c: c}
	found, err := c.placeFound(p, files)
	if err != nil {
		return err
	}
	if err := c.walk.tab.setRuns(ends); err != nil {
		return err
	}
	for _, f := range found {
		if err := c.writeFound(f); err != nil {
			return err
		}
	}
	return nil
}

// directories takes the lost directories that are in no other, and goes through
// all that they lead to; what is lost after that is a matter of files.
func (l *lostChains) directories(ctx context.Context) (dirs []lostFile, rest *lostChains, err error) {
	w := *l.w
	w.quiet, w.progress = true, nil
	w.claimed, w.byStart, w.dirs = w.claimed.Clone(), maps.Clone(w.byStart), slices.Clip(w.dirs)
	for {
		tops, err := l.topDirs()
		if err != nil || len(tops) == 0 {
			return dirs, l, err
		}
		var level []int32
		for _, h := range tops {
			d := dirNode{start: h}
			ch, err := w.claim(h, func(e space.Extent) { d.extents = append(d.extents, e) })
			if err != nil {
				return nil, nil, err
			}
			dirs = append(dirs, lostFile{head: h, n: ch.n, isDir: true})
			w.byStart[h] = int32(len(w.dirs))
			level = append(level, int32(len(w.dirs)))
			w.dirs = append(w.dirs, d)
		}
		if err := w.descend(ctx, level); err != nil {
			return nil, nil, err
		}
		if l, err = newLostChains(&w); err != nil {
			return nil, nil, err
		}
	}
}

// topDirs are the lost directories whose parent is not lost; all where each
// is the parent of another.
func (l *lostChains) topDirs() ([]uint32, error) {
	var all []uint32
	up := map[uint32]uint32{}
	err := l.eachHead(func(h uint32) error {
		parent, ok, err := l.w.dirAt(h)
		if ok {
			all, up[h] = append(all, h), parent
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var top []uint32
	for _, h := range all {
		if _, lost := up[up[h]]; !lost {
			top = append(top, h)
		}
	}
	if len(top) == 0 {
		return all, nil
	}
	return top, nil
}

// liveDir reports whether a directory is among the lost chains most of whose entries
// lead to clusters that are lost with it. So many heads are looked at and no more.
func (l *lostChains) liveDir() (live bool, err error) {
	left := 1 << 14
	err = l.eachHead(func(h uint32) error {
		if left--; left < 0 || live {
			return nil
		}
		if _, ok, err := l.w.dirAt(h); err != nil || !ok {
			return err
		}
		buf, err := l.w.c.readSome(l.w.c.g.ClusterRange(h, 1), l.w.c.g.ClusterSize())
		if err != nil {
			return err
		}
		real, other, err := l.w.c.countReal(buf[:endOf(buf)*entryLen])
		live = real > other
		return err
	})
	return live, err
}

// files walks the lost chains, heads first, then what is left: cycles, which
// have no head. Each cluster ends up in one chain; ends are the marks that make
// it so.
func (l *lostChains) files(ctx context.Context, out []lostFile) ([]lostFile, []link, error) {
	seen := space.NewMap(l.w.c.g.Clusters)
	var ends []link
	add := func(head uint32) error {
		if err := ctx.Err(); err != nil || seen.Used(head-firstCluster) {
			return err
		}
		f, end, err := l.file(seen, head)
		if end != 0 {
			ends = append(ends, link{first: end, n: 1, next: entryLast})
		}
		out = append(out, f)
		return err
	}
	if err := l.eachHead(add); err != nil {
		return nil, nil, err
	}
	err := l.each(add)
	return out, ends, err
}

// file claims the chain from head on for one file, up to where it leaves the
// lost clusters, meets one that is taken, or is as long as a file can be. end
// is the cluster that must get an end mark, 0 where it has one.
func (l *lostChains) file(seen *space.Map, head uint32) (f lostFile, end uint32, err error) {
	f.head = head
	most := uint32(maxFileSize / l.w.c.g.ClusterSize())
	for cl := head; f.n < most && l.has(cl) && seen.SetNew(cl-firstCluster); {
		v, err := l.w.tab.get(cl)
		if err != nil {
			return f, 0, err
		}
		f.n++
		if isEOC(v) {
			return f, 0, nil
		}
		end, cl = cl, v
	}
	return f, end, nil
}

// foundDir is a FOUND directory to be made.
type foundDir struct {
	name  string
	slot  int // in the root directory
	es    []space.Extent
	files []lostFile
}

func (f *foundDir) start() uint32 { return f.es[0].Start + firstCluster }

// placeFound finds room for the FOUND directories that files need: clusters,
// names and slots in the root, which grows where it can and has to.
func (c *checker) placeFound(p *linkRepair, files []lostFile) ([]foundDir, error) {
	ns, err := c.names(0)
	if err != nil {
		return nil, err
	}
	per := uint32(c.g.ClusterSize() / entryLen)
	var out []foundDir
	for no := 0; len(files) > 0; no++ {
		if no > 999 {
			return nil, vol.ErrNotNow
		}
		f := foundDir{name: fmt.Sprintf("FOUND   %03d", no), files: files[:min(len(files), filesPerFound)]}
		if ns.Has(c.cp.units([]byte(f.name), nil)) {
			continue
		}
		files = files[len(f.files):]
		f.es, err = p.allocator().Alloc(nil, space.Request{Units: (uint32(len(f.files)) + 2 + per - 1) / per})
		if err != nil {
			return nil, vol.ErrNotNow
		}
		out = append(out, f)
	}
	slots, err := c.rootSlots(p, len(out))
	for i, slot := range slots {
		out[i].slot = slot
	}
	return out, err
}

// rootSlots are n slots of the root directory that are free.
func (c *checker) rootSlots(p *linkRepair, n int) ([]int, error) {
	buf, err := c.walk.read(0)
	if err != nil {
		return nil, err
	}
	slots, hidden := unusedSlots(buf, n)
	if lack := n - len(slots); lack > 0 {
		if hidden {
			return nil, vol.ErrNotNow
		}
		per := int(c.g.ClusterSize() / entryLen)
		if err := c.growDir(p, 0, uint32((lack+per-1)/per)); err != nil {
			return nil, err
		}
		for k := len(buf) / entryLen; len(slots) < n; k++ {
			slots = append(slots, k)
		}
	}
	return slots, nil
}

// unusedSlots are up to n slots of a directory that are not in use: such behind the
// end mark only where no entries are hidden there, which would come to light. What
// else a slot there holds does not matter: it has an end mark, too, and is written
// whole.
func unusedSlots(buf []byte, n int) (slots []int, hidden bool) {
	end := endOf(buf)
	hidden = !allFree(buf[end*entryLen:])
	for k := 0; k*entryLen < len(buf) && len(slots) < n; k++ {
		if k < end && dirEntry(buf[k*entryLen:]).isFree() || k >= end && !hidden {
			slots = append(slots, k)
		}
	}
	return slots, hidden
}

// rootHasRoom reports whether a FOUND directory can have a slot in the root, if
// not now then when what is hidden behind its end has been settled.
func (c *checker) rootHasRoom() (bool, error) {
	buf, err := c.walk.read(0)
	if err != nil {
		return false, err
	}
	slots, hidden := unusedSlots(buf, 1)
	return len(slots) > 0 || hidden || c.walk.dirs[0].start != 0 && c.walk.dirBytes(0)+c.g.ClusterSize() <= maxDirBytes, nil
}

// writeFound writes a FOUND directory, and its entry in the root.
func (c *checker) writeFound(f foundDir) error {
	if err := c.walk.tab.setRuns(linkExtents(f.es)); err != nil {
		return err
	}
	buf := c.foundEntries(&f)
	for _, e := range f.es {
		r := c.g.ClusterRange(e.Start+firstCluster, e.Len)
		part := make([]byte, r.Len)
		buf = buf[copy(part, buf):]
		if _, err := c.d.WriteAt(part, r.Off); err != nil {
			return err
		}
	}
	for _, d := range f.files {
		if !d.isDir {
			continue
		}
		off := c.g.ClusterOff(d.head) + entryLen
		err := c.patch(off, entryLen, func(b []byte) { dirEntry(b).setStart(c.g.Type, f.start()) })
		if err != nil {
			return err
		}
	}
	_, err := c.d.WriteAt(repairEntry(c.g.Type, f.name, attrDirectory, f.start(), 0), c.walk.slotOff(0, f.slot))
	return err
}

// foundEntries are the slots of a FOUND directory.
func (c *checker) foundEntries(found *foundDir) []byte {
	buf := make([]byte, 0, (len(found.files)+2)*entryLen)
	buf = append(buf, repairEntry(c.g.Type, dotName, attrDirectory, found.start(), 0)...)
	buf = append(buf, repairEntry(c.g.Type, dotdotName, attrDirectory, 0, 0)...)
	for i, f := range found.files {
		if f.isDir {
			buf = append(buf, repairEntry(c.g.Type, fmt.Sprintf("DIR%05d   ", i), attrDirectory, f.head, 0)...)
			continue
		}
		size := min(int64(f.n)*c.g.ClusterSize(), maxFileSize)
		name := fmt.Sprintf("FILE%04dCHK", i)
		if i > 9999 {
			name = fmt.Sprintf("FIL%05dCHK", i)
		}
		buf = append(buf, repairEntry(c.g.Type, name, attrArchive, f.head, uint32(size))...)
	}
	return buf
}

// repairEntry is an entry that a repair makes. Its times are the first day
// there is: when it was made is not known, and a repair is to be the same
// whenever it is run.
func repairEntry(t Type, name string, attr byte, start, size uint32) dirEntry {
	const day1 = 1<<5 | 1
	e := newEntry([11]byte([]byte(name)), 0, attr, stamp{date: day1})
	e.setStart(t, start)
	e.setSize(size)
	return e
}
