package lfs

import (
	"context"
	"errors"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// recovery is the chain of nodes that were synced after the checkpoint,
// [Linux] behaviour fs/f2fs/recovery.c: from where the warm node log goes on,
// each leads to the next, as long as they carry the version of this checkpoint.
// What the checkpoint says of the last unmount is of no consequence: a mount
// that only syncs files writes none.
type recovery struct {
	first    uint32     // block of the first node
	nodes    uint32     // how many there are
	segments *space.Map // that they and their data are in, though SIT does not say so
	badAddr  uint32     // a pointer of a node that leads nowhere
	badAt    uint32     // the node, or the one whose successor was there before
	loops    bool
}

// readRecovery follows the chain. It always ends: a block that was seen ends
// it. [Linux] behaviour: where checkpoints are disabled nothing is replayed.
func readRecovery(ctx context.Context, d dev.Device, g *Geometry, s *state) (*recovery, error) {
	rec := &recovery{segments: space.NewMap(g.MainSegments)}
	segno, off := s.cp.logSegment(warmNode), s.cp.logOffset(warmNode)
	if segno >= g.MainSegments || off >= segmentBlocks || s.cp.has(cpDisabled) {
		return rec, nil
	}
	seen := space.NewSparse(g.MainBlocks())
	b := make(nodeBlock, g.BlockSize)
	blk := g.SegmentBlock(segno) + uint32(off)
	for rec.first = blk; g.ValidMain(blk) && g.BlockOff(blk)+g.BlockSize <= d.Size(); blk = b.next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := d.ReadAt(b, g.BlockOff(blk)); err != nil {
			return nil, err
		}
		if !s.follows(b.cpVer()) {
			break
		}
		if !seen.SetNew(blk - g.Main) {
			rec.loops = true
			break
		}
		rec.nodes++
		rec.segments.Set(g.SegmentOf(blk))
		rec.takePointers(g, b, blk)
		if rec.badAddr == 0 {
			rec.badAt = blk
		}
	}
	return rec, nil
}

// why says what is wrong with the chain, "" for nothing.
func (rec *recovery) why() string {
	switch {
	case rec.badAddr != 0:
		return textf("the node at block %d leads to block %#x", rec.badAt, rec.badAddr)
	case rec.loops:
		return textf("the node at block %d is followed by one that came before", rec.badAt)
	}
	return ""
}

// leftMounted tells whether the volume was not unmounted. Where checkpoints are
// disabled an unmount leaves no mark.
func (s *state) leftMounted() bool { return !s.cp.has(cpUmount | cpDisabled) }

// follows reports whether a node was written after this checkpoint: its version
// repeats that of the checkpoint and, in the high half, its checksum.
func (s *state) follows(ver uint64) bool {
	switch {
	case s.cp.has(cpNoCRCRecovery):
		return uint32(ver) == uint32(s.cp.version())
	case s.cp.has(cpCRCRecovery):
		return ver == s.cp.version()|uint64(s.cp.sum())<<32
	default:
		return ver == s.cp.version()
	}
}

// takePointers notes where the data of a node of the chain is, and a pointer
// that leads outside the main area. The chain has inodes and direct nodes.
func (rec *recovery) takePointers(g *Geometry, b nodeBlock, blk uint32) {
	from, to, get := 0, g.per().nodeSlots(), b.slot
	switch {
	case b.isInode():
		t := b.fileType()
		if b.inline()&(inlineData|inlineDentry) != 0 || t != modeFile && t != modeDir && t != modeSymlink {
			return
		}
		from, to, get = g.extraWords(b), b.words()-g.xattrWords(b), b.word
	case b.place() == xattrPlace:
		return
	}
	for i := from; i < to; i++ {
		switch a := get(i); {
		case a == nullAddr || a == newAddr || a == compressAddr:
		case g.ValidMain(a):
			rec.segments.Set(g.SegmentOf(a))
		case rec.badAddr == 0:
			rec.badAddr, rec.badAt = a, blk
		}
	}
}

// checkReplay reports what the next mount would carry out.
func (c *checker) checkReplay(ctx context.Context, r *vol.Report) error {
	rec, err := readRecovery(ctx, c.d, c.g, c.s)
	if err != nil {
		return err
	}
	c.rec = rec
	c.m.unsettled = rec.nodes > 0 || c.s.leftMounted()
	why := rec.why()
	if rec.nodes > 0 && why == "" {
		if why, err = c.tryReplay(ctx); err != nil {
			return err
		}
	}
	switch {
	case rec.nodes > 0:
		fix, offer := c.replayFix(why == "")
		f := c.cat.Found("replay", c.blockAt(rec.first), vol.Detail("%d nodes", rec.nodes))
		f.Offer = offer
		if err := c.needSIT(ctx); err != nil {
			return err
		}
		if n := len(c.wrongPlaces()); n > 0 {
			f.Detail += textf("; for %d logs that write where they cannot the repair begins free segments", n)
		}
		r.Found(f, fix)
		r.Hold()
	case c.s.leftMounted():
		r.Found(c.cat.Found("not-unmounted", c.cpAt(cpFlags, 4)), c.settle(nil))
		r.Hold()
	}
	if why != "" {
		r.Found(c.cat.Found("replay-address", c.blockAt(rec.badAt), vol.Detail("%s", why)), c.discardFix())
	}
	return nil
}

// tryReplay is why the log cannot be carried out, "" where it can, or where that
// is not known: it is tried on a transaction that is given up.
func (c *checker) tryReplay(ctx context.Context) (why string, err error) {
	if err := c.needSIT(ctx); err != nil {
		return "", err
	}
	txn := dev.Begin(c.d)
	defer txn.Rollback()
	t := newReplayer(&loaded{d: txn, sb: c.sb, g: c.g, s: c.s}, c.rec)
	t.sit = c.sit
	if t.orphans, _, err = c.s.readOrphans(c.d); err != nil {
		return "", err
	}
	if err = t.replay(ctx); err == nil {
		err = t.Finish(ctx)
	}
	switch {
	case refused(err):
		// The volume may be damaged beside the log, where that leads to. [Linux] behaviour
		// f2fs_fill_super(): a mount goes on without the log then. And what would mend
		// that writes a checkpoint, which gives the log up, too.
		why = strings.TrimPrefix(err.Error(), vol.ErrNotNow.Error()+": ")
		why = strings.TrimPrefix(why, vol.ErrDamaged.Error()+": ")
		return strings.TrimSuffix(why, "; run check -y"), nil
	case errors.Is(err, vol.ErrNotNow):
		return "", nil
	}
	return "", err
}

// blockAt is a block of the main area.
func (c *checker) blockAt(blk uint32) vol.Location {
	return vol.Location{Cluster: blk, Range: c.g.BlockRange(blk, 1)}
}
