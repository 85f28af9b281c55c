//go:build linux

package lfs

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// repaired is an image of the volume after -y, which must mend everything; ""
// where it cannot.
func repaired(t *testing.T, d dev.Device) string {
	t.Helper()
	path := voltest.Saved(t, d)
	ok := false
	onImage(t, path, func(f dev.Device) {
		txn := dev.Begin(f)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Unproven != nil {
			t.Fatalf("-y: %v, %+v", err, res)
		}
		if ok = res.Repaired && !res.Left(vol.SevWarning) && !res.Stopped; ok {
			if _, err := txn.Commit(t.Context(), dev.CommitOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !ok {
		return ""
	}
	return path
}

// TestRepairPeer: fsck.f2fs finds nothing on what was repaired.
func TestRepairPeer(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.f2fs")
	for _, c := range allDamages() {
		t.Run(c.slug+c.name, func(t *testing.T) {
			path := repaired(t, c.lab(t).d)
			if path == "" {
				return
			}
			passes(t, fsck, path)
		})
	}
}

// passes: fsck.f2fs finds nothing on an image.
func passes(t *testing.T, fsck, path string) {
	t.Helper()
	if out, err := exec.Command(fsck, "--dry-run", path).CombinedOutput(); err != nil {
		var bad []string
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "ASSERT") || strings.Contains(line, "[Fail]") {
				bad = append(bad, strings.TrimSpace(line))
			}
		}
		t.Errorf("fsck.f2fs: %v: %q", err, bad)
	}
}

// TestKeptPeer: nor on what was found again.
func TestKeptPeer(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.f2fs")
	for _, c := range losses() {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "")
			c.do(l)
			path := repaired(t, l.d)
			if path == "" {
				t.Fatal("not repaired")
			}
			passes(t, fsck, path)
		})
	}
}

// treeScript prints the files of each volume: names, types, owners, links, sizes,
// blocks, and what is in them.
const treeScript = listScript + `
for d; do
	echo "volume"; go $d
	find . -path ./lost+found -prune -o ! -type d -printf '%p %y %m %U %G %n %s %b\n' -o -printf '%p %y %m %U %G %n\n' | sort; sums | sort; gone
done
`

// usedScript uses volumes as a system does.
const usedScript = listScript + `
for d; do
	go $d; random written 200; cp written copy; mkdir made; i=0; while [ $i -lt 50 ]; do echo $i >made/$i; i=$((i + 1)); done
	find . >/dev/null; rm written; mv made newer; rm -r newer/1*; gone
done
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v -e 'Mounted with checkpoint version' -e 'Found nat_bits' || true
`

// TestReplayKernel: what -p makes of a volume that the power went from is what
// Linux makes of a copy, file by file, and so is what is read of it unchanged; and
// Linux goes on with what -p made.
func TestReplayKernel(t *testing.T) {
	needs.Long(t, "boots Linux three times")
	voltest.Peer(t, "linux.uml")
	fsck := voltest.Peer(t, "fsck.f2fs")
	names := []string{"synced", "long log", "orphans", "fastboot", "not unmounted", "disabled"}
	var all, theirs, ours, read []string
	for range names {
		all = append(all, made(t, 128<<20, "-q"), made(t, 128<<20))
		theirs = append(theirs, all[len(all)-1])
	}
	voltest.Kernel(t, cutScript, all...)
	for i, name := range names {
		read = append(read, settledList(t, theirs[i]))
		onImage(t, theirs[i], func(d dev.Device) {
			path := repaired(t, d)
			if path == "" {
				t.Fatalf("%s: not repaired", name)
			}
			ours = append(ours, path)
		})
	}
	trees := strings.Split(voltest.Kernel(t, treeScript, append(slices.Clone(theirs), ours...)...), "volume\n")[1:]
	for i, name := range names {
		want := trees[i]
		for how, got := range map[string]string{"replayed": trees[len(names)+i], "read": read[i]} {
			if got != want {
				t.Errorf("%s, %s: there is\n%s\nLinux has\n%s", name, how, firstDifference(got, want), firstDifference(want, got))
			}
		}
	}
	if out := voltest.Kernel(t, usedScript, ours...); out != "" {
		t.Errorf("Linux says %s", out)
	}
	for i, name := range names {
		cleanAfter(t, name, ours[i], fsck)
	}
}

// settledList is what treeScript prints of an image, from what is read of it as a
// mount would show it. The image stays as it is.
func settledList(t *testing.T, path string) string {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names, sums []string
	onImage(t, path, func(d dev.Device) {
		txn := dev.Begin(d)
		defer txn.Rollback()
		if _, err := settleLog(t.Context(), txn); err != nil {
			t.Fatal(err)
		}
		tr, err := read(t.Context(), txn, vol.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		root, err := tr.Root()
		if err == nil {
			err = vol.Walk(t.Context(), tr, root, func(n *vol.Node, err error) error {
				if err != nil {
					return err
				}
				name := "." + strings.TrimSuffix(n.Path, "/")
				line := textf("%s %s %o %d %d %d", name, map[vol.Kind]string{vol.KindDir: "d", vol.KindFile: "f"}[n.Kind], n.Mode, n.UID, n.GID, n.Nlink)
				if n.Kind == vol.KindFile {
					h, err := tr.(*tree).open(n)
					if err != nil {
						return err
					}
					sectors := (h.b.blocks() - 1) * 8
					if h.b.inline()&inlineData != 0 {
						sectors += uint64(n.Size+511) / 512 // [Linux] behaviour f2fs_getattr()
					}
					line += textf(" %d %d", n.Size, sectors)
					sums = append(sums, textf("%x  %s", sha256.Sum256(bytesOf(t, tr, n)), name))
				}
				names = append(names, line)
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s has changed: %v", path, err)
	}
	slices.Sort(names)
	slices.Sort(sums)
	return strings.Join(append(names, sums...), "\n") + "\n"
}

// firstDifference is where a text begins to differ from another.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return textf("line %d: %s", i, strings.Join(x[i:min(len(x), i+5)], "\n"))
		}
	}
	return ""
}

// TestRepairKernel: Linux mounts what was repaired, and uses it.
func TestRepairKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	fsck := voltest.Peer(t, "fsck.f2fs")
	want := strings.Fields("cp-tail log-place sit-free sit-type ssa-entry nat-address node-twice addr-twice inode-links inode-depth quota-file dentry-twice dentry-position dot inode-unreachable root-lost")
	var paths, names []string
	for _, slug := range want {
		i := slices.IndexFunc(allDamages(), func(c damage) bool { return c.slug == slug })
		c := allDamages()[i]
		if c.with == "all" {
			c.with = strings.ReplaceAll(labFeatures, "casefold,", "") // which the kernel lacks
		}
		path := repaired(t, c.lab(t).d)
		if path == "" {
			t.Fatalf("%s: not repaired", slug)
		}
		paths, names = append(paths, path), append(names, slug)
	}
	if out := voltest.Kernel(t, usedScript, paths...); out != "" {
		t.Errorf("Linux says %s", out)
	}
	for i, name := range names {
		cleanAfter(t, name, paths[i], fsck)
	}
}

// TestKeptKernel: Linux mounts what was found again, and uses it.
func TestKeptKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	fsck := voltest.Peer(t, "fsck.f2fs")
	for part := range slices.Chunk(losses(), 10) {
		var paths []string
		for _, c := range part {
			l := newLab(t, "")
			c.do(l)
			path := repaired(t, l.d)
			if path == "" {
				t.Fatalf("%s: not repaired", c.name)
			}
			paths = append(paths, path)
		}
		if out := voltest.Kernel(t, usedScript, paths...); out != "" {
			t.Errorf("Linux says %s", out)
		}
		for i, c := range part {
			cleanAfter(t, c.name, paths[i], fsck)
		}
	}
}
