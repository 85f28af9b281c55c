package lfs

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// What a change does not build on, each with words of its own, before anything
// is written: what this package does not know how to write is vol.ErrRequest,
// what a mount or a check must see to first is vol.ErrDirty, and what is broken
// vol.ErrDamaged.

func damagedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", vol.ErrDamaged, textf(format, args...))
}

// refuseSuper looks at what the superblock says.
func (l *loaded) refuseSuper(o loadOptions) error {
	g := l.g
	switch {
	case g.Features&^featKnown != 0:
		return vol.Refusef("features %s are not known: what may be written is not, either", hex(g.Features&^featKnown))
	case g.Has(featZoned):
		return vol.Refusef("the volume is on zones, which take writes in one order only; this version does not write those")
	case g.Has(featDeviceAlias):
		return vol.Refusef("the volume has files that stand for whole devices (device_alias); this version does not write it")
	case g.Devices > 0:
		return vol.Refusef("the volume is on %d devices, of which this is one", g.Devices)
	case g.ReadOnly() && !o.fresh:
		return errReadOnly()
	case g.BlockSize != minBlock:
		return vol.Refusef("blocks have %d bytes: this version changes only volumes with blocks of %d; it formats, checks, repairs and reads others", g.BlockSize, minBlock)
	case l.sb.unknownEncoding():
		return damagedf("names are in encoding %d, which is not known; run check -p", l.sb.u16(sbEncoding))
	case g.VolumeBytes() > l.d.Size():
		return damagedf("the volume has %d bytes, and only %d are there", g.VolumeBytes(), l.d.Size())
	case o.force:
		return nil
	case !dev.AllZero(l.sb.stopReasons()):
		return vol.Dirtyf("the kernel stopped writing to it, %s; run check -p", bytesText(l.sb.stopReasons()))
	case !dev.AllZero(l.sb.errors()):
		return vol.Dirtyf("the kernel met errors on it, %s; run check -p", bytesText(l.sb.errors()))
	}
	return nil
}

func errReadOnly() error {
	return vol.Refusef("the volume has the feature ro: nothing can be written to it after it was made")
}

// refusePack looks at what the checkpoint says.
func (l *loaded) refusePack(ctx context.Context, o loadOptions) error {
	cp := l.s.cp
	switch {
	case cp.has(cpError):
		return vol.Dirtyf("the checkpoint was written after an I/O error; run check -p")
	case cp.has(cpDisabled | cpDisabledQuick):
		return vol.Dirtyf("checkpoints are disabled: mount the volume with checkpoint=enable first")
	case cp.has(cpResize):
		return vol.Dirtyf("a resize was interrupted, and must be carried out first")
	case cp.flags()&^cpKnown != 0:
		return vol.Refusef("flags %s of the checkpoint are not known", hex(cp.flags()&^cpKnown))
	case l.s.oldLargeNat():
		return damagedf("the large NAT bitmap is where old versions had it")
	case !l.sumPlaced():
		return vol.Refusef("the checksum of the checkpoint is at byte %d, where this version does not write it", cp.checksumOffset())
	case len(l.s.longJournals) > 0:
		return damagedf("%s", l.s.longJournals[0].detail)
	}
	if err := l.refuseLog(ctx); err != nil {
		return err
	}
	if l.g.ReadOnly() && o.fresh && cp.validInodes() > l.g.newInodes() {
		return errReadOnly()
	}
	if err := l.refuseCounts(); err != nil || o.force {
		return err
	}
	switch {
	case cp.has(cpFsck):
		return vol.Dirtyf("the kernel asks for a check; run check -p")
	case cp.has(cpQuotaFsck):
		return vol.Dirtyf("quotas need a check; run check -p")
	case cp.has(cpOrphans):
		return vol.Dirtyf("files that were deleted while open are still to be freed: check -p does that, or a mount")
	}
	return nil
}

// sumPlaced tells whether the checksum of the checkpoint is at the end of its
// block or, with a large NAT bitmap, in front of that: nothing of the bitmaps is
// there then.
func (l *loaded) sumPlaced() bool {
	off := int64(l.s.cp.checksumOffset())
	return off == l.g.BlockSize-4 || l.s.cp.has(cpLargeNat) && off == cpBitmaps
}

// refuseLog refuses a volume that was not unmounted: what was synced since the
// checkpoint is in the log, and a new checkpoint would forget it.
func (l *loaded) refuseLog(ctx context.Context) error {
	rec, err := readRecovery(ctx, l.d, l.g, l.s)
	switch {
	case err != nil:
		return err
	case rec.nodes > 0 && rec.why() != "":
		return vol.Dirtyf("the log has to be replayed and is damaged: %s; check -y --discard-log gives up what was synced since the last checkpoint", rec.why())
	case rec.nodes > 0:
		return vol.Dirtyf("the log has to be replayed, %d nodes: check -p does that, as a mount would; check -y --discard-log gives up what was synced since the last checkpoint", rec.nodes)
	case l.s.leftMounted():
		return vol.Dirtyf("it was not unmounted: check -p writes the checkpoint that is missing, or a mount does")
	}
	return nil
}

// refuseCounts looks at the numbers of the checkpoint that a kernel looks at
// before it mounts, [Linux] behaviour f2fs_sanity_check_ckpt.
func (l *loaded) refuseCounts() error {
	cp, g := l.s.cp, l.g
	start := cp.startSum()
	switch {
	case start < 1+g.CPPayload:
		return damagedf("checkpoint: the summaries start at block %d of the pack, behind a payload of %d blocks", start, g.CPPayload)
	case g.reserveFault(cp) != "":
		return damagedf("checkpoint: %s", g.reserveFault(cp))
	case cp.validNodes() > g.NIDs()-rootIno || cp.validInodes() > cp.validNodes():
		return damagedf("checkpoint: %d inodes among %d nodes, and NAT has room for %d", cp.validInodes(), cp.validNodes(), g.NIDs())
	}
	if why := g.userBlocksFault(cp.userBlocks(), cp.validBlocks()); why != "" {
		return damagedf("checkpoint: %s", why)
	}
	for _, f := range l.s.logFaults() {
		return damagedf("log %d: %s", f.log, f.detail)
	}
	for log := range logCount {
		if l.s.logs[log] == nil {
			return damagedf("log %d: the checkpoint has no summary of it", log)
		}
	}
	return nil
}

// refuseTables looks at SIT. Who builds on one that is wrong overwrites what is
// in use.
func (l *loaded) refuseTables() error {
	if n := len(l.sit.bad); n > 0 {
		f := l.sit.bad[0]
		return damagedf("SIT contradicts itself in %d segments, the first is %d: %d where %d is right; run check -y", n, f.segno, f.got, f.want)
	}
	for _, f := range append(l.s.usedLogs(l.sit), l.s.summaryFaults()...) {
		return damagedf("log %d: %s; run check -y", f.log, f.detail)
	}
	for _, f := range l.s.countFaults(l.sit) {
		return damagedf("%s; run check -y", f.detail)
	}
	return nil
}
