package exfat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestPut: what is put is read back by another implementation, in one run each
// and in the order of the names, with its times and attributes.
func TestPut(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			dirtyFree(t, m)
			_, v := begun(t, m)
			l := sample(v.g.ClusterSize)
			r := l.request()
			r.Entries[0].Flags = vol.FlagHidden | vol.FlagSystem | vol.FlagReadOnly
			res := putAll(t, m, r)
			p := holds(t, m, l)
			fsckClean(t, m)
			after := uint32(0)
			for i, e := range r.Entries {
				f := p.files["/"+e.Path]
				want := byte(e.Flags)
				if f.dir {
					want |= attrDirectory
				} else if len(f.clusters) > 0 {
					if f.clusters[0] <= after {
						t.Errorf("%s lies before what comes before it", e.Path)
					}
					after = f.clusters[len(f.clusters)-1]
				}
				if f.noFat != (len(f.clusters) > 0) || f.extents() > 1 || f.set[4] != want || f.set[5] != 0 {
					t.Errorf("%s: no chain %v, %d extents, attributes %#x", e.Path, f.noFat, f.extents(), f.set[4])
				}
				if tail := p.content(f.clusters); !f.dir && len(bytes.Trim(tail[f.length:], "\x00")) > 0 {
					t.Errorf("%s has something behind its end", e.Path)
				}
				timed(t, f.set, e)
				if (len(res.Files[i]) == 0) != (e.Size == 0) {
					t.Errorf("%s has places %v", e.Path, res.Files[i])
				}
			}
		})
	}
}

// TestPutLongNames: a set that lies in three clusters.
func TestPutLongNames(t *testing.T) {
	m := formatted(t, 4<<20, 512)
	l := load{"a": text("a", 1), "b": nil}
	for name, data := range longNames() {
		l[name], l["b/"+name] = data, data
	}
	putAll(t, m, l.request())
	holds(t, m, l)
	removedFrom(t, m, strings.Repeat("X", 255))
	delete(l, strings.Repeat("x", 255))
	holds(t, m, l)
}

// timed holds the times of a set against those of an entry.
func timed(t *testing.T, set []byte, e vol.Entry) {
	t.Helper()
	at := func(off int, tens byte) time.Time {
		v := entry(set).u32(off)
		return time.Date(1980+int(v>>25), time.Month(v>>21&15), int(v>>16&31), int(v>>11&31), int(v>>5&63), int(v&31)*2, int(tens)*1e7, time.UTC)
	}
	born, modified, accessed := at(8, set[20]), at(12, set[21]), at(16, 0)
	if !born.Equal(e.Times.Born) || !modified.Equal(e.Modified) || !accessed.Equal(e.Times.Accessed.Truncate(2*time.Second)) || !bytes.Equal(set[22:25], []byte{0x80, 0x80, 0x80}) {
		t.Errorf("%s: born %v, modified %v, accessed %v, offsets %x; wanted %v, %v, %v", e.Path, born, modified, accessed, set[22:25], e.Times.Born, e.Modified, e.Times.Accessed)
	}
}

// TestPutOften: what is put where something is goes beside it, and directories
// that are there stay what they are.
func TestPutOften(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	putAll(t, m, load{"A/one": text("one", 9000), "B": nil}.request())
	before := sound(t, m).files["/B"].set
	putAll(t, m, load{"a/two": text("two", 5000), "b": nil, "C/three": {}}.request())
	p := holds(t, m, load{"A/one": text("one", 9000), "B": nil, "A/two": text("two", 5000), "C/three": {}})
	if !bytes.Equal(p.files["/B"].set, before) {
		t.Error("a directory that was there has changed")
	}
	r := load{"B": nil}.request()
	r.New = true
	unput(t, m, r, "/B: it is there already")
	r = load{"X/Y/Z": text("z", 1)}.request()
	r.Entries = r.Entries[2:]
	unput(t, m, r, `there is no "X"`)
	r.Parents = true
	r.Open = func(int) (vol.Contents, error) { return memContents{bytes.NewReader([]byte("z"))}, nil }
	putAll(t, m, r)
	if f := sound(t, m).files["/X/Y/Z"]; f.length != 1 {
		t.Errorf("%+v", f)
	}
	fsckClean(t, m)
}

// unput carries out r, which must be refused with the words say, and leave no
// trace.
func unput(t testing.TB, m *dev.Mem, r *vol.PutRequest, say string) {
	t.Helper()
	before := voltest.Copied(t, m)
	tx, v := begun(t, m)
	free := v.alloc.Free()
	_, err := v.Put(context.Background(), r)
	if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), say) {
		t.Errorf("error %v, want %q", err, say)
	}
	if tx.Dirty() || v.alloc.Free() != free || v.alloc.Pending() != 0 || sameBytes(t, m, before) >= 0 {
		t.Errorf("after %v: dirty %v, free %d of %d", err, tx.Dirty(), v.alloc.Free(), free)
	}
}

func TestPutRefusals(t *testing.T) {
	m := formatted(t, 4<<20, 4096)
	putAll(t, m, load{"D/F": text("f", 9000), "G": text("g", 1)}.request())
	for say, l := range map[string]load{
		"/G: /G is there already":     {"A": text("a", 1), "G": text("g", 2)},
		"/d: /d is a directory":       {"d": text("d", 2)},
		`"G" in / is not a directory`: {"G/x": {}},
		"/ä: /Ä has the same name":    {"Ä": {}, "ä": {}},
		`':' must not be in it`:       {"A": {}, "z:": {}},
		`'\x01' must not be in it`:    {"z\x01": {}},
		"has 256 UTF-16 units":        {strings.Repeat("😀", 128): {}},
		"ends in a period or a space": {"D/dot.": {}},
		"it is no UTF-8":              {"\xff": {}},
		"clusters of 4096 bytes are":  {"big": make([]byte, 3<<20), "D/big": make([]byte, 1<<20)},
	} {
		t.Run(say, func(t *testing.T) { unput(t, m, l.request(), say) })
	}
	huge := load{"huge": {}}.request()
	huge.Entries[0].Size = 1<<63 - 1
	unput(t, m, huge, "/huge: 9223372036854775807 bytes are more")
	link := load{"link": {}}.request()
	link.Entries[0].Kind = vol.KindSymlink
	unput(t, m, link, "/link: exFAT has no place for a symlink")
	over := load{"D": text("d", 1)}.request()
	over.Replace = true
	unput(t, m, over, "/D: /D is a directory that is there")
	fsckClean(t, m)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tx, v := begun(t, m)
	if _, err := v.Put(ctx, load{"x": {}}.request()); !errors.Is(err, context.Canceled) || tx.Dirty() {
		t.Error(err)
	}
	if _, err := v.Remove(ctx, vol.RemoveRequest{Paths: []string{"D"}, Recursive: true}); !errors.Is(err, context.Canceled) || tx.Dirty() {
		t.Error(err)
	}
}

// TestPutRename: with that names are changed until they can be.
func TestPutRename(t *testing.T) {
	m := formatted(t, 4<<20, 4096)
	long := strings.Repeat("😀", 127)
	r := load{"Ä.txt": text("1", 1), "ä.txt": text("2", 2), "a:b?": text("3", 3), "a_b_": text("4", 4), "dot.": nil, "dot./in it": text("5", 5), long + "xx": text("6", 6)}.request()
	r.Rename = true
	res := putAll(t, m, r)
	got := sound(t, m).files
	want := map[string]uint64{"/Ä.txt": 1, "/ä~1.txt": 2, "/a_b_": 3, "/a_b_~1": 4, "/dot_/in it": 5, "/" + long + "x": 6}
	for path, n := range want {
		if got[path].length != n {
			t.Errorf("%s has %d bytes", path, got[path].length)
		}
	}
	if len(got) != len(want)+1 || len(res.Renamed) != 5 {
		t.Errorf("%v, renamed %v", slices.Sorted(maps.Keys(got)), res.Renamed)
	}
}

// TestPutScattered: on a volume that has no long free run files get chains, and
// all that is free can be had.
func TestPutScattered(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			spoiled(t, m, 5)
			dirtyFree(t, m)
			_, v := begun(t, m)
			cs, free := v.g.ClusterSize, int64(v.alloc.Free())
			l := sample(cs)
			putAll(t, m, l.request())
			p := holds(t, m, l, "spoiler")
			if f := p.files["/many"]; f.noFat || f.extents() != 2 {
				t.Errorf("many: no chain %v, %d extents", f.noFat, f.extents())
			}
			if f := p.files["/dir/exact 3"]; !f.noFat && f.extents() == 1 {
				t.Error("what is one run has a chain")
			}
			fsckClean(t, m)
			_, v = begun(t, m)
			if left := int64(v.alloc.Free()); left <= 0 || left > free {
				t.Fatalf("%d clusters are left", left)
			}
			putAll(t, m, load{"zz": {}}.request()) // the root may take a cluster for it
			_, v = begun(t, m)
			rest := text("the rest", int64(v.alloc.Free())*cs)
			r := load{"zz": append(rest, 1)}.request()
			r.Replace = true
			unput(t, m, r, "are free")
			r = load{"zz": rest}.request()
			r.Replace = true
			putAll(t, m, r)
			l["zz"] = rest
			if p := holds(t, m, l, "spoiler"); p.percent != 100 {
				t.Errorf("%d%% in use", p.percent)
			}
			fsckClean(t, m)
		})
	}
}

// TestPutReplace: the new file is there with the name that was there, and the
// clusters of the old one are not used before the commit.
func TestPutReplace(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			cs := v.g.ClusterSize
			putAll(t, m, load{"D/Öld": text("old", 4*cs), "D/next": text("next", cs)}.request())
			old := sound(t, m).files["/D/Öld"]
			r := load{"d/öLD": text("new", 2*cs+1), "d/other": text("other", 3)}.request()
			r.Replace = true
			putAll(t, m, r)
			p := holds(t, m, load{"D/Öld": text("new", 2*cs+1), "D/next": text("next", cs), "D/other": text("other", 3)})
			for _, c := range slices.Concat(p.files["/D/Öld"].clusters, p.files["/D/other"].clusters) {
				if slices.Contains(old.clusters, c) {
					t.Errorf("cluster %d is used again", c)
				}
			}
			r = load{"D/Öld": {}, "D/next": text("x", 1)}.request()
			r.Replace = true
			putAll(t, m, r)
			holds(t, m, load{"D/Öld": {}, "D/next": text("x", 1), "D/other": text("other", 3)})
			fsckClean(t, m)
		})
	}
}

// TestPutAfterRemove: changes that follow each other in one transaction. What
// one gave back the next does not mark as used again, nor take.
func TestPutAfterRemove(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, v := begun(t, m)
			l := sample(v.g.ClusterSize)
			putAll(t, m, l.request())
			tx, v := begun(t, m)
			before := v.alloc.Free()
			old := sound(t, m).files["/many"].clusters
			_, err := v.Remove(context.Background(), vol.RemoveRequest{Paths: []string{"many", "dir"}, Recursive: true})
			must(t, err)
			poured(t, tx, m, v, load{"many": text("again", 30_000), "dir/one": text("1", 9)}.request())
			_, err = v.Remove(context.Background(), vol.RemoveRequest{Paths: []string{"empty"}, Recursive: true})
			must(t, err)
			commit(t, tx)
			maps.DeleteFunc(l, func(p string, _ []byte) bool { return strings.HasPrefix(p, "dir/") || p == "empty" })
			l["many"], l["dir/one"] = text("again", 30_000), text("1", 9)
			for _, c := range holds(t, m, l).files["/many"].clusters {
				if slices.Contains(old, c) {
					t.Errorf("cluster %d is used again", c)
				}
			}
			if _, v := begun(t, m); v.alloc.Free() == before {
				t.Errorf("%d clusters are free, as before", before)
			}
			fsckClean(t, m)
		})
	}
}

// TestPutLongDirectory: a directory that takes many clusters is one run, and
// what was there already goes on behind it.
func TestPutLongDirectory(t *testing.T) {
	m := formatted(t, 64<<20, 512)
	l := load{}
	for i := range 3000 {
		l[fmt.Sprintf("long/file with a name of some length %04d", i)] = text("x", int64(i%3))
	}
	putAll(t, m, l.request())
	p := holds(t, m, l)
	if f := p.files["/long"]; !f.noFat || f.extents() != 1 || f.length != (3000*5*32+511)/512*512 {
		t.Errorf("no chain %v, %d extents, %d bytes", f.noFat, f.extents(), f.length)
	}
	for i := range 500 {
		l[fmt.Sprintf("long/more %04d", i)] = text("y", 2)
		l[fmt.Sprintf("in the root %04d", i)] = text("z", 1)
	}
	r := l.request()
	r.Replace = true
	putAll(t, m, r)
	holds(t, m, l)
	fsckClean(t, m)
}

// TestNeed: what is said to be needed is what is taken, and what no volume can
// hold is refused.
func TestNeed(t *testing.T) {
	for _, cs := range []int64{512, 4096, 128 << 10} {
		plan, err := planFormat(vol.Target{Size: 64 << 20}, vol.FormatOptions{Type: "exfat", ClusterSize: cs})
		must(t, err)
		r := sample(cs).request()
		need, err := need(plan, vol.ReadOptions{}, r.Entries)
		must(t, err)
		m := formatted(t, 64<<20, cs)
		if res := putAll(t, m, r); need < res.ClustersAllocated || need > res.ClustersAllocated+1 {
			t.Errorf("clusters of %d: %d are said to be needed, %d were taken", cs, need, res.ClustersAllocated)
		}
	}
	plan := &vol.Plan{Info: vol.Info{ClusterSize: 512}}
	huge := load{"a": {}, "b": {}}.request().Entries
	huge[0].Size, huge[1].Size = 1<<63-1, 1<<63-1
	if _, err := need(plan, vol.ReadOptions{}, huge); !errors.Is(err, vol.ErrRequest) {
		t.Error(err)
	}
}

// TestNeedOfFullDirectory, [exFAT] §7.4: 256 MiB.
func TestNeedOfFullDirectory(t *testing.T) {
	needs.Long(t, "half a million names of 255 units")
	plan := &vol.Plan{Info: vol.Info{ClusterSize: 512}}
	name := "D/" + strings.Repeat("x", 255)
	full := make([]vol.Entry, maxDirSlots/19+1)
	for i := range full {
		full[i] = vol.Entry{Path: name, Attr: vol.Attr{Kind: vol.KindFile}}
	}
	if _, err := need(plan, vol.ReadOptions{}, full); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "/D: ") {
		t.Error(err)
	}
}
