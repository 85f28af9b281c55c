package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Exit codes are the bits of fsck(8); over several images they are ORed.
const (
	exitOK        = 0
	exitCorrected = 1  // errors were found and corrected
	exitLeft      = 4  // errors are left, or a request cannot be met
	exitFailed    = 8  // could not be carried out
	exitUsage     = 16 // the command line makes no sense
	exitCancelled = 32 // the user stopped it
)

// usageError is a command line that makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == vol.ErrUsage }

// usagef is a usage error.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// requestf is a request that cannot be met: nothing was changed.
func requestf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", vol.ErrRequest, fmt.Sprintf(format, args...))
}

// imageError is an error with the image it belongs to.
type imageError struct {
	image string
	err   error
}

func (e *imageError) Error() string { return e.err.Error() }
func (e *imageError) Unwrap() error { return e.err }

// about says which image err belongs to; nil stays nil.
func about(image string, err error) error {
	if err == nil {
		return nil
	}
	return &imageError{image, err}
}

// unchecked is an error for which a check or a scan could not be carried out.
type unchecked struct{ err error }

func (e *unchecked) Error() string { return e.err.Error() }
func (e *unchecked) Unwrap() error { return e.err }

// notChecked marks err so; nil stays nil.
func notChecked(err error) error {
	if err == nil {
		return nil
	}
	return &unchecked{err}
}

// imageOf is the image that err belongs to, or "".
func imageOf(err error) string {
	var e *imageError
	if errors.As(err, &e) {
		return e.image
	}
	return ""
}

// cause is a row of the table by which errors become kinds and exit codes.
type cause struct {
	err  error
	kind string
	code int
}

// causes is that table; the first row that fits counts. What could not be taken
// back comes before the cancel that may have led to it, and a format's own
// verdict before what the system said below it.
func causes() []cause {
	return []cause{
		{dev.ErrNotRestored, "undo", exitFailed},
		{context.Canceled, "cancelled", exitCancelled},
		{vol.ErrUsage, "usage", exitUsage},
		{vol.ErrDirty, "dirty", exitLeft},
		{vol.ErrRequest, "request", exitLeft},
		{vol.ErrNotVolume, "not-a-volume", exitFailed},
		{vol.ErrDamaged, "damaged", exitFailed},
		{dev.ErrUndoExists, "request", exitLeft},
		{dev.ErrUndoDamaged, "undo", exitFailed},
		{dev.ErrUndoForeign, "undo", exitFailed},
		{dev.ErrUndoStale, "undo", exitFailed},
		{dev.ErrLocked, "locked", exitFailed},
		{dev.ErrMounted, "mounted", exitFailed},
		{dev.ErrInUse, "mounted", exitFailed},
		{dev.ErrNotImage, "not-a-volume", exitFailed},
		{dev.ErrEmpty, "not-a-volume", exitFailed},
		{fs.ErrNotExist, "not-found", exitFailed},
		{fs.ErrExist, "request", exitLeft},
		{fs.ErrPermission, "permission", exitFailed},
		{syscall.EROFS, "permission", exitFailed},
	}
}

// classify says what kind of error err is, and the exit code for it. Of a check 4 says
// that errors are left in a volume, which cannot be said where none was looked at:
// fsck(8) has 8 for that, whatever the reason.
func classify(err error) (kind string, code int) {
	if err == nil {
		return "", exitOK
	}
	for _, c := range causes() {
		if !errors.Is(err, c.err) {
			continue
		}
		var u *unchecked
		if c.code == exitLeft && errors.As(err, &u) {
			return c.kind, exitFailed
		}
		return c.kind, c.code
	}
	return "io", exitFailed
}

// halfway is an error of work that cannot be taken back and need not be; its
// text says what has been done.
type halfway struct {
	text string
	err  error
}

func (e *halfway) Error() string { return e.text + ": " + e.err.Error() }
func (e *halfway) Unwrap() error { return e.err }

// once leaves out what a text repeats: a request cannot be met because of an entry
// that cannot be.
func once(text, phrase string) string {
	first, rest, ok := strings.Cut(text, phrase)
	if !ok {
		return text
	}
	return first + phrase + strings.ReplaceAll(rest, phrase, "")
}

// explainError is err in one line for a person, with what to do where we know.
func explainError(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	var half *halfway
	text = strings.TrimPrefix(text, vol.ErrUsage.Error()+": ")
	text = once(text, vol.ErrRequest.Error()+": ")
	switch {
	case errors.Is(err, dev.ErrNotRestored):
		return text + `; run "fatkit undo" on it as soon as the cause is gone`
	case errors.As(err, &half):
		return text
	case errors.Is(err, context.Canceled):
		return "cancelled; the image is as it was"
	case errors.Is(err, vol.ErrDirty):
		return text + `; "fatkit check" says what is wrong with it, and repairs it with -p or -y`
	case errors.Is(err, dev.ErrUndoUnread):
		return text + `; "fatkit undo --force" writes over it what the log has`
	case errors.Is(err, dev.ErrUndoExists):
		return text + `; take it back with "fatkit undo", remove the log, or name another one with --undo`
	case errors.Is(err, syscall.EFBIG):
		return text + ": the file system that it is on, or ulimit -f, has a limit below that"
	case errors.Is(err, dev.ErrMounted):
		return text + "; unmount it first"
	}
	return text
}
