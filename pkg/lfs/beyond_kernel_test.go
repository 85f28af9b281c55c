//go:build linux

package lfs

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// beyondScript leaves files with blocks beyond their size of which the inode says
// nothing: given up by a write that was to be atomic, and pinned no longer. The second
// device is a copy as of a power cut after the first one was synced.
const beyondScript = listScript + `
unpin() { perl -e 'open(F, "+<", $ARGV[0]) or die; $v = pack("L", 0); ioctl(F, 0x4004f50d, $v) or die "unpin: $!"' "$1"; }
giveup() { perl -e 'open(F, "+<", $ARGV[0]) or die; ioctl(F, 0xf501, 0) or die "start: $!"; sysseek(F, 50000, 0); syswrite(F, "x" x 300000) or die; ioctl(F, 0xf505, 0) or die "abort: $!"' "$1"; }
go $1
random aborted 10; : >pinned; pin pinned; fallocate -l 100000 pinned; unpin pinned; sync
giveup aborted; sync aborted; snap $1 $2
gone
`

// TestBeyondSizeKernel: of such files check reports no fault and changes none, and a
// replay gives them the size that Linux gives them.
func TestBeyondSizeKernel(t *testing.T) {
	needs.Long(t, "boots Linux twice")
	voltest.Peer(t, "linux.uml")
	voltest.Peer(t, "perl")
	fsck := voltest.Peer(t, "fsck.f2fs")
	path, cut := made(t, 128<<20, "-q"), made(t, 128<<20)
	voltest.Kernel(t, beyondScript, path, cut)
	for _, image := range []string{path, cut} {
		onImage(t, image, func(d dev.Device) {
			txn := dev.Begin(d)
			defer txn.Rollback()
			res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
			for _, o := range res.Outcomes {
				if o.Slug != "inode-size-short" && (image == path || o.Slug != "replay") {
					t.Errorf("found %q, %v", found(res), err)
				}
			}
			got := ""
			for _, name := range []string{"aborted", "pinned"} {
				got += fmt.Sprintf("%x  %s\n", sha256.Sum256(treeContents(t, txn, name)), name)
			}
			want := voltest.Kernel(t, listScript+"go $1; sha256sum aborted pinned; gone", voltest.Saved(t, d))
			if got != want {
				t.Errorf("read\n%s\nLinux has\n%s", got, want)
			}
		})
		if said, err := exec.Command(fsck, "--dry-run", image).CombinedOutput(); err != nil {
			t.Errorf("fsck.f2fs says\n%s", said)
		}
	}
}
