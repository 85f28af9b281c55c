package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// undoFlags are the flags of every command that changes a volume.
type undoFlags struct {
	file string // --undo
	keep bool   // --keep-undo
}

func undoFlagList() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "undo", TakesFile: true, Usage: "write the undo log to `FILE`", DefaultText: "IMAGE" + undoSuffix},
		toggle("keep the undo log, so that \"fatkit undo\" can take this run back", "keep-undo"),
	}
}

func readUndoFlags(c *cli.Context) undoFlags {
	return undoFlags{file: c.String("undo"), keep: c.Bool("keep-undo")}
}

// undoSuffix is what the name of an undo log ends in.
const undoSuffix = ".fatkit-undo"

// journal is the undo log of an open image: that which --undo names, or beside the
// image or, for a block device, which has no place beside it that survives a
// reboot, among the user's state.
func (a *app) journal(ctx context.Context, im *image, explicit string) (dev.Journal, error) {
	if explicit != "" || !im.file.IsBlock() {
		return fileJournal(im.file.Path(), explicit)
	}
	return a.deviceJournal(ctx, im.file.Path(), im.file)
}

// placeFor reports whether a log that is not there could be made: now, and not when the
// free clusters that a change fills are written already.
func placeFor(log string) error {
	if _, err := os.Lstat(log); err == nil {
		return usagef("--undo %s: it is a symbolic link to nothing", log)
	}
	if _, err := os.Stat(filepath.Dir(log)); errors.Is(err, fs.ErrNotExist) {
		return usagef("--undo %s: there is no directory %s", log, filepath.Dir(log))
	}
	return nil
}

// fileJournal is the undo log of the image file at path. Links are followed, so
// that a log is found whatever name the image is given.
func fileJournal(path, explicit string) (dev.Journal, error) {
	if explicit != "" {
		// A log is removed in the end, and nobody wants that of /dev/null.
		fi, err := os.Stat(explicit)
		if err == nil && !fi.Mode().IsRegular() {
			return nil, usagef("--undo %s: it is no regular file", explicit)
		}
		if image, e := os.Stat(path); err == nil && e == nil && os.SameFile(fi, image) {
			return nil, usagef("--undo %s: that is the image itself", explicit)
		}
		if errors.Is(err, fs.ErrNotExist) {
			if err := placeFor(explicit); err != nil {
				return nil, err
			}
		}
		return dev.FileJournal(explicit), nil
	}
	if direct, err := filepath.EvalSymlinks(path); err == nil {
		path = direct
	}
	name := path + undoSuffix
	if fi, err := os.Lstat(name); err == nil && !fi.Mode().IsRegular() {
		return nil, requestf("%s is no regular file, but where the undo log goes; remove it, or name another place with --undo", name)
	}
	return dev.FileJournal(name), nil
}

// settle is the undo log of a command on im, after what the logs of runs before
// call for was done, or said where the command only reads. That is the log that
// --undo names and also the usual one: a run that was interrupted must not stay
// half done because the next has its log elsewhere, and be restored by the one
// after that. With strict a kept log that is in the way is an error; else it is
// one only when there is something to write.
func (a *app) settle(ctx context.Context, im *image, u undoFlags, writes, strict bool) (dev.Journal, error) {
	j, err := a.journal(ctx, im, u.file)
	if err != nil {
		if !writes && !cancelled(ctx) {
			return nil, nil // there is no place for one, and no need
		}
		return nil, err
	}
	if u.file != "" {
		if usual, err := a.journal(ctx, im, ""); err == nil && usual.Name() != j.Name() {
			if err := a.settleOne(ctx, im, usual, writes, false); err != nil {
				return nil, err
			}
		}
	}
	return j, a.settleOne(ctx, im, j, writes, strict)
}

func (a *app) settleOne(ctx context.Context, im *image, j dev.Journal, writes, strict bool) error {
	if !writes {
		a.reportUndo(ctx, im, j)
		return nil
	}
	return a.settleUndo(ctx, im, j, strict)
}

// unfinished looks at a log of which the library knows only that it begins with
// zeros: that is what an unfinished one does, and what may be removed without a
// loss, but many a disk image does so, too. Our own names, and empty files, are
// beyond doubt.
func unfinished(j dev.Journal) error {
	fi, err := os.Stat(j.Name())
	if err != nil || fi.Size() == 0 || strings.HasSuffix(j.Name(), undoSuffix) {
		return err
	}
	return requestf("%s is an undo log that was never finished, or something else; remove it, or name another one with --undo", j.Name())
}

// reportUndo tells a user who only reads of a log that waits to be applied.
func (a *app) reportUndo(ctx context.Context, im *image, j dev.Journal) {
	info, err := dev.InspectUndo(ctx, j, im.file)
	switch {
	case cancelled(ctx): // the command says so
	case err != nil:
		a.note("%s: %v", j.Name(), err)
	case info.State == dev.UndoArmed:
		a.note("%s: a run (%s) was interrupted while it wrote; what follows is the state it left.\n"+
			"fatkit: \"fatkit undo %s\" restores the state before it, and so does any command that writes.",
			im.arg, printable(info.Label), shellWord(im.arg))
	case info.State == dev.UndoStale && info.Cut:
		a.note("%v", changedSince(im, j, info))
	case info.State == dev.UndoDamaged:
		a.note("%s: %v", j.Name(), info.State.Err())
	}
}

// changedSince says that an interrupted run cannot simply be taken back: a system
// that mounted the image since, or another tool, has written to the same places.
func changedSince(im *image, j dev.Journal, info dev.UndoInfo) error {
	return fmt.Errorf("%s: a run (%s) was interrupted while it wrote, and then %w: \"fatkit undo --force %s\" puts back what the log holds, over what was written since; to go on with the image as it is, remove %s and check it",
		im.arg, printable(info.Label), dev.ErrUndoStale, shellWord(im.arg), j.Name())
}

// settleUndo does what an undo log found beside an image calls for before
// anything is written: an interrupted run is taken back, one that never began
// is forgotten, and what we must not touch is an error. With strict a kept log
// is one, too.
func (a *app) settleUndo(ctx context.Context, im *image, j dev.Journal, strict bool) error {
	info, err := dev.InspectUndo(ctx, j, im.file)
	if err != nil {
		return fmt.Errorf("%s: %w", j.Name(), err)
	}
	switch info.State {
	case dev.UndoNone:
		return nil
	case dev.UndoIncomplete:
		if err := unfinished(j); err != nil {
			return err
		}
		a.note("%s: removing %s: its run had not begun to write, or was done", im.arg, j.Name())
		return j.Remove()
	case dev.UndoArmed:
		a.note("%s: a run (%s) was interrupted while it wrote; restoring the state before it from %s", im.arg, printable(info.Label), j.Name())
		_, err := dev.ApplyUndo(ctx, j, im.file)
		return a.tolerate(err)
	case dev.UndoFinished, dev.UndoStale:
		if info.Cut {
			return changedSince(im, j, info)
		}
		if strict {
			return kept(im, j)
		}
		return nil
	}
	return fmt.Errorf("%s: %w; if it is of no use any more, remove it", j.Name(), info.State.Err())
}

// kept refuses to write over a log that the user asked to keep.
func kept(im *image, j dev.Journal) error {
	return fmt.Errorf("%w: %s is the kept undo log of a run before; remove it, take that run back with \"fatkit undo %s\", or name another log with --undo",
		vol.ErrRequest, j.Name(), shellWord(im.arg))
}

// tolerate lets a change pass that is done and durable where only its undo log
// could not be removed.
func (a *app) tolerate(err error) error {
	if errors.Is(err, dev.ErrUndoLeft) {
		a.note("%v", err)
		return nil
	}
	return err
}

// commit writes a transaction through the undo log j, which guards what is to stay as
// it is for the log to be worth anything.
func (a *app) commit(ctx context.Context, im *image, txn *dev.Txn, j dev.Journal, keep bool, guard []dev.Range) (dev.CommitStats, error) {
	if !txn.Dirty() {
		return dev.CommitStats{}, nil
	}
	m := a.aside("writing")
	defer m.clear()
	stats, err := txn.Commit(ctx, dev.CommitOptions{
		Undo: j, Keep: keep, Guard: guard, Label: "fatkit " + a.command, Progress: m.update,
	})
	if errors.Is(err, dev.ErrUndoExists) {
		return stats, kept(im, j)
	}
	if err = a.tolerate(err); err == nil && keep {
		a.note("%s: \"fatkit undo %s\" takes this run back, from %s", im.arg, shellWord(im.arg), j.Name())
	}
	return stats, noPlace(err)
}

// noPlace adds to an error of making an undo log that it can be elsewhere: the
// directory of the image may be full, or not ours to write to.
func noPlace(err error) error {
	var e *dev.Error
	if errors.As(err, &e) && strings.Contains(e.Op, "undo log") && !errors.Is(err, dev.ErrNotRestored) {
		return fmt.Errorf("%w; --undo FILE puts the log elsewhere", err)
	}
	return err
}
