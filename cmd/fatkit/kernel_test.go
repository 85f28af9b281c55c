//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
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

// kernelDisk is a disk that format --table makes, and how many sectors of 512 bytes
// its partition has then.
type kernelDisk struct {
	table, fs, size string
	sectors         int
}

// makeDisks makes disks as images in the working directory.
func makeDisks(t *testing.T, disks []kernelDisk) (images []string) {
	t.Helper()
	for i, k := range disks {
		images = append(images, fmt.Sprintf("%d.img", i))
		realRun(t, "format", "-t", k.fs, "-s", k.size, "--table", k.table, "-L", "DISK", images[i]).want(t, 0)
	}
	return images
}

// wantOneFile checks disks whose partition a kernel wrote a file to.
func wantOneFile(t *testing.T, images []string) {
	t.Helper()
	for _, image := range images {
		got := realRun(t, "check", "--fail-on", "warning", image)
		got.want(t, 0, "clean: 1 file")
		if strings.Contains(got.out, "DISK-") {
			t.Error(got.out)
		}
	}
}

// TestKernelDisks: Linux finds the partition of every kind of disk that format
// --table makes where it is, has nothing to complain about, mounts it and writes to
// it; and what it leaves is clean.
func TestKernelDisks(t *testing.T) {
	needs.Long(t, "it boots a kernel")
	voltest.Peer(t, "linux.uml")
	t.Chdir(t.TempDir())
	disks := []kernelDisk{
		{"mbr", "fat12", "8M", 14336}, {"mbr", "fat32", "80M", 161792}, {"mbr", "f2fs", "64M", 129024},
		{"gpt", "fat16", "40M", 77824}, {"gpt", "fat32", "80M", 159744}, {"gpt", "f2fs", "64M", 126976},
	}
	images := makeDisks(t, disks)
	want := ""
	for i, k := range disks {
		want += fmt.Sprintf("ubd%c: 1 partition from 2048, %d sectors\n", 'a'+i, k.sectors)
	}
	if got := voltest.Kernel(t, diskScript, images...); got != want {
		t.Errorf("the kernel says\n%s\nwant\n%s", got, want)
	}
	wantOneFile(t, images)
}

// exfatDiskScript does the same where nothing but Busybox is, and the partitions
// have their devices.
const exfatDiskScript = `
set -e
dmesg -c >/dev/null
for d; do
	name=${d#/dev/}
	echo "$name: $(ls -d /sys/block/$name/$name[0-9]* | wc -l) partition from $(cat /sys/block/$name/${name}1/start), $(cat /sys/block/$name/${name}1/size) sectors"
	mkdir m
	mount -t exfat ${d}1 m
	echo hello >m/written-by-linux.txt
	umount m
	rmdir m
done
dmesg | grep -E 'GPT|exFAT|alternate|I/O error' || true
`

// TestStockKernelDisks is TestKernelDisks for exFAT, which only a stock kernel has.
func TestStockKernelDisks(t *testing.T) {
	needs.Long(t, "it boots a kernel")
	kernels := voltest.StockKernels(t)
	t.Chdir(t.TempDir())
	disks := []kernelDisk{
		{"mbr", "exfat", "8M", 14336}, {"mbr", "exfat", "80M", 161792}, {"gpt", "exfat", "8M", 12288}, {"gpt", "exfat", "80M", 159744},
	}
	want := ""
	for i, k := range disks {
		want += fmt.Sprintf("vd%c: 1 partition from 2048, %d sectors\n", 'a'+i, k.sectors)
	}
	for _, k := range kernels {
		images := makeDisks(t, disks)
		if got := k.Run(t, exfatDiskScript, images...); got != want {
			t.Errorf("Linux %s says\n%s\nwant\n%s", k.Release(), got, want)
		}
		wantOneFile(t, images)
		for _, image := range images {
			if err := os.Remove(image); err != nil {
				t.Fatal(err)
			}
		}
	}
}
