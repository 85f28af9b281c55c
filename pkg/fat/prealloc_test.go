package fat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// kinds are small volumes of all types.
func kinds() map[string]func(t testing.TB) *dev.Mem {
	return map[string]func(t testing.TB) *dev.Mem{
		"fat12": func(t testing.TB) *dev.Mem {
			return formatted(t, "fat12", 2<<20, 1024, func(o *vol.FormatOptions) { o.Align = 1024 })
		},
		"fat16": func(t testing.TB) *dev.Mem { return formatted(t, "fat16", 9<<20, 2048) },
		"fat32": func(t testing.TB) *dev.Mem { return formatted(t, "fat32", 36<<20, 512) },
	}
}

// contents reads size bytes of a file through its extents.
func contents(t testing.TB, d dev.Device, f vol.FileResult) []byte {
	t.Helper()
	var b []byte
	for _, e := range f.Extents {
		p := make([]byte, e.Length)
		if _, err := d.ReadAt(p, e.Off); err != nil {
			t.Fatal(err)
		}
		b = append(b, p...)
	}
	return b[:f.Size]
}

// dirtyFree fills all free clusters with a pattern, as files deleted would.
func dirtyFree(t testing.TB, m *dev.Mem) {
	t.Helper()
	_, v := begun(t, m)
	_, err := v.FreeRanges(context.Background(), false, func(r dev.Range) error {
		_, err := m.WriteAt(bytes.Repeat([]byte{0xD5}, int(r.Len)), r.Off)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPreallocate(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			dirtyFree(t, m)
			sizes := map[string]int64{
				"DCIM/100/CLIP0001.MP4": 300_000, "a/very/deep path/ünïcödé 日本語 😀 file.txt": 12345,
				"/A.TXT": 1, "::/empty": 0, "a/very/b": 70_000, "Mixed.Case": 512,
			}
			paths := []string{"DCIM/100/CLIP0001.MP4", "a/very/deep path/ünïcödé 日本語 😀 file.txt", "/A.TXT", "::/empty", "a/very/b", "Mixed.Case"}
			res := preallocated(t, m, newFiles(sizes, paths...))
			for i, f := range res.Files {
				if f.Path != paths[i] || f.Size != sizes[f.Path] || f.Valid != f.Size || f.Allocated < f.Size || len(f.Extents) > 1 {
					t.Errorf("result %+v, want %d bytes in one extent", f, sizes[f.Path])
				}
				if b := contents(t, m, f); len(bytes.Trim(b, "\x00")) > 0 {
					t.Errorf("%s is not all zeros", f.Path)
				}
			}
			sound(t, m)
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

// What the peers make of it: fsck.fat has nothing to say, mdir sees the names
// and sizes, mtype the contents.
func TestPreallocatePeers(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			dirtyFree(t, m)
			preallocated(t, m, newFiles(map[string]int64{"D/sub dir/Long Grüße name.bin": 100_000, "D/X.Y": 5},
				"D/sub dir/Long Grüße name.bin", "D/X.Y"))
			fsckSilent(t, m)
			image := voltest.Saved(t, m)
			if out := peer(t, "mdir", "-b", "-/", "-i", image, "::"); !strings.Contains(out, "::/D/sub dir/Long Grüße name.bin\n") || !strings.Contains(out, "::/D/X.Y\n") {
				t.Errorf("mdir lists\n%s", out)
			}
			if out := peer(t, "mdir", "-i", image, "::/D"); !strings.Contains(out, "2023-11-14  22:13") {
				t.Errorf("mdir shows\n%s", out)
			}
			if out := peer(t, "mtype", "-i", image, "::/D/sub dir/Long Grüße name.bin"); out != strings.Repeat("\x00", 100_000) {
				t.Errorf("mtype gives %d bytes", len(out))
			}
		})
	}
}

// Volumes of other makers, as they come.
func TestPreallocateOnMkfs(t *testing.T) {
	for _, args := range [][]string{
		{"-F", "12", "-s", "1"}, {"-F", "16", "-s", "4", "-f", "1"}, {"-F", "32", "-s", "1", "-R", "9"}, {"-F", "32", "-s", "1", "-S", "512", "-n", "LABEL", "-a"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			size := int64(40 << 20)
			if args[1] == "12" {
				size = 1 << 20
			}
			image := voltest.Saved(t, dev.NewMem(size))
			peer(t, "mkfs.fat", append(args, image)...)
			peer(t, "mmd", "-i", image, "::/Some Directory")
			f, err := dev.OpenFile(image, dev.OpenOptions{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			preallocated(t, f, newFiles(map[string]int64{"some directory/File.bin": 99_999, "x": 4096}, "some directory/File.bin", "x"))
			sound(t, f)
			fsckSilent(t, f)
			if out := peer(t, "mdir", "-b", "-/", "-i", image, "::"); !strings.Contains(out, "::/Some Directory/File.bin\n") {
				t.Errorf("mdir lists\n%s", out)
			}
		})
	}
}

// refused carries out r, which must fail with want and leave no trace: neither
// staged nor on the device nor in the allocator.
func refused(t *testing.T, m *dev.Mem, r vol.PreallocRequest, want error) string {
	t.Helper()
	before := voltest.HashOf(t, m)
	tx, v := begun(t, m)
	free := v.alloc.Free()
	_, err := v.Preallocate(context.Background(), r)
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if tx.Dirty() || v.alloc.Free() != free || voltest.HashOf(t, tx) != before {
		t.Errorf("after %v: dirty %v, free %d of %d", err, tx.Dirty(), v.alloc.Free(), free)
	}
	tx.Rollback()
	if voltest.HashOf(t, m) != before {
		t.Errorf("after %v the image is another", err)
	}
	return err.Error()
}

func TestPreallocateAllOrNothing(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			dirtyFree(t, m)
			preallocated(t, m, one("there", 5000))
			dirtyFree(t, m)
			half := m.Size() / 2
			for what, r := range map[string]vol.PreallocRequest{
				"together too much": newFiles(map[string]int64{"new/a": half, "new/b": half, "there": half}, "new/a", "new/b", "there"),
				"bad name at last":  newFiles(map[string]int64{"new/a": 5, "there": 9000, "a:b": 1}, "new/a", "there", "a:b"),
				"a directory":       newFiles(map[string]int64{"new/a": 5, "new": 1}, "new/a", "new"),
				"below a file":      newFiles(map[string]int64{"new/a": 5, "there/x": 1}, "new/a", "there/x"),
				"too large":         one("x", maxFileSize+1),
				"too far":           {Create: true, Files: []vol.PreallocFile{{Path: "x", Offset: maxFileSize, Length: 1}}},
				"overflow":          {Create: true, Files: []vol.PreallocFile{{Path: "x", Offset: 1 << 62, Length: 1 << 62}}},
				"missing":           {Files: []vol.PreallocFile{{Path: "there", Length: 9000}, {Path: "gone", Length: 1}}},
				"missing parent":    {Files: []vol.PreallocFile{{Path: "gone/x", Length: 1}}},
				"keep size":         {KeepSize: true, Files: []vol.PreallocFile{{Path: "there", Length: 50_000}}},
				"up":                one("new/../x", 1),
				"root":              one("/", 1),
				"slash at the end":  one("new/x/", 1),
			} {
				t.Run(what, func(t *testing.T) { refused(t, m, r, vol.ErrRequest) })
			}
			refused(t, m, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "x", Length: -1}}}, vol.ErrUsage)
			refused(t, m, vol.PreallocRequest{Create: true, Align: -1, Files: []vol.PreallocFile{{Path: "x", Length: 1}}}, vol.ErrUsage)
		})
	}
}

// All that is free can be had, and not a cluster more.
func TestPreallocateToTheLastCluster(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			all := int64(v.alloc.Free()) * v.g.ClusterSize()
			refused(t, m, one("F", all+1), vol.ErrRequest)
			res := preallocated(t, m, one("F", all))
			if _, v := begun(t, m); v.alloc.Free() != 0 {
				t.Errorf("%d clusters are free", v.alloc.Free())
			}
			if last := res.Files[0].Extents[0]; last.End()-1 != uint64(v.g.Last()) {
				t.Errorf("the file ends in cluster %d of %d", last.End()-1, v.g.Last())
			}
			sound(t, m)
			fsckSilent(t, m)
		})
	}
}

// The largest file there can be.
func TestPreallocate4GiBMinus1(t *testing.T) {
	m := formatted(t, "fat32", 6<<30, 4096)
	refused(t, m, one("BIG", 4<<30), vol.ErrRequest)
	res := preallocated(t, m, one("BIG", maxFileSize))
	if f := res.Files[0]; f.Size != maxFileSize || f.Allocated != 4<<30 {
		t.Errorf("%+v", f)
	}
	sound(t, m)
	tx, v := begun(t, m)
	r := vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "big", Offset: maxFileSize - 10, Length: 10}}}
	if _, err := v.Preallocate(context.Background(), r); err != nil || tx.Dirty() {
		t.Errorf("what is there already: %v, dirty %v", err, tx.Dirty())
	}
}

// spoiled marks every n-th cluster as bad, so that no free run is longer than
// n-1.
func spoiled(t testing.TB, m *dev.Mem, n uint32) {
	t.Helper()
	tx, v := begun(t, m)
	for c := firstCluster + n - 1; c <= v.g.Last(); c += n {
		if err := v.t.set(c, entryBad); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, tx)
}

func TestPreallocateGrow(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			cs := v.g.ClusterSize()
			f := preallocated(t, m, one("D/F", cs+100)).Files[0]
			// Data in the file, something else behind its end.
			if _, err := m.WriteAt(bytes.Repeat([]byte{0xAB}, int(f.Allocated)), f.Extents[0].Off); err != nil {
				t.Fatal(err)
			}
			preallocated(t, m, one("D/next", 10))
			dirtyFree(t, m)
			r := vol.PreallocRequest{FillZero: true, Files: []vol.PreallocFile{{Path: "d/f", Offset: 3 * cs, Length: cs}, {Path: "D/F", Offset: 5 * cs, Length: 7}}}
			res := preallocated(t, m, r)
			g := res.Files[0]
			if g.Size != 5*cs+7 || len(g.Extents) != 2 || res.ClustersAllocated != 4 || res.Files[1].Size != g.Size {
				t.Errorf("%+v", res)
			}
			want := append(bytes.Repeat([]byte{0xAB}, int(f.Size)), bytes.Repeat([]byte{0}, int(g.Size-f.Size))...)
			if !bytes.Equal(contents(t, m, g), want) {
				t.Error("the contents are not what was there, and zeros behind")
			}
			sound(t, m)
			// Without filling, what was on the disk shows.
			dirtyFree(t, m)
			r = vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "D/F", Length: 9 * cs}}}
			g = preallocated(t, m, r).Files[0]
			if b := contents(t, m, g); b[9*cs-1] != 0xD5 {
				t.Errorf("the last byte is %#x", b[9*cs-1])
			}
			sound(t, m)
			fsckSilent(t, m)
		})
	}
}

// [FAT] the upper four bits of an entry are reserved and must be kept.
func TestPreallocateKeepsReservedBits(t *testing.T) {
	m := formatted(t, "fat32", 40<<20, 512)
	_, g, err := readBoot(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{0, 1} {
		b := make([]byte, 4*2000)
		for i := 3; i < len(b); i += 4 {
			b[i] = 0xA0
		}
		if _, err := m.WriteAt(b, g.FatOff(k)+4*50); err != nil {
			t.Fatal(err)
		}
	}
	preallocated(t, m, one("F", 3000*512))
	for _, k := range []int{0, 1} {
		tab := newTable(m, g, k)
		for c := uint32(40); c < 2100; c++ {
			want := uint32(0)
			if c >= 50 && c < 2050 {
				want = 0xA0000000
			}
			if v, err := tab.raw(c); err != nil || v&^entryMask != want || v&entryMask != c+1 {
				t.Fatalf("FAT %d, entry %d is %#x, %v", k, c, v, err)
			}
		}
	}
	sound(t, m)
}

// FATs that differ in what is not touched keep their difference.
func TestPreallocateForcedOnDifferingFATs(t *testing.T) {
	m := formatted(t, "fat16", 40<<20, 2048)
	_, g, err := readBoot(m)
	if err != nil {
		t.Fatal(err)
	}
	other := newTable(m, &Geometry{Type: g.Type, SectorSize: g.SectorSize, Reserved: g.Reserved, Fats: 2, FatSectors: g.FatSectors, Clusters: g.Clusters, ActiveFat: 1}, 1)
	if err := other.set(60, 0x1234); err != nil {
		t.Fatal(err)
	}
	if _, err := open(context.Background(), m, vol.OpenOptions{}); !errors.Is(err, vol.ErrDirty) {
		t.Fatalf("FATs that differ: %v", err)
	}
	tx := dev.Begin(m)
	v, err := open(context.Background(), tx, vol.OpenOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Preallocate(context.Background(), one("F", 20*2048)); err != nil {
		t.Fatal(err)
	}
	for k, want := range []uint32{0, 0x1234} {
		if got, err := newTable(tx, g, k).get(60); err != nil || got != want {
			t.Errorf("FAT %d, entry 60 is %#x, %v", k, got, err)
		}
		if got, err := newTable(tx, g, k).get(3); err != nil || got != 4 {
			t.Errorf("FAT %d, entry 3 is %#x, %v", k, got, err)
		}
	}
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
				var all []vol.FileResult
				for i := range 8 {
					res, err := v.Preallocate(context.Background(), one(fmt.Sprintf("D%d/F%d", i, i), int64(1500*i)))
					must(t, err)
					all = append(all, res.Files...)
				}
				commit(t, tx)
				for _, f := range all {
					if len(bytes.Trim(contents(t, m, f), "\x00")) > 0 {
						t.Errorf("%s is not all zeros", f.Path)
					}
				}
				sound(t, m)
			})
		}
	}
}

func TestStamp(t *testing.T) {
	for unix, want := range map[int64]stamp{
		0: {1<<5 | 1, 0}, -5: {1<<5 | 1, 0}, 315532800: {1<<5 | 1, 0}, 1700000001: {43<<9 | 11<<5 | 14, 22<<11 | 13<<5 | 10},
		1 << 40: {127<<9 | 12<<5 | 31, 23<<11 | 59<<5 | 29}, 4354819199: {127<<9 | 12<<5 | 31, 23<<11 | 59<<5 | 29},
	} {
		if got := newStamp(unix); got != want {
			t.Errorf("%d is %+v, want %+v", unix, got, want)
		}
	}
}
