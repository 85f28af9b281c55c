//go:build linux

package lfs

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// quotaScript has user 1000 write blocks to a file, and make files, as long as a
// kernel lets it that looks at quotas.
const quotaScript = listScript + `
mkdir -p /mnt/v; mount -t f2fs -o usrquota $1 /mnt/v; chmod 777 /mnt/v
perl -e '
	$> = 1000; die if $> != 1000;
	open(F, ">>", "/mnt/v/old0000") or die "open: $!";
	for ($n = 0; $n < 100 && syswrite(F, "x" x 4096); $n++) {} print "$n blocks: $!\n";
	for ($n = 0; $n < 100 && open(G, ">", "/mnt/v/new$n"); $n++) {} print "$n files: $!\n";'
umount /mnt/v
`

// TestQuotaKernel: a change is refused where Linux refuses it: of a file that
// Linux could let grow by so many blocks, and files that it let be made, as many
// are taken and one more is not.
func TestQuotaKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	voltest.Peer(t, "perl")
	const moreFiles, moreBlocks, size = 3, 5, 3 * 4096
	limited := func() string {
		path := made(t, 64<<20, "-q", "-O", "extra_attr,quota")
		onImage(t, path, func(d dev.Device) {
			if _, err := owned(1000, "old", 2, size).put(t, d, vol.PutRequest{}); err != nil {
				t.Fatal(err)
			}
			editQuota(t, d, newReaderOf(t, d).g.QuotaInos[userQuota], func(q *quotaTable) {
				rec, err := q.find(1000)
				if err != nil {
					t.Fatal(err)
				}
				binary.LittleEndian.PutUint64(rec[quotaInodeLimit:], 2+moreFiles)
				binary.LittleEndian.PutUint64(rec[quotaSpaceLimit:], (2*size+moreBlocks*4096)/1024)
			})
		})
		return path
	}
	theirs := limited()
	if out := voltest.Kernel(t, quotaScript, theirs); !strings.Contains(out, "5 blocks: Disk quota exceeded") || !strings.Contains(out, "3 files: Disk quota exceeded") {
		t.Errorf("Linux says %q", out)
	}
	onImage(t, theirs, func(d dev.Device) { clean(t, d) })
	for _, over := range []int{0, 1} {
		onImage(t, limited(), func(d dev.Device) {
			grown := changed(t, d, func(ctx context.Context, v vol.Volume) error {
				_, err := v.Preallocate(ctx, vol.PreallocRequest{FillZero: true, Files: []vol.PreallocFile{{Path: "old0000", Length: int64(size + (moreBlocks+over)*4096)}}})
				return err
			})
			_, made := owned(1000, "new", moreFiles+over, 0).put(t, d, vol.PutRequest{})
			for _, err := range []error{grown, made} {
				if over == 0 && err != nil || over == 1 && !errors.Is(err, vol.ErrRequest) {
					t.Errorf("%d more than there may be: %v", over, err)
				}
			}
			clean(t, d)
		})
	}
}
