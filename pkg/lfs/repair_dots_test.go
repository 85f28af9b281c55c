package lfs

import (
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestDotsInHole: where the blocks in which . and .. are looked for are holes, and the
// directory has others, both are written all the same.
func TestDotsInHole(t *testing.T) {
	l := newLab(t, "extra_attr,inode_checksum,quota")
	l.at["many"].editInode(func(n nodeBlock) {
		n.putWord(l.g.extraWords(n), 0)
		n.putWord(l.g.extraWords(n)+1, 0)
	})
	txn := dev.Begin(l.d)
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || !slices.Contains(slugs(res), "dot") || !slices.Contains(slugs(res), "dotdot") || res.Left(vol.SevWarning) {
		t.Errorf("found %q, %v", found(res), err)
	}
	mustBeClean(t, txn)
}
