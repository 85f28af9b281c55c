package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkLayout reports directories whose slots must move to be mended. It is a
// pass of its own because the repairs of single slots, which come before it,
// name the slots by number.
func (c *checker) checkLayout(_ context.Context, r *vol.Report) error {
	p := &linkRepair{c: c}
	rest, err := c.reportSpills(r)
	if err != nil {
		return err
	}
	for _, n := range rest {
		if err := c.reportLayout(r, p, n); err != nil {
			return err
		}
	}
	for i := range c.walk.dirs {
		d := &c.walk.dirs[i]
		if !d.clipped {
			continue
		}
		loc := vol.Location{Path: c.walk.path(int32(i)), Cluster: d.start}
		r.Found(c.cat.Found("directory-too-long", loc), c.walk.ifSettled(int32(i), 0, maxDirEntries, vol.Always(func() error { return c.cutDirectory(int32(i)) })))
	}
	return nil
}

func (c *checker) reportLayout(r *vol.Report, p *linkRepair, n *layoutNote) error {
	w := c.walk
	loc := vol.Location{Path: w.path(n.dir), Cluster: w.dirs[n.dir].start,
		Range: dev.Range{Off: w.slotOff(n.dir, int(n.slot)), Len: entryLen}}
	if n.slug == "dots-missing" {
		return c.reportNoDots(r, p, n, loc)
	}
	offers := []string{fixRemove}
	how, err := c.hiddenAreReal(n)
	if err != nil {
		return err
	}
	if how != revealNone {
		offers = []string{fixReveal, fixRemove}
	}
	f := c.cat.Found(n.slug, loc, vol.Detail("%d entries behind slot %d", n.n, n.slot), vol.Offer(offers...))
	r.Found(f, w.ifSettled(n.dir, 0, maxDirEntries, func(_ context.Context, rep vol.Repair) error {
		switch {
		case c.spilled:
			return vol.ErrNotNow // it may be that some entries lead to what was cut off
		case rep.Name == fixReveal:
			return c.rewriteDir(p, n.dir, how)
		}
		return c.zeroBehindEnd(n.dir)
	}))
	return nil
}

// reportNoDots reports a directory that lacks its dot entries. Where it has no
// entries either, or the directory that the entry should lead to is lost and leads
// there, making them would be to settle in the wrong place.
func (c *checker) reportNoDots(r *vol.Report, p *linkRepair, n *layoutNote, loc vol.Location) error {
	d := &c.walk.dirs[n.dir]
	proof, err := c.walk.proofOf(d.start, d.parent)
	if err != nil {
		return err
	}
	var head uint32
	if proof == noProof && n.n == 0 {
		if head, err = c.ownDir(n.dir, n.live == 0); err != nil {
			return err
		}
	}
	offer, fix := fixRecreate, func() error { return c.rewriteDir(p, n.dir, revealNone) }
	if head != 0 {
		ref := d.ref
		offer, fix = fixRejoin, func() error {
			return c.patchEntry(ref, func(e dirEntry) { e.setStart(c.g.Type, head) })
		}
	}
	detail := [3]string{"", "what is left of one stands there", "what is left of both stands there"}[n.n]
	r.Found(c.cat.Found(n.slug, loc, vol.Detail("%s", detail), vol.Offer(offer)),
		c.walk.ifSettled(n.dir, 0, maxDirEntries, vol.Always(fix)))
	return nil
}

// endOf is the slot with the end mark, or the number of slots.
func endOf(buf []byte) int {
	for k := 0; k*entryLen < len(buf); k++ {
		if dirEntry(buf[k*entryLen : (k+1)*entryLen]).isEnd() {
			return k
		}
	}
	return len(buf) / entryLen
}

// allFree reports whether no slot of b is in use.
func allFree(b []byte) bool {
	for ; len(b) >= entryLen; b = b[entryLen:] {
		if e := dirEntry(b); !e.isEnd() && !e.isFree() {
			return false
		}
	}
	return true
}

// revealing is what of the entries behind an end mark is to be shown.
type revealing int

const (
	revealNone  revealing = iota
	revealProof           // those for which all speaks, see realBehind
	revealAll
)

// hiddenAreReal says what of that which stands behind the end mark are files that
// belong there: allowed names, and first clusters that are in use and that
// nothing else owns. Leftovers of an older directory fail this: their clusters
// are free, or somebody else's by now. Entries without clusters say nothing: they
// are shown where nothing speaks against it. Where of the others most pass all are
// shown, so that one that is broken does not doom the rest of a directory whose first
// sector was lost. Where most are noise those that are not must not go with it.
func (c *checker) hiddenAreReal(n *layoutNote) (revealing, error) {
	buf, err := c.walk.read(n.dir)
	if err != nil {
		return revealNone, err
	}
	real, other, err := c.countReal(buf[n.slot*entryLen:])
	if err != nil || real > other {
		return revealAll, err
	}
	slots, owning, err := c.realBehind(buf, endOf(buf))
	if err != nil || owning == 0 && (other > 0 && !c.falseEnd(n.dir, buf) || len(slots) == 0) {
		return revealNone, err
	}
	return revealProof, nil
}

// falseEnd reports whether the end mark of a directory is known to be wrong: it stands
// where one of the dot entries does, [FAT] "FAT Directory Structure", and behind it
// there is an entry with a long name that has its checksum.
func (c *checker) falseEnd(dir int32, buf []byte) bool {
	s := &dirScan{w: c.walk, dir: dir, node: &c.walk.dirs[dir], buf: buf}
	end := endOf(buf)
	if dir == 0 || end > 1 {
		return false
	}
	for k := end; k < s.slots(); k++ {
		if s.sealedName(k) {
			return true
		}
	}
	return false
}

// realBehind are the slots from one on of entries, with their long names, that are
// empty files or lead to what would be lost without them, all of it: the chain of a
// file has the length that its size takes. owning counts the latter.
func (c *checker) realBehind(buf []byte, from int) (slots map[int]bool, owning int, err error) {
	slots = map[int]bool{}
	long := from
	for k := from; k < len(buf)/entryLen; k++ {
		e := dirEntry(buf[k*entryLen : (k+1)*entryLen])
		switch {
		case e.isEnd() || e.isFree():
			long = k + 1
			continue
		case e.isLong():
			continue
		}
		could, owns, err := c.couldBeFile(e)
		if owns && !e.isDir() && err == nil {
			could, err = c.hasWholeChain(e)
		}
		if err != nil {
			return nil, 0, err
		}
		if could && !isDotName(e.name()) {
			for ; long <= k; long++ {
				slots[long] = true
			}
			if owns {
				owning++
			}
		}
		long = k + 1
	}
	return slots, owning, nil
}

// maxHiddenSteps is how many times as many clusters as there are may be looked at for
// files behind end marks: they have chains of their own, each of which is gone through
// a few times.
const maxHiddenSteps = 16

// hasWholeChain reports whether the chain of a file has as many clusters as its size
// takes, and no entry before an end mark leads to any. On a volume on which that takes
// too much looking, as thousands of entries lead into one chain, it is believed: what
// is shown and has no such chain is seen and mended as that, and what is not shown
// would be lost.
func (c *checker) hasWholeChain(e dirEntry) (bool, error) {
	cl, left := e.start(c.g.Type), c.g.clustersFor(e.size())
	if left > c.g.Clusters {
		return false, nil
	}
	for loop := (space.LoopFinder{}); left > 0; left-- {
		if !c.g.Valid(cl) || c.walk.claimed.Used(cl-firstCluster) || loop.Met(cl) {
			return false, nil
		}
		if c.hiddenSteps++; c.hiddenSteps > maxHiddenSteps*uint64(c.g.Clusters) {
			return true, nil
		}
		var err error
		if cl, err = c.walk.tab.get(cl); err != nil {
			return false, err
		}
	}
	return isEOC(cl), nil
}

// countReal counts the entries in slots that lead to clusters which would be lost
// without them, and those that cannot be.
func (c *checker) countReal(buf []byte) (real, other int, err error) {
	for ; len(buf) >= entryLen; buf = buf[entryLen:] {
		e := dirEntry(buf[:entryLen])
		if e.isEnd() || e.isFree() || e.isLong() || isDotName(e.name()) {
			continue
		}
		switch could, owns, err := c.couldBeFile(e); {
		case err != nil:
			return 0, 0, err
		case !could:
			other++
		case owns:
			real++
		}
	}
	return real, other, nil
}

// couldBeFile judges one entry; owns says that it leads to clusters that would
// be lost without it.
func (c *checker) couldBeFile(e dirEntry) (could, owns bool, err error) {
	for i, b := range c.cp.lone(e.name()) {
		if k := classifyShort(b, i); k == shortIllegal || k == shortLeading {
			return false, false, nil
		}
	}
	if e.attr()&(attrVolume|attrReserved) != 0 {
		return false, false, nil
	}
	start := e.start(c.g.Type)
	if start == 0 {
		return e.size() == 0 && !e.isDir(), false, nil
	}
	if !c.g.Valid(start) || c.walk.claimed.Used(start-firstCluster) {
		return false, false, nil
	}
	v, err := c.walk.tab.get(start)
	if err != nil || v == entryFree || v == entryBad {
		return false, false, err
	}
	if e.isDir() {
		could, err = c.walk.looksLikeDir(start)
		return could, could, err
	}
	return e.size() > 0, e.size() > 0, nil
}

// zeroBehindEnd clears all slots behind the end mark.
func (c *checker) zeroBehindEnd(dir int32) error {
	buf, err := c.walk.read(dir)
	if err != nil {
		return err
	}
	clear(buf[endOf(buf)*entryLen:])
	return c.writeDir(dir, buf)
}

// writeDir writes the slots of a directory.
func (c *checker) writeDir(dir int32, buf []byte) error {
	return c.walk.ranges(dir, func(r dev.Range) error {
		_, err := c.d.WriteAt(buf[:r.Len], r.Off)
		buf = buf[r.Len:]
		return err
	})
}

// rewriteDir writes the directory anew: dot entries, then all slots in use,
// and what is to be shown of those behind the end mark; what is left of damaged dot
// entries goes. Where they do not fit the directory grows by a cluster.
func (c *checker) rewriteDir(p *linkRepair, dir int32, how revealing) error {
	w := c.walk
	buf, err := w.read(dir)
	if err != nil {
		return err
	}
	end, all := endOf(buf), len(buf)/entryLen
	var proven map[int]bool
	switch how {
	case revealNone:
		if !allFree(buf[end*entryLen:]) {
			return vol.ErrNotNow // what stands behind the end comes first
		}
	case revealProof:
		if proven, _, err = c.realBehind(buf, end); err != nil {
			return err
		}
	case revealAll:
		end = all
	}
	out := make([]byte, 0, len(buf)+2*entryLen)
	if dir != 0 {
		out = append(out, c.dotEntry(dir, buf, 0)...)
		out = append(out, c.dotEntry(dir, buf, 1)...)
	}
	for k := range all {
		e := dirEntry(buf[k*entryLen : (k+1)*entryLen])
		if k >= end && !proven[k] {
			continue
		}
		if !e.isFree() && !e.isEnd() && !isDotName(e.name()) && !c.isDotRemains(dir, k, e) {
			out = append(out, e...)
		}
	}
	if len(out) > len(buf) {
		if err := c.growDir(p, dir, 1); err != nil {
			return err
		}
	}
	for int64(len(out)) < w.dirBytes(dir) {
		out = append(out, make([]byte, min(entryLen*256, w.dirBytes(dir)-int64(len(out))))...)
	}
	return c.writeDir(dir, out)
}

// isDotRemains reports whether e in slot k of dir is what is left of a dot entry.
func (c *checker) isDotRemains(dir int32, k int, e dirEntry) bool {
	d := &c.walk.dirs[dir]
	return dir != 0 && dotRemains(c.g.Type, k, e, d.start, c.walk.parentStart(d.parent))
}

// dotEntry is the entry of that kind that the directory has in its first two
// slots, or a new one: [FAT] . leads to the directory, .. to its parent.
func (c *checker) dotEntry(dir int32, buf []byte, slot int) dirEntry {
	name := [2]string{dotName, dotdotName}[slot]
	for k := 0; k < 2; k++ {
		if e := dirEntry(buf[k*entryLen : (k+1)*entryLen]); string(e.name()) == name && e.isDir() {
			return e
		}
	}
	d := &c.walk.dirs[dir]
	return repairEntry(c.g.Type, name, attrDirectory, [2]uint32{d.start, c.walk.parentStart(d.parent)}[slot], 0)
}

// growDir adds n zeroed clusters to a directory.
func (c *checker) growDir(p *linkRepair, dir int32, n uint32) error {
	d := &c.walk.dirs[dir]
	if d.start == 0 || c.walk.dirBytes(dir)+int64(n)*c.g.ClusterSize() > maxDirBytes {
		return vol.ErrNotNow
	}
	last := d.extents[len(d.extents)-1]
	at := last.Start + last.Len - 1
	switch v, err := c.walk.tab.get(at); {
	case err != nil:
		return err
	case !isEOC(v):
		return vol.ErrNotNow // its chain goes on to where it should not
	}
	es, err := p.allocator().Alloc(nil, space.Request{Units: n, Goal: at + 1 - firstCluster})
	if err != nil {
		return vol.ErrNotNow
	}
	for _, e := range es {
		e.Start += firstCluster
		if err := c.d.Zero(c.g.ClusterRange(e.Start, e.Len)); err != nil {
			return err
		}
		d.extents = append(d.extents, e)
	}
	if err := c.walk.tab.setRuns(linkExtents(es)); err != nil {
		return err
	}
	return c.walk.tab.set(at, es[0].Start+firstCluster)
}

// cutDirectory ends the chain where the entries that are read end.
func (c *checker) cutDirectory(dir int32) error {
	left := uint32((maxDirBytes + c.g.ClusterSize() - 1) / c.g.ClusterSize())
	for _, e := range c.walk.dirs[dir].extents {
		if left <= e.Len {
			return c.walk.tab.set(e.Start+left-1, entryLast)
		}
		left -= e.Len
	}
	return nil
}
