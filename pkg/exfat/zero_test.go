package exfat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

func TestZeroRanges(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			f := preallocated(t, m, allValid(one("D/F", 100_000))).Files[0]
			fill(t, m, f, 0xAB)
			model := bytes.Repeat([]byte{0xAB}, 100_000)
			zero := func(off, length int64, keep bool) {
				t.Helper()
				res := zeroed(t, m, vol.ZeroRequest{KeepSize: keep, Files: []vol.ZeroFile{{Path: "d/f", Offset: off, Length: length}}})
				end := off + length
				if length < 0 || keep {
					end = min(end, int64(len(model)))
				}
				if length < 0 {
					end = int64(len(model))
				}
				end = max(end, off)
				if z := res.Files[0]; z.Offset != off || z.Length != end-off || (z.Blocks == 0) != (end == off) || (z.Runs == 0) != (end == off) {
					t.Errorf("%+v for %d to %d", z, off, end)
				}
				if grow := end - int64(len(model)); grow > 0 && end > off {
					model = append(model, bytes.Repeat([]byte{0}, int(grow))...)
				}
				if end > off {
					clear(model[off:end])
				}
				if got := sound(t, m).data("/D/F"); !bytes.Equal(got, model) {
					t.Fatalf("after %d+%d the file reads otherwise", off, length)
				}
			}
			zero(1000, 5000, false)
			if v := sound(t, m).files["/D/F"].valid; v != 100_000 {
				t.Errorf("%d bytes are valid", v)
			}
			zero(90_000, 10_000, false)
			zero(50_000, 60_000, true) // reaches what is valid: 90 000
			if v := sound(t, m).files["/D/F"].valid; v != 50_000 {
				t.Errorf("%d bytes are valid", v)
			}
			zero(60_000, 1000, false)
			zero(99_000, 50_000, false)
			zero(200_000, -1, true)
			zero(40_000, -1, false)
			zero(0, 1, false)
			zero(500_000, 5, true)
			if v := sound(t, m).files["/D/F"].valid; v != 40_000 {
				t.Errorf("%d bytes are valid", v)
			}
			fsckClean(t, m)
		})
	}
}

// Lowering what is valid stages nothing but an entry; what lies in front of it
// can be taken back.
func TestZeroStaged(t *testing.T) {
	m := formatted(t, 64<<20, 4096)
	f := preallocated(t, m, allValid(one("F", 20<<20))).Files[0]
	fill(t, m, f, 0x11)
	before := voltest.Copied(t, m)
	tx, v := begun(t, m)
	_, err := v.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "F", Offset: 4097, Length: -1}}})
	must(t, err)
	if n := tx.DirtyBytes(); n > 2*4096 {
		t.Errorf("%d bytes are staged", n)
	}
	tx.Rollback()
	tx, v = begun(t, m)
	_, err = v.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "F", Offset: 4097, Length: 1 << 20}}})
	must(t, err)
	if at := sameBytes(t, m, before); at >= 0 {
		t.Errorf("byte %d is changed before the commit", at)
	}
	tx.Rollback()
}

// Ranges of one file in one request, in any order.
func TestZeroSeveral(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 40 {
		m := formatted(t, 16<<20, 4096)
		preallocated(t, m, one("A", 5000))
		spoiled(t, m, 7)
		f := preallocated(t, m, allValid(one("F", 200_000))).Files[0]
		fill(t, m, f, 0xEE)
		model := bytes.Repeat([]byte{0xEE}, 200_000)
		r := vol.ZeroRequest{KeepSize: true}
		for range 1 + rnd.IntN(5) {
			off, n := rnd.Int64N(210_000), rnd.Int64N(100_000)
			r.Files = append(r.Files, vol.ZeroFile{Path: "F", Offset: off, Length: n})
			if off < 200_000 {
				clear(model[off:min(200_000, off+n)])
			}
		}
		zeroed(t, m, r)
		if !bytes.Equal(sound(t, m).data("/F"), model) {
			t.Fatalf("%+v", r)
		}
	}
}

func TestZeroRefused(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, newFiles(map[string]int64{"D/F": 10}, "D/F"))
	for want, fs := range map[error][]vol.ZeroFile{
		vol.ErrRequest: {{Path: "gone"}, {Path: "D"}, {Path: "D/F", Offset: math.MaxInt64, Length: 1}, {Path: "D/F", Offset: 1 << 50, Length: 1}, {Path: "D/F", Length: 17 << 20}},
		vol.ErrUsage:   {{Path: "D/F", Offset: -1, Length: 1}, {Path: "D/F", Offset: -1, Length: -1}},
	} {
		for _, f := range fs {
			tx, v := begun(t, m)
			if _, err := v.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{f}}); !errors.Is(err, want) || tx.Dirty() {
				t.Errorf("%+v: %v, dirty %v", f, err, tx.Dirty())
			}
		}
	}
}

// What belongs to no one, and with slack what no one can read, are all bytes of
// the heap but those that a file can show.
func TestFreeRanges(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			spoiled(t, m, 20)
			preallocated(t, m, allValid(newFiles(map[string]int64{"D/A": 100_000, "D/E/B": 5, "C": 0}, "D/A", "D/E/B", "C")))
			preallocated(t, m, newFiles(map[string]int64{"D/A": 200_000, "D/E/P": 150_000}, "D/A", "D/E/P"))
			before := sound(t, m)
			for _, slack := range []bool{false, true} {
				_, v := begun(t, m)
				end, bytesFree := int64(0), int64(0)
				total, err := v.FreeRanges(context.Background(), slack, func(r dev.Range) error {
					if r.Off < end || r.Len <= 0 || r.Off < v.g.HeapOff() {
						t.Fatalf("%v after byte %d", r, end)
					}
					end, bytesFree = r.End(), bytesFree+r.Len
					_, err := m.WriteAt(bytes.Repeat([]byte{0x5A}, int(r.Len)), r.Off)
					return err
				})
				must(t, err)
				want := int64(v.alloc.Free()) * v.g.ClusterSize
				if int64(total.Clusters)*v.g.ClusterSize != want {
					t.Errorf("%d clusters are free, want %d", total.Clusters, v.alloc.Free())
				}
				if slack {
					for _, path := range before.paths() {
						if f := before.files[path]; !f.dir {
							want += int64(len(f.clusters))*before.cs - int64(f.valid)
						}
					}
				}
				if bytesFree != want {
					t.Errorf("slack %v: %d bytes, want %d", slack, bytesFree, want)
				}
				after := sound(t, m)
				for _, path := range before.paths() {
					if f := before.files[path]; !f.dir && !bytes.Equal(before.data(path), after.data(path)) {
						t.Errorf("slack %v: %s is changed", slack, path)
					}
				}
			}
			stop := fmt.Errorf("stop")
			_, v := begun(t, m)
			if _, err := v.FreeRanges(context.Background(), true, func(dev.Range) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A directory that leads to itself does not hang the search for slack.
func TestFreeRangesLoop(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, emptyFiles("D/E/F"))
	p := sound(t, m)
	edited(t, m, "D/E", func(f file) {
		f.set().allocate(p.files["/D"].clusters[0], 4096, 4096, true)
		f.set().seal()
		f.changed()
	})
	_, v := begun(t, m)
	if _, err := v.FreeRanges(context.Background(), true, func(dev.Range) error { return nil }); !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("%v", err)
	}
}
