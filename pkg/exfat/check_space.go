package exfat

import (
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
	}
	if len(c.missed) > 0 {
		c.reportRuns(r, "bitmap-free", c.missed, func(_ context.Context, _ vol.Repair) error { return c.markAll(c.missed, true) })
	}
	if len(c.lost) > 0 {
		lost := c.lost
		c.reportRuns(r, "lost-clusters", lost, func(ctx context.Context, rep vol.Repair) error {
			if rep.Name == fixRescue {
				return c.rescue(ctx, lost)
			}
			return c.markAll(lost, false)
		})
	}
	return c.checkBad(ctx, r)
}

// maxRelated bounds how many places one finding names.
const maxRelated = 64

func (c *checker) reportRuns(r *vol.Report, slug string, runs []space.Extent, fix vol.Fix) {
	var n uint64
	var where []vol.Location
	for _, e := range runs {
		n += uint64(e.Len)
		if len(where) < maxRelated {
			where = append(where, vol.Location{Cluster: e.Start, Range: c.g.ClusterRange(e.Start, e.Len)})
		}
	}
	r.Found(c.cat.Found(slug, where[0], vol.Detail("%d clusters in %d runs, %d bytes", n, len(runs), int64(n)*c.g.ClusterSize), vol.Related(where...)), fix)
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
	if len(c.bad) > 0 {
		c.reportRuns(r, "bad-clusters", c.bad, nil)
	}
	run := dev.Range{Off: c.g.FatOff() + firstCluster*4, Len: int64(c.g.Clusters) * 4}
	if c.fatData(run) > maxFatScan {
		return nil
	}
	var free runList
	_, err := dev.ReadRuns(ctx, c.d, []dev.Range{run}, dev.ReadOptions{Holes: true, Serial: true}, func(p dev.Range, b []byte) error {
		return c.scanBad(uint32((p.Off-run.Off)/4)+firstCluster, b, &free)
	})
	if err != nil {
		return err
	}
	free.flush()
	if len(free.runs) > 0 {
		c.reportRuns(r, "bad-free", free.runs, func(context.Context, vol.Repair) error { return c.markAll(free.runs, true) })
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
func (c *checker) scanBad(cl uint32, b []byte, free *runList) error {
	if b == nil || allZero(b) {
		return nil
	}
	for i := 0; i+4 <= len(b); i += 4 {
		if binary.LittleEndian.Uint32(b[i:]) != fatBad {
			continue
		}
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

// reportUpcase reports the up-case table. Its contents are the standard ones
// in nearly every volume; then only the entry is wrong.
func (c *checker) reportUpcase(r *vol.Report) {
	u := &c.sup.upcase
	if c.sup.upcaseSlot < 0 {
		r.Found(c.cat.Found("upcase-none", vol.Location{Path: "/"}, vol.Detail("%s", u.why)), vol.Always(c.newUpcase))
		return
	}
	how := fixRestore
	if u.standard {
		how = fixSet
	}
	r.Found(c.cat.Found("upcase-table", c.slotLoc(c.sup.upcaseSlot), vol.Detail("%s", u.why), vol.Offer(how)), vol.Always(func() error {
		if u.standard {
			return c.upcaseFields(0)
		}
		return c.restoreUpcase()
	}))
}

// upcaseFields writes length and checksum of the standard table into its
// entry, and the first cluster if that is not 0.
func (c *checker) upcaseFields(first uint32) error {
	std := standardUpcase()
	return c.eachSlot(0, c.sup.upcaseSlot, 1, func(_ int, e entry) {
		e.put32(offTableChecksum, tableChecksum(std))
		e.put64(offDataLength, uint64(len(std)))
		if first != 0 {
			e.put32(offFirstCluster, first)
		}
	})
}

// restoreUpcase writes the standard table where the table was, or into free
// clusters where that place is too small.
func (c *checker) restoreUpcase() error {
	std := standardUpcase()
	need, _ := c.g.ClustersFor(uint64(len(std)))
	es := c.sup.upcase.extents
	have := uint32(0)
	for _, e := range es {
		have += e.Len
	}
	first := uint32(0)
	if have < need {
		var err error
		if es, err = c.takeRoom(need); err != nil {
			return err
		}
		if err := c.markAll(es, true); err != nil {
			return err
		}
		if err := c.tab.link(es); err != nil {
			return err
		}
		first = es[0].Start
	}
	if err := c.writeExtents(es, std); err != nil {
		return err
	}
	return c.upcaseFields(first)
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
	slot, err := c.rootSlots(1)
	if err != nil {
		return err
	}
	c.sup.upcaseSlot = slot
	if err := c.eachSlot(0, slot, 1, func(_ int, e entry) { clear(e); e[0] = typeUpcase }); err != nil {
		return err
	}
	return c.restoreUpcase()
}

// rootSlots is the first of n adjacent slots of the root that are not in use.
// The root grows by a cluster where it is full.
func (c *checker) rootSlots(n int32) (int32, error) {
	s := &dirScan{w: c.walk}
	end, err := s.fill()
	if err != nil {
		return 0, err
	}
	run := int32(0)
	for k := int32(0); k < end; k++ {
		if run++; s.slot(k).inUse() {
			run = 0
		}
		if run == n {
			return k - n + 1, nil
		}
	}
	if int64(end+n)*entryLen <= s.dirBytes() {
		return end, nil
	}
	d := &c.walk.dirs[0]
	es, err := c.takeRoom(1)
	if err != nil {
		return 0, err
	}
	if err := c.markAll(es, true); err != nil {
		return 0, err
	}
	if err := c.d.Zero(c.g.ClusterRange(es[0].Start, 1)); err != nil {
		return 0, err
	}
	d.extents = append(d.extents, es[0])
	return end, c.tab.link(d.extents)
}
