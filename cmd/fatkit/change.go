package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

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

// changeFlags are what the flags say that commands have in common which change files
// by their paths.
type changeFlags struct {
	a      *app
	image  string
	force  bool
	dryRun bool
	undo   undoFlags
	read   vol.ReadOptions
}

// readChangeFlags reads them, and which image it is, the first argument.
func (a *app) readChangeFlags(c *cli.Context) (f changeFlags, err error) {
	f = changeFlags{a: a, image: c.Args().First(), force: c.Bool("force"), dryRun: c.Bool("dry-run"), undo: readUndoFlags(c)}
	f.read, err = a.readOptions(c)
	return f, err
}

// change is app.change as the flags say.
func (f *changeFlags) change(ctx context.Context, stage func(*staging) error) (dev.CommitStats, error) {
	return f.a.change(ctx, volumeChange{f.image, f.undo, vol.OpenOptions{Force: f.force, ReadOptions: f.read}, f.dryRun}, stage)
}

// staging is a change that is being staged.
type staging struct {
	*target
	vol vol.Volume // on d
	d   dev.Device // the volume as it will be
	raw dev.Device // the volume below the transaction; nil where nothing is to be written

	opened vol.OpenOptions // how vol was
}

// change opens the one volume in an image, has stage change it, and commits what
// that staged.
func (a *app) change(ctx context.Context, c volumeChange, stage func(*staging) error) (stats dev.CommitStats, err error) {
	t, err := a.openTarget(ctx, c.image, c.undo, c.dryRun)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	txn := dev.Begin(t.file)
	defer txn.Rollback()
	s := &staging{target: t}
	if err := s.open(ctx, a, txn, c); err != nil {
		return stats, err
	}
	guard := t.marks(t.file)
	if err := stage(s); err != nil || c.dryRun {
		return stats, err
	}
	if t.keep {
		freed, err := s.freed(ctx)
		if err != nil {
			return stats, err
		}
		guard = append(guard, freed...)
	}
	return a.commit(ctx, t.image, txn, t.undo, t.keep, guard)
}

// open opens the volume on the transaction. What free clusters hold goes around
// that, straight to the image.
func (s *staging) open(ctx context.Context, a *app, txn *dev.Txn, c volumeChange) (err error) {
	if err := hasPages(s.drv, c.open.ReadOptions); err != nil {
		return err
	}
	o := c.open
	if o.Now, err = a.clock(); err != nil {
		return err
	}
	if s.d, err = s.volume(txn); err != nil {
		return err
	}
	if !c.dryRun {
		if s.raw, err = s.volume(s.file); err != nil {
			return err
		}
	}
	o.Raw = s.raw
	s.opened = o
	if s.vol, err = s.drv.Open(ctx, s.d, o); err == nil && s.id.Note != "" {
		a.note("%s: %s; that stays as it is: see \"fatkit check\"", s.name(s.arg), s.id.Note)
	}
	return err
}
