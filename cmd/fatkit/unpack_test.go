package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// A bomb ends at the bound, takes no room for its zeros, and leaves nothing behind.
func TestBomb(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var bomb string
	for _, p := range devtest.Packings() {
		path := filepath.Join(t.TempDir(), "bomb.img")
		n := 64 << 20
		if p == "xz" {
			n = 8 << 20 // it is slow
		}
		if err := os.WriteFile(path, devtest.Pack(t, p, make([]byte, n)), 0o644); err != nil {
			t.Fatal(err)
		}
		realRun(t, "check", "--max-size", "1M", path).want(t, exitFailed, "too large unpacked")
		realRun(t, "check", path).want(t, exitFailed, "neither a file system")
		a := newApp(drivers(), nil, io.Discard, io.Discard)
		im, err := a.open(t.Context(), path, dev.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if im.packed != p || im.file.Size() != int64(n) || im.file.Path() != path {
			t.Errorf("%s: %q, %d bytes, %s", p, im.packed, im.file.Size(), im.file.Path())
		}
		if took := im.file.Allocated(); took > 1<<20 && took != int64(n) { // or the system does not tell
			t.Errorf("%s: %d bytes on disk", p, took)
		}
		if _, err := im.file.WriteAt([]byte("x"), 0); !errors.Is(err, dev.ErrReadOnly) {
			t.Errorf("%s: %v", p, err)
		}
		if err := im.Close(); err != nil {
			t.Error(err)
		}
		bomb = path
	}
	a := newApp(drivers(), nil, io.Discard, io.Discard) // as of a command without --max-size
	a.maxSize = 1 << 20
	if _, err := a.open(t.Context(), bomb, dev.OpenOptions{}); !errors.Is(err, dev.ErrTooLarge) || strings.Contains(err.Error(), "--max-size") {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Unpacking that is cancelled ends, with the code for that.
func TestUnpackCancelled(t *testing.T) {
	f := newFake(t)
	f.write(f.image, devtest.Pack(t, "gzip", make([]byte, 8<<20)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.runWith(ctx, "check", "IMAGE").want(t, exitCancelled)
}
