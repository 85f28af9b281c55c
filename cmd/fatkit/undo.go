package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// undoDoc is what undo --json prints.
type undoDoc struct {
	Schema string `json:"schema"`
	Image  string `json:"image"`
	Log    string `json:"log"`
	State  string `json:"state"` // what the log was: armed, finished, incomplete
	Label  string `json:"label"` // the run that is taken back
	Blocks int    `json:"blocks"`
	Bytes  int64  `json:"bytes_restored"`
	Unread int64  `json:"bytes_unreadable,omitempty"` // of these, what could not be read and was written over
}

func (a *app) undoCommand() *cli.Command {
	return &cli.Command{
		Name:      "undo",
		Usage:     "take the last run back, if it was interrupted or its log was kept",
		ArgsUsage: "IMAGE",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "undo", TakesFile: true, Usage: "the undo log is `FILE`", DefaultText: "IMAGE" + undoSuffix},
			toggle("restore although the image was changed since, which is lost where the run had written, or cannot be read there", "force", "f"),
		},
		Action: a.undo,
	}
}

func (a *app) undo(c *cli.Context) error {
	name, err := one(c)
	if err != nil {
		return err
	}
	return about(name, a.undoImage(c.Context, name, c.String("undo"), c.Bool("force")))
}

func (a *app) undoImage(ctx context.Context, name, log string, force bool) (err error) {
	im, err := a.open(ctx, name, dev.OpenOptions{Write: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	j, err := a.journal(ctx, im, log)
	if err != nil {
		return err
	}
	info, err := takeBack(ctx, j, im.file, force)
	if errors.Is(err, fs.ErrNotExist) && log == "" {
		return fmt.Errorf("%w: there is nothing to undo: no log %s", vol.ErrRequest, j.Name())
	}
	if err = a.tolerate(err); err != nil {
		return err
	}
	d := undoDoc{Schema: "fatkit.undo/1", Image: name, Log: j.Name(), State: info.State.String(),
		Label: info.Label, Blocks: info.Blocks, Bytes: info.Bytes, Unread: info.Unread}
	a.printUndo(d, info.State)
	return nil
}

// takeBack applies the log j to d, unless it may be something else than a log.
func takeBack(ctx context.Context, j dev.Journal, d dev.Device, force bool) (dev.UndoInfo, error) {
	info, err := dev.InspectUndo(ctx, j, d)
	if err != nil && !(force && errors.Is(err, dev.ErrUndoUnread)) {
		return info, err
	}
	if info.State == dev.UndoIncomplete {
		if err := unfinished(j); err != nil {
			return info, err
		}
	}
	if force {
		return dev.ForceUndo(ctx, j, d)
	}
	return dev.ApplyUndo(ctx, j, d)
}

func (a *app) printUndo(d undoDoc, state dev.UndoState) {
	switch {
	case a.json:
		a.printJSON(d)
	case a.quiet:
	case state == dev.UndoIncomplete:
		a.printf("%s: nothing to take back: the run had not begun to write, or was done; its log is removed\n", printable(d.Image))
	default:
		a.printf("%s: taken back: %s\n", printable(d.Image), printable(d.Label))
		if d.Unread > 0 {
			a.printf("%s: %d bytes of it could not be read; what the log has was written over them\n", printable(d.Image), d.Unread)
		}
		if a.verbose {
			a.printf("%s: %d bytes restored in %s from %s, which was %s\n", printable(d.Image), d.Bytes,
				plural(uint64(d.Blocks), "place", "places"), printable(d.Log), d.State)
		}
	}
}
