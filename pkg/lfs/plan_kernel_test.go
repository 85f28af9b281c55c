//go:build linux

package lfs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// useScript loads f2fs, and does with every volume what a system does: it
// mounts it, lists it, writes files of several sizes, links, renames, deletes,
// takes a snapshot of quotas where there are any, unmounts, mounts it again,
// and compares what was written. Volumes that are only read are mounted so.
const useScript = `
set -e
base=/usr/lib/uml/modules/$(uname -r)/kernel
for m in lz4_compress lz4hc_compress zstd_compress crc32_generic quota_tree quota_v2 f2fs; do
	for ko in $(find $base -name "$m.ko*"); do insmod $ko || true; done
done
dmesg -c >/dev/null
use() {
	stat -f -c '%s %b %f %a' .
	find . -printf '%y %m %n %U:%G %P %Ts\n' | sort
	[ $ro = 1 ] && return
	mkdir -p 'a directory/below/it'
	head -c 600000 /dev/zero | tr '\0' x >big
	i=1; while [ $i -le 40 ]; do echo "file $i" >"a directory/file $i"; i=$((i + 1)); done
	ln big 'a directory/hard'; ln -s big soft
	mv 'a directory/file 7' 'a directory/below/it'
	rm 'a directory/file 8' 'a directory/file 9'
	setfattr -n user.name -v value big 2>/dev/null || true
	sync
	mkdir empty; rmdir empty
	fallocate -l 300000 reserved
}
again() {
	[ $(tr -d x <big | wc -c) = 0 ]; [ $(stat -c %s-%h big) = 600000-2 ]
	[ "$(cat 'a directory/below/it/file 7')" = 'file 7' ]
	[ $(ls 'a directory' | wc -l) = 39 ]
}
n=0
for d; do
	echo "volume $n"
	o=$(sed -n $((n + 1))p $RUN/options); ro=0
	case $o in *ro*) ro=1;; esac
	mkdir v$n
	mount -t f2fs -o $o $d v$n
	(cd v$n; use)
	umount v$n
	if [ $ro = 0 ]; then
		mount -t f2fs -o $o $d v$n; (cd v$n; again); umount v$n
	fi
	n=$((n + 1))
done
dmesg -c | grep -E 'F2FS|BUG|WARNING|error|quota' | grep -v -E 'Mounted with checkpoint version|recover fsync data on readonly fs' || true
`

// kernelCases are volumes for the kernel, and how each is mounted.
func kernelCases() (cs []peerCase, mounts []string) {
	add := func(mount string, size int64, o vol.FormatOptions) {
		o.Seed, o.Time = uint64(len(cs)), 1_700_000_000
		cs, mounts = append(cs, peerCase{size, o}), append(mounts, mount)
	}
	all := "extra_attr,project_quota,inode_checksum,flexible_inline_xattr,quota,inode_crtime,lost_found,verity,sb_checksum,compression,encrypt"
	add("defaults", 46*mib, vol.FormatOptions{})
	add("defaults", 64*mib, vol.FormatOptions{Features: "lost_found", Label: "Größe"})
	add("defaults", 300*mib, vol.FormatOptions{Features: all})
	add("defaults", 200*mib, vol.FormatOptions{Features: "quota", RootOwner: &[2]uint32{1000, 1001}})
	add("defaults", 500*mib, vol.FormatOptions{SegmentsPerSection: ptr(2), SectionsPerZone: ptr(3), Features: "extra_attr,inode_checksum,sb_checksum"})
	add("defaults", gib, vol.FormatOptions{Overprovision: ptr(3.0), SegmentsPerSection: ptr(4)})
	add("ro", 29360128, vol.FormatOptions{Features: "ro"})
	add("ro", 100*mib, vol.FormatOptions{Features: "ro,extra_attr,compression,lost_found,sb_checksum"})
	add("ro", 18882560, vol.FormatOptions{Features: "ro", Label: "tiny"})
	add("defaults", tib, vol.FormatOptions{Features: "lost_found"}) // of more it could not keep the tables in its memory
	return cs, mounts
}

// TestPlanKernel lets a real Linux kernel use what we make, and our check and
// fsck.f2fs look at what it leaves. Nobody may have anything to say.
func TestPlanKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	fsck := voltest.Peer(t, "fsck.f2fs")
	cs, mounts := kernelCases()
	var images []string
	for _, c := range cs {
		p, _ := mustPlan(t, vol.Target{Size: c.size}, c.o)
		images = append(images, voltest.WriteImage(t, c.size, p))
	}
	options := voltest.SparseFile(t, 0)
	if err := os.WriteFile(options, []byte(strings.Join(mounts, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := voltest.Kernel(t, strings.ReplaceAll(useScript, "$RUN/options", options), images...)
	if strings.Contains(out, "F2FS-fs") || strings.Contains(out, "BUG") {
		t.Errorf("the kernel says:\n%s", out)
	}
	parts := strings.Split(out, "volume ")[1:]
	if len(parts) != len(cs) {
		t.Fatalf("the kernel used %d volumes of %d:\n%s", len(parts), len(cs), out)
	}
	for i, c := range cs {
		owner := "0:0"
		if o := c.o.RootOwner; o != nil {
			owner = fmt.Sprintf("%d:%d", o[0], o[1])
		}
		want := fmt.Sprintf("d 755 2 %s  1700000000", owner)
		if strings.Contains(c.o.Features, "lost_found") {
			want = fmt.Sprintf("d 700 2 %s lost+found 1700000000\nd 755 3 %s  1700000000", owner, owner)
		}
		if !strings.Contains(parts[i], want) {
			t.Errorf("%s: the kernel lists\n%s\nshould be\n%s", c, parts[i], want)
		}
		if rows, why, res, _ := judge(t, images[i]); rows != "" || why != "" {
			t.Errorf("%s: after Linux has used it our check finds %q", c, found(res))
		}
		if c.size > gib {
			continue // fsck.f2fs takes a minute
		}
		if said, err := peerRun(t, fsck, "--dry-run", images[i]); err != nil {
			t.Errorf("%s: after Linux has used it fsck.f2fs says\n%s", c, said)
		}
	}
}
