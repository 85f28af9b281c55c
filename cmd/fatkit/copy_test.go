package main

import (
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Names that lead elsewhere on the host are not copied out, whatever is written to.
func TestSafeName(t *testing.T) {
	for path, safe := range map[string]bool{
		"/": true, "/a": true, "/a/b.txt": true, "/a/...": true, "/a/..x": true,
		"/..": false, "/a/..": false, "/a/.": false, "/a/b\x00c": false,
	} {
		err := safeName(&vol.Node{Path: path})
		if safe != (err == nil) || err != nil && !errors.Is(err, vol.ErrDamaged) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
