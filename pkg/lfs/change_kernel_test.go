//go:build linux

package lfs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// listScript defines sums, which prints what every regular file holds.
const listScript = guestScript + `
go() { mkdir -p /mnt/v; mount -t f2fs $1 /mnt/v; cd /mnt/v; }
gone() { cd /; umount /mnt/v; }
sums() { find . -type f -size -20M -exec sha256sum {} +; }
`

// beforeScript fills volumes with what changes are made to.
const beforeScript = listScript + `
for d; do
	echo "volume"; go $d
	mkdir -p dir/sub many; random dir/middling 300; random other 700
	random holes 3; random holes 2 1500; random far 1 2100000
	printf hello >small; printf %03000d 0 >inline; : >nothing; printf abc >dir/sub/abc
	i=0; while [ $i -lt 60 ]; do echo $i >"many/file with a name $i"; i=$((i + 1)); done
	ln -s small soft; chown 1000:1001 other; chmod 2775 dir/sub; chown 0:1001 dir/sub
	random shuffled 1; for p in 9 3 7 1 5 8 2 6 4; do random shuffled 1 $p; sync; done
	gone
done
`

// afterScript looks at what was changed, uses it as a system does, and fills
// the volume.
const afterScript = listScript + `
for d; do
	echo "volume"; go $d; sums; stat -c 'stat %n %s %b' new/reserved new/kept new/pinned
	gone; go $d
	echo appended >>new/reserved; [ "$(tail -c 9 new/reserved)" = appended ]
	echo appended >>new/kept; truncate -s 5000 dir/middling; truncate -s 100000 new/grows
	printf x | dd of=new/pinned bs=1 seek=70000 conv=notrunc 2>/dev/null
	truncate -s 1M other; rm small many/created\ 1*; mv new/grows many/moved; mv many elsewhere
	mkdir again; i=0; while [ $i -lt 100 ]; do echo $i >again/$i; i=$((i + 1)); done
	random again/written 400; rm -r again/1*
	cp new/reserved new/copy; rm new/reserved
	dd if=/dev/zero of=full bs=1M 2>/dev/null || true
	sync; rm full; sync; random again/written 200 100
	gone; go $d; [ "$(ls elsewhere | wc -l)" = 250 ]; gone
done
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v 'Mounted with checkpoint version' || true
`

// model is what the files of a volume should hold.
type model map[string][]byte

func (m model) grow(path string, size int64) {
	if more := size - int64(len(m[path])); more > 0 {
		m[path] = append(m[path], make([]byte, more)...)
	}
}

// parseSums is what sums printed for each volume.
func parseSums(t *testing.T, out string) []map[string]string {
	t.Helper()
	var all []map[string]string
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		switch sum, path, ok := strings.Cut(line, "  ./"); {
		case line == "volume":
			all = append(all, map[string]string{})
		case ok && len(sum) == 64 && len(all) > 0:
			all[len(all)-1][path] = sum
		case strings.HasPrefix(line, "stat ") && len(all) > 0:
			f := strings.Fields(line)
			all[len(all)-1]["stat "+f[1]] = f[2] + " " + f[3]
		default:
			t.Errorf("the kernel says %q", line)
		}
	}
	return all
}

// changeFiles makes all kinds of changes, and notes what they are to give.
func changeFiles(ctx context.Context, v vol.Volume, m model) error {
	reserve := func(r vol.PreallocRequest) error {
		r.FillZero = true
		_, err := v.Preallocate(ctx, r)
		for _, f := range r.Files {
			if m.grow(f.Path, 0); !r.KeepSize {
				m.grow(f.Path, f.Offset+f.Length)
			} else if m[f.Path] == nil {
				m[f.Path] = []byte{}
			}
		}
		return err
	}
	many := vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{
		{Path: "new/reserved", Length: 3 << 20}, {Path: "new/grows", Length: 5000}, {Path: "dir/sub/new file", Length: 1}, {Path: "new/a/b/c/film.mp4", Length: 1 << 20},
	}}
	for i := range 300 {
		many.Files = append(many.Files, vol.PreallocFile{Path: fmt.Sprintf("many/created %d", i), Length: int64(i%3)*4096 + 1})
	}
	err := reserve(many)
	for _, r := range []vol.PreallocRequest{
		{Files: []vol.PreallocFile{{Path: "dir/middling", Offset: 1 << 20, Length: 4 << 20}, {Path: "holes", Length: 8 << 20}, {Path: "small", Length: 100}, {Path: "inline", Length: 10_000}, {Path: "nothing", Length: 100}}},
		{KeepSize: true, Create: true, Files: []vol.PreallocFile{{Path: "new/kept", Length: 1 << 20}, {Path: "dir/sub/abc", Length: 50_000}}},
		{Create: true, Contiguous: true, Files: []vol.PreallocFile{{Path: "new/pinned", Length: 3 << 20}}},
	} {
		if err == nil {
			err = reserve(r)
		}
	}
	for _, z := range []struct {
		path   string
		off, n int64
	}{
		{"other", 5000, 1 << 20}, {"shuffled", 100, 30_000}, {"holes", 4096, 5 << 20}, {"dir/sub/abc", 1, 1}, {"dir/middling", 0, 4096 * 5}, {"many/file with a name 7", 0, 9000},
	} {
		if err == nil {
			_, err = v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: z.path, Offset: z.off, Length: z.n}}})
			m.grow(z.path, z.off+z.n)
			clear(m[z.path][z.off : z.off+z.n])
		}
	}
	return err
}

// TestChangeKernel: Linux fills volumes, we change them, fsck.f2fs finds nothing
// then, Linux finds all files as they should be, uses them and fills the disk,
// and all is clean again.
func TestChangeKernel(t *testing.T) {
	needs.Long(t, "boots Linux twice")
	voltest.Peer(t, "linux.uml")
	fsck := voltest.Peer(t, "fsck.f2fs")
	names := map[string][]string{
		"plain":        {"-q"},
		"attributes":   {"-q", "-O", "extra_attr,inode_checksum,sb_checksum,flexible_inline_xattr,inode_crtime,lost_found"},
		"quota":        {"-q", "-O", "extra_attr,project_quota,quota,inode_checksum"},
		"sections":     {"-q", "-s", "2", "-z", "2"},
		"large bitmap": {"-q", "-i"},
		"encrypt":      {"-q", "-O", "encrypt,verity"},
	}
	order := slices.Sorted(maps.Keys(names))
	var paths []string
	for _, name := range order {
		paths = append(paths, made(t, 256<<20, names[name]...))
	}
	voltest.Kernel(t, beforeScript, paths...)
	models := make([]model, len(paths))
	for i, name := range order {
		models[i] = model{}
		changeImage(t, name, paths[i], models[i])
		if said, err := peerRun(t, fsck, "--dry-run", paths[i]); err != nil && name != "attributes" { // mkfs.f2fs has a wrong .. there
			t.Errorf("%s: fsck.f2fs says\n%s", name, said)
		}
	}
	all := parseSums(t, voltest.Kernel(t, afterScript, paths...))
	if len(all) != len(paths) {
		t.Fatalf("the kernel used %d volumes of %d", len(all), len(paths))
	}
	for i, name := range order {
		for path, want := range models[i] {
			if got := all[i][path]; got != fmt.Sprintf("%x", sha256.Sum256(want)) {
				t.Errorf("%s: %s is not as it should be, with %d bytes: %q", name, path, len(want), got)
			}
		}
		t.Logf("%s: %s, %s, %s", name, all[i]["stat new/reserved"], all[i]["stat new/kept"], all[i]["stat new/pinned"])
		cleanAfter(t, name, paths[i], fsck)
	}
}

// changeImage changes an image by changeFiles.
func changeImage(t *testing.T, name, path string, m model) {
	t.Helper()
	onImage(t, path, func(f dev.Device) {
		for _, p := range []string{"dir/middling", "other", "holes", "small", "inline", "nothing", "dir/sub/abc", "shuffled", "many/file with a name 7", "many/file with a name 8"} {
			m[p] = contentsOf(t, f, p)
		}
		if err := changed(t, f, func(ctx context.Context, v vol.Volume) error { return changeFiles(ctx, v, m) }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for p, want := range m {
			if got := contentsOf(t, f, p); string(got) != string(want) {
				t.Errorf("%s: %s has %d bytes and not the %d it should", name, p, len(got), len(want))
			}
		}
	})
	if rows, why, res, _ := judge(t, path); strings.TrimPrefix(rows, "dotdot") != "" || why != "" {
		t.Errorf("%s: found %q, %q", name, found(res), why)
	}
}

// cleanAfter: what Linux left is clean.
func cleanAfter(t *testing.T, name, path, fsck string) {
	t.Helper()
	if rows, why, res, _ := judge(t, path); strings.TrimPrefix(rows, "dotdot") != "" || why != "" {
		t.Errorf("%s, used by Linux: found %q, %q", name, found(res), why)
	}
	if out, err := exec.Command(fsck, "--dry-run", path).CombinedOutput(); err != nil && name != "attributes" {
		t.Errorf("%s, used by Linux: fsck.f2fs says\n%s", name, out)
	}
}
