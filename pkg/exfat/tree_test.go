package exfat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// treeOf opens a volume for reading.
func treeOf(t testing.TB, d dev.Device) vol.Tree {
	t.Helper()
	tr, err := read(context.Background(), d, vol.ReadOptions{})
	must(t, err)
	return tr
}

// walked are all nodes of a volume by path.
func walked(t testing.TB, tr vol.Tree) map[string]*vol.Node {
	t.Helper()
	root, err := tr.Root()
	must(t, err)
	out := map[string]*vol.Node{}
	must(t, vol.Walk(context.Background(), tr, root, func(n *vol.Node, err error) error {
		out[n.Path] = n
		return err
	}))
	return out
}

// contentsOf is all of a file.
func contentsOf(t testing.TB, tr vol.Tree, n *vol.Node) []byte {
	t.Helper()
	r, err := tr.Contents(n)
	must(t, err)
	b, err := io.ReadAll(io.NewSectionReader(r, 0, n.Size))
	must(t, err)
	return b
}

// TestTreeReads holds what is read against the plain reader: names, lengths,
// contents and clusters.
func TestTreeReads(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			cs := v.g.ClusterSize
			spoiled(t, m, 7)
			dirtyFree(t, m)
			for i, n := range []int64{0, 1, cs, cs + 1, 30*cs - 1} {
				f := preallocated(t, m, allValid(one(fmt.Sprintf("Ä dir/😀 %d", i), n))).Files[0]
				fill(t, m, f, byte('a'+i))
			}
			half := preallocated(t, m, allValid(one("half", 3*cs+5))).Files[0]
			fill(t, m, half, 'h')
			dirtyFree(t, m)
			preallocated(t, m, one("half", 20*cs))
			preallocated(t, m, one("reserved", 9*cs))

			tr := treeOf(t, m)
			got, want := walked(t, tr), sound(t, m)
			if len(got) != len(want.files)+1 {
				t.Errorf("%v, want %v", slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want.files)))
			}
			for path, f := range want.files {
				n := got[path]
				if n == nil || n.IsDir() != f.dir {
					t.Fatalf("%s: %+v", path, n)
				}
				ms, err := tr.Mappings(n)
				must(t, err)
				if cl := clustersIn(ms); !slices.Equal(cl, f.clusters) {
					t.Errorf("%s has clusters %v, want %v", path, cl, f.clusters)
				}
				if !f.dir && (n.Size != int64(f.length) || n.Valid != int64(f.valid) || !bytes.Equal(contentsOf(t, tr, n), want.data(path))) {
					t.Errorf("%s: %d bytes, %d valid, or other contents", path, n.Size, n.Valid)
				}
				if low, err := vol.Resolve(tr, strings.ToUpper(path)); err != nil || low.Path != path && low.ID != n.ID {
					t.Errorf("%s in upper case: %v, %v", path, low, err)
				}
			}
			unwritten := int64(0)
			ms, err := tr.Mappings(got["/half"])
			must(t, err)
			for _, m := range ms {
				if m.Unwritten != (m.Pos >= 3*cs+5) {
					t.Errorf("%+v", m)
				}
				if m.Unwritten {
					unwritten += m.Length
				}
			}
			if unwritten != 17*cs-5 {
				t.Errorf("%d bytes are unwritten", unwritten)
			}
		})
	}
}

// clustersIn are the clusters of mappings; one that is in two counts once.
func clustersIn(ms []vol.Mapping) (out []uint32) {
	for _, m := range ms {
		for c := uint64(m.Start); c < m.End(); c++ {
			if n := len(out); n == 0 || out[n-1] != uint32(c) {
				out = append(out, uint32(c))
			}
		}
	}
	return out
}

func TestTreeErrors(t *testing.T) {
	m := formatted(t, 4<<20, 4096)
	preallocated(t, m, newFiles(map[string]int64{"D/F": 9000, "G": 1}, "D/F", "G"))
	tr := treeOf(t, m)
	root, err := tr.Root()
	must(t, err)
	if _, err := tr.Lookup(root, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	d, err := tr.Lookup(root, "d")
	must(t, err)
	if _, err := tr.Contents(d); !errors.Is(err, vol.ErrRequest) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tr.List(ctx, root, func(*vol.Node) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stop := errors.New("stop")
	if err := tr.List(context.Background(), root, func(*vol.Node) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if a, b := tr.Fold("straße ß é"), tr.Fold("STRAßE ß É"); a != b {
		t.Errorf("%q, %q", a, b)
	}
}

// TestTreeDamage: what cannot be read is told with its path, and the rest is
// read.
func TestTreeDamage(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(set entrySet)
		path  string // of which the error tells
		opens bool   // F can be read
	}{
		"length":        {func(s entrySet) { s.stream().put64(offDataLength, 1<<63) }, "/D/F", false},
		"longer":        {func(s entrySet) { s.stream().put64(offDataLength, 1<<40) }, "/D/F", false},
		"first cluster": {func(s entrySet) { s.stream().put32(offFirstCluster, 1<<31) }, "/D/F", false},
		"chain":         {func(s entrySet) { s.stream()[offSecFlags] &^= secNoFatChain }, "/D/F", false},
		"no stream":     {func(s entrySet) { s.stream()[0] = typeVendor }, "/D", false},
		"secondaries":   {func(s entrySet) { s.file()[offSecondaryCount] = 200 }, "/D", false},
		"hash":          {func(s entrySet) { s.stream().put16(offNameHash, 0x1234) }, "", true},
		"checksum":      {func(s entrySet) { s.file().put16(offSetChecksum, 0) }, "", true},
		"valid":         {func(s entrySet) { s.stream().put64(offValidLength, 1<<63) }, "", true},
		"times":         {func(s entrySet) { s.file().put32(offModify, 0) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := formatted(t, 4<<20, 4096)
			preallocated(t, m, newFiles(map[string]int64{"D/F": 9000, "D/G": 1}, "D/F", "D/G"))
			tx, v := begun(t, m)
			ds, err := v.openFolders()
			must(t, err)
			f, err := ds.resolve("D/F", false)
			must(t, err)
			c.spoil(f.set())
			f.dir.slots.Mark(f.slot, 3)
			must(t, ds.store(f.dir))
			commit(t, tx)

			tr := treeOf(t, m)
			root, err := tr.Root()
			must(t, err)
			var told []string
			var opened []string
			must(t, vol.Walk(context.Background(), tr, root, func(n *vol.Node, err error) error {
				if err == nil && !n.IsDir() {
					if _, err = tr.Contents(n); err == nil {
						opened = append(opened, n.Path)
					}
				}
				if err != nil {
					told = append(told, err.Error())
					if !errors.Is(err, vol.ErrDamaged) {
						t.Error(err)
					}
				}
				return nil
			}))
			if (c.path == "") != (len(told) == 0) || c.path != "" && !strings.Contains(told[0], c.path+": ") {
				t.Errorf("told %q, want about %q", told, c.path)
			}
			if slices.Contains(opened, "/D/F") != c.opens || !slices.Contains(opened, "/D/G") {
				t.Errorf("opened %q", opened)
			}
			if n, err := vol.Resolve(tr, "/d/f"); c.opens && (err != nil || n.Path != "/D/F") {
				t.Errorf("%v, %v", n, err)
			}
		})
	}
}

// TestTreeWithoutUpcase: without an up-case table names are compared by the
// recommended one, and without a bitmap only Uses fails.
func TestTreeWithoutTables(t *testing.T) {
	m := formatted(t, 4<<20, 4096)
	preallocated(t, m, one("Ä", 5))
	_, v := begun(t, m)
	patched(t, m, v.g.ClusterOff(v.g.RootCluster), 4*entryLen, func(b []byte) {
		entry(b[entryLen:]).put64(offDataLength, 0)
		entry(b[2*entryLen:]).put32(offFirstCluster, 1)
	})
	tr := treeOf(t, m)
	if n, err := vol.Resolve(tr, "ä"); err != nil || n.Size != 5 {
		t.Errorf("%v, %v", n, err)
	}
	if err := tr.Uses(context.Background(), func(vol.UseRange) error { return nil }); !errors.Is(err, vol.ErrDamaged) {
		t.Error(err)
	}
}

// TestTreeTimes, [exFAT] §7.4.5 to §7.4.10.
func TestTreeTimes(t *testing.T) {
	at := func(y, mo, d, h, mi, s, ms int) time.Time {
		return time.Date(y, time.Month(mo), d, h, mi, s, ms*1e6, time.UTC)
	}
	field := func(y, mo, d, h, mi, s uint32) uint32 {
		return (y-1980)<<25 | mo<<21 | d<<16 | h<<11 | mi<<5 | s/2
	}
	for _, c := range []struct {
		field     uint32
		tens, utc byte
		want      time.Time
	}{
		{field(2023, 11, 14, 22, 13, 20), 0, 0x80, at(2023, 11, 14, 22, 13, 20, 0)},
		{field(2023, 11, 14, 22, 13, 20), 199, 0x80, at(2023, 11, 14, 22, 13, 21, 990)},
		{field(2023, 11, 14, 22, 13, 20), 0, 0x00, at(2023, 11, 14, 22, 13, 20, 0)},
		{field(2023, 11, 14, 22, 13, 20), 0, 0x04, at(2023, 11, 14, 22, 13, 20, 0)},     // not valid
		{field(2023, 11, 14, 22, 13, 20), 0, 0x80 | 4, at(2023, 11, 14, 21, 13, 20, 0)}, // Table 31: +01:00
		{field(2023, 11, 14, 22, 13, 20), 0, 0xD0, at(2023, 11, 15, 10, 13, 20, 0)},     // -12:00
		{field(2024, 1, 1, 1, 0, 0), 0, 0x96, at(2023, 12, 31, 19, 30, 0, 0)},           // +05:30
		{field(2023, 11, 14, 22, 13, 20), 250, 0x80, at(2023, 11, 14, 22, 13, 21, 990)},
		{field(2107, 12, 31, 23, 59, 58), 199, 0x80, at(2107, 12, 31, 23, 59, 59, 990)},
		{field(1980, 1, 1, 0, 0, 0), 0, 0x80, at(1980, 1, 1, 0, 0, 0, 0)},
		{0, 0, 0x80, time.Time{}}, {field(2023, 13, 14, 0, 0, 0), 0, 0x80, time.Time{}},
		{field(2023, 1, 1, 24, 0, 0), 0, 0x80, time.Time{}},
	} {
		e := make(entry, entryLen)
		e.put32(offModify, c.field)
		if got := e.time(offModify, c.tens, c.utc); !got.Equal(c.want) {
			t.Errorf("%#x +%d, offset %#x: %v, want %v", c.field, c.tens, c.utc, got, c.want)
		}
	}
	when := at(2024, 2, 29, 13, 7, 9, 870)
	e := make(entry, entryLen)
	entrySet(e).describe(&vol.Entry{Attr: vol.Attr{Modified: when.In(time.FixedZone("", 5*3600))},
		Times: &vol.Times{Accessed: at(2024, 2, 29, 13, 7, 9, 0)}})
	for _, off := range []int{offCreate, offModify} {
		if got := e.time(off, e[offCreate10ms], e[offCreateUTC]); !got.Equal(when) {
			t.Errorf("%v", got)
		}
	}
	if got := e.time(offAccess, 0, e[offAccessUTC]); !got.Equal(at(2024, 2, 29, 13, 7, 8, 0)) || e[offModifyUTC] != utc {
		t.Errorf("%v", got)
	}
}

// TestTreeUses: all of the volume has a use, and just one.
func TestTreeUses(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			spoiled(t, m, 9)
			tx, v := begun(t, m)
			bad := v.g.Last() - 3
			must(t, newTable(tx, v.g).set(bad, fatBad))
			must(t, v.bits.mark(space.Extent{Start: bad, Len: 1}, true))
			commit(t, tx)

			got := map[vol.Use]int64{}
			at := int64(0)
			must(t, treeOf(t, m).Uses(context.Background(), func(u vol.UseRange) error {
				if u.Off != at || u.Len <= 0 {
					t.Errorf("%+v follows what ends at %d", u, at)
				}
				at = u.End()
				got[u.Use] += u.Len
				return nil
			}))
			if at != v.g.VolumeBytes() {
				t.Errorf("it ends at %d", at)
			}
			_, v = begun(t, m)
			cs := v.g.ClusterSize
			own := int64(space.Units(v.tables.bitmap.extents)+space.Units(v.tables.upcase.extents)) * cs
			used := int64(v.m.CountUsed()) * cs
			want := map[vol.Use]int64{vol.UseMetadata: 2*v.g.RegionBytes() + v.g.FatBytes() + own, vol.UseBad: cs, vol.UseData: used - own - cs,
				vol.UseFree: int64(v.m.CountFree()) * cs}
			want[vol.UseReserved] = at - want[vol.UseMetadata] - want[vol.UseBad] - want[vol.UseData] - want[vol.UseFree]
			for u, n := range want {
				if got[u] != n {
					t.Errorf("%d bytes %v, want %d", got[u], u, n)
				}
			}
		})
	}
}

// FuzzTree writes bytes over the structures of a small volume and reads all
// that is there. Whatever that is: no panic, it ends, and what is not an error
// lies on the volume.
func FuzzTree(f *testing.F) {
	base := formatted(f, 1<<20, 512, func(o *vol.FormatOptions) { o.Label = "FUZZ" })
	preallocated(f, base, allValid(newFiles(map[string]int64{"D/A": 3000, "D/E/B": 100, "F": 5000}, "D/A", "D/E/B", "F")))
	spots := fuzzSpots(f, base)
	f.Add(uint16(0), byte(0), []byte{1, 2, 3}, uint16(9), byte(1), []byte{9})
	f.Add(uint16(20), byte(4), []byte{0xC0}, uint16(52), byte(5), []byte{0xFF, 0xFF})
	f.Add(uint16(110), byte(0), []byte{2}, uint16(84), byte(3), []byte{0, 0, 0, 0, 0, 0, 0, 0x80})
	f.Fuzz(func(t *testing.T, at uint16, spot byte, p []byte, at2 uint16, spot2 byte, p2 []byte) {
		m := voltest.Copied(t, base)
		for _, c := range []struct {
			at   uint16
			spot byte
			p    []byte
		}{{at, spot, p}, {at2, spot2, p2}} {
			r := spots[int(c.spot)%len(spots)]
			off := r.Off + int64(c.at)%r.Len
			_, err := m.WriteAt(c.p[:min(int64(len(c.p)), r.End()-off)], off)
			must(t, err)
		}
		tr, err := read(context.Background(), m, vol.ReadOptions{})
		if err != nil {
			return
		}
		root, err := tr.Root()
		must(t, err)
		known := func(err error) {
			if !errors.Is(err, vol.ErrDamaged) && !errors.Is(err, dev.ErrRange) {
				t.Fatal(err)
			}
		}
		must(t, vol.Walk(context.Background(), tr, root, func(n *vol.Node, err error) error {
			if err != nil {
				known(err)
				return nil
			}
			ms, err := tr.Mappings(n)
			if err != nil {
				known(err)
				return nil
			}
			pos := int64(0)
			for _, x := range ms {
				if x.Pos != pos || x.Off < 0 || x.Length <= 0 {
					t.Fatalf("%s: %+v", n.Path, ms)
				}
				pos += x.Length
			}
			if !n.IsDir() && pos < n.Size {
				t.Fatalf("%s: %d of %d bytes are mapped", n.Path, pos, n.Size)
			}
			return nil
		}))
		if err := tr.Uses(context.Background(), func(vol.UseRange) error { return nil }); err != nil {
			known(err)
		}
	})
}
