package fat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

func TestCodes(t *testing.T) { voltest.Codes(t, Problems(), "FAT-", "[0-9]{4}") }
