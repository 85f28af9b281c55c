package vol

import (
	"errors"
	"io/fs"
	"testing"
)

// A request that cannot be met because another cannot says so once, and is both.
func TestBecause(t *testing.T) {
	e := &Entry{Origin: "a/b"}
	err := Because("F2FS cannot hold this", EntryError(e, "%w", Refusef("the attribute %q: %v", "x", Refusef("too short: %v", fs.ErrNotExist))))
	if want := ErrRequest.Error() + `: F2FS cannot hold this: a/b: the attribute "x": too short: file does not exist`; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if inner := EntryError(e, "%w", fs.ErrExist); !errors.Is(inner, ErrRequest) || !errors.Is(inner, fs.ErrExist) {
		t.Errorf("%v is not what it wraps", inner)
	}
}
