package exfat

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestRemove: what is removed gives all back that it had, chains too, and the
// rest stays. A path inside of another that goes too is done, before or after.
func TestRemove(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			spoiled(t, m, 5)
			_, v := begun(t, m)
			l := sample(v.g.ClusterSize)
			putAll(t, m, load{"stays": text("stays", 9000)}.request())
			_, v = begun(t, m)
			free := v.alloc.Free()
			putAll(t, m, l.request())
			var tops []string
			for p := range l {
				top, _, _ := strings.Cut(p, "/")
				tops = append(tops, p, "::/"+strings.ToUpper(top), p)
			}
			slices.Sort(tops)
			slices.Reverse(tops)
			res := removedFrom(t, m, tops...)
			p := holds(t, m, load{"stays": text("stays", 9000)}, "spoiler")
			grown := uint64(0) // the root stays as long as it has become
			for c, path := range p.owner {
				if path == "root" && c != p.root {
					grown++
				}
			}
			if _, v = begun(t, m); v.alloc.Free()+grown != free || res.Files != uint64(files(l)) || res.Directories != 43 {
				t.Errorf("%+v; %d clusters were free, %d are", res, free, v.alloc.Free())
			}
			if f := p.files["/spoiler"]; f.extents() < 2 {
				t.Errorf("%+v", f)
			}
			fsckClean(t, m)
			// The other way round: the directory first.
			putAll(t, m, l.request())
			removedFrom(t, m, "dir", "dir/one", "DEEP", "deep/deep/deep", "many")
			maps.DeleteFunc(l, func(p string, _ []byte) bool { return strings.HasPrefix(p, "d") || p == "many" })
			l["stays"] = text("stays", 9000)
			holds(t, m, l, "spoiler")
			fsckClean(t, m)
		})
	}
}

// files counts those of l.
func files(l load) (n int) {
	for _, data := range l {
		if data != nil {
			n++
		}
	}
	return n
}

// unremoved refuses to take path away, with the words say, and leaves no trace.
func unremoved(t *testing.T, m *dev.Mem, recursive bool, path string, want error, say string) {
	t.Helper()
	before := voltest.Copied(t, m)
	tx, v := begun(t, m)
	_, err := v.Remove(context.Background(), vol.RemoveRequest{Paths: []string{"A/first", path}, Recursive: recursive})
	if !errors.Is(err, want) || !strings.Contains(err.Error(), say) {
		t.Errorf("%s: error %v, want %q", path, err, say)
	}
	if tx.Dirty() || v.alloc.Pending() != 0 || sameBytes(t, m, before) >= 0 {
		t.Errorf("after %v: dirty %v", err, tx.Dirty())
	}
}

func TestRemoveRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		spoil     func(t *testing.T, m *dev.Mem)
		recursive bool
		path      string
		want      error
		say       string
	}{
		"not empty":       {nil, false, "D", vol.ErrRequest, "/D is a directory that is not empty"},
		"missing":         {nil, true, "D/x", vol.ErrRequest, `there is no "x" in /D`},
		"missing parent":  {nil, true, "x/D", vol.ErrRequest, `there is no "x"`},
		"root":            {nil, true, "/", vol.ErrRequest, "names a directory"},
		"through a file":  {nil, true, "D/F/x", vol.ErrRequest, `"F" in /D is not a directory`},
		"checksum":        {func(t *testing.T, m *dev.Mem) { edited(t, m, "D/F", func(f file) { f.set()[2]++; f.changed() }) }, true, "D", vol.ErrDamaged, "/D/F: the checksum"},
		"cluster is free": {func(t *testing.T, m *dev.Mem) { freeFirst(t, m, "/D/F") }, true, "D", vol.ErrDamaged, "/D/F: 1 of its clusters"},
		"half a set": {func(t *testing.T, m *dev.Mem) {
			edited(t, m, "D/F", func(f file) { f.set().stream()[0] = typeVendor; f.changed() })
		}, true, "D", vol.ErrDamaged, "/D: it holds"},
		"unknown primary": {func(t *testing.T, m *dev.Mem) {
			edited(t, m, "D/G", func(f file) { f.set()[0] = 0xA5; f.changed() })
		}, true, "D", vol.ErrRequest, "/D holds an entry of type 0xa5"},
		"shared": {func(t *testing.T, m *dev.Mem) {
			first := sound(t, m).files["/A/first"].clusters[0]
			edited(t, m, "D/F", func(f file) { f.set().allocate(first, 4096, 4096, true); f.set().seal(); f.changed() })
		}, true, "D", vol.ErrDamaged, "belongs to"},
		"its own child": {func(t *testing.T, m *dev.Mem) {
			d := sound(t, m).files["/D"].clusters[0]
			edited(t, m, "D/sub", func(f file) { f.set().allocate(d, 4096, 4096, true); f.set().seal(); f.changed() })
		}, true, "D", vol.ErrDamaged, "belongs to"},
	} {
		t.Run(name, func(t *testing.T) {
			m := formatted(t, 4<<20, 4096)
			putAll(t, m, load{"A/first": text("a", 4000), "D/F": text("f", 9000), "D/G": {}, "D/sub": nil}.request())
			if c.spoil != nil {
				c.spoil(t, m)
			}
			unremoved(t, m, c.recursive, c.path, c.want, c.say)
		})
	}
}

// freeFirst marks the first cluster of a file as free.
func freeFirst(t *testing.T, m *dev.Mem, path string) {
	t.Helper()
	c := sound(t, m).files[path].clusters[0]
	_, v := begun(t, m)
	patched(t, m, v.g.HeapOff()+int64(c-firstCluster)/8, 1, func(b []byte) { b[0] &^= 1 << ((c - firstCluster) % 8) })
}

// TestRemoveWithBenignEntries, [exFAT] §8.2: a set goes with what its benign
// entries own, and the entries behind it stay.
func TestRemoveWithBenignEntries(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	_, v := begun(t, m)
	free := v.alloc.Free()
	putAll(t, m, load{"F": text("f", 9000), "vendor's": text("v", 5000), "z": text("z", 1)}.request())
	owned := sound(t, m).files["/vendor's"]
	// The entry of a vendor takes over the clusters and a slot of what follows F.
	edited(t, m, "F", func(f file) {
		s := f.dir.slots
		set := append(bytes.Clone(f.set()), bytes.Clone(f.dir.slots.At(f.slot+3+1))...)
		set[offSecondaryCount]++
		e := entrySet(set).at(3)
		e[0], e[offSecFlags] = typeVendAll, secAllocPossible|secNoFatChain
		entrySet(set).seal()
		copy(s.Run(f.slot, 4), set)
		for i := 4; i < 6; i++ {
			entry(s.At(f.slot + i))[0] = typeVendor &^ typeInUse
		}
		s.Mark(f.slot, 6)
	})
	p := holds(t, m, load{"F": text("f", 9000), "z": text("z", 1)})
	if p.owner[owned.clusters[0]] != "/F (other)" {
		t.Fatalf("%v", p.owner)
	}
	r := load{"F": text("new", 3)}.request()
	r.Replace = true
	putAll(t, m, r)
	if p = holds(t, m, load{"F": text("new", 3), "z": text("z", 1)}); p.owner[owned.clusters[0]] != "/F (other)" {
		t.Error("a file that took the place of F has lost what its vendor put there")
	}
	if res := removedFrom(t, m, "F"); res.ClustersFreed != 3 {
		t.Errorf("%+v", res)
	}
	holds(t, m, load{"z": text("z", 1)})
	removedFrom(t, m, "z")
	if _, v := begun(t, m); v.alloc.Free() != free {
		t.Errorf("%d clusters were free, %d are", free, v.alloc.Free())
	}
	fsckClean(t, m)
}

// TestRemoveEmptyDirectory: a directory without clusters, as some systems make
// them, can be removed, and a tree that holds it be walked.
func TestRemoveEmptyDirectory(t *testing.T) {
	m := formatted(t, 4<<20, 4096)
	putAll(t, m, load{"a/none": {}, "b/none": {}, "c/x": text("x", 9)}.request())
	for _, p := range []string{"a/none", "b/none"} {
		edited(t, m, p, func(f file) {
			f.set().file().put16(offAttributes, attrDirectory)
			f.set().seal()
			f.changed()
		})
	}
	if got := walked(t, treeOf(t, m)); len(got) != 7 {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
	removedFrom(t, m, "a/none", "b", "c")
	holds(t, m, load{"a": nil})
}
