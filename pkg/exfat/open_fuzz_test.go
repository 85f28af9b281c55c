package exfat

import (
	"context"
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// FuzzOpenPrealloc writes bytes over a small volume where its structures are,
// and then does everything that changes one. Whatever is there: no panic, and
// what is not an error reads back.
func FuzzOpenPrealloc(f *testing.F) {
	base := formatted(f, 1<<20, 512, func(o *vol.FormatOptions) { o.Label = "FUZZ" })
	preallocated(f, base, allValid(newFiles(map[string]int64{"D/A": 3000, "D/E/B": 100, "F": 5000}, "D/A", "D/E/B", "F")))
	spots := fuzzSpots(f, base)
	f.Add(uint16(0), byte(0), []byte{1, 2, 3}, int64(5000), byte(0))
	f.Add(uint16(20), byte(1), []byte{0xC0}, int64(1<<40), byte(1))
	f.Add(uint16(40), byte(2), []byte{0x85, 0xFF}, int64(1), byte(7))
	f.Add(uint16(60), byte(3), []byte{0xFF, 0xFF, 0xFF, 0xFF}, int64(900_000), byte(3))
	f.Fuzz(func(t *testing.T, at uint16, spot byte, p []byte, length int64, how byte) {
		m := voltest.Copied(t, base)
		r := spots[int(spot)%len(spots)]
		off := r.Off + int64(at)%r.Len
		if int64(len(p)) > r.End()-off {
			p = p[:r.End()-off]
		}
		_, err := m.WriteAt(p, off)
		must(t, err)
		if how&1 != 0 {
			resealed(t, m, 512)
		}
		_, _ = mountScan(context.Background(), m, vol.ScanOptions{})
		tx := dev.Begin(m)
		x, err := open(context.Background(), tx, vol.OpenOptions{Raw: m, Force: how&2 != 0})
		if err != nil {
			return
		}
		req := vol.PreallocRequest{Create: true, FillZero: true, ValidAll: how&4 != 0, Contiguous: how&8 != 0, Files: []vol.PreallocFile{
			{Path: "d/a", Length: length}, {Path: "D/E/new", Length: length / 2}, {Path: "F", Offset: length, Length: 10}}}
		res, err := x.Preallocate(context.Background(), req)
		if err != nil {
			if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) && !errors.Is(err, vol.ErrDamaged) {
				t.Fatalf("%v", err)
			}
			return
		}
		_, _ = x.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "F", Offset: 100, Length: 200}, {Path: "d/A", Offset: length / 3, Length: -1}}})
		_, _ = x.FreeRanges(context.Background(), true, func(r dev.Range) error { return dev.CheckRange("free", r, m.Size()) })
		for i, f := range res.Files {
			if f.Size < req.Files[i].Offset+req.Files[i].Length || f.Allocated < f.Size || f.Valid > f.Size || int64(space.Units(plainExtents(f)))*512 != f.Allocated {
				t.Errorf("%+v of %+v", f, req.Files[i])
			}
		}
	})
}

func plainExtents(f vol.FileResult) (es []space.Extent) {
	for _, e := range f.Extents {
		es = append(es, e.Extent)
	}
	return es
}

// fuzzSpots are the places of a volume that are read to change it.
func fuzzSpots(t testing.TB, m dev.Device) []dev.Range {
	t.Helper()
	g, err := soundRegion(m)
	must(t, err)
	p, err := readPlain(m)
	must(t, err)
	spots := []dev.Range{{Len: 512}, {Off: g.FatOff(), Len: 512}, {Off: g.HeapOff(), Len: g.BitmapBytes()}, g.ClusterRange(g.RootCluster, 1)}
	for _, path := range []string{"/D", "/D/E"} {
		spots = append(spots, g.ClusterRange(p.files[path].clusters[0], 1))
	}
	return spots
}
