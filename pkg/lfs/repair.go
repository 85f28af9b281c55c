package lfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Repairs are made as F2FS writes: what SIT, NAT and the checkpoint say goes to
// their other copies and the other pack, once for all repairs of a pass, through
// the writer. Fields of nodes and entries of directories are mended where they
// are. All of it is staged by who runs the check.

// grade tells repairs apart by what they rest on. Those of one grade are made
// only in a pass that made none of a lower one, as those may make untrue what
// they go by; they are met again in the next round.
type grade int

const (
	gradeShape grade = iota // pointers, nodes, entries: what belongs to whom
	gradeCount              // what follows from that: counts, sizes, tables
	gradePlace              // what takes new blocks
	gradeLost               // what nobody owns, when all else is right
	grades                  // how many there are
)

// mender is what the repairs of one pass share.
type mender struct {
	w        *writer
	handles  map[uint32]*handle // directories and quota files, by inode
	quotas   map[uint32]*quotaTable
	counted  bool // usage was right, and repairs have counted what they changed of it
	made     [grades]bool
	placing  map[int]bool // logs that may be moved
	avoid    *space.Map   // segments that a log to be replayed is in
	strays   map[uint32]stray
	back     map[uint32]bool // nodes that repairs of this pass have brought back
	packToo  bool            // the pack that cannot be used may be written over
	relayout bool            // a large NAT bitmap is put where it belongs
	// unsettled: a log is to be replayed, and who decides has not said so.
	// Another checkpoint would give it up.
	unsettled bool
	lostFound *handle
}

// fix makes a repair of a grade. What is not possible here is left.
func (c *checker) fix(g grade, fn func(ctx context.Context, r vol.Repair) error) vol.Fix {
	return func(ctx context.Context, r vol.Repair) error {
		if c.unread != nil {
			return c.unread
		}
		if slices.Contains(c.m.made[:g], true) {
			return vol.ErrNotNow
		}
		err := fn(ctx, r)
		if err == nil {
			c.m.made[g] = true
		}
		return err
	}
}

// mended is a fix that only needs another checkpoint, in which the writer has
// something right by itself, or change sets it.
func (c *checker) mended(g grade, change func(w *writer)) vol.Fix {
	return c.fix(g, func(ctx context.Context, _ vol.Repair) error {
		w, err := c.writer(ctx)
		if err == nil && change != nil {
			change(w)
		}
		return err
	})
}

// writer is the one that all repairs of this pass go through.
func (c *checker) writer(ctx context.Context) (*writer, error) {
	if c.m.w != nil {
		return c.m.w, nil
	}
	if err := c.canWrite(); err != nil {
		return nil, err
	}
	if err := c.needSIT(ctx); err != nil {
		return nil, err
	}
	carry, err := c.carry()
	if err != nil {
		return nil, err
	}
	s := *c.s
	s.cp = slices.Clone(s.cp)
	if err := c.placeLogs(&s); err != nil {
		return nil, err
	}
	if err := s.fillLogs(c.d, c.sit); err != nil {
		return nil, err
	}
	w, err := newWriter(&loaded{d: c.d, sb: c.sb, g: c.g, s: &s, sit: c.sit, avoid: c.m.avoid}, 0)
	if err != nil {
		return nil, err
	}
	w.orphans, w.carry = slices.Clone(c.orphans), carry
	w.keepQuotas = true // they are compared in the next round, but see putUsage
	// [Linux] behaviour ignore_hardlimit(): who mounts, and so replays, is root.
	w.limitless = true
	for i := range w.logs.heads {
		if h := &w.logs.heads[i]; c.m.placing[i] {
			w.sit.setKind(h.segno, i)
		}
	}
	c.m.w = w
	return w, nil
}

// canWrite tells whether there can be another checkpoint.
func (c *checker) canWrite() error {
	switch {
	case c.s == nil: // without one that can be read there is nothing to go on from
		return vol.ErrNotNow
	case c.g.ReadOnly():
		return vol.NotNow("the volume has the feature ro: no checkpoint is written to it after it was made")
	case c.s.oldLargeNat() && !c.m.relayout:
		return vol.NotNow("the large NAT bitmap is where old versions had it, and no checkpoint can follow that one")
	case c.m.unsettled:
		return vol.NotNow("another checkpoint would give the log up; what becomes of that is to be settled first")
	case c.badPack && !c.m.packToo:
		return vol.NotNow("the checkpoint it takes goes where the damaged one is; that is to be mended, too")
	}
	return nil
}

// needSIT reads SIT where that was not done yet.
func (c *checker) needSIT(ctx context.Context) error {
	if c.sit != nil {
		return nil
	}
	t, err := c.s.loadSIT(ctx, c.d)
	c.sit = t
	return err
}

// Finish writes what the repairs of a pass left to be written.
func (c *checker) Finish(ctx context.Context) error {
	for _, nid := range slices.Sorted(maps.Keys(c.m.quotas)) {
		if err := c.m.quotas[nid].store(); err != nil {
			return err
		}
	}
	if err := c.putUsage(); err != nil {
		return err
	}
	for _, nid := range slices.Sorted(maps.Keys(c.m.handles)) {
		if err := c.m.handles[nid].store(); err != nil {
			return err
		}
	}
	if c.m.w == nil && len(c.m.placing) == 0 {
		return nil
	}
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	return w.commit(ctx)
}

// handle opens a directory or file to be changed through the writer.
func (c *checker) handle(ctx context.Context, nid uint32) (*handle, error) {
	if h := c.m.handles[nid]; h != nil {
		return h, nil
	}
	w, err := c.writer(ctx)
	if err != nil {
		return nil, err
	}
	h, err := w.open(textf("<inode %d>", nid), nid)
	if err != nil {
		return nil, notNow(err)
	}
	c.m.handles[nid] = h
	return h, nil
}

// notNow is for what the writer refuses before it changed anything: it is the cause,
// and vol.ErrNotNow.
func notNow(err error) error {
	if refused(err) {
		return fmt.Errorf("%w: %w", vol.ErrNotNow, err)
	}
	return err
}

// refused tells whether an error is of what a volume is like, or of what was asked for.
func refused(err error) bool {
	return errors.Is(err, vol.ErrRequest) || errors.Is(err, vol.ErrDamaged) || errors.Is(err, vol.ErrDirty)
}

// placeable tells whether blocks may be given out: none that is in use is free
// to SIT, and the logs write where they can.
func (c *checker) placeable() error {
	if c.unsafe || c.doubled {
		return vol.NotNow(whyUnsafe)
	}
	return nil
}

const whyUnsafe = "it takes new blocks, and where there are some is not known before blocks, SIT and the logs are right"

// logsRight tells whether the logs say all that is needed to write to them.
func (c *checker) logsRight() bool {
	if len(c.s.logFaults())+len(c.s.usedLogs(c.sit))+len(c.s.summaryFaults()) > 0 {
		return false
	}
	for i := range logCount {
		segno := c.s.cp.logSegment(i)
		mixed := c.walk.segData.Used(segno) && c.walk.segNode.Used(segno)
		if int(c.sit.kind[segno]) != i && !mixed {
			return false
		}
	}
	return true
}

// placeLogs gives those logs that may be moved a free segment. Others that write
// where they cannot stay there, and nothing is written to them, see placeable.
func (c *checker) placeLogs(s *state) error {
	for i := range logCount {
		if !c.m.placing[i] {
			continue
		}
		old := *s
		old.cp = slices.Clone(s.cp)
		if !c.placeLog(s, i) {
			return vol.NotNow("no segment is free for a log")
		}
		if s.cp.logSegment(i) == old.cp.logSegment(i) {
			continue // and fills a hole there
		}
		if err := c.leaveSegment(&old, i); err != nil {
			return err
		}
		s.logs[i] = make(summaryBlock, c.g.SummaryBytes)
	}
	return nil
}

// placeLog finds a log another place to write to.
func (c *checker) placeLog(s *state, log int) bool {
	segno, ok := c.emptySegment(s)
	if !ok {
		return c.fillOwn(s, log)
	}
	s.cp.putLog(log, segno, 0)
	s.cp[cpAllocTypes+log] = allocLFS
	return true
}

// canPlace tells whether there is a place for a log, beside those that are to be
// moved already.
func (c *checker) canPlace(log int) bool {
	s := *c.s
	s.cp = slices.Clone(s.cp)
	for i := range logCount {
		if (i == log || c.m.placing[i]) && !c.placeLog(&s, i) {
			return false
		}
	}
	return true
}

// fillOwn has a log fill a hole of the segment that it is in: where no segment
// is free.
func (c *checker) fillOwn(s *state, log int) bool {
	segno := s.cp.logSegment(log)
	if segno >= c.g.MainSegments || s.logOf(segno) != log || s.logs[log] == nil || c.m.avoid != nil {
		return false
	}
	for at := range uint32(segmentBlocks) {
		unit := segno*segmentBlocks + at
		if !c.sit.valid.Used(unit) && (c.walk == nil || !c.walk.claimed.Used(unit)) {
			s.cp.putLog(log, segno, uint16(at))
			s.cp[cpAllocTypes+log] = allocSSR
			return true
		}
	}
	return false
}

// leaveSegment writes the summary of a segment that a log leaves, if that was
// the log's alone.
func (c *checker) leaveSegment(s *state, log int) error {
	if !s.logPlaced(log) {
		return nil
	}
	for i := range logCount {
		if i != log && s.cp.logSegment(i) == s.cp.logSegment(log) {
			return nil
		}
	}
	sum := slices.Clone(s.logs[log])
	if sum == nil {
		var err error
		if sum, err = s.findSummary(c.d, c.sit, log); err != nil {
			return err
		}
	}
	clear(sum.journal())
	_, err := c.d.WriteAt(sum, c.g.SummaryOff(s.cp.logSegment(log)))
	return err
}

// emptySegment is one that nothing is in and no log writes to; one of an empty
// section if there is any.
func (c *checker) emptySegment(s *state) (best uint32, ok bool) {
	per := c.g.SegsPerSec
	for segno := range c.g.MainSegments {
		if !c.isEmpty(s, segno) {
			continue
		}
		first, whole := segno/per*per, true
		for k := first; k < first+per && k < c.g.MainSegments; k++ {
			whole = whole && c.isEmpty(s, k)
		}
		if whole {
			return segno, true
		}
		if !ok {
			best, ok = segno, true
		}
	}
	return best, ok
}

// isEmpty tells whether nothing is in a segment, by SIT and by what the walk has
// reached, no log writes to it, and none that is to be replayed did.
func (c *checker) isEmpty(s *state, segno uint32) bool {
	inUse := func(w uint64) bool { return w != 0 }
	switch {
	case c.sit.count[segno] != 0 || slices.ContainsFunc(c.sit.segment(segno), inUse):
		return false
	case s.logOf(segno) >= 0 || c.m.avoid != nil && c.m.avoid.Used(segno):
		return false
	}
	return c.walk == nil || !c.walk.segData.Used(segno) && !c.walk.segNode.Used(segno)
}

// fillLogs finds the summaries that the pack does not have.
func (s *state) fillLogs(d dev.Device, t *segments) (err error) {
	for i := range s.logs {
		if s.logs[i] != nil {
			continue
		}
		if s.cp.logSegment(i) >= s.g.MainSegments { // and stays there
			s.logs[i] = make(summaryBlock, s.g.SummaryBytes)
			continue
		}
		if s.logs[i], err = s.findSummary(d, t, i); err != nil {
			return err
		}
	}
	return nil
}

// findSummary is the summary of a log that the pack does not have, [Linux]
// behaviour f2fs_restore_node_summary(): what SSA has of the segment and, of
// nodes, what their footers say.
func (s *state) findSummary(d dev.Device, t *segments, log int) (summaryBlock, error) {
	segno := s.cp.logSegment(log)
	sum := make(summaryBlock, s.g.SummaryBytes)
	if _, err := d.ReadAt(sum, s.g.SummaryOff(segno)); err != nil || log < logsPerKind {
		return sum, err
	}
	sum.putKind(summaryNode)
	return sum, s.nodesOf(d, t, segno, sum)
}

// nodesOf makes the summary of a segment of nodes from their footers.
func (s *state) nodesOf(d dev.Device, t *segments, segno uint32, sum summaryBlock) error {
	valid := t.segment(segno)
	for at := range uint32(segmentBlocks) {
		if valid == nil || valid[at/64]>>(at%64)&1 == 0 {
			continue
		}
		b, err := readBlock(d, s.g, s.g.SegmentBlock(segno)+at)
		if err != nil {
			return err
		}
		sum.entry(int(at)).put(nodeBlock(b).nid(), 0, 0)
	}
	return nil
}

// editNode changes the block of a node where it is. The checksum of an inode is
// made right if it was.
func (c *checker) editNode(blk uint32, fn func(n nodeBlock)) error {
	b, err := readBlock(c.d, c.g, blk)
	if err != nil {
		return err
	}
	n := nodeBlock(b)
	if h := c.m.handles[n.nid()]; h != nil && n.isInode() {
		fn(h.b)
		return nil
	}
	seed := inodeSeed(c.sb.uuid())
	sum := n.isInode() && c.g.Has(featInodeChecksum) && n.hasSum() && n.checksum() == inodeSum(seed, n)
	fn(n)
	if sum && n.hasSum() {
		n.put32(inodeChecksum, inodeSum(seed, n))
	}
	_, err = c.d.WriteAt(n, c.g.BlockOff(blk))
	return err
}

// editInode changes an inode that the walk has met.
func (c *checker) editInode(i int32, fn func(n nodeBlock)) error {
	return c.editNode(c.walk.index.nodes[c.walk.inodes[i].node].addr, fn)
}

// inodeFix is a repair of fields of an inode.
func (c *checker) inodeFix(g grade, i int32, fn func(n nodeBlock)) vol.Fix {
	return c.fix(g, func(context.Context, vol.Repair) error { return c.editInode(i, fn) })
}

// setNAT changes an entry of NAT.
func (c *checker) setNAT(ctx context.Context, nid, ino, addr uint32) error {
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	return w.nat.set(nid, ino, addr)
}
