package lfs

import (
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestRepairNoSpace: with ever less room repairs that take blocks are made or
// left, whole; what is found then was found before, and no file is other than it
// was.
func TestRepairNoSpace(t *testing.T) {
	slugs := []string{"inode-unreachable", "dentry-twice", "dentry-position", "quota-file", "quota-usage", "replay", "orphans", "node-lost"}
	for _, slug := range slugs {
		c := allDamagesOf(slug)[0]
		made := 0
		for _, spare := range []uint64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144} {
			l := c.lab(t)
			l.alterPack(func(c checkpoint) { c.put64(cpUserBlocks, c.validBlocks()+spare) })
			was := found(checked(t, l.d))
			txn := dev.Begin(l.d)
			res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
			if err != nil || res.Unproven != nil {
				t.Errorf("%s, %d blocks are free: %v, %+v", slug, spare, err, res)
				txn.Rollback()
				continue
			}
			for _, o := range checked(t, txn).Outcomes {
				if o.Severity >= vol.SevWarning && !slices.ContainsFunc(was, func(s string) bool { return len(s) > len(o.Slug) && s[:len(o.Slug)] == o.Slug }) {
					t.Errorf("%s, %d blocks are free: then there is %s %s", slug, spare, o.Slug, o.Message())
				}
			}
			if !res.Left(vol.SevWarning) {
				made++
			}
			txn.Rollback()
		}
		if made == 0 {
			t.Errorf("%s is never repaired", slug)
		}
	}
}
