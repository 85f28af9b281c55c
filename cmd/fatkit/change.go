package main

import (
	"context"
	"errors"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// volumeChange is what a command is told that makes one change of a volume.
type volumeChange struct {
	image  string
	undo   undoFlags
	open   vol.OpenOptions
	dryRun bool // stage it, which tells whether it can be done, and write nothing
}

// change opens the one volume in an image, has stage change it, and commits what
// that staged.
func (a *app) change(ctx context.Context, c volumeChange, stage func(*target, vol.Volume) error) (stats dev.CommitStats, err error) {
	t, err := a.openTarget(ctx, c.image, c.undo, c.dryRun)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	txn, d, err := t.begin()
	if err != nil {
		return stats, err
	}
	defer txn.Rollback()
	v, err := t.openVolume(ctx, a, d, c.open, c.dryRun)
	if err != nil {
		return stats, err
	}
	if err := stage(t, v); err != nil || c.dryRun {
		return stats, err
	}
	return a.commit(ctx, t.image, txn, t.undo, t.keep)
}

// openVolume opens the volume on d, a transaction. What free clusters hold goes
// around it, straight to the image, unless nothing is to be written at all.
func (t *target) openVolume(ctx context.Context, a *app, d dev.Device, o vol.OpenOptions, dry bool) (vol.Volume, error) {
	now, err := a.clock()
	if err != nil {
		return nil, err
	}
	o.Now = now
	if !dry {
		if o.Raw, err = t.volume(t.file); err != nil {
			return nil, err
		}
	}
	return t.drv.Open(ctx, d, o)
}
