//go:build linux

package exfat

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// mountScript mounts every volume, makes a file on it, and says the size of its
// clusters and what the file holds when it is mounted again.
const mountScript = `
set -e
n=0
dmesg -c >/dev/null
for d; do
	mkdir v$n; mount -t exfat $d v$n
	mkdir v$n/dir; printf 'by Linux' >v$n/dir/ä.txt
	umount v$n; mount -t exfat $d v$n
	echo "$n $(stat -f -c %s v$n) $(cat v$n/dir/Ä.TXT)"
	umount v$n; n=$((n + 1))
done
dmesg -c | grep -E 'exFAT|I/O error|BUG|WARNING' || true
`

// mostBitmap is the largest bitmap that the emulated machine has memory for.
const mostBitmap = 16 * mib

// TestKernelFormats: real Linux kernels mount volumes of all sizes of sectors and
// clusters, write to them, and our check finds them as they should be.
func TestKernelFormats(t *testing.T) {
	needs.Long(t, "boots Linux several times")
	for _, k := range voltest.StockKernels(t) {
		t.Run(k.Release(), func(t *testing.T) {
			t.Parallel()
			mountsFormats(t, k)
		})
	}
}

// maxKernelImages is how many volumes one kernel gets.
const maxKernelImages = 20

func mountsFormats(t *testing.T, k voltest.StockKernel) {
	cases := slices.DeleteFunc(peerCases(), func(c peerCase) bool {
		_, g := mustPlan(t, c.at, c.o)
		return g.BitmapBytes() > mostBitmap
	})
	if len(cases) < 25 {
		t.Fatalf("only %d volumes", len(cases))
	}
	for part := range slices.Chunk(cases, maxKernelImages) {
		var images []string
		want := ""
		for i, c := range part {
			p, g := mustPlan(t, c.at, c.o)
			want += fmt.Sprintf("%d %d by Linux\n", i, g.ClusterSize)
			images = append(images, voltest.WriteImage(t, c.at.Size, p))
		}
		if out := k.Run(t, mountScript, images...); out != want {
			t.Errorf("the kernel says\n%snot\n%s", out, want)
		}
		for _, image := range images {
			usedByKernel(t, image)
		}
	}
}

// usedByKernel checks a volume of which a kernel made what mountScript does.
func usedByKernel(t *testing.T, image string) {
	f, err := dev.OpenFile(image, dev.OpenOptions{})
	must(t, err)
	defer f.Close()
	res := fsck(t, f, nil)
	for _, o := range res.Outcomes {
		if o.Slug != "percent-in-use" && o.Severity > vol.SevInfo { // Linux never writes that
			t.Error(line(o))
		}
	}
	if res.Stats.Files != 1 || res.Stats.Directories != 1 {
		t.Errorf("%d files in %d directories", res.Stats.Files, res.Stats.Directories)
	}
}
