//go:build linux

package lfs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// mountCutsScript mounts what power cuts left, prints what the files hold, and uses
// the volume.
const mountCutsScript = listScript + `
for d; do
	echo "volume"; go $d
	for f in plain inline direct dir/twice dir/a/b dir/new; do [ ! -e $f ] || sha256sum ./$f; done
	random written 200; cp plain copy; rm plain; gone
done
# Of the pack that was being written when the power went the checksum is wrong.
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v -e 'Mounted with checkpoint version' -e 'invalid crc value' || true
`

// cutFiles are the files that cutCases change.
func cutFiles() []string {
	return []string{"plain", "inline", "direct", "dir/twice", "dir/a/b", "dir/new"}
}

// TestCutKernel: Linux mounts what power cuts leave, without an undo log, and
// finds the files as before or as after.
func TestCutKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	var paths []string
	var names, before, after []string
	cases := cutCases()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		l := newLab(t, strings.ReplaceAll(labFeatures, "casefold,", "")) // which the kernel lacks
		fillFile(t, l.d, "plain", bytes.Repeat([]byte("plain "), 16384/6))
		run := func(d dev.Device) error {
			txn := dev.Begin(d)
			v, err := open(context.Background(), txn, vol.OpenOptions{Raw: d, Now: 1700000001})
			if err == nil {
				err = cases[name](context.Background(), v)
			}
			if err == nil {
				_, err = txn.Commit(context.Background(), dev.CommitOptions{})
			}
			return err
		}
		w := devtest.NewWorld(l.d)
		if err := run(w.Device()); err != nil {
			t.Fatal(err)
		}
		ops := len(w.Ops())
		for _, cut := range []int{ops / 3, ops - 2, ops - 1} {
			x := devtest.NewWorld(l.d)
			x.CutAt(cut)
			if err := run(x.Device()); err == nil {
				t.Fatalf("%s: nothing failed at operation %d of %d", name, cut, ops)
			}
			paths = append(paths, voltest.Saved(t, x.After(devtest.Random(uint64(cut))).Device()))
			names = append(names, textf("%s, cut at %d of %d", name, cut, ops))
			before, after = append(before, listed(t, l.d)), append(after, listed(t, w.Device()))
		}
	}
	volumes := strings.Split(voltest.Kernel(t, mountCutsScript, paths...), "volume\n")[1:]
	if len(volumes) != len(paths) {
		t.Fatalf("the kernel mounted %d of %d", len(volumes), len(paths))
	}
	for i, got := range volumes {
		if got != before[i] && got != after[i] {
			t.Errorf("%s: Linux finds\n%s\nbefore it was\n%s\nafter\n%s", names[i], got, before[i], after[i])
		}
		if rows, why, res, _ := judge(t, paths[i]); rows != "" || why != "" {
			t.Errorf("%s, used by Linux: found %q, %q", names[i], found(res), why)
		}
	}
}

// listed is what the script prints of a volume.
func listed(t *testing.T, d dev.Device) (out string) {
	t.Helper()
	for _, path := range cutFiles() {
		if b, err := readAll(t.Context(), d, path); err == nil {
			out += fmt.Sprintf("%x  ./%s\n", sha256.Sum256(b), path)
		}
	}
	return out
}

// TestScatteredKernel: Linux uses a volume whose logs we left filling holes.
func TestScatteredKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	path := made(t, 64<<20, "-q")
	scattered(t, path)
	onImage(t, path, func(d dev.Device) { rewrite(t, d, 300) })
	out := voltest.Kernel(t, listScript+`go $1; sha256sum big >/mnt/was; random new 300; rm -f new; random other 100
sha256sum big | cmp - /mnt/was; gone; go $1; sha256sum big | cmp - /mnt/was; gone
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v 'Mounted with checkpoint version' || true`, path)
	if out != "" {
		t.Errorf("the kernel says %q", out)
	}
	if rows, why, res, _ := judge(t, path); rows != "" || why != "" {
		t.Errorf("used by Linux: found %q, %q", found(res), why)
	}
}
