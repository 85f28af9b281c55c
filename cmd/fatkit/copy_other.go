//go:build !linux

package main

import (
	"fmt"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// special cannot make FIFOs, sockets or devices below a directory here.
func (s *hostSink) special(name string, n *vol.Node) error {
	return fmt.Errorf("%w: %s: a %s cannot be made on this system; copy --tar keeps it", errNoPlace, name, n.Kind)
}

// setXattrs has nothing to set: what these attributes mean is Linux' own.
func (s *hostSink) setXattrs(string, *vol.Node) error { return nil }

// setTimes sets the times of a file. A symbolic link keeps those that it has: what
// sets them here follows it.
func (s *hostSink) setTimes(name string, k vol.Kind, accessed, modified time.Time) error {
	if k == vol.KindSymlink {
		return nil
	}
	return s.root.Chtimes(name, accessed, modified)
}
