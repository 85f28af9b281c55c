package exfat

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkSpace reports what the comparison of the bitmap with the directories
// gave, the up-case table, and bad marks in the FAT.
func (c *checker) checkSpace(ctx context.Context, r *vol.Report) error {
	if c.sup.upcase.why != "" {
		c.reportUpcase(r)
	} else if c.sup.upcase.short {
		c.reportShort(r)
	}
	if c.missed.clusters > 0 {
		c.reportRuns(r, "bitmap-free", &c.missed, func(ctx context.Context, _ vol.Repair) error {
			if c.missed.all() {
				return c.markAll(c.missed.runs, true)
			}
			return c.settleBitmap(ctx, true)
		})
	}
	if err := c.checkLost(ctx, r); err != nil {
		return err
	}
	return c.checkBad(ctx, r)
}

// checkLost reports the clusters that nothing leads to. They are given back: as a rule
// they are what was left of a file when power failed. Where a directory is among them
// it was lost, and all files in it: then they are rescued, if there is room for that.
func (c *checker) checkLost(ctx context.Context, r *vol.Report) error {
	lost := c.lost.left()
	if lost.clusters == 0 {
		return nil
	}
	offers := []string{fixFree, fixRescue}
	if live, err := c.hasLiveDir(ctx, &lost); err != nil {
		return err
	} else if live {
		room, err := c.hasRoom()
		if err != nil {
			return err
		}
		if room {
			offers = []string{fixRescue, fixFree}
		}
	}
	c.reportRuns(r, "lost-clusters", &lost, func(ctx context.Context, rep vol.Repair) error {
		if rep.Name == fixRescue {
			return c.rescue(ctx)
		}
		if lost.all() {
			return c.markAll(lost.runs, false)
		}
		return c.settleBitmap(ctx, false)
	}, vol.Offer(offers...))
	return nil
}

// maxRelated bounds how many places one finding names.
const maxRelated = 64

func (c *checker) reportRuns(r *vol.Report, slug string, l *tally, fix vol.Fix, options ...vol.Option) {
	var where []vol.Location
	for _, e := range l.runs[:min(len(l.runs), maxRelated)] {
		where = append(where, vol.Location{Cluster: e.Start, Range: c.g.ClusterRange(e.Start, e.Len)})
	}
	options = append(options, vol.Related(where...),
		vol.Detail("%d clusters in %d runs, %d bytes", l.clusters, l.total, int64(l.clusters)*c.g.ClusterSize))
	r.Found(c.cat.Found(slug, where[0], options...), fix)
}

// markAll marks runs in the bitmap.
func (c *checker) markAll(runs []space.Extent, used bool) error {
	for _, e := range runs {
		if err := c.bits.mark(e, used); err != nil {
			return err
		}
	}
	return nil
}

// checkBad looks for clusters with the bad mark that the bitmap has as free.
// The FAT is only read where it holds data: on a file system that knows holes
// that is little, and a FAT beyond maxFatScan on a device that does not is left
// out, as no mount ever reads it either.
func (c *checker) checkBad(ctx context.Context, r *vol.Report) error {
	if c.bad.clusters > 0 {
		c.reportRuns(r, "bad-clusters", &c.bad, nil)
	}
	run := dev.Range{Off: c.g.FatOff() + firstCluster*4, Len: int64(c.g.Clusters) * 4}
	if c.fatData(run) > maxFatScan {
		return nil
	}
	var free tally
	_, err := dev.ReadRuns(ctx, wholeHoles(c.d), []dev.Range{run}, dev.ReadOptions{Holes: true, Serial: true}, func(p dev.Range, b []byte) error {
		return c.scanBad(uint32((p.Off-run.Off)/4)+firstCluster, b, &free)
	})
	if err != nil {
		return err
	}
	free.flush()
	if free.clusters > 0 {
		c.reportRuns(r, "bad-free", &free, func(context.Context, vol.Repair) error { return c.markAll(free.runs, true) })
	}
	return nil
}

const maxFatScan = 512 << 20

// fatData is how many bytes of r are not holes.
func (c *checker) fatData(r dev.Range) (n int64) {
	for off := r.Off; off < r.End(); {
		d := c.d.NextData(off).Intersect(dev.Range{Off: off, Len: r.End() - off})
		if d.Empty() {
			break
		}
		n += d.Len
		off = d.End()
	}
	return n
}

// scanBad looks through the entries b, the first of which is that of cl.
func (c *checker) scanBad(cl uint32, b []byte, free *tally) error {
	for i := nextBad(b, 0); i >= 0; i = nextBad(b, i+4) {
		bad := cl + uint32(i/4)
		used, err := c.bits.used(bad)
		if err != nil {
			return err
		}
		if !used && !c.walk.claimed.Used(bad-firstCluster) {
			free.add(bad, 1)
		}
	}
	return nil
}

// nextBad is where the first bad mark of b stands from byte i on, a multiple of
// four, or -1.
func nextBad(b []byte, i int) int {
	mark := [4]byte{fatBad & 0xFF, 0xFF, 0xFF, 0xFF}
	for {
		k := bytes.Index(b[i:], mark[:])
		switch {
		case k < 0:
			return -1
		case (i+k)%4 == 0:
			return i + k
		}
		i += k + 1
	}
}

// reportUpcase reports the up-case table. Its contents are the standard ones
// in nearly every volume; then only the entry is wrong.
func (c *checker) reportUpcase(r *vol.Report) {
	u := &c.sup.upcase
	if c.sup.upcaseSlot < 0 {
		r.Found(c.cat.Found("upcase-none", vol.Location{Path: "/"}, vol.Detail("%s", u.why)), vol.Always(c.newUpcase))
		return
	}
	how, table := fixSet, standardUpcase()
	switch {
	case u.stored != nil:
		table = u.stored
	case !u.standard:
		how = fixRestore
	}
	r.Found(c.cat.Found("upcase-table", c.slotLoc(c.sup.upcaseSlot), vol.Detail("%s", u.why), vol.Offer(how)), vol.Always(func() error {
		if how == fixSet {
			return c.upcaseFields(table, 0)
		}
		return c.restoreUpcase()
	}))
}

// upcaseFields writes length and checksum of a table into its entry, and the
// first cluster if that is not 0.
func (c *checker) upcaseFields(table []byte, first uint32) error {
	return c.eachSlot(0, c.sup.upcaseSlot, 1, func(_ int, e entry) {
		e.put32(offTableChecksum, tableChecksum(table))
		e.put64(offDataLength, uint64(len(table)))
		if first != 0 {
			e.put32(offFirstCluster, first)
		}
	})
}

// reportShort reports an up-case table that is not for all characters.
func (c *checker) reportShort(r *vol.Report) {
	stored, how := c.sup.upcase.stored, fixSet
	if stored == nil {
		how = fixRestore // the names were made with the standard table
	}
	r.Found(c.cat.Found("upcase-short", c.slotLoc(c.sup.upcaseSlot), vol.Offer(how)), vol.Always(func() error {
		if how == fixSet {
			return c.putUpcase(completed(stored, c.upcase.entries))
		}
		return c.restoreUpcase()
	}))
}

// completed is a stored table of so many entries with a run of the others, which
// stay as they are. The last character alone is no run: see parseUpcase.
func completed(stored []byte, entries int) []byte {
	b := binary.LittleEndian.AppendUint16(bytes.Clone(stored), identityRun)
	if n := upcaseUnits - entries; n > 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	return b
}

// restoreUpcase writes the standard table.
func (c *checker) restoreUpcase() error { return c.putUpcase(standardUpcase()) }

// putUpcase writes a table where the table was, or into free clusters where that
// place is too small.
func (c *checker) putUpcase(table []byte) error {
	need, _ := c.g.ClustersFor(uint64(len(table)))
	es, rest := splitExtents(c.sup.upcase.extents, need)
	if space.Units(es) < uint64(need) {
		var err error
		if es, err = c.takeRun(need); err != nil {
			return err
		}
		if rest = nil; !c.sup.upcase.doubted {
			rest = c.sup.upcase.extents
		}
	}
	return c.writeUpcase(table, es, rest)
}

// writeUpcase writes a table into es, and gives rest back.
func (c *checker) writeUpcase(table []byte, es, rest []space.Extent) error {
	if err := c.markAll(es, true); err != nil {
		return err
	}
	if err := c.markAll(rest, false); err != nil {
		return err
	}
	if err := c.tab.link(es); err != nil {
		return err
	}
	if err := c.writeExtents(es, table); err != nil {
		return err
	}
	return c.upcaseFields(table, es[0].Start)
}

// writeExtents writes b to the clusters, padded with zeros.
func (c *checker) writeExtents(es []space.Extent, b []byte) error {
	for _, e := range es {
		r := c.g.ClusterRange(e.Start, e.Len)
		part := make([]byte, r.Len)
		b = b[copy(part, b):]
		if _, err := c.d.WriteAt(part, r.Off); err != nil {
			return err
		}
	}
	return nil
}

// newUpcase makes an entry for the table, and the table.
func (c *checker) newUpcase() error {
	need, _ := c.g.ClustersFor(standardBytes)
	es, err := c.takeRun(need)
	if err != nil {
		return err
	}
	slots, err := c.rootRoom(1)
	if err != nil {
		return err
	}
	if err := c.useRootRoom(slots); err != nil {
		return err
	}
	c.sup.upcaseSlot = slots.first
	if err := c.eachSlot(0, slots.first, 1, func(_ int, e entry) { clear(e); e[0] = typeUpcase }); err != nil {
		return err
	}
	return c.writeUpcase(standardUpcase(), es, nil)
}

// rootSlots are slots of the root that may be used, and the cluster by which it
// has to grow for that, if any.
type rootSlots struct {
	first int32
	grow  []space.Extent
}

// rootRoom finds n adjacent slots of the root that are not in use. It writes
// nothing.
func (c *checker) rootRoom(n int32) (rootSlots, error) {
	s := newDirScan(c.walk, 0)
	if err := s.fill(); err != nil {
		return rootSlots{}, err
	}
	run := int32(0)
	for k := int32(0); k < s.end; k++ {
		if run++; s.slot(k).inUse() {
			run = 0
		}
		if run == n {
			return rootSlots{first: k - n + 1}, nil
		}
	}
	hidden := false
	err := s.eachBehind(func(_ int32, e entry) { hidden = hidden || e.inUse() })
	if err != nil {
		return rootSlots{}, err
	}
	if hidden || c.rootFault != nil {
		return rootSlots{}, vol.ErrNotNow // that would come to light
	}
	if int64(s.end+n)*entryLen <= s.dirBytes() {
		return rootSlots{first: s.end}, nil
	}
	grow, err := c.takeRoom(uint32((int64(n)*entryLen + c.g.ClusterSize - 1) / c.g.ClusterSize))
	return rootSlots{first: s.end, grow: grow}, err
}

// useRootRoom makes the root as long as it has to be.
func (c *checker) useRootRoom(s rootSlots) error {
	if len(s.grow) == 0 {
		return nil
	}
	if err := c.markAll(s.grow, true); err != nil {
		return err
	}
	for _, e := range s.grow {
		if err := c.d.Zero(c.g.ClusterRange(e.Start, e.Len)); err != nil {
			return err
		}
	}
	d := &c.walk.dirs[0]
	d.extents = append(d.extents[:len(d.extents):len(d.extents)], s.grow...)
	return c.tab.link(d.extents)
}
