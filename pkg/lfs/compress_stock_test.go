//go:build linux

package lfs

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// compressScript has Linux compress files by each algorithm, and prints what
// they hold: text that goes on beyond the pointers of an inode, noise, and text.
const compressScript = `
set -e
compress() {
	echo "volume"; mkdir -p v; mount -t f2fs -o compress_extension=txt,$2 $1 v
	seq 1 700000 >v/large.txt; dd if=/dev/urandom bs=4k count=9 2>/dev/null >>v/large.txt; seq 1 9999 >>v/large.txt; dd if=/dev/zero bs=1k count=99 2>/dev/null >>v/large.txt
	seq 1 9000 >v/small.txt; seq 1 9000 >v/plain.bin
	for f in large.txt small.txt plain.bin; do sha256sum <v/$f; done
	umount v
}
compress $1 compress_algorithm=lz4
compress $2 compress_algorithm=lz4,compress_log_size=4
compress $3 compress_algorithm=zstd
compress $4 compress_algorithm=zstd,compress_log_size=8
compress $5 compress_algorithm=lzo
compress $6 compress_algorithm=lzo-rle,compress_log_size=5
`

// TestCompressedStock reads what stock kernels compress.
func TestCompressedStock(t *testing.T) {
	needs.Long(t, "boots Linux in an emulator")
	for _, k := range voltest.StockKernels(t) {
		t.Run(k.Release(), func(t *testing.T) {
			var paths []string
			for range 6 {
				paths = append(paths, made(t, 128<<20, "-q", "-O", "extra_attr,compression"))
			}
			volumes := strings.Split(k.Run(t, compressScript, paths...), "volume\n")[1:]
			if len(volumes) != len(paths) {
				t.Fatalf("the kernel filled %d volumes of %d", len(volumes), len(paths))
			}
			for i, path := range paths {
				sums := strings.Fields(strings.ReplaceAll(volumes[i], "-", ""))
				onImage(t, path, func(d dev.Device) {
					for k, name := range []string{"large.txt", "small.txt", "plain.bin"} {
						sum, packed := sumOfFile(t, d, name)
						if k >= len(sums) || sum != sums[k] || name != "small.txt" && packed != (name == "large.txt") {
							t.Errorf("volume %d: %s is %s, compressed %v; the kernel says %q", i, name, sum, packed, sums)
						}
					}
				})
			}
		})
	}
}

// sumOfFile is the digest of a file, and whether it is compressed.
func sumOfFile(t *testing.T, d dev.Device, name string) (string, bool) {
	t.Helper()
	tr, all := nodesOf(t, d)
	r, err := tr.Contents(all[name])
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, all[name].Size)
	if _, err := r.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	_, packed := r.(*compressed)
	return fmt.Sprintf("%x", sha256.Sum256(b)), packed
}
