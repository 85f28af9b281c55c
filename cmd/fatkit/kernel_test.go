//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// diskScript mounts the first partition of every disk, writes to it, and prints
// where the kernel found it, and what it had to say.
const diskScript = `
base=/usr/lib/uml/modules/$(uname -r)/kernel
for m in lz4_compress lz4hc_compress zstd_compress crc32_generic quota_tree quota_v2 f2fs; do
	for ko in $(find $base -name "$m.ko*"); do insmod $ko || true; done
done
set -e
dmesg -c >/dev/null 2>&1 || true
for d; do
	name=${d#/dev/}
	blockdev --rereadpt $d
	set -- $(cat /sys/block/$name/${name}1/start /sys/block/$name/${name}1/size)
	echo "$name: $(ls -d /sys/block/$name/$name[0-9]* | wc -l) partition from $1, $2 sectors"
	part=/dev/${name}1
	[ -b $part ] || mknod $part b $(tr : ' ' </sys/block/$name/${name}1/dev)
	mkdir m
	mount $part m
	echo hello >m/written-by-linux.txt
	umount m
	rmdir m
done
dmesg | grep -E 'GPT|FAT-fs|F2FS-fs|alternate|EXT' | grep -vE 'Mounted with checkpoint|checkpoint version' || true
`

// TestKernelDisks: Linux finds the partition of every kind of disk that format
// --table makes where it is, has nothing to complain about, mounts it and writes to
// it; and what it leaves is clean.
func TestKernelDisks(t *testing.T) {
	if testing.Short() {
		t.Skip("it boots a kernel")
	}
	voltest.Peer(t, "linux.uml")
	t.Chdir(t.TempDir())
	var images []string
	want := ""
	for i, tt := range []struct {
		table, fs, size string
		sectors         int
	}{
		{"mbr", "fat12", "8M", 14336}, {"mbr", "fat32", "80M", 161792}, {"mbr", "f2fs", "64M", 129024},
		{"gpt", "fat16", "40M", 77824}, {"gpt", "fat32", "80M", 159744}, {"gpt", "f2fs", "64M", 126976},
	} {
		image := fmt.Sprintf("%d.img", i)
		images = append(images, image)
		realRun(t, "format", "-t", tt.fs, "-s", tt.size, "--table", tt.table, "-L", "DISK", image).want(t, 0)
		want += fmt.Sprintf("ubd%c: 1 partition from 2048, %d sectors\n", 'a'+i, tt.sectors)
	}
	if got := voltest.Kernel(t, diskScript, images...); got != want {
		t.Errorf("the kernel says\n%s\nwant\n%s", got, want)
	}
	for _, image := range images {
		got := realRun(t, "check", "--fail-on", "warning", image)
		got.want(t, 0, "clean: 1 file")
		if strings.Contains(got.out, "DISK-") {
			t.Error(got.out)
		}
	}
}
