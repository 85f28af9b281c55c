//go:build !linux

package dev

import (
	"os"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// unprivileged runs fn as a user who may not do everything with files.
func unprivileged(t *testing.T, fn func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		needs.Lacks(t, "a user who may not do everything: root runs the tests")
	}
	fn()
}
