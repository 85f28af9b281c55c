package lfs

import (
	"context"
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// TestRemoveReleased: a compressed file that has given back what it saved is taken
// away as others are, and what it had is counted no more, by quotas neither. So is one
// that has not. Where the inode counts otherwise nothing is changed.
func TestRemoveReleased(t *testing.T) {
	for name, do := range map[string]func(n nodeBlock){
		"released": func(n nodeBlock) { n[inodeInline] |= inlineReleased },
		"kept":     func(n nodeBlock) { n.put64(inodeComprBlocks, 2) },
	} {
		l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: labFeatures}))
		reserved := []uint32{3}
		if name == "released" {
			reserved = nil
		}
		x := l.file(l.root, "packed", file{pages: []uint32{1, 2, 4, 5, 6, 7}, reserved: reserved, size: 8 * 4096, change: func(n nodeBlock) {
			n.put32(inodeFlags, flagCompressed)
			n[inodeLogCluster] = 2
			do(n)
		}})
		x.point(0, compressAddr)
		l.finish()
		mustBeClean(t, l.d)
		before := stateOf(t, l.d).cp
		var res *vol.RemoveResult
		remove := func() error {
			return changed(t, l.d, func(ctx context.Context, v vol.Volume) (err error) {
				res, err = v.Remove(ctx, vol.RemoveRequest{Paths: []string{"packed"}})
				return err
			})
		}
		if err := remove(); err != nil || res.ClustersFreed != x.node.blocks() {
			t.Fatalf("%s: %v, %+v", name, err, res)
		}
		mustBeClean(t, l.d)
		after := stateOf(t, l.d).cp
		if after.validBlocks() != before.validBlocks()-x.node.blocks() || after.validInodes() != before.validInodes()-1 {
			t.Errorf("%s: %d blocks are in use, before %d, and the file had %d", name, after.validBlocks(), before.validBlocks(), x.node.blocks())
		}
	}
	l := newLab(t, labFeatures)
	l.at["compressed"].editInode(func(n nodeBlock) { n[inodeInline] |= inlineReleased }) // and it was not
	err := changed(t, l.d, func(ctx context.Context, v vol.Volume) error {
		_, err := v.Remove(ctx, vol.RemoveRequest{Paths: []string{"compressed"}})
		return err
	})
	if !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("one that counts otherwise: %v", err)
	}
}
