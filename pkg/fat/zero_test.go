package fat

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// patterned fills the file f with bytes that are not zero.
func patterned(t testing.TB, d dev.Device, f vol.FileResult) {
	t.Helper()
	left := f.Size
	for _, e := range f.Extents {
		n := min(left, e.Length)
		_, err := d.WriteAt(bytes.Repeat([]byte{0xAB}, int(n)), e.Off)
		must(t, err)
		left -= n
	}
}

func TestZeroRanges(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			spoiled(t, m, 5)
			f := preallocated(t, m, one("D/F", 33_333)).Files[0]
			patterned(t, m, f)
			before := voltest.HashOf(t, m)
			tx, v := begun(t, m)
			cs := v.g.ClusterSize()
			res, err := v.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{
				{Path: "d/f", Offset: 100, Length: 1}, {Path: "D/F", Offset: cs - 1, Length: 5*cs + 2}, {Path: "D/F", Offset: 33_000, Length: -1}, {Path: "D/F", Offset: 40_000, Length: -1},
			}})
			must(t, err)
			if z := res.Files[1]; z.Blocks != 7 || z.Runs < 2 || z.Length != 5*cs+2 {
				t.Errorf("%+v", z)
			}
			if z := res.Files[2]; z.Length != 333 || z.Runs != 1 {
				t.Errorf("%+v", z)
			}
			if z := res.Files[3]; z.Length != 0 || z.Blocks != 0 {
				t.Errorf("%+v", z)
			}
			if voltest.HashOf(t, m) != before {
				t.Error("the contents of a file changed before the commit")
			}
			commit(t, tx)
			for i, b := range contents(t, m, f) {
				zero := i == 100 || i >= int(cs-1) && i < int(6*cs+1) || i >= 33_000
				if (b == 0) != zero {
					t.Fatalf("byte %d is %#x", i, b)
				}
			}
			sound(t, m)
		})
	}
}

func TestZeroRangesGrow(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			f := preallocated(t, m, one("F", 1000)).Files[0]
			patterned(t, m, f)
			dirtyFree(t, m)
			keep := vol.ZeroRequest{KeepSize: true, Files: []vol.ZeroFile{{Path: "F", Offset: 900, Length: 20_000}}}
			tx, v := begun(t, m)
			res, err := v.ZeroRanges(context.Background(), keep)
			must(t, err)
			if z := res.Files[0]; z.Length != 100 || z.Blocks == 0 {
				t.Errorf("%+v", z)
			}
			tx.Rollback()
			keep.KeepSize = false
			tx, v = begun(t, m)
			res, err = v.ZeroRanges(context.Background(), keep)
			must(t, err)
			commit(t, tx)
			_, v = begun(t, m)
			again, err := v.Preallocate(context.Background(), vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "F"}}})
			must(t, err)
			b := contents(t, m, again.Files[0])
			if len(b) != 20_900 || len(bytes.Trim(b[900:], "\x00")) > 0 || b[899] != 0xAB || res.Files[0].Length != 20_000 {
				t.Errorf("%d bytes, result %+v", len(b), res.Files[0])
			}
			sound(t, m)
			fsckSilent(t, m)
		})
	}
}

func TestZeroRangesRefused(t *testing.T) {
	m := formatted(t, "fat16", 9<<20, 2048)
	preallocated(t, m, newFiles(map[string]int64{"F": 100, "D/G": 1}, "F", "D/G"))
	for what, f := range map[string]vol.ZeroFile{
		"missing": {Path: "X", Length: 1}, "directory": {Path: "D", Length: 1}, "no room": {Path: "F", Length: 10 << 20}, "too far": {Path: "F", Offset: maxFileSize + 1, Length: -1},
	} {
		tx, v := begun(t, m)
		_, err := v.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "F", Length: 50}, f}})
		if !errors.Is(err, vol.ErrRequest) || tx.Dirty() {
			t.Errorf("%s: %v, dirty %v", what, err, tx.Dirty())
		}
	}
}

// What is free and what is slack, told apart by what files can be read to hold.
func TestFreeRanges(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			spoiled(t, m, 7)
			sizes := map[string]int64{"D/E/F": 33_333, "G": 1, "long name": 4096, "D/H": 0}
			res := preallocated(t, m, newFiles(sizes, "D/E/F", "G", "long name", "D/H"))
			for _, f := range res.Files {
				patterned(t, m, f)
			}
			for _, slack := range []bool{false, true} {
				_, v := begun(t, m)
				var runs, bytesFree, last int64
				total, err := v.FreeRanges(context.Background(), slack, func(r dev.Range) error {
					if r.Off < last || r.Empty() {
						t.Errorf("range %v after byte %d", r, last)
					}
					last = r.End()
					runs, bytesFree = runs+1, bytesFree+r.Len
					_, err := m.WriteAt(bytes.Repeat([]byte{0xEE}, int(r.Len)), r.Off)
					return err
				})
				must(t, err)
				if total.Clusters != v.alloc.Free() {
					t.Errorf("%d clusters, %d are free", total.Clusters, v.alloc.Free())
				}
				want := int64(total.Clusters) * v.g.ClusterSize()
				if slack {
					for _, f := range res.Files {
						want += f.Allocated - f.Size
					}
				}
				if bytesFree != want {
					t.Errorf("slack %v: %d bytes, want %d", slack, bytesFree, want)
				}
				for _, f := range res.Files {
					if b := contents(t, m, f); len(bytes.Trim(b, "\xAB")) > 0 {
						t.Errorf("%s was overwritten", f.Path)
					}
				}
			}
			sound(t, m)
		})
	}
}
