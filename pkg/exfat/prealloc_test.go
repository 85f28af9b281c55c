package exfat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// kinds are small volumes with sectors and clusters of all sizes.
func kinds() map[string]func(t testing.TB) *dev.Mem {
	out := map[string]func(t testing.TB) *dev.Mem{}
	for _, k := range []struct{ sector, cluster, size int64 }{
		{512, 512, 4 << 20}, {512, 4096, 16 << 20}, {512, 128 << 10, 64 << 20}, {4096, 4096, 16 << 20}, {4096, 32 << 10, 32 << 20}, {2048, 8192, 8 << 20},
	} {
		out[fmt.Sprintf("%d in %d", k.cluster, k.sector)] = func(t testing.TB) *dev.Mem {
			return formatted(t, k.size, k.cluster, func(o *vol.FormatOptions) { o.SectorSize, o.Label = k.sector, "TEST" })
		}
	}
	return out
}

// dirtyFree fills all free clusters with a pattern, as files deleted would.
func dirtyFree(t testing.TB, m *dev.Mem) {
	t.Helper()
	_, v := begun(t, m)
	_, err := v.FreeRanges(context.Background(), false, func(r dev.Range) error {
		b := bytes.Repeat([]byte{0xD5}, int(r.Len))
		_, err := m.WriteAt(b, r.Off)
		return err
	})
	must(t, err)
}

// fill writes a pattern over the clusters of f.
func fill(t testing.TB, m dev.Device, f vol.FileResult, v byte) {
	t.Helper()
	for _, e := range f.Extents {
		_, err := m.WriteAt(bytes.Repeat([]byte{v}, int(e.Length)), e.Off)
		must(t, err)
	}
}

func TestPreallocate(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			dirtyFree(t, m)
			sizes := map[string]int64{
				"DCIM/100/CLIP0001.MP4": 300_000, "a/very/deep path/ünïcödé 日本語 😀 file.txt": 12345,
				"/A.TXT": 1, "::/empty": 0, "a/very/b": 70_000, "Mixed.Case": 512, strings.Repeat("x", 255): 7, strings.Repeat("😀", 127) + "y": 8,
			}
			paths := []string{"DCIM/100/CLIP0001.MP4", "a/very/deep path/ünïcödé 日本語 😀 file.txt", "/A.TXT", "::/empty", "a/very/b", "Mixed.Case",
				strings.Repeat("x", 255), strings.Repeat("😀", 127) + "y"}
			res := preallocated(t, m, newFiles(sizes, paths...))
			p := sound(t, m)
			for i, f := range res.Files {
				if f.Path != paths[i] || f.Size != sizes[f.Path] || f.Valid != 0 || f.Allocated < f.Size || len(f.Extents) > 1 {
					t.Errorf("result %+v, want %d bytes in one extent", f, sizes[f.Path])
				}
				path := "/" + strings.TrimPrefix(strings.TrimPrefix(paths[i], "::"), "/")
				got := p.files[path]
				if int64(got.length) != f.Size || got.valid != 0 || got.noFat != (f.Size > 0) || got.set[4] != attrArchive {
					t.Errorf("%s: %+v", path, got)
				}
				if b := p.data(path); len(bytes.Trim(b, "\x00")) > 0 {
					t.Errorf("%s is not all zeros", path)
				}
			}
			fsckClean(t, m)
			// Once more, by the other spelling of the names: nothing is left to do.
			tx, v := begun(t, m)
			again := newFiles(sizes, paths...)
			again.Create = false
			for i := range again.Files {
				again.Files[i].Path = strings.ToUpper(again.Files[i].Path)
			}
			res, err := v.Preallocate(context.Background(), again)
			if err != nil || res.ClustersAllocated != 0 || tx.Dirty() {
				t.Errorf("the same request again: %+v, %v, dirty %v", res, err, tx.Dirty())
			}
		})
	}
}

// Nothing of the data area is written but directories: what a preallocated
// file is promised to read as, it reads as without.
func TestPreallocateWritesNoData(t *testing.T) {
	m := formatted(t, 64<<30, 4096)
	tx, v := begun(t, m)
	r := vol.PreallocRequest{Create: true, Contiguous: true, FillZero: true}
	for i := range 16 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("F%02d", i), Length: 1 << 30})
	}
	res, err := v.Preallocate(context.Background(), r)
	must(t, err)
	// The bits of 4 Mi clusters, 1 KiB of entries, the percentage.
	if n := tx.DirtyBytes(); n > 4<<20/8+3*4096+4096 {
		t.Errorf("%d bytes are staged", n)
	}
	commit(t, tx)
	if res.ClustersAllocated != 4<<20 {
		t.Errorf("%d clusters allocated", res.ClustersAllocated)
	}
	fsckClean(t, m)
}

// Volumes of other makers, as they come.
func TestPreallocateOnMkfs(t *testing.T) {
	for _, args := range [][]string{
		{"-c", "4096"}, {"-c", "512"}, {"-c", "128K", "-L", "LABEL"}, {"-b", "64K", "-c", "8K"}, {"-f"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			image := voltest.SparseFile(t, 40<<20)
			peer(t, "mkfs.exfat", append(args, image)...)
			f, err := dev.OpenFile(image, dev.OpenOptions{Write: true})
			must(t, err)
			defer f.Close()
			preallocated(t, f, newFiles(map[string]int64{"some directory/File.bin": 99_999, "x": 4096}, "some directory/File.bin", "x"))
			preallocated(t, f, allValid(newFiles(map[string]int64{"SOME directory/file.BIN": 1_999_999, "y": 4096}, "SOME directory/file.BIN", "y")))
			p := sound(t, f)
			if got := p.files["/some directory/File.bin"]; got.length != 1_999_999 || got.valid != 1_999_999 {
				t.Errorf("%+v", got)
			}
			out := peer(t, "fsck.exfat", "-n", image)
			if !strings.Contains(out, "clean. directories 2, files 3") {
				t.Errorf("fsck.exfat: %s", out)
			}
		})
	}
}

// refused carries out r, which must fail with want and leave no trace: neither
// staged nor on the device nor in the allocator.
func refused(t *testing.T, m *dev.Mem, r vol.PreallocRequest, want error) string {
	t.Helper()
	before := voltest.Copied(t, m)
	tx, v := begun(t, m)
	free := v.alloc.Free()
	_, err := v.Preallocate(context.Background(), r)
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if tx.Dirty() || v.alloc.Free() != free || sameBytes(t, m, before) >= 0 {
		t.Errorf("after %v: dirty %v, free %d of %d", err, tx.Dirty(), v.alloc.Free(), free)
	}
	return err.Error()
}

func TestPreallocateAllOrNothing(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			preallocated(t, m, one("there", 5000))
			half := m.Size() / 2
			for what, r := range map[string]vol.PreallocRequest{
				"together too much": newFiles(map[string]int64{"new/a": half, "new/b": half, "there": half}, "new/a", "new/b", "there"),
				"bad name at last":  newFiles(map[string]int64{"new/a": 5, "there": 9000, "a:b": 1}, "new/a", "there", "a:b"),
				"long name at last": newFiles(nil, "new/a", strings.Repeat("x", 256)),
				"a directory":       newFiles(map[string]int64{"new/a": 5, "new": 1}, "new/a", "new"),
				"below a file":      newFiles(map[string]int64{"new/a": 5, "there/x": 1}, "new/a", "there/x"),
				"too large":         one("x", 1<<62),
				"the largest":       one("x", math.MaxInt64),
				"overflow":          {Create: true, Files: []vol.PreallocFile{{Path: "x", Offset: 1 << 62, Length: 1 << 62}}},
				"missing":           {Files: []vol.PreallocFile{{Path: "there", Length: 9000}, {Path: "gone", Length: 1}}},
				"missing parent":    {Files: []vol.PreallocFile{{Path: "gone/x", Length: 1}}},
				"keep size":         {KeepSize: true, Files: []vol.PreallocFile{{Path: "there", Length: 500_000}}},
				"keep size, huge":   {KeepSize: true, Files: []vol.PreallocFile{{Path: "there", Length: 1 << 62}}},
				"up":                one("new/../x", 1),
				"root":              one("/", 1),
				"slash at the end":  one("new/x/", 1),
				"no name":           one("", 1),
			} {
				t.Run(what, func(t *testing.T) { refused(t, m, r, vol.ErrRequest) })
			}
			refused(t, m, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "x", Length: -1}}}, vol.ErrUsage)
			refused(t, m, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "x", Offset: -1}}}, vol.ErrUsage)
			refused(t, m, vol.PreallocRequest{Create: true, Align: -1, Files: []vol.PreallocFile{{Path: "x", Length: 1}}}, vol.ErrUsage)
			sound(t, m)
		})
	}
}

// All that is free can be had, and not a cluster more.
func TestPreallocateToTheLastCluster(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			all := int64(v.alloc.Free()) * v.g.ClusterSize
			refused(t, m, one("F", all+1), vol.ErrRequest)
			res := preallocated(t, m, one("F", all))
			if _, v := begun(t, m); v.alloc.Free() != 0 {
				t.Errorf("%d clusters are free", v.alloc.Free())
			}
			if last := res.Files[0].Extents[0]; last.End()-1 != uint64(v.g.Last()) {
				t.Errorf("the file ends in cluster %d of %d", last.End()-1, v.g.Last())
			}
			if p := sound(t, m); p.percent != 100 {
				t.Errorf("%d%% in use", p.percent)
			}
			fsckClean(t, m)
			refused(t, m, one("G", 1), vol.ErrRequest)
			preallocated(t, m, one("G", 0)) // the root has room for an entry
		})
	}
}

// spoiled gives every n-th cluster to a file of its own, so that no free run is
// longer than n-1.
func spoiled(t testing.TB, m *dev.Mem, n uint32) {
	t.Helper()
	_, v := begun(t, m)
	var taken []space.Extent
	for c := v.g.RootCluster + n; c <= v.g.Last(); c += n {
		if !v.m.Used(c - firstCluster) {
			taken = append(taken, space.Extent{Start: c, Len: 1})
		}
	}
	grab(t, m, "spoiler", taken)
}

// grab makes a file of the clusters in es, which are free.
func grab(t testing.TB, m dev.Device, name string, es []space.Extent) {
	t.Helper()
	preallocated(t, m, one(name, 0))
	tx, v := begun(t, m)
	c, err := v.begin()
	must(t, err)
	g, err := c.file(name, false)
	must(t, err)
	n := int64(space.Units(es)) * v.g.ClusterSize
	g.wantSize, g.wantValid, g.Add = n, n, es
	for _, e := range es {
		e.Start -= firstCluster
		if _, err := v.alloc.Alloc(nil, space.Request{Units: e.Len, Goal: e.Start, Exact: true, Contiguous: true}); err != nil {
			t.Fatal(err)
		}
		c.Taken = append(c.Taken, e)
	}
	c.Staged = true
	must(t, c.Stage())
	must(t, c.Verify())
	commit(t, tx)
}

// Boundaries that are no power of two, and those that no cluster is on.
func TestPreallocateAlign(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	r := one("F", 1)
	r.Align = 3 << 9
	if f := preallocated(t, m, r).Files[0]; f.Extents[0].Off%r.Align != 0 {
		t.Errorf("%+v", f)
	}
	g := &Geometry{SectorSize: 512, ClusterSize: 4096, HeapOffset: 57, Clusters: 1000}
	if _, err := vol.NewPlacement(false, 4096, g.ClusterSize, g.HeapOff()); !errors.Is(err, vol.ErrUsage) {
		t.Errorf("%v", err)
	}
	r.Align = 1 << 62
	refused(t, m, r, vol.ErrUsage)
}

// A contiguous file that grows past a cluster that is taken needs a chain for
// all of itself, [exFAT] §6.4.2.2; the FAT held anything there before.
func TestPreallocateGrow(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			cs := v.g.ClusterSize
			f := preallocated(t, m, allValid(one("D/F", 2*cs+100))).Files[0]
			fill(t, m, f, 0xAB)
			preallocated(t, m, one("D/next", 10))
			dirtyFree(t, m)
			patched(t, m, v.g.FatOff()+4*int64(v.g.RootCluster+1), 4*40, func(b []byte) {
				for i := range b {
					b[i] = 0x77 // stale links are legal
				}
			})
			r := vol.PreallocRequest{FillZero: true, Files: []vol.PreallocFile{{Path: "d/f", Offset: 3 * cs, Length: cs}, {Path: "D/F", Offset: 5 * cs, Length: 7}}}
			res := preallocated(t, m, r)
			g := res.Files[0]
			if g.Size != 5*cs+7 || g.Valid != f.Size || len(g.Extents) != 2 || res.ClustersAllocated != 3 || res.Files[1].Size != g.Size {
				t.Errorf("%+v", res)
			}
			p := sound(t, m)
			want := append(bytes.Repeat([]byte{0xAB}, int(f.Size)), bytes.Repeat([]byte{0}, int(g.Size-f.Size))...)
			if !bytes.Equal(p.data("/D/F"), want) || p.files["/D/F"].noFat {
				t.Error("the contents are not what was there, and zeros behind")
			}
			// The chain grows; later all of it becomes valid.
			preallocated(t, m, one("D/F", 9*cs))
			preallocated(t, m, allValid(one("D/F", 12*cs-1)))
			p = sound(t, m)
			want = append(want, bytes.Repeat([]byte{0}, int(12*cs-1-g.Size))...)
			if got := p.files["/D/F"]; int64(got.valid) != 12*cs-1 || !bytes.Equal(p.data("/D/F"), want) {
				t.Errorf("%d valid bytes", got.valid)
			}
			if tail := p.content(p.files["/D/F"].clusters); tail[12*cs-1] != 0 {
				t.Errorf("the byte behind the end is %#x", tail[12*cs-1])
			}
			fsckClean(t, m)
		})
	}
}

// --valid all with --fill none shows what was there: it was asked for.
func TestPreallocateValidUnfilled(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	dirtyFree(t, m)
	r := allValid(one("F", 10000))
	r.FillZero = false
	if f := preallocated(t, m, r).Files[0]; f.Valid != 10000 {
		t.Errorf("%+v", f)
	}
	if b := sound(t, m).data("/F"); b[9999] != 0xD5 {
		t.Errorf("the last byte is %#x", b[9999])
	}
	// With nothing to grow, a file becomes valid all the same.
	preallocated(t, m, one("G", 10000))
	if f := preallocated(t, m, allValid(one("G", 5))).Files[0]; f.Valid != 10000 || f.Size != 10000 {
		t.Errorf("%+v", f)
	}
	if b := sound(t, m).content(sound(t, m).files["/G"].clusters); len(bytes.Trim(b, "\x00")) > 0 {
		t.Error("G is not all zeros")
	}
}

// A file that was made by a system that links contiguous ones too.
func TestPreallocateChainedFile(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, one("F", 3*4096))
	tx, v := begun(t, m)
	c, err := v.begin()
	must(t, err)
	g, err := c.file("F", false)
	must(t, err)
	must(t, newTable(tx, v.g).link(g.Old))
	g.set().allocate(g.First(), 3*4096, 0, false)
	g.set().seal()
	g.file.changed()
	must(t, c.ds.store(g.dir))
	commit(t, tx)
	if sound(t, m).files["/F"].noFat {
		t.Fatal("F has no chain")
	}
	// It goes on behind its end: one run needs no chain any more.
	preallocated(t, m, one("F", 5*4096))
	if f := sound(t, m).files["/F"]; !f.noFat || f.extents() != 1 {
		t.Errorf("%+v", f)
	}
	fsckClean(t, m)
}

// Several changes may go into one transaction; pages that one has staged must
// not bring back what the clusters of the next held before.
func TestPreallocateTwiceInOneTransaction(t *testing.T) {
	for name, make := range kinds() {
		for _, raw := range []bool{true, false} {
			t.Run(fmt.Sprint(name, raw), func(t *testing.T) {
				m := make(t)
				dirtyFree(t, m)
				tx := dev.Begin(m)
				o := vol.OpenOptions{}
				if raw {
					o.Raw = m
				}
				v, err := open(context.Background(), tx, o)
				must(t, err)
				for i := range 8 {
					_, err := v.Preallocate(context.Background(), allValid(one(fmt.Sprintf("D%d/F%d", i, i), int64(1500*i))))
					must(t, err)
				}
				commit(t, tx)
				p := sound(t, m)
				for i := range 8 {
					if path := fmt.Sprintf("/D%d/F%d", i, i); len(bytes.Trim(p.data(path), "\x00")) > 0 {
						t.Errorf("%s is not all zeros", path)
					}
				}
			})
		}
	}
}

// What a request for several files takes, it gives back when a later one in
// the same change cannot be served.
func TestPreallocateAgainAfterRefusal(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	tx, v := begun(t, m)
	free := int64(v.alloc.Free()) * 4096
	for range 3 {
		if _, err := v.Preallocate(context.Background(), newFiles(map[string]int64{"a": free / 2, "b": free}, "a", "b")); !errors.Is(err, vol.ErrRequest) {
			t.Fatal(err)
		}
	}
	_, err := v.Preallocate(context.Background(), one("c", free))
	must(t, err)
	commit(t, tx)
	sound(t, m)
}

func TestPreallocateCancelled(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	tx, v := begun(t, m)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := v.Preallocate(ctx, one("a", 5)); !errors.Is(err, context.Canceled) || tx.Dirty() {
		t.Errorf("%v, dirty %v", err, tx.Dirty())
	}
	if _, err := open(ctx, m, vol.OpenOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
}

func TestStamp(t *testing.T) {
	for unix, want := range map[int64]stamp{
		0: {1<<21 | 1<<16, 0}, -5: {1<<21 | 1<<16, 0}, 315532800: {1<<21 | 1<<16, 0},
		1700000001: {(43<<9|11<<5|14)<<16 | 22<<11 | 13<<5 | 10, 100}, 1700000000: {(43<<9|11<<5|14)<<16 | 22<<11 | 13<<5 | 10, 0},
		1 << 40: {(127<<9|12<<5|31)<<16 | 23<<11 | 59<<5 | 29, 100}, 4354819199: {(127<<9|12<<5|31)<<16 | 23<<11 | 59<<5 | 29, 100},
	} {
		if got := newStamp(unix); got != want {
			t.Errorf("%d is %+v, want %+v", unix, got, want)
		}
		e := make(entry, entryLen)
		e.create(newStamp(unix))
		if why := badTimes(e); why != "" {
			t.Errorf("%d: %s", unix, why)
		}
	}
}
