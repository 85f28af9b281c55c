package lfs

import (
	"context"
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// flags says what the flags of the checkpoint mean for a mount.
func (s *scanner) flags() {
	cp := s.s.cp
	for _, f := range []struct {
		bit        uint32
		slug, text string
	}{
		{cpFsck, "cp-fsck", "the kernel asked for a check"},
		{cpQuotaFsck, "cp-quota", "quotas need a check: a mount goes on without them"},
		{cpDisabled | cpDisabledQuick, "cp-disabled", "checkpoints are disabled: a mount that does not say so enables them again"},
		{cpResize, "cp-resize", "a resize was interrupted"},
	} {
		if cp.has(f.bit) {
			s.pending(f.slug, "%s", f.text)
		}
	}
	if cp.has(cpError) {
		s.refused("cp-error", "the checkpoint was written after an I/O error, and Linux does not mount it before a check")
		s.out.Dirty = true
	}
	if x := cp.flags() &^ cpKnown; x != 0 {
		s.say("cp-flags", "flags %s of the checkpoint are not known", hex(x))
	}
	for _, f := range s.s.longJournals {
		s.refused(f.slug, "%s", f.detail)
	}
	for _, segno := range slices.Sorted(maps.Keys(s.s.sitOverrides())) { // [Linux] behaviour build_sit_entries()
		if segno >= s.g.MainSegments {
			s.refused("journal-entry", "the journal of SIT has an entry for segment %d, of %d", segno, s.g.MainSegments)
			break
		}
	}
	if why := s.s.natBitsFault(); why != "" {
		s.refused("cp-layout", "%s", why)
	}
	if s.s.oldLargeNat() {
		s.refused("cp-layout", "the large NAT bitmap is where old versions had it, and Linux does not mount that")
	}
}

// counts are the numbers that [Linux] f2fs_sanity_check_ckpt looks at.
func (s *scanner) counts() {
	cp, g := s.s.cp, s.g
	if start := cp.startSum(); start < 1+g.CPPayload { // how late it may be, see checkSizes
		s.refused("sb-payload-pack", "the summaries start at block %d of the pack, behind a payload of %d blocks", start, g.CPPayload)
	}
	if why := g.reserveFault(cp); why != "" {
		s.refused("cp-reserve", "%s", why)
	}
	user := cp.userBlocks()
	if why := g.userBlocksFault(user, cp.validBlocks()); why != "" {
		s.refused("cp-user-blocks", "%s", why)
	}
	if n := cp.validNodes(); n > g.NIDs()-rootIno {
		s.refused("cp-counts", "%d nodes are more than NAT has room for, %d", n, g.NIDs())
	}
}

// logs says where the six logs write that cannot.
func (s *scanner) logs() {
	for _, f := range s.s.logFaults() {
		s.refused(f.slug, "log %d: %s", f.log, f.detail)
	}
}

// orphans reads the list of files that were deleted while open.
func (s *scanner) orphans() error {
	list, faults, err := s.s.readOrphans(s.d)
	if err != nil {
		return err
	}
	for _, f := range faults {
		s.refused("orphan-count", "a block of the list of orphans has %d entries, and room for %d", f.count, f.room)
	}
	s.note("orphans", s.g.BlockOff(s.s.p.start+1+s.s.payload), len(list))
	if len(list) > 0 {
		s.pending("orphans", "%d files were deleted while they were open: the mount frees them", len(list))
	}
	for _, ino := range list {
		if ino < rootIno || ino >= s.g.NIDs() {
			s.refused("orphan-invalid", "the list of orphans has inode %d, which cannot be", ino)
			break
		}
	}
	return nil
}

// replay follows the log of what was synced since the checkpoint. [Linux]
// replays it whatever the checkpoint says of the last unmount.
func (s *scanner) replay(ctx context.Context) error {
	rec, err := readRecovery(ctx, s.d, s.g, s.s)
	if err != nil {
		return err
	}
	s.rec = rec
	s.note("replay_nodes", 0, rec.nodes)
	switch {
	case rec.nodes > 0:
		s.pending("replay", "files were synced after the checkpoint: the mount replays a log of %d nodes", rec.nodes)
	case s.s.leftMounted():
		s.pending("not-unmounted", "the volume was not unmounted; there is nothing to replay")
	}
	if why := rec.why(); why != "" {
		s.say("replay-address", "%s: the mount gives the log up half way", why)
	}
	return nil
}

// root looks at the inode of the root directory as a mount does.
func (s *scanner) root() error {
	e, err := s.s.readNAT(s.d, rootIno)
	if err != nil {
		return err
	}
	addr := e.addr()
	if e.ino() != rootIno || !s.g.ValidMain(addr) || s.g.BlockOff(addr)+s.g.BlockSize > s.d.Size() {
		s.refused("root-lost", "NAT has the root directory as inode %d at block %#x", e.ino(), addr)
		return nil
	}
	b, err := readBlock(s.d, s.g, addr)
	if err != nil {
		return err
	}
	n := nodeBlock(b)
	switch {
	case n.nid() != rootIno || n.ino() != rootIno:
		s.refused("root-lost", "the block of the root directory is node %d of inode %d", n.nid(), n.ino())
	case !n.isDir() || n.links() == 0 || n.size() == 0 || n.blocks() == 0:
		s.refused("root-lost", "the root directory has mode %#o, %d links, %d bytes and %d blocks", n.mode(), n.links(), n.size(), n.blocks())
	case n.hasExtra() && !s.g.Has(featExtraAttr): // [Linux] behaviour sanity_check_inode()
		s.refused("sb-feature-lost", "the root directory has extra attributes, and the feature extra_attr is off")
	case s.g.Has(featInodeChecksum) && n.hasSum() && n.checksum() != inodeSum(inodeSeed(s.sb.uuid()), n):
		s.refused("inode-checksum", "the checksum of the root directory's inode is wrong")
	}
	return nil
}

// load reads SIT and NAT, with plugged readahead (see loadTables), and counts
// free segments.
func (s *scanner) load(ctx context.Context, window int64) error {
	t, stats, err := s.s.loadTables(ctx, s.d, window)
	s.out.Load = vol.Load{Bytes: stats.Bytes, Reads: stats.Reads, Readahead: stats.Readahead}
	if err != nil {
		return err
	}
	s.tableFaults(t)
	free := s.s.freeSegments(t.sit, s.rec.segments)
	s.note("free_segments", 0, free.segments)
	s.note("free_sections", 0, free.sections)
	s.note("nodes", 0, t.inUse())
	s.out.Counted = true
	s.out.FreeClusters = uint64(free.segments) * segmentBlocks
	s.out.FreeExtents, s.out.LargestFreeExtent = uint64(free.runs), uint64(free.largest)*segmentBlocks
	left := s.available()
	s.out.Available = &left
	return nil
}

// available is how many blocks files can take: what statfs(2) gives as free, by
// [Linux] f2fs_statfs(). It is none where the counts contradict each other, which is no
// mount, and on a volume that nothing is written to after it was made.
func (s *scanner) available() uint64 {
	user, valid := s.s.cp.userBlocks(), s.s.cp.validBlocks()
	if valid > user || s.g.ReadOnly() {
		return 0
	}
	return user - valid
}

// tableFaults says what of SIT and NAT a mount refuses: [Linux]
// build_sit_entries, sanity_check_curseg, f2fs_build_free_nids.
func (s *scanner) tableFaults(t *tables) {
	if n := len(t.sit.bad); n > 0 {
		f := t.sit.bad[0]
		s.refused(f.slug, "SIT contradicts itself in %d segments, the first is %d: %d where %d is right", n, f.segno, f.got, f.want)
	}
	for _, f := range s.s.usedLogs(t.sit) {
		s.refused(f.slug, "log %d: %s", f.log, f.detail)
	}
	for _, f := range s.s.countFaults(t.sit) {
		s.refused("cp-counts", "%s", f.detail)
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.addr == newAddr {
			s.refused("nat-address", "node %d is reserved and was never written, as is possible in memory only", n.nid)
			break
		}
	}
}
