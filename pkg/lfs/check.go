package lfs

import (
	"cmp"
	"context"
	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checker is one round over one volume. The passes fill it in as they go: the
// superblocks give the geometry, the checkpoint what counts of SIT and NAT,
// nodes and directories what is there; space compares the two.
type checker struct {
	d    dev.Device
	o    vol.CheckOptions
	cat  vol.Catalogue
	sb   superblock
	g    *Geometry
	s    *state
	sit  *segments
	walk *walk

	// unread: a checkpoint pack could not be read. What is found may be wrong by
	// it, so nothing is repaired.
	unread error

	badPack     bool // one of the packs cannot be used
	orphans     []uint32
	stats       vol.Stats
	rec         *recovery
	m           mender
	pending     []uint32          // orphans that are to be freed
	entries     []natFault        // of NAT
	lost        map[uint64]uint32 // nodes that nothing leads to, by inode and place
	pages       map[int32][]filePage
	ring        *int32
	lostBlocks  map[blockSlot]uint32
	lostFiles   map[uint32]*lostFile
	goneBlocks  map[uint32][]goneBlock
	lostSum     summaryBlock // of lostSegment
	lostSegment uint32
	disputes    map[uint32]*dispute // of blocks that belong to two
	usageRight  bool                // quota files count what is in use
	unsafe      bool                // a block in use is free to SIT, or a log writes over some
	doubled     bool                // a block belongs to two
}

// newChecker is Driver.Check.
func newChecker(d dev.Device, o vol.CheckOptions) vol.Checker {
	c := bareChecker(d)
	c.o, c.cat = o, vol.NewCatalogue(Problems())
	return c
}

// bareChecker is one that can mend d, and knows nothing of it yet.
func bareChecker(d dev.Device) *checker {
	return &checker{d: d, m: mender{handles: map[uint32]*handle{}, quotas: map[uint32]*quotaTable{}, back: map[uint32]bool{}}}
}

// Passes in order; each relies on what the ones before it left in c.
func (c *checker) Passes() []vol.Pass {
	return []vol.Pass{
		{Name: "superblocks", Run: c.checkSupers},
		{Name: "checkpoint", Run: c.checkPacks},
		{Name: "tables", Run: c.checkTables},
		{Name: "nodes", Run: c.checkNodes},
		{Name: "directories", Run: c.checkDirs},
		{Name: "space", Run: c.checkSpace},
	}
}

// Info is what is known of the volume so far.
func (c *checker) Info() vol.Info {
	if c.g == nil {
		return vol.Info{Type: "f2fs"}
	}
	return vol.Info{Type: "f2fs", Label: c.sb.label(), ID: uuidText(c.sb.uuid()), Size: c.g.VolumeBytes(),
		SectorSize: int(c.g.SectorSize), ClusterSize: int(c.g.BlockSize), Clusters: c.g.MainBlocks()}
}

// Stats is what was counted so far.
func (c *checker) Stats() vol.Stats { return c.stats }

// checkSupers reads both superblocks and settles which counts.
func (c *checker) checkSupers(_ context.Context, r *vol.Report) error {
	first, second, err := readSupers(c.d)
	if err != nil {
		return err
	}
	use, odd := &first, firstMisfits(c.d, &first, &second)
	switch {
	case first.g == nil && second.g == nil:
		c.superFault(r, "", &first, c.resealFix(&first, &second))
		return vol.ErrStop
	case first.g == nil:
		use = &second
		c.superFault(r, "sb-copy", &first, c.superCopyFix(&second, true))
	case second.g == nil:
		c.superFault(r, "sb-copy", &second, c.superCopyFix(&first, false))
	case odd != nil:
		use, first.fault = &second, odd
		c.superFault(r, "sb-copy", &first, c.superCopyFix(&second, true))
	case first.differ(&second):
		r.Found(c.cat.Found("sb-differ", vol.At(second.off, superLen)), c.superCopyFix(&first, false))
	}
	c.sb, c.g = use.raw, use.g
	c.stats.Clusters = c.g.MainBlocks()
	return c.checkSuper(r, use)
}

// superFault reports what is wrong with one copy: under its own slug where
// neither can be used, else as a damaged copy.
func (c *checker) superFault(r *vol.Report, slug string, s *superCopy, fix vol.Fix) {
	f := s.fault
	if f == nil {
		f = &fault{slug: "sb-magic", len: 4, detail: "the image ends before it"}
	}
	if slug == "" {
		slug = f.slug
	}
	r.Found(c.cat.Found(slug, vol.At(s.off+f.off, f.len), vol.Detail("%s", f.detail), vol.GotWant(f.got, f.want)), fix)
}

// checkSuper looks at the one that counts.
func (c *checker) checkSuper(r *vol.Report, s *superCopy) error {
	at := func(off, n int64) vol.Location { return vol.At(s.off+off, n) }
	if x := c.g.Features &^ featKnown; x != 0 {
		r.Found(c.cat.Found("sb-features", at(sbFeatures, 4), vol.GotWant(hex(x), nil)), nil)
	}
	if !dev.AllZero(c.sb.stopReasons()) {
		r.Found(c.cat.Found("sb-stop-reason", at(sbStopReasons, stopReasonsLen), vol.Detail("%s", bytesText(c.sb.stopReasons()))), c.superFix(func(b superblock) { clear(b.stopReasons()) }))
	}
	if !dev.AllZero(c.sb.errors()) {
		r.Found(c.cat.Found("sb-errors", at(sbErrors, errorsLen), vol.Detail("%s", bytesText(c.sb.errors()))), c.superFix(func(b superblock) { clear(b.errors()) }))
	}
	if end := uint64(c.g.Segment0) + uint64(c.g.Segments)*segmentBlocks; c.g.MainEnd() < end {
		want := (c.g.MainEnd() - uint64(c.g.Segment0)) / segmentBlocks
		r.Found(c.cat.Found("sb-segment-end", at(sbSegments, 4), vol.GotWant(c.g.Segments, want)),
			c.superFix(func(b superblock) { b.put32(sbSegments, uint32(want)) }))
	}
	if c.g.BlockSize != minBlock {
		r.Found(c.cat.Found("sb-page-size", at(sbLogBlock, 4), vol.GotWant(c.g.BlockSize, nil)), nil)
	}
	if c.g.CPPayload >= linuxPayload {
		r.Found(c.cat.Found("sb-payload", at(sbCPPayload, 4), vol.GotWant(c.g.CPPayload, nil), vol.Detail("Linux takes less than %d", linuxPayload)), nil)
	}
	if c.sb.unknownEncoding() {
		r.Found(c.cat.Found("sb-encoding", at(sbEncoding, 2), vol.GotWant(c.sb.u16(sbEncoding), encodingUTF8)),
			c.superFix(func(b superblock) { b.put16(sbEncoding, encodingUTF8) }))
	}
	if l := c.d.Limits().LogicalSector; l > 0 && int64(l) != c.g.SectorSize {
		r.Found(c.cat.Found("sb-sector", at(sbLogSector, 4), vol.GotWant(c.g.SectorSize, nil)), nil)
	}
	if c.g.Devices > 0 || c.g.Has(featZoned) || c.g.Has(featDeviceAlias) {
		r.Found(c.cat.Found("multi-device", at(sbDevices, maxDevices*deviceLen), vol.GotWant(c.g.Devices, nil)), nil)
		return vol.ErrStop
	}
	if c.g.VolumeBytes() > c.d.Size() {
		r.Found(c.cat.Found("volume-beyond-device", at(sbBlocks, 8), vol.GotWant(c.g.VolumeBytes(), c.d.Size()),
			vol.Detail("bytes of the volume against bytes that are there")), nil)
		if c.g.BlockOff(c.g.Main) > c.d.Size() || int64(c.g.MainEnd())*c.g.BlockSize > c.d.Size() {
			return vol.ErrStop
		}
	}
	return nil
}

// bytesText lists the bytes that are not zero.
func bytesText(b []byte) string {
	s := ""
	for i, x := range b {
		if x != 0 {
			s += textf(" %d: %#02x", i, x)
		}
	}
	return "by number" + s
}

// checkPacks reads both checkpoint packs and settles which counts.
func (c *checker) checkPacks(ctx context.Context, r *vol.Report) error {
	packs, err := readPacks(c.d, c.g)
	if err != nil {
		return err
	}
	c.unread = cmp.Or(packs[0].err, packs[1].err)
	use := choosePack(packs)
	newer, again, err := c.g.newerAgain(c.d, packs)
	if err != nil {
		return err
	}
	if newer != nil {
		use = newer
	}
	c.reportPacks(r, packs, use, again)
	if use == nil {
		fix, err := c.tailFix(packs)
		if err != nil {
			return err
		}
		r.Found(c.cat.Found("cp-none", vol.At(c.g.BlockOff(c.g.CP), c.g.SegmentBytes())), fix)
		return vol.ErrStop
	}
	s, f, err := readState(c.d, c.g, use)
	if err != nil {
		return err
	}
	if f != nil {
		r.Found(c.cat.Found(f.slug, vol.At(c.g.BlockOff(use.start)+f.off, f.len), vol.Detail("%s", f.detail), vol.GotWant(f.got, f.want)), c.layoutFix(use))
		return vol.ErrStop
	}
	c.s = s
	if err := c.checkReplay(ctx, r); err != nil {
		return err
	}
	c.checkFlags(r)
	c.checkReserve(r)
	if err := c.checkPayload(r); err != nil {
		return err
	}
	return c.readOrphans(r)
}

// reportPacks reports the packs that are damaged. use is the one that counts, nil for
// none; again is what makes it whole, where that is the damaged one.
func (c *checker) reportPacks(r *vol.Report, packs [packCount]*pack, use *pack, again *ends) {
	for i, p := range packs {
		if p.fault == nil {
			continue
		}
		f := c.cat.Found(p.fault.slug, vol.At(c.g.BlockOff(p.start)+p.fault.off, p.fault.len), vol.Detail("pack %d: %s", i+1, p.fault.detail), vol.GotWant(p.fault.got, p.fault.want))
		if use != nil && again == nil && p.blank() {
			f = c.cat.Found("cp-blank", vol.At(c.g.BlockOff(p.start), c.g.BlockSize), vol.Detail("pack %d", i+1))
		}
		c.badPack = again == nil
		switch {
		case use == nil:
			r.Found(f, nil)
		case again != nil:
			f.Detail += "; it is the newer one, and its other end is right"
			f.Offer = []string{fixRestore}
			r.Found(f, c.endsFix(again))
		default:
			if len(f.Repairs) > 1 {
				f.Offer = []string{fixRebuild}
			}
			r.Found(f, c.packFix())
		}
	}
}

// cpAt is a field of the checkpoint that counts.
func (c *checker) cpAt(off, n int64) vol.Location {
	return vol.Location{Range: dev.Range{Off: c.g.BlockOff(c.s.p.start) + off, Len: n}, Same: textf("checkpoint %d", off)}
}

// checkFlags says in words what the flags of the checkpoint mean.
func (c *checker) checkFlags(r *vol.Report) {
	for _, f := range []struct {
		bit  uint32
		slug string
	}{{cpError, "cp-error"}, {cpDisabled | cpDisabledQuick, "cp-disabled"}, {cpResize, "cp-resize"}} {
		if c.s.cp.flags()&f.bit != 0 {
			r.Found(c.cat.Found(f.slug, c.cpAt(cpFlags, 4)), c.flagFix(gradeShape, f.bit))
		}
	}
	if x := c.s.cp.flags() &^ cpKnown; x != 0 {
		r.Found(c.cat.Found("cp-flags", c.cpAt(cpFlags, 4), vol.GotWant(hex(x), nil)), nil)
	}
	if why := c.s.natBitsFault(); why != "" {
		r.Found(c.cat.Found("cp-layout", c.cpAt(cpFlags, 4), vol.Detail("%s", why)), c.mended(gradeShape, func(w *writer) { w.carry.bits = nil }))
	}
	if c.s.oldLargeNat() {
		r.Found(c.cat.Found("cp-layout", c.cpAt(cpChecksumOffset, 4), vol.Detail("the large NAT bitmap is where old versions had it"), vol.GotWant(c.s.cp.checksumOffset(), cpBitmaps)), c.moveBitmapFix())
	}
	for _, f := range c.s.longJournals {
		r.Found(c.cat.Found("journal", c.journalAt(f.part), vol.Detail("%s", f.detail), vol.GotWant(f.got, f.want)), c.journalFix(f.part))
	}
}

// checkReserve looks at what the kernel looks at before it mounts.
func (c *checker) checkReserve(r *vol.Report) {
	cp := c.s.cp
	if why := c.g.reserveFault(cp); why != "" {
		r.Found(c.cat.Found("cp-reserve", c.cpAt(cpReserved, 8), vol.Detail("%s", why)), c.reserveFix())
	}
	if why := c.g.userBlocksFault(cp.userBlocks(), cp.validBlocks()); why != "" {
		r.Found(c.cat.Found("cp-user-blocks", c.cpAt(cpUserBlocks, 8), vol.Detail("%s", why)), c.userBlocksFix())
	}
	for _, f := range c.s.logFaults() {
		r.Found(c.cat.Found(f.slug, c.cpAt(f.off, f.len), vol.Detail("log %d: %s", f.log, f.detail)), c.logFix(gradeShape, &f))
	}
}

// checkPayload: the summaries start behind the payload and the orphans.
func (c *checker) checkPayload(r *vol.Report) error {
	start, payload := c.s.cp.startSum(), uint32(0)
	if payload = start - 1; c.s.cp.has(cpOrphans) {
		n, ok, err := c.orphanPayload()
		if err != nil {
			return err
		}
		if payload = n; !ok {
			payload = min(c.g.CPPayload, start-1)
		}
	}
	if payload != c.g.CPPayload {
		r.Found(c.cat.Found("sb-payload-pack", vol.At(superOffset+sbCPPayload, 4), vol.GotWant(c.g.CPPayload, payload)),
			c.superFix(func(b superblock) { b.put32(sbCPPayload, payload) }))
		r.Hold() // which version of SIT and NAT counts rests on it
	}
	return nil
}

// readOrphans reads the list of files that were deleted while open.
func (c *checker) readOrphans(r *vol.Report) error {
	if !c.s.cp.has(cpOrphans) {
		return nil
	}
	list, faults, err := c.s.readOrphans(c.d)
	if err != nil {
		return err
	}
	first, _ := c.s.orphanBlocks()
	for _, f := range faults {
		r.Found(c.cat.Found("orphan-count", vol.At(c.g.BlockOff(f.blk+1)-orphanCount, 4), vol.GotWant(f.count, textf("at most %d", f.room))), c.mended(gradeShape, func(w *writer) { delete(w.carry.orphans, f.blk-first) }))
	}
	c.orphans = list
	return nil
}

// uuidText is a UUID as people write it.
func uuidText(b []byte) string { return uuid.UUID(b[:16]).String() }
