package main

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/exfat"
	"github.com/fatkit/fatkit/pkg/fat"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestOrphansOfEachFormat: --orphans is about one row of each catalogue that has
// clusters which no file owns, and all that it takes can be done there.
func TestOrphansOfEachFormat(t *testing.T) {
	for _, drv := range []*vol.Driver{fat.Driver(), exfat.Driver()} {
		rows := 0
		for _, p := range drv.Problems {
			if !isOrphans(p.Slug) {
				continue
			}
			rows++
			for _, name := range []string{"free", "rescue"} {
				if named(p.Repairs, name) < 0 {
					t.Errorf("%s: %s has no repair %q", drv.Name, p.Code, name)
				}
			}
		}
		if rows != 1 {
			t.Errorf("%s: %d rows are about clusters that no file owns", drv.Name, rows)
		}
	}
}
