package lfs

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

func TestCodes(t *testing.T) { voltest.Codes(t, Problems(), "F2FS-", "0[1-9][0-9]{2}") }
