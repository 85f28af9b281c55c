package main

import (
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// TestChooseByName: a name that two partitions have is a request that cannot be met, as
// a disk with several volumes is, and of a check 8; one that none has is no volume.
func TestChooseByName(t *testing.T) {
	table := &dev.Table{Scheme: dev.SchemeGPT}
	for i, name := range []string{"boot", "data", "data", ""} {
		table.Parts = append(table.Parts, dev.Partition{Number: i + 1, Name: name, Range: dev.Range{Off: int64(i) << 20, Len: 1 << 20}})
	}
	for _, c := range []struct {
		name        string
		want        string
		code, check int
	}{
		{"boot", "", 0, 0},
		{"data", "there are 2 of the partition called \"data\"", 4, 8},
		{"Data", "there is no partition called \"Data\", but 1 called \"boot\", 2 called \"data\"", 8, 8},
	} {
		_, err := place{name: c.name}.choose(table)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, code := classify(err); code != c.code {
			t.Errorf("%s: exit %d, want %d", c.name, code, c.code)
		}
		if _, code := classify(notChecked(err)); code != c.check {
			t.Errorf("%s: exit %d of a check, want %d", c.name, code, c.check)
		}
	}
}
