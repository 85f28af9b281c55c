//go:build unix

package source

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What has become a FIFO since it was listed is not waited for.
func TestFileBecomesFIFO(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "a")
	if err := os.WriteFile(name, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Dir(context.Background(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(1); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
}

// TestTarIsNotWaitedFor cancels the reading of an archive that does not come: of a
// FIFO that nobody opens for writing, and of pipes into which no more is written,
// compressed or not.
func TestTarIsNotWaitedFor(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, head string }{{fifo, ""}, {"-", "plain"}, {"-", "\x1f\x8b\x08\x00"}} {
		name, head := tt.name, tt.head
		ctx, cancel := context.WithCancel(context.Background())
		in, out := io.Pipe()
		go func() {
			if head != "" {
				_, _ = io.WriteString(out, head)
			}
			time.Sleep(10 * time.Millisecond)
			cancel()
		}()
		done := make(chan error, 1)
		go func() {
			_, err := Tar(ctx, name, in, Options{})
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %q: %v", name, head, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s, %q: it still waits", name, head)
		}
		_ = out.Close()
	}
}
