//go:build unix

package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
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
