package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// InspectUndo says what log j has for the image d: it reads and checks all of
// the log, and writes nothing. The error is about reading, or ctx's: a log that must
// be refused is no error but a state. With an error the state is UndoNone, unless d is
// surely what the log is of. ErrUndoUnread is that parts of the image cannot be read.
func InspectUndo(ctx context.Context, j Journal, d Device) (UndoInfo, error) {
	lf, err := j.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return UndoInfo{State: UndoNone}, nil
	}
	if err != nil {
		return UndoInfo{}, wrap("open undo log", j.Name(), Range{}, err)
	}
	defer lf.Close()
	u := undoReader{lf: lf, name: j.Name()}
	err = u.verify(ctx, d)
	return u.info, err
}

// ApplyUndo restores the image d from the log j and removes the log. It checks
// all of the log first and refuses it with ErrUndoDamaged, ErrUndoForeign or
// ErrUndoStale, with ErrUndoUnread if it cannot be held against the image, and
// fs.ErrNotExist says that there is none. An incomplete log is removed, for there is nothing to restore.
//
// The end of ctx keeps it from beginning to write, and does not stop it any more then:
// half restored an image is of no use, and to put it back again takes as long. The log
// is removed when the restored image is durable, so what an error or a power cut
// interrupts can be called again.
func ApplyUndo(ctx context.Context, j Journal, d Device) (UndoInfo, error) {
	return applyUndo(ctx, j, d, false)
}

// ForceUndo is ApplyUndo that also applies a stale log: what was written since to
// the places that it restores is lost, and what was written elsewhere may make no
// sense any more. It writes over places that cannot be read, which info.Unread
// counts; what cannot be written is left and is the error, after all else is restored.
func ForceUndo(ctx context.Context, j Journal, d Device) (UndoInfo, error) {
	return applyUndo(ctx, j, d, true)
}

func applyUndo(ctx context.Context, j Journal, d Device, force bool) (UndoInfo, error) {
	lf, err := j.Open()
	if err != nil {
		return UndoInfo{}, wrap("open undo log", j.Name(), Range{}, err)
	}
	u := undoReader{lf: lf, name: j.Name(), force: force}
	if err := u.apply(ctx, j, d); err != nil {
		_ = lf.Close()
		return u.info, err
	}
	if err := removeLog(j, lf); err != nil {
		return u.info, fmt.Errorf("%w: %w", ErrUndoLeft, err)
	}
	return u.info, nil
}

// apply leaves a log that can be removed.
func (u *undoReader) apply(ctx context.Context, j Journal, d Device) error {
	if err := u.verify(ctx, d); err != nil {
		return err
	}
	if err := u.info.State.Err(); err != nil && !(u.force && u.info.State == UndoStale) {
		return &Error{Op: "undo", Path: u.name, Err: err}
	}
	if u.info.State == UndoIncomplete {
		return nil
	}
	if d.Limits().ReadOnly {
		return &Error{Op: "undo", Err: ErrReadOnly}
	}
	if err := cancelled(ctx, "undo"); err != nil {
		return err
	}
	if !u.info.Cut {
		// From the first write on the image is neither old nor new, so the
		// log must stop saying that it is new.
		if err := u.rearm(); err != nil {
			return err
		}
	}
	if err := u.restore(context.WithoutCancel(ctx), d); err != nil {
		return err
	}
	return disarm(j, u.lf)
}

// rearm takes the mark of a finished commit away, durably.
func (u *undoReader) rearm() error {
	_, err := u.lf.WriteAt(make([]byte, undoSector), undoSector)
	if err == nil {
		err = u.lf.Sync()
	}
	if err != nil {
		return &Error{Op: "write undo log", Path: u.name, Err: err}
	}
	return nil
}
