// Package needs is the one place where tests are left out: where the host lacks what
// they need, another implementation to be held against, a loop device, a file system
// with holes, or where a run is to be short.
package needs

import (
	"fmt"
	"os"
	"testing"
)

// Required is the variable of the environment that, when it is "required", makes a
// test fail for which the host lacks something, so that a build that means to test
// everything cannot leave it out unnoticed.
const Required = "FATKIT_PEERS"

// IsRequired tells whether nothing may be left out.
func IsRequired() bool { return os.Getenv(Required) == "required" }

// Lacks ends a test that the host lacks something for: it is skipped and says so,
// or fails where everything is required.
func Lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	if IsRequired() {
		t.Fatalf("HOST LACKS IT: %s, and %s=required", what, Required)
	}
	t.Skipf("HOST LACKS IT, NOT TESTED: %s", what)
}

// Long ends a test that takes long where go test is run with -short. .ci/run runs
// all tests without it, so there none is left out.
func Long(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("SHORT RUN, NOT TESTED: %s", what)
	}
}
