//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// modulesScript loads F2FS.
const modulesScript = `
base=/usr/lib/uml/modules/$(uname -r)/kernel
for m in lz4_compress lz4hc_compress zstd_compress crc32_generic quota_tree quota_v2 f2fs; do
	for ko in $(find $base -name "$m.ko*"); do insmod $ko || true; done
done
set -e
mkdir -p m
`

// syncedScript syncs files after the last checkpoint, in all ways that leave a
// log, and copies the volume as it is then.
const syncedScript = modulesScript + `
random() { dd if=/dev/urandom of="$1" bs=4k count=$2 seek=${3:-0} conv=notrunc 2>/dev/null; }
mount -t f2fs $1 m; cd m
mkdir d; random d/old 300; random cut 100; random punched 64; random replaced 20; printf small >small; printf a >moved; sync
random temp 30; sync temp; mv temp replaced; sync replaced
random d/old 20 100; random d/old 5 5000; sync d/old
truncate -s 5000 cut; sync cut
fallocate -p -o 8192 -l 65536 punched; sync punched
printf '%03000d' 0 >small; sync small
random d/new 700; sync d/new
i=0; while [ $i -lt 40 ]; do echo "file $i" >"d/a file with a name $i"; sync "d/a file with a name $i"; i=$((i + 1)); done
printf b >unsynced
dd if=$1 of=$2 bs=1M iflag=direct oflag=direct 2>/dev/null
cd ..; umount m
`

// sumsScript prints what every file of a volume holds.
const sumsScript = modulesScript + `
mount -t f2fs $1 m; cd m; find . -type f -exec sha256sum {} + | LC_ALL=C sort; cd ..; umount m
`

// TestReadWaitingKernel: of a volume whose log waits for a mount the commands that
// read show what Linux shows when it has mounted it, and leave every byte.
func TestReadWaitingKernel(t *testing.T) {
	needs.Long(t, "it boots a kernel twice")
	voltest.Peer(t, "linux.uml")
	t.Chdir(t.TempDir())
	realRun(t, "format", "-t", "f2fs", "-s", "128M", "first.img").want(t, 0)
	realRun(t, "format", "-t", "f2fs", "-s", "128M", "cut.img").want(t, 0)
	voltest.Kernel(t, syncedScript, "first.img", "cut.img")
	before, err := os.ReadFile("cut.img")
	if err != nil {
		t.Fatal(err)
	}
	const note = "waits for its replay: files are as a mount will show them, and nothing was written"
	info := realRun(t, "info", "--json", "cut.img")
	if err := os.Mkdir("out", 0o777); err != nil {
		t.Fatal(err)
	}
	realRun(t, "copy", "-r", "cut.img::/", "out").want(t, 0)
	realRun(t, "ls", "-R", "--json", "--extents", "cut.img").want(t, 0, "a file with a name 39")
	realRun(t, "map", "cut.img").want(t, 0)
	realRun(t, "map", "cut.img", "/").want(t, 0, "d/new")
	for _, args := range [][]string{{"ls", "cut.img"}, {"cat", "cut.img", "/small"}, {"copy", "-r", "cut.img::/d", "out/more"}, {"map", "cut.img", "small"}} {
		if got := realRun(t, args...); got.code != 0 || strings.Count(got.err, note) != 1 {
			t.Errorf("%q: exit %d, %s", args, got.code, got.err)
		}
		if got := realRun(t, append([]string{"-q"}, args...)...); got.code != 0 || got.err != "" {
			t.Errorf("-q %q: exit %d, %s", args, got.code, got.err)
		}
	}
	for _, args := range [][]string{{"copy", "out/small", "cut.img::/x"}, {"copy", "--force", "out/small", "cut.img::/x"}, {"rm", "cut.img", "small"}, {"mkdir", "cut.img", "new"}} {
		if got := realRun(t, args...); got.code != 4 || !strings.Contains(got.err, "the log has to be replayed, ") || !strings.Contains(got.err, "check -p does that") {
			t.Errorf("%q: exit %d, %s", args, got.code, got.err)
		}
	}
	if err := os.RemoveAll("out/more"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile("cut.img"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the image has changed: %v", err)
	}
	got := sumsOf(t, "out")
	if want := voltest.Kernel(t, sumsScript, "cut.img"); got != want {
		t.Errorf("read\n%s\nLinux has\n%s", got, want)
	}
	if !strings.Contains(got, "a file with a name 39") {
		t.Error("nothing was synced")
	}

	// A log that leads back to where it began is given up by a mount, too.
	var doc struct {
		Volumes []struct {
			Fields []struct {
				Name   string
				Offset int64
			}
		}
	}
	if err := json.Unmarshal([]byte(info.out), &doc); err != nil {
		t.Fatal(err)
	}
	fields := doc.Volumes[0].Fields
	first := fields[len(fields)-1]
	if first.Name != "replay_nodes" {
		t.Fatalf("the last field is %+v", first)
	}
	copy(before[first.Offset+4092:], binary.LittleEndian.AppendUint32(nil, uint32(first.Offset/4096)))
	if err := os.WriteFile("damaged.img", before, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, holds := range map[string]string{"small": "small", "moved": "a"} {
		got := realRun(t, "cat", "damaged.img", path)
		if got.code != 0 || got.out != holds || !strings.Contains(got.err, "waits for its replay, and cannot be carried out, so files are as the last checkpoint has them: volume is damaged: the node at block") {
			t.Errorf("a damaged log: %+v", got)
		}
	}
	if after, err := os.ReadFile("damaged.img"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the damaged image has changed: %v", err)
	}
}

// sumsOf is what sumsScript prints of a directory.
func sumsOf(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		lines = append(lines, fmt.Sprintf("%x  .%s\n", sha256.Sum256(b), strings.TrimPrefix(p, dir)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
