// Package needs is what tests say of a host that lacks what they need: another
// implementation to be held against, a loop device, a file system with holes.
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
