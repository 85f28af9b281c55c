package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
)

// settleLog is Driver.Settle: it carries out on d what a mount would of the log
// of files that were synced since the checkpoint, with a new checkpoint, as check
// -p does. Files that were deleted while open stay, as no name leads to them. Of
// a volume whose superblocks or checkpoints cannot be used it settles nothing:
// read says what is wrong with that.
func settleLog(ctx context.Context, d dev.Device) (note string, err error) {
	l := &loaded{d: d}
	if l.eitherSuper() != nil || l.unreadable() != nil || l.newestPack() != nil {
		return "", ctx.Err()
	}
	rec, err := readRecovery(ctx, d, l.g, l.s)
	if err != nil || rec.nodes == 0 {
		return "", err
	}
	if why := rec.why(); why != "" {
		return "", damagedf("%s", why)
	}
	c := newReplayer(l, rec)
	if c.orphans, _, err = l.s.readOrphans(d); err == nil {
		err = c.replay(ctx)
	}
	if err == nil {
		err = c.Finish(ctx)
	}
	if err != nil {
		return "", err
	}
	return textf("a log of %d nodes waits for its replay: files are as a mount will show them, and nothing was written; check -p replays it", rec.nodes), nil
}

// newReplayer is a checker of which nothing is asked but to replay a log. As for
// a mount one good pack will do.
func newReplayer(l *loaded, rec *recovery) *checker {
	c := bareChecker(l.d)
	c.sb, c.g, c.s, c.rec = l.sb, l.g, l.s, rec
	return c
}
