package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"
)

// TestCancelledWhileNobodyReads: a run that is cancelled ends also where it waits for
// someone to read what it prints.
func TestCancelledWhileNobodyReads(t *testing.T) {
	image := filepath.Join(t.TempDir(), "a.img")
	if out, code := runNamed(t, "fatkit", "format", "-t", "fat32", "-s", "64M", image); code != exitOK {
		t.Fatal(out)
	}
	if out, code := runNamed(t, "fatkit", "prealloc", "--create", "-l", "3M", image, "f"); code != exitOK {
		t.Fatal(out)
	}
	for _, args := range [][]string{{"cat", image, "f"}, {"copy", image + "::f", "--tar", "-"}, {"info", image}, {"check", image}, {"fsck.vfat", "-v", image}} {
		if args[0] != "fsck.vfat" {
			args = append([]string{"fatkit"}, args...)
		}
		ctx, cancel := context.WithCancel(context.Background())
		in, out := io.Pipe()
		code := make(chan int, 1)
		go func() { code <- run(ctx, args, nil, out, io.Discard) }()
		if _, err := in.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cancel()
		select {
		case got := <-code:
			if got&exitCancelled == 0 && args[0] == "fatkit" || got&exitFailed != 0 {
				t.Errorf("%v: exit code %d", args, got)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%v: it still waits", args)
		}
		if err := errors.Join(in.Close(), out.Close()); err != nil {
			t.Error(err)
		}
	}
}
