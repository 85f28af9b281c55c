// Package voltest is what every driver is held to: the conformance suite, other
// implementations of the same formats, and a real Linux kernel.
package voltest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// Peer is the path of another implementation that a test holds ours against:
// fsck.fat, mdir and the like; the first of the names that is installed. It is
// looked for beyond PATH, because a user's PATH often lacks the sbin
// directories.
//
// Without it the test is skipped, and says so; with FATKIT_PEERS=required in
// the environment it fails, so that a build that means to compare cannot leave
// it out unnoticed.
func Peer(t testing.TB, name string, others ...string) string {
	t.Helper()
	names := append([]string{name}, others...)
	for _, n := range names {
		if path, ok := findPeer(n); ok {
			return path
		}
	}
	needs.Lacks(t, "none of %q is installed: NOT COMPARED with it", names)
	return ""
}

func findPeer(name string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, true
		}
	}
	return "", false
}

// PeerModule is Peer for what is no command but a module of an interpreter, called
// name: the test goes on if the interpreter runs args with success.
func PeerModule(t testing.TB, interpreter, name string, args ...string) {
	t.Helper()
	if err := exec.Command(interpreter, args...).Run(); err != nil {
		needs.Lacks(t, "%s is not installed: NOT COMPARED with it", name)
	}
}
