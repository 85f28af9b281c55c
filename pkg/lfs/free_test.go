package lfs

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestFreeRanges: what is free can hold anything: files are as before, and the
// check finds nothing. With slack that is so of what lies behind the ends of
// files, too. All of it together with what is in use is the main area.
func TestFreeRanges(t *testing.T) {
	for _, slack := range []bool{false, true} {
		l := newLab(t, labFeatures)
		const freed = 800 // an inode that Linux took away
		l.editNAT(freed, func(e natEntry) { e.put(1, freed, nullAddr) })
		fillFile(t, l.d, "plain", bytes.Repeat([]byte("plain "), 16384/6)) // which leaves dead blocks
		want := map[string][]byte{}
		for _, path := range []string{"plain", "inline", "kept", "extent", "direct", "dir/inner"} {
			want[path] = contentsOf(t, l.d, path)
		}
		v, err := open(t.Context(), l.d, vol.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		main := dev.Range{Off: l.g.BlockOff(l.g.Main), Len: int64(l.g.MainBlocks()) * l.g.BlockSize}
		last, covered, tails := int64(0), int64(0), 0
		total, err := v.FreeRanges(t.Context(), slack, func(r dev.Range) error {
			if r.Off < last || r.Intersect(main) != r || r.Empty() {
				t.Errorf("%v comes after byte %d", r, last)
			}
			if last = r.End(); r.Len%l.g.BlockSize != 0 {
				tails++
			} else {
				covered += r.Len
			}
			_, err := l.d.WriteAt(bytes.Repeat([]byte{0xA5}, int(r.Len)), r.Off)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		used := checked(t, l.d).Stats.Used
		if total.Clusters+used != l.g.MainBlocks() || int64(total.Clusters)*l.g.BlockSize != covered || tails > 0 != slack {
			t.Errorf("%+v free, %d in use, of %d; %d bytes, %d tails", total, used, l.g.MainBlocks(), covered, tails)
		}
		mustBeClean(t, l.d)
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if !bytes.Equal(contentsOf(t, l.d, path), want[path]) {
				t.Errorf("slack %v: %s holds something else", slack, path)
			}
		}
	}
}

// TestGrowOverTail: what lies behind the end of a file does not show when it
// grows: neither of one that moves nor of one that is pinned.
func TestGrowOverTail(t *testing.T) {
	l := newLab(t, "")
	for _, path := range []string{"pinned", "kept"} {
		junk := bytes.Repeat([]byte{0xA5}, 4096)
		l.write(l.at[path].pages[0], junk)
		if err := changed(t, l.d, func(ctx context.Context, v vol.Volume) error {
			_, err := v.Preallocate(ctx, vol.PreallocRequest{FillZero: true, Files: []vol.PreallocFile{{Path: path, Length: 4000}}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		got := contentsOf(t, l.d, path)
		if !bytes.Equal(got[:100], junk[:100]) || !dev.AllZero(got[100:]) || len(got) != 4000 {
			t.Errorf("%s has %d bytes, and not zeros from 100 on", path, len(got))
		}
		mustBeClean(t, l.d)
	}
	if now := newestInode(t, l.d, "pinned"); now.word(l.g.extraWords(now)) != l.at["pinned"].pages[0] {
		t.Error("the pinned file has moved")
	}
}

// newestInode is the inode of a file.
func newestInode(t testing.TB, d dev.Device, path string) (n nodeBlock) {
	t.Helper()
	v, err := open(t.Context(), d, vol.OpenOptions{})
	if err == nil {
		var c *batch
		if c, err = v.(*volume).begin(t.Context()); err == nil {
			var h *handle
			if h, err = c.file(path, false); err == nil {
				return h.b
			}
		}
	}
	t.Fatal(err)
	return nil
}
