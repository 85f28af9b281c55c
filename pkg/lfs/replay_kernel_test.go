//go:build linux

package lfs

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// wrapScript syncs a new file whose inode has the last number that there is, so
// that its node has a lower one and comes first in the log.
const wrapScript = guestScript + `
mkdir -p /mnt/v; mount -t f2fs $1 /mnt/v; cd /mnt/v
i=0; while [ $i -lt 454 ]; do : >f$i; i=$((i + 1)); done; sync
: >last; [ $(stat -c %i last) = @ ]; random last 2000; sync last; snap $1 $2
sha256sum last; cd /; umount /mnt/v
`

// TestReplayOrderKernel: of a file that Linux synced before a power cut nothing is
// lost, in whatever order its nodes are in the log.
func TestReplayOrderKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	path, cut := made(t, 128<<20, "-q"), made(t, 128<<20)
	last := uint32(0)
	onImage(t, path, func(d dev.Device) {
		s := stateOf(t, d)
		last = s.g.NIDs() - 1
		s.cp.put32(cpNextNid, last)
		s.cp.putSum()
		for _, blk := range []uint32{0, s.cp.blocks() - 1} {
			if _, err := d.WriteAt(s.cp, s.g.BlockOff(s.p.start+blk)); err != nil {
				t.Fatal(err)
			}
		}
	})
	want := voltest.Kernel(t, strings.ReplaceAll(wrapScript, "@", textf("%d", last)), path, cut)
	onImage(t, cut, func(d dev.Device) {
		res, err := vol.Fsck(t.Context(), d, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || strings.Join(slugs(res), " ") != "replay" {
			t.Fatalf("found %q, %v", found(res), err)
		}
		if got := fmt.Sprintf("%x  last\n", sha256.Sum256(treeContents(t, d, "last"))); got != want {
			t.Errorf("it holds %q, was %q", got, want)
		}
	})
	if rows, why, res, _ := judge(t, cut); rows != "" || why != "" {
		t.Errorf("then there is %q", found(res))
	}
}
