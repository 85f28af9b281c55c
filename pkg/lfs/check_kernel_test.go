//go:build linux

package lfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// guestScript loads f2fs and defines what the scripts below use: snap copies a
// mounted volume as it is on the disk, which is what a power cut leaves; pin
// pins a file, xattr gives it an attribute.
const guestScript = `
base=/usr/lib/uml/modules/$(uname -r)/kernel
for m in lz4_compress lz4hc_compress zstd_compress crc32_generic quota_tree quota_v2 f2fs; do
	for ko in $(find $base -name "$m.ko*"); do insmod $ko 2>/dev/null || true; done
done
set -e
snap() { dd if=$1 of=$2 bs=1M iflag=direct oflag=direct 2>/dev/null; }
pin() { perl -e 'open(F, "+<", $ARGV[0]) or die; $v = pack("L", 1); ioctl(F, 0x4004f50d, $v) or die "pin: $!"' "$1"; }
xattr() { perl -e 'syscall(188, $ARGV[0], $ARGV[1], $ARGV[2], length $ARGV[2], 0) == 0 or die "setxattr: $!"' "$1" "$2" "$3"; }
random() { dd if=/dev/urandom of="$1" bs=4k count=$2 seek=${3:-0} conv=notrunc 2>/dev/null; }
dmesg -c >/dev/null
`

// fillScript does with the volumes what leaves every structure there is, and
// counts what they hold in the end.
const fillScript = guestScript + `
for d; do
	mkdir -p /mnt/v; mount -t f2fs -o ${MOUNT:-background_gc=off} $d /mnt/v; cd /mnt/v
	mkdir many d1 d2 empty x y p p/z q q/w
	i=0; while [ $i -lt 2000 ]; do : >"many/file with a name $i"; i=$((i + 1)); done
	(cd many; rm "file with a name "1[0-9]*)
	printf hello >small; printf %03000d 0 >inline; : >nothing
	random middling 300
	random holes 3; random holes 2 5000; random holes 1 2100000
	ln -s small soft; ln -s $(printf 'x%.0s' $(seq 1 200)) longer; ln -s /$(printf 'yy/%.0s' $(seq 1 1300)) longest
	mkfifo fifo; mknod null c 1 3; mknod block b 7 300
	ln small hard; rm small; ln hard other; rm other
	printf a >b1; printf b >b2; mv b1 b2; mv -T x y; mv -T p/z q/w
	mv middling d1/middling; mv d1/middling d2/MIDDLING; mv d2 d1/d2; mv empty d1/d2/renamed
	ln d1/d2/MIDDLING l1; mv l1 d1/l1; rm d1/d2/MIDDLING
	mkdir old; ln d1/l1 old/last; rm old/last; sync d1/l1 # syncing has Linux note the parent and not the name
	echo new >old/new; echo before >old/over; mv old/new old/over; sync old/over
	echo new >old/plain; mv old/plain d1/plain; sync d1/plain
	fallocate -l 1M reserved; : >kept; fallocate -n -l 1M kept; printf abc >was-inline; fallocate -l 100 was-inline
	random punched 64; cp punched zeroed; cp punched collapsed; cp punched inserted; cp punched cut
	fallocate -p -o 10000 -l 60000 punched
	fallocate -z -o 8192 -l 65536 zeroed; fallocate -z -n -o 300000 -l 65536 zeroed
	fallocate -c -o 8192 -l 16384 collapsed; fallocate -i -o 8192 -l 16384 inserted
	truncate -s 5000 cut; truncate -s 10M long
	: >pinned; pin pinned; fallocate -l 3M pinned; : >pinned2; pin pinned2; fallocate -n -l 3M pinned2
	xattr inline user.a value; xattr inline user.b $(printf %02000d 0); xattr d1 trusted.x y; xattr many user.c z
	chown 1000:1001 hard cut; chown 70000 d1
	: >"$(printf 'n%.0s' $(seq 1 255))"; echo >'ünï日本'
	echo "files $(find . -type f | wc -l) directories $(($(find . -type d | wc -l) - 1))"
	cd /; umount /mnt/v
done
`

// TestCheckKernel: what Linux leaves on volumes with all kinds of features when
// it unmounts them is clean, and everything is found.
func TestCheckKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	voltest.Peer(t, "perl")
	names := map[string][]string{
		"plain":        {"-q"},
		"attributes":   {"-q", "-O", "extra_attr,inode_checksum,sb_checksum,flexible_inline_xattr,inode_crtime"},
		"quota":        {"-q", "-O", "extra_attr,project_quota,quota,inode_checksum"},
		"sections":     {"-q", "-s", "2", "-z", "2"},
		"large bitmap": {"-q", "-i"},
		"lost+found":   {"-q", "-O", "encrypt,verity,lost_found,extra_attr,compression"},
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		paths = append(paths, made(t, 256<<20, names[name]...))
	}
	lines := strings.Split(strings.TrimSpace(voltest.Kernel(t, fillScript, paths...)), "\n")
	if len(lines) != len(paths) {
		t.Fatalf("the kernel says %q", lines)
	}
	for i, name := range slices.Sorted(maps.Keys(names)) {
		t.Run(name, func(t *testing.T) {
			rows, why, res, scan := judge(t, paths[i])
			if name == "lost+found" {
				rows = strings.TrimPrefix(rows, "dotdot") // mkfs.f2fs has it lead to itself
			}
			if rows != "" || why != "" || scan.Dirty || scan.Mountable != "rw" {
				t.Errorf("found %q, and %+v", found(res), scan)
			}
			if got := fmt.Sprintf("files %d directories %d", res.Stats.Files, res.Stats.Directories); got != lines[i] {
				t.Errorf("there are %s, found %s", lines[i], got)
			}
		})
	}
}

// cutScript leaves volumes as power cuts do. Its devices come in pairs: the
// volume, and a copy of it.
const cutScript = guestScript + `
go() { mkdir -p /mnt/v; mount -t f2fs $3 $4 $1 /mnt/v; cd /mnt/v; }
gone() { cd /; umount /mnt/v; }
go $1 $2; echo new >new; sync new; snap $1 $2; gone; shift 2 # synced since mkfs
go $1 $2; mkdir d; random d/f 300; sync; random d/f 40 100; sync d/f; i=0; while [ $i -lt 700 ]; do echo $i >d/n$i; [ $((i % 5)) != 0 ] || sync d/n$i; i=$((i + 1)); done
random d/last 3000; sync d/last; rm d/f; snap $1 $2; gone; shift 2 # a long log
go $1 $2; exec 3>gone; echo data >&3; exec 4>large; random large 2000; sync; rm gone large; sync; snap $1 $2; exec 3>&- 4>&-; gone; shift 2 # orphans
go $1 $2 -o fastboot; random f 100; sync; snap $1 $2; gone; shift 2
go $1 $2; mkdir a b; echo x >a/x; sync; snap $1 $2; gone; shift 2 # not unmounted
go $1 $2 -o checkpoint=disable; random f 100; snap $1 $2; gone; shift 2
`

// TestCheckPowerCut: what Linux leaves when the power goes asks for what there
// is to do and nothing else, and is clean when Linux has done it.
func TestCheckPowerCut(t *testing.T) {
	needs.Long(t, "boots Linux twice")
	voltest.Peer(t, "linux.uml")
	names := []string{"synced", "long log", "orphans", "fastboot", "not unmounted", "disabled"}
	want := []string{"replay", "replay", "not-unmounted orphans", "not-unmounted", "not-unmounted", "cp-disabled"}
	var all, copies []string
	for range names {
		all = append(all, made(t, 128<<20, "-q"), made(t, 128<<20))
		copies = append(copies, all[len(all)-1])
	}
	voltest.Kernel(t, cutScript, all...)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			rows, why, res, scan := judge(t, copies[i])
			if rows != want[i] || why != want[i] || !scan.Dirty || scan.Mountable != "rw" {
				t.Errorf("found %q, and %+v; should be %q", found(res), scan, want[i])
			}
			if rows, _, res, _ := judge(t, all[2*i]); rows != "" && rows != "cp-disabled" {
				t.Errorf("unmounted: found %q", found(res))
			}
		})
	}
	voltest.Kernel(t, guestScript+"for d; do mkdir -p /mnt/v; mount -t f2fs $d /mnt/v; find /mnt/v >/dev/null; umount /mnt/v; done", copies...)
	for i, name := range names {
		if rows, why, res, _ := judge(t, copies[i]); rows != "" || why != "" {
			t.Errorf("%s, mounted again: found %q", name, found(res))
		}
	}
}
