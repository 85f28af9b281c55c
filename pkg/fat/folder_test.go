package fat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

func emptyFiles(paths ...string) vol.PreallocRequest {
	r := vol.PreallocRequest{Create: true}
	for _, p := range paths {
		r.Files = append(r.Files, vol.PreallocFile{Path: p})
	}
	return r
}

func TestRootFull(t *testing.T) {
	m := formatted(t, "fat12", 1<<20, 512, func(o *vol.FormatOptions) { o.RootEntries = ptr(32) })
	var names []string
	for i := range 32 {
		names = append(names, fmt.Sprintf("F%d", i))
	}
	preallocated(t, m, emptyFiles(names...))
	sound(t, m)
	fsckSilent(t, m)
	if msg := refused(t, m, emptyFiles("G"), vol.ErrRequest); !strings.Contains(msg, "root directory is full") {
		t.Errorf("message %q", msg)
	}
	// Three slots for a long name are there, but not side by side.
	removed(t, m, "F3", "F5", "F6", "F31")
	refused(t, m, emptyFiles("a long name of 3 slots"), vol.ErrRequest)
	preallocated(t, m, emptyFiles("lower name 1"))
	preallocated(t, m, emptyFiles("X", "Y"))
	refused(t, m, emptyFiles("G"), vol.ErrRequest)
	sound(t, m)
	fsckSilent(t, m)
}

// removed frees the entries of empty files.
func removed(t testing.TB, m dev.Device, paths ...string) {
	t.Helper()
	_, g, err := readBoot(m)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := newFolders(m, g, newTable(m, g, 0), stamp{}, dosPage())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		f, err := ds.resolve(p, false)
		if err != nil {
			t.Fatal(err)
		}
		eachEntry(f.dir.used(), func(n namedEntry) bool {
			for i := n.first; n.slot == f.slot && i <= n.slot; i++ {
				f.dir.at(i)[0] = entryDeleted
				f.dir.slots.Mark(i, 1)
			}
			return true
		})
	}
	for _, f := range ds.all {
		if err := ds.store(f); err != nil {
			t.Fatal(err)
		}
	}
}

// A directory holds 65536 entries ([FAT]): one more file is refused, and
// nothing of it is left.
func TestDirectoryFull(t *testing.T) {
	m := formatted(t, "fat32", 80<<20, 1024)
	var names []string
	for i := range maxDirEntries - 2 {
		names = append(names, fmt.Sprintf("D/F%d", i))
	}
	preallocated(t, m, emptyFiles(names...))
	if msg := refused(t, m, emptyFiles("D/G"), vol.ErrRequest); !strings.Contains(msg, "/D is full") {
		t.Errorf("message %q", msg)
	}
	removed(t, m, "D/F77")
	preallocated(t, m, emptyFiles("D/G"))
	refused(t, m, emptyFiles("D/H"), vol.ErrRequest)
	res, err := vol.Fsck(context.Background(), m, Driver(), vol.CheckOptions{}, nil, nil)
	if err != nil || res.Stats.Files != maxDirEntries-2 {
		t.Errorf("%d files, %v", res.Stats.Files, err)
	}
	sound(t, m)
}

// Thousands of names that differ at their end only, in one request and in two.
func TestSimilarNames(t *testing.T) {
	m := formatted(t, "fat32", 36<<20, 512)
	for _, from := range []int{0, 3000} {
		var names []string
		for i := range 3000 {
			names = append(names, fmt.Sprintf("pictures/holiday in the mountains %04d.jpeg", from+i))
		}
		preallocated(t, m, emptyFiles(names...))
	}
	sound(t, m)
	fsckSilent(t, m)
	tx, v := begun(t, m)
	if _, err := v.Preallocate(context.Background(), vol.PreallocRequest{Files: []vol.PreallocFile{
		{Path: "PICTURES/HOLIDAY in the mountains 2999.JPEG"}, {Path: "Pictures/HOLIDA~1.JPE"},
	}}); err != nil || tx.Dirty() {
		t.Errorf("%v, dirty %v", err, tx.Dirty())
	}
}

// Entries behind the end mark that are not in use do not come back to life when
// entries are added before them; over entries that are in use, which Linux shows and
// a check finds, nothing is written.
func TestGarbageBehindTheEnd(t *testing.T) {
	for _, fill := range []int{1, 5, 14, 15, 16} {
		for _, inUse := range []bool{false, true} {
			m := withGhosts(t, inUse)
			var names []string
			for i := range fill {
				names = append(names, fmt.Sprintf("D/B%d", i))
			}
			if inUse {
				refused(t, m, emptyFiles(names...), vol.ErrDamaged)
				continue
			}
			preallocated(t, m, emptyFiles(names...))
			sound(t, m)
			res, err := vol.Fsck(context.Background(), m, Driver(), vol.CheckOptions{}, nil, nil)
			must(t, err)
			if want := uint64(fill) + 1; res.Stats.Files != want {
				t.Errorf("%d entries added: %d files, want %d", fill, res.Stats.Files, want)
			}
		}
	}
}

// withGhosts is a volume whose directory D has entries behind the end mark, which is
// in slot 3.
func withGhosts(t *testing.T, inUse bool) *dev.Mem {
	t.Helper()
	m := formatted(t, "fat32", 36<<20, 512)
	preallocated(t, m, emptyFiles("D/A"))
	_, g, err := readBoot(m)
	must(t, err)
	ds, err := newFolders(m, g, newTable(m, g, 0), stamp{}, dosPage())
	must(t, err)
	f, err := ds.resolve("D/A", false)
	must(t, err)
	for i := 4; i < 16; i++ {
		e := newEntry([11]byte([]byte(fmt.Sprintf("GHOST%-6d", i))), 0, attrArchive, stamp{date: 33})
		if !inUse {
			e[0] = entryDeleted
		}
		if _, err := m.WriteAt(e, g.ClusterOff(f.dir.First())+int64(i)*entryLen); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestBrokenDirectories(t *testing.T) {
	for what, breakIt := range map[string]func(t *testing.T, m *dev.Mem, g *Geometry, dir file){
		"free cluster": func(t *testing.T, m *dev.Mem, g *Geometry, dir file) {
			must(t, newTable(m, g, 0).set(dir.entry().start(g.Type), entryFree))
		},
		"loop": func(t *testing.T, m *dev.Mem, g *Geometry, dir file) {
			c := dir.entry().start(g.Type)
			must(t, newTable(m, g, 0).set(c, c))
			if _, err := m.WriteAt(make([]byte, 512), g.ClusterOff(c)); err != nil {
				t.Fatal(err)
			}
		},
		"no cluster": func(t *testing.T, m *dev.Mem, g *Geometry, dir file) {
			dir.entry().setStart(g.Type, 0)
			dir.changed()
		},
		"out of range": func(t *testing.T, m *dev.Mem, g *Geometry, dir file) {
			dir.entry().setStart(g.Type, g.Last()+1)
			dir.changed()
		},
		"the file's": func(t *testing.T, m *dev.Mem, g *Geometry, dir file) {
			f, err := (&folders{d: m, g: g}).rootFile("F", dir)
			must(t, err)
			dir.entry().setStart(g.Type, f.entry().start(g.Type))
			dir.changed()
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := formatted(t, "fat16", 9<<20, 2048)
			preallocated(t, m, newFiles(map[string]int64{"D/A": 1, "F": 2048}, "D/A", "F"))
			_, g, err := readBoot(m)
			must(t, err)
			ds, err := newFolders(m, g, newTable(m, g, 0), stamp{}, dosPage())
			must(t, err)
			slot, _ := ds.root.lookup("D")
			breakIt(t, m, g, file{dir: ds.root, slot: slot})
			must(t, ds.store(ds.root))
			tx := dev.Begin(m)
			v, err := open(context.Background(), tx, vol.OpenOptions{Force: true})
			must(t, err)
			r := newFiles(map[string]int64{"D/B": 1, "F": 5000}, "D/B", "F")
			if _, err := v.Preallocate(context.Background(), r); !errors.Is(err, vol.ErrDamaged) || tx.Dirty() {
				t.Errorf("%v, dirty %v", err, tx.Dirty())
			}
		})
	}
}

// rootFile is a file beside dir.
func (ds *folders) rootFile(name string, dir file) (file, error) {
	slot, ok := dir.dir.lookup(name)
	if !ok {
		return file{}, errors.New("no such file")
	}
	return file{dir: dir.dir, slot: slot}, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Chains that do not fit their size, or each other, are not made longer.
func TestBrokenFiles(t *testing.T) {
	for what, breakIt := range map[string]func(tab *table, f, other dirEntry) error{
		"too short":    func(tab *table, f, _ dirEntry) error { return tab.set(f.start(FAT16)+1, entryLast) },
		"too long":     func(tab *table, f, _ dirEntry) error { f.setSize(2049); return nil },
		"loop":         func(tab *table, f, _ dirEntry) error { return tab.set(f.start(FAT16)+3, f.start(FAT16)) },
		"free":         func(tab *table, f, _ dirEntry) error { return tab.set(f.start(FAT16)+1, entryFree) },
		"bad":          func(tab *table, f, _ dirEntry) error { return tab.set(f.start(FAT16)+1, entryBad) },
		"out of range": func(tab *table, f, _ dirEntry) error { return tab.set(f.start(FAT16)+1, tab.g.Last()+1) },
		"empty":        func(tab *table, f, _ dirEntry) error { f.setSize(0); return nil },
		"no start":     func(tab *table, f, _ dirEntry) error { f.setStart(FAT16, 0); return nil },
		"shared":       func(tab *table, f, o dirEntry) error { f.setStart(FAT16, o.start(FAT16)); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			m := formatted(t, "fat16", 9<<20, 2048)
			preallocated(t, m, newFiles(map[string]int64{"F": 8000, "G": 8000}, "F", "G"))
			_, g, err := readBoot(m)
			must(t, err)
			tab := newTable(m, g, 0)
			ds, err := newFolders(m, g, tab, stamp{}, dosPage())
			must(t, err)
			end := ds.root.slots.End()
			must(t, breakIt(tab, ds.root.at(end-2), ds.root.at(end-1)))
			ds.root.slots.Mark(end-2, 1)
			must(t, ds.store(ds.root))
			r := newFiles(map[string]int64{"G": 20000, "F": 20000, "H": 1}, "H", "G", "F")
			refused(t, m, r, vol.ErrDamaged)
		})
	}
}
