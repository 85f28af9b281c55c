package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

func TestClassify(t *testing.T) {
	wrapped := func(err error) error { return about("card.img", &dev.Error{Op: "read", Path: "card.img", Err: err}) }
	for _, c := range []struct {
		err  error
		kind string
		code int
	}{
		{nil, "", 0},
		{usagef("what?"), "usage", 16},
		{fmt.Errorf("%w: cluster size", vol.ErrUsage), "usage", 16},
		{requestf("no"), "request", 4},
		{fmt.Errorf("%w: %w", vol.ErrRequest, fs.ErrNotExist), "request", 4},
		{notChecked(about("card.img", requestf("no"))), "request", 8},
		{about("card.img", notChecked(wrapped(dev.ErrUndoExists))), "request", 8},
		{notChecked(usagef("what?")), "usage", 16},
		{notChecked(wrapped(context.Canceled)), "cancelled", 32},
		{notChecked(nil), "", 0},
		{vol.ErrDirty, "dirty", 4},
		{vol.ErrNotVolume, "not-a-volume", 8},
		{vol.ErrDamaged, "damaged", 8},
		{wrapped(fs.ErrNotExist), "not-found", 8},
		{wrapped(fs.ErrPermission), "permission", 8},
		{wrapped(syscall.EACCES), "permission", 8},
		{wrapped(syscall.EROFS), "permission", 8},
		{wrapped(syscall.EEXIST), "request", 4},
		{wrapped(dev.ErrNotImage), "not-a-volume", 8},
		{wrapped(dev.ErrEmpty), "not-a-volume", 8},
		{wrapped(dev.ErrLocked), "locked", 8},
		{wrapped(dev.ErrMounted), "mounted", 8},
		{wrapped(dev.ErrInUse), "mounted", 8},
		{wrapped(dev.ErrUndoForeign), "undo", 8},
		{wrapped(dev.ErrUndoDamaged), "undo", 8},
		{wrapped(dev.ErrUndoExists), "request", 4},
		{wrapped(syscall.EIO), "io", 8},
		{wrapped(syscall.ENOSPC), "io", 8},
		{wrapped(context.Canceled), "cancelled", 32},
		{errors.Join(syscall.EIO, context.Canceled), "cancelled", 32},
		{errors.Join(context.Canceled, dev.ErrNotRestored), "undo", 8},
		{errors.New("what is this"), "io", 8},
	} {
		if kind, code := classify(c.err); kind != c.kind || code != c.code {
			t.Errorf("%v: %s, %d; want %s, %d", c.err, kind, code, c.kind, c.code)
		}
	}
}

func TestExplainErrorIsOneLine(t *testing.T) {
	got := explainError(errors.Join(fmt.Errorf("%w: one", vol.ErrUsage), errors.New("two")))
	if got != "one; two" {
		t.Errorf("%q", got)
	}
	if got := explainError(&halfway{"stopped; half is done", context.Canceled}); !strings.HasPrefix(got, "stopped; half") {
		t.Errorf("%q", got)
	}
}
