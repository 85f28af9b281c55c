package exfat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// edited changes the set of a file, or anything else in its directory, and
// writes it as it is then.
func edited(t testing.TB, m dev.Device, path string, change func(f file)) {
	t.Helper()
	_, v := begun(t, m)
	v.d = m
	ds, err := v.openFolders()
	must(t, err)
	f, err := ds.find(path)
	must(t, err)
	change(f)
	for _, f := range ds.all {
		must(t, ds.store(f))
	}
}

// find is resolve for directories too.
func (ds *folders) find(path string) (file, error) {
	dir := ds.root
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, p := range parts[:len(parts)-1] {
		var err error
		if dir, err = ds.Enter(dir, p, path, false); err != nil {
			return file{}, err
		}
	}
	slot, ok := dir.lookup(parts[len(parts)-1])
	if !ok {
		return file{}, fmt.Errorf("no %s", path)
	}
	return file{dir: dir, slot: slot, path: path}, nil
}

// removed frees the entries of empty files.
func removed(t testing.TB, m dev.Device, paths ...string) {
	t.Helper()
	for _, p := range paths {
		edited(t, m, p, func(f file) {
			for i := range f.set().slots() {
				f.dir.slots.At(f.slot + i)[0] &^= typeInUse
			}
			f.dir.slots.Mark(f.slot, 19)
		})
	}
}

// Directories grow: a new one, which is one run while it can be, one that has
// something behind it and so comes to have a chain, and the root, which has
// nothing but a chain.
func TestFolderGrow(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			cs := 0
			for _, dir := range []string{"D/", ""} {
				for round := range 4 {
					_, v := begun(t, m)
					cs = int(v.g.ClusterSize)
					var names []string
					for i := range min(2*cs/entryLen/4, 3000) {
						names = append(names, fmt.Sprintf("%sa rather long name %d-%05d", dir, round, i))
					}
					preallocated(t, m, emptyFiles(names...))
					preallocated(t, m, one(fmt.Sprintf("in the way %s%d", strings.Trim(dir, "/"), round), 1))
				}
			}
			p := sound(t, m)
			if f := p.files["/D"]; f.noFat && f.extents() > 1 || cs <= 4096 && f.extents() < 2 {
				t.Errorf("D: one run %v in %d runs", f.noFat, f.extents())
			}
			fsckClean(t, m)
		})
	}
}

// A directory holds 256 MiB: what does not fit is refused, and nothing of it
// is left.
func TestFolderFull(t *testing.T) {
	m := formatted(t, 1<<30, 32<<10)
	at := preallocated(t, m, one("D", maxDirBytes)).Files[0].Extents[0]
	edited(t, m, "D", func(f file) {
		f.set().file().put16(offAttributes, attrDirectory)
		f.set().stream().put64(offValidLength, maxDirBytes)
		f.set().seal()
		f.changed()
	})
	// Benign entries of a kind that is not known, and room for 7.
	b := make([]byte, maxDirBytes)
	for i := 0; i < len(b)-7*entryLen; i += entryLen {
		b[i] = 0xA5
	}
	_, err := m.WriteAt(b, at.Off)
	must(t, err)
	if msg := refused(t, m, emptyFiles("D/"+strings.Repeat("x", 76)), vol.ErrRequest); !strings.Contains(msg, "/D is full") {
		t.Errorf("message %q", msg)
	}
	preallocated(t, m, emptyFiles("D/"+strings.Repeat("x", 75)))
	refused(t, m, emptyFiles("D/G"), vol.ErrRequest)
	removed(t, m, "D/"+strings.Repeat("x", 75))
	preallocated(t, m, emptyFiles("D/G", "D/H"))
	refused(t, m, emptyFiles("D/I"), vol.ErrRequest)
	sound(t, m)
}

// Looking up and adding 65 000 files in one directory is linear: this takes a
// fraction of a second, and minutes where it is not.
func TestFolderManyFiles(t *testing.T) {
	m := formatted(t, 256<<20, 4096)
	var names []string
	for i := range 65000 {
		names = append(names, fmt.Sprintf("DCIM/IMG_%06d.JPG", i))
	}
	start := time.Now()
	preallocated(t, m, emptyFiles(names...))
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	tx, v := begun(t, m)
	_, err := v.Preallocate(context.Background(), emptyFiles(names...))
	if err != nil || tx.Dirty() {
		t.Errorf("%v, dirty %v", err, tx.Dirty())
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	fsckClean(t, m)
}

// Free slots are used again, the smallest gap that fits first.
func TestFolderGaps(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, emptyFiles("a", "this has four slots here", "b", strings.Repeat("long", 15), "c"))
	size := func() int {
		_, v := begun(t, m)
		ds, err := v.openFolders()
		must(t, err)
		return ds.root.slots.End()
	}
	had := size()
	removed(t, m, "this has four slots here", strings.Repeat("long", 15))
	preallocated(t, m, emptyFiles("also needs four slots"))
	preallocated(t, m, emptyFiles("d", "e"))
	if size() != had {
		t.Errorf("%d slots, then %d", had, size())
	}
	p := sound(t, m)
	if got := fmt.Sprint(p.paths()); got != "[/a /also needs four slots /b /c /d /e]" {
		t.Error(got)
	}
	// The last ones free: what follows them goes on from there.
	removed(t, m, "c")
	preallocated(t, m, emptyFiles("a name that needs more slots than were free there"))
	sound(t, m)
	fsckClean(t, m)
}

// Slots behind the end mark that are not in use are free whatever else they
// hold. (Those in use are damage, and are not written over.)
func TestFolderGarbageBehindTheEnd(t *testing.T) {
	for fill := 1; fill < 10; fill++ {
		m := formatted(t, 16<<20, 4096)
		preallocated(t, m, emptyFiles("D/A"))
		_, v := begun(t, m)
		p := sound(t, m)
		ghost := newEntrySet(v.upcase, []uint16{'g'}, setFields{attr: attrArchive})
		for i := 0; i < len(ghost); i += entryLen {
			ghost[i] &^= 0x80 // [exFAT] §6.2.1.4
		}
		off := p.heap + int64(p.files["/D"].clusters[0]-2)*p.cs
		for i := 4; i+3 < 40; i += 3 {
			patched(t, m, off+int64(i)*entryLen, int64(len(ghost)), func(b []byte) { copy(b, ghost) })
		}
		var names []string
		for i := range fill {
			names = append(names, fmt.Sprintf("D/B%d", i))
		}
		preallocated(t, m, emptyFiles(names...))
		_, v = begun(t, m)
		ds, err := v.openFolders()
		must(t, err)
		dir, err := ds.Enter(ds.root, "d", "d", false)
		must(t, err)
		if dir.slots.End() != 3*(1+fill) || dir.odd != "" {
			t.Errorf("%d entries added: %d slots, %q", fill, dir.slots.End(), dir.odd)
		}
	}
}

// An empty directory without clusters is legal, [exFAT] §7.6.6, and made by
// some systems.
func TestFolderWithoutClusters(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, emptyFiles("D"))
	edited(t, m, "D", func(f file) {
		f.set().file().put16(offAttributes, attrDirectory)
		f.set().seal()
		f.changed()
	})
	if _, err := readPlain(m); err != nil {
		t.Fatal(err)
	}
	preallocated(t, m, emptyFiles("D/E/F"))
	p := sound(t, m)
	if f := p.files["/D"]; !f.noFat || f.length != 4096 || len(p.files) != 3 {
		t.Errorf("%+v", p.files)
	}
}

// What belongs to a set and is not known stays byte for byte, [exFAT] §8.2; so
// does a vendor's allocation.
func TestFolderKeepsBenignEntries(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, one("F", 5000))
	preallocated(t, m, emptyFiles("tail"))
	extra := make([]byte, 2*entryLen)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range extra {
		extra[i] = byte(rnd.Uint32())
	}
	extra[0], extra[entryLen] = typeVendor, 0xE5
	extra[1], extra[entryLen+1] = 0, 0
	edited(t, m, "F", func(f file) {
		s := f.dir.slots
		tail := bytes.Clone(s.Run(f.slot+3, 3))
		set := append(bytes.Clone(f.set()), extra...)
		set[offSecondaryCount] += 2
		entrySet(set).seal()
		if _, ok := s.Room(2); !ok {
			t.Fatal("no room")
		}
		copy(s.Run(f.slot, 5), set)
		copy(s.Run(f.slot+5, 3), tail)
		s.Mark(f.slot, 8)
	})
	preallocated(t, m, allValid(one("f", 50000)))
	zeroed(t, m, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "F", Offset: 5, Length: 70000}}})
	p := sound(t, m)
	if f := p.files["/F"]; f.length != 70005 || f.valid != 5 || !bytes.Equal(f.set[3*entryLen:], extra) || len(p.files) != 2 {
		t.Errorf("%+v", f)
	}
}

// A benign primary entry with secondaries of its own is passed over, and kept.
func TestFolderUnknownBenignPrimary(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, emptyFiles("D/this will become another", "D/x"))
	edited(t, m, "D/this will become another", func(f file) {
		f.dir.slots.At(f.slot)[0] = 0xA5
		for i := 1; i < f.set().slots(); i++ {
			f.dir.slots.At(f.slot + i)[0] = 0xE5
		}
		f.dir.slots.Mark(f.slot, 4)
	})
	before := sound(t, m)
	preallocated(t, m, emptyFiles("D/y"))
	p := sound(t, m)
	a, b := before.content(before.files["/D"].clusters), p.content(p.files["/D"].clusters)
	if !bytes.Equal(a[:4*entryLen], b[:4*entryLen]) || len(p.files) != 3 {
		t.Errorf("%v", p.paths())
	}
}

// What must not be changed before a check.
func TestFolderRefusals(t *testing.T) {
	set := func(change func(s entrySet)) func(t *testing.T, m *dev.Mem) {
		return func(t *testing.T, m *dev.Mem) {
			edited(t, m, "D/F", func(f file) { change(f.set()); f.changed() })
		}
	}
	dir := func(change func(s entrySet)) func(t *testing.T, m *dev.Mem) {
		return func(t *testing.T, m *dev.Mem) {
			edited(t, m, "D", func(f file) { change(f.set()); f.changed() })
		}
	}
	stream := func(change func(st entry)) func(s entrySet) {
		return func(s entrySet) { change(s.stream()); s.seal() }
	}
	for what, c := range map[string]struct {
		spoil func(t *testing.T, m *dev.Mem)
		want  error
		say   string
	}{
		"checksum":          {set(func(s entrySet) { s[offSetChecksum]++ }), vol.ErrDamaged, "checksum"},
		"hash":              {set(stream(func(st entry) { st[offNameHash]++ })), vol.ErrDamaged, "hash"},
		"valid":             {set(stream(func(st entry) { st.put64(offValidLength, 1<<40) })), vol.ErrDamaged, "said to be written"},
		"huge":              {set(stream(func(st entry) { st.put64(offDataLength, 1<<62) })), vol.ErrDamaged, "more than the volume has"},
		"more than int64":   {set(stream(func(st entry) { st.put64(offDataLength, 1<<63+5) })), vol.ErrDamaged, "more than the volume has"},
		"first":             {set(stream(func(st entry) { st.put32(offFirstCluster, 1<<31) })), vol.ErrDamaged, "cannot be"},
		"leaves the heap":   {set(stream(func(st entry) { st.put32(offFirstCluster, 3000); st.put64(offDataLength, 8<<20) })), vol.ErrDamaged, "leave the volume"},
		"empty with one":    {set(stream(func(st entry) { st.put64(offDataLength, 0); st.put64(offValidLength, 0) })), vol.ErrDamaged, "empty but has cluster"},
		"marked as free":    {set(stream(func(st entry) { st.put32(offFirstCluster, 500) })), vol.ErrDamaged, "marked as free"},
		"the bitmap":        {set(stream(func(st entry) { st.put32(offFirstCluster, 2) })), vol.ErrDamaged, "belongs to"},
		"the root":          {set(func(s entrySet) { s.allocate(5, 4096, 0, true); s.seal() }), vol.ErrDamaged, "belongs to"},
		"chain":             {set(stream(func(st entry) { st[offSecFlags] &^= secNoFatChain })), vol.ErrDamaged, "cannot be"},
		"no stream":         {set(func(s entrySet) { s.stream()[0] = typeVendor }), vol.ErrDamaged, "without a stream"},
		"no name":           {set(func(s entrySet) { s.at(2)[0] = typeVendor }), vol.ErrDamaged, "without a whole name"},
		"count":             {set(func(s entrySet) { s[offSecondaryCount] = 1 }), vol.ErrDamaged, "in slot 0"},
		"count, many":       {set(func(s entrySet) { s[offSecondaryCount] = 200 }), vol.ErrDamaged, "in slot 0"},
		"stray secondary":   {set(func(s entrySet) { s[0] &^= typeInUse }), vol.ErrDamaged, "belongs to no other"},
		"critical":          {set(func(s entrySet) { s[0] = 0x8A }), vol.ErrDamaged, "not known"},
		"dir valid":         {dir(stream(func(st entry) { st.put64(offValidLength, 32) })), vol.ErrDamaged, "said to be written"},
		"dir length":        {dir(stream(func(st entry) { st.put64(offDataLength, 100); st.put64(offValidLength, 100) })), vol.ErrDamaged, "cannot have 100 bytes"},
		"dir too long":      {dir(stream(func(st entry) { st.put64(offDataLength, 1<<29); st.put64(offValidLength, 1<<29) })), vol.ErrDamaged, "cannot have"},
		"dir is its parent": {dir(func(s entrySet) { s.allocate(5, 4096, 4096, true); s.seal() }), vol.ErrDamaged, "belongs to"},
	} {
		t.Run(what, func(t *testing.T) {
			m := formatted(t, 16<<20, 4096, func(o *vol.FormatOptions) { o.Align = 4096 })
			preallocated(t, m, newFiles(map[string]int64{"D/F": 9000}, "D/F"))
			if _, v := begun(t, m); v.g.RootCluster != 5 {
				t.Fatalf("the root is at %d", v.g.RootCluster)
			}
			c.spoil(t, m)
			r := newFiles(map[string]int64{"D/F": 50000, "D/new": 5}, "D/F", "D/new")
			if msg := refused(t, m, r, c.want); !strings.Contains(msg, c.say) {
				t.Errorf("message %q", msg)
			}
		})
	}
}

// A critical entry in a set, [exFAT] §8.2.
func TestFolderUnknownCriticalSecondary(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, emptyFiles("a name of two entries"))
	edited(t, m, "a name of two entries", func(f file) {
		s := f.set()
		s.stream()[offNameLength] = 5
		s.stream().put16(offNameHash, standardTable().hash(s.units(nil)))
		s.at(3)[0] = 0xC5
		s.seal()
		f.dir.slots.Mark(f.slot, 4)
	})
	if msg := refused(t, m, one("a nam", 5), vol.ErrRequest); !strings.Contains(msg, "0xc5") {
		t.Errorf("message %q", msg)
	}
	preallocated(t, m, one("another", 5))
}

// Names are compared through the table that the volume has, and through no
// other: here that of a volume for which ü and Ü are two, and q is the same as
// ž.
func TestFolderCustomUpcase(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	_, v := begun(t, m)
	up := standardTable()
	up.to['ü'], up.to['ž'], up.to['Ž'] = 'ü', 'Q', 'Q'
	raw := compressUpcase(up)
	_, err := m.WriteAt(raw, v.g.ClusterOff(v.tables.upcase.extents[0].Start))
	must(t, err)
	eachRootEntry(m, v.g, 4096, func(e entry, off int64) bool {
		if e.kind() == typeUpcase {
			e.put32(offTableChecksum, tableChecksum(raw))
			e.put64(offDataLength, uint64(len(raw)))
			_, err := m.WriteAt(e, off)
			must(t, err)
		}
		return true
	})
	preallocated(t, m, emptyFiles("ü", "Ü", "eins", "žebra", "Ä"))
	tx, v := begun(t, m)
	_, err = v.Preallocate(context.Background(), vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "EINS"}, {Path: "Qebra"}, {Path: "qEBRA"}, {Path: "ä"}}})
	if err != nil || tx.Dirty() {
		t.Errorf("%v, dirty %v", err, tx.Dirty())
	}
	p, err := readPlain(m)
	if err != nil || len(p.files) != 5 {
		t.Errorf("%v, %v", p.paths(), err)
	}
}

// The table finds what a map of folded names finds.
func TestNameTable(t *testing.T) {
	up := standardTable()
	rnd := rand.New(rand.NewPCG(3, 3))
	s := vol.NewSlots(maxDirSlots)
	x := vol.NewNameTable(vol.NewNameKeys(up.fold), func(slot int32, dst []uint16) []uint16 { return setAt(s, int(slot)).units(dst) }, nil)
	want := map[string]int{}
	name := func() []uint16 {
		u := make([]uint16, 1+rnd.IntN(4))
		for i := range u {
			u[i] = []uint16{'a', 'A', 'b', 'ü', 'Ü', 'ž', 'Ž', 0xD800, '1', 'ﬀ'}[rnd.IntN(10)]
		}
		return u
	}
	key := func(u []uint16) string {
		var b []byte
		for _, c := range u {
			b = binary.LittleEndian.AppendUint16(b, up.fold(c))
		}
		return string(b)
	}
	for range 5000 {
		u := name()
		ref, ok := x.Find(u)
		if at, there := want[key(u)]; ok != there || ok && int(ref) != at {
			t.Fatalf("%v: slot %d %v, want %d %v", u, ref, ok, at, there)
		}
		set := newEntrySet(up, u, setFields{})
		slot, _ := s.Room(set.slots())
		copy(s.Run(slot, set.slots()), set)
		first, there := want[key(u)]
		if !there {
			want[key(u)], first = slot, -1
		}
		if got := x.Add(int32(slot)); int(got) != first {
			t.Fatalf("%v: the first is in slot %d, not %d", u, first, got)
		}
	}
}

// A chain that never ends is noticed at once, however long the file claims to
// be.
func TestFollow(t *testing.T) {
	m := formatted(t, 4<<40, 2048) // 2^31 clusters
	g, err := soundRegion(m)
	must(t, err)
	tab := newTable(m, g)
	must(t, tab.link([]space.Extent{{Start: 1000, Len: 500}, {Start: 9000, Len: 3}}))
	es, err := tab.follow(1000, 503, 503)
	if err != nil || fmt.Sprint(es) != "[1000+500 9000+3]" {
		t.Errorf("%v, %v", es, err)
	}
	for need, say := range map[uint32]string{502: "goes on after the 502", 504: "has 503 clusters", 1: "goes on after the 1 "} {
		if _, err := tab.follow(1000, need, need); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%d clusters: %v", need, err)
		}
	}
	if _, err := tab.follow(1000, 0, 100); err == nil || !strings.Contains(err.Error(), "does not end after 100") {
		t.Errorf("%v", err)
	}
	must(t, tab.linkRun(space.Extent{Start: 9000, Len: 3}, 1007))
	for _, need := range []uint32{0, g.Clusters} {
		start := time.Now()
		if _, err := tab.follow(1000, need, g.Clusters); err == nil || !strings.Contains(err.Error(), "comes back") || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	}
	for _, v := range []uint32{0, 1, fatBad, g.Last() + 1, fatMedia} {
		must(t, tab.set(9002, v))
		if _, err := tab.follow(1000, 0, 1000); err == nil || !strings.Contains(err.Error(), "cannot be") {
			t.Errorf("%#x: %v", v, err)
		}
	}
	must(t, tab.linkRun(space.Extent{Start: g.Last() - 5, Len: 6}, g.Last()+1))
	if _, err := tab.follow(g.Last()-5, 0, 100); err == nil {
		t.Error("a chain that leaves the volume")
	}
	var b *brokenChain
	if _, err := tab.follow(0, 0, 100); !errors.As(err, &b) {
		t.Errorf("cluster 0: %v", err)
	}
}

// The sets of other makers are what we would make of the same.
func TestEntrySetOfPeers(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	name := []uint16{'M', 'i', 'x', 'e', 'd', ' ', 0xD83D, 0xDE00, 'ü', '.', 't', 'x', 't', 'a', 'b', 'c', 'd'}
	preallocated(t, m, one(decodeUnits(name), 70000))
	p := sound(t, m)
	f := p.files["/"+decodeUnits(name)]
	_, v := begun(t, m)
	s := newEntrySet(v.upcase, name, setFields{attr: attrArchive, first: f.clusters[0], length: 70000, noFat: true, at: newStamp(1700000001)})
	if !bytes.Equal(s, f.set) || s.name() != decodeUnits(name) || s.slots() != 4 || s.flaw(v.upcase) != "" || s.unknown() != 0 {
		t.Errorf("\n%x\n%x", s, f.set)
	}
	if out := peer(t, "dump.exfat", voltest.Saved(t, m)); !strings.Contains(out, "Free Clusters") && !strings.Contains(out, "Free clusters") {
		t.Logf("%s", out)
	}
}
