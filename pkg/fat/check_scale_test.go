package fat

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// bare is a FAT32 volume without files, to be filled by the thousand.
func bare(t testing.TB, size, cluster int64) *lab {
	t.Helper()
	l := &lab{t: t, kind: "bare", next: 3, known: map[string]string{}, m: formatted(t, "fat32", size, cluster)}
	r, err := newReader(l.m)
	if err != nil {
		t.Fatal(err)
	}
	l.reader = r
	return l
}

// fill puts slots into a directory of clusters of its own, and links them.
func (l *lab) fill(cs []uint32, slots [][]byte) {
	l.t.Helper()
	per := l.slotsPerCluster()
	if len(slots) > len(cs)*per {
		l.t.Fatalf("%d slots in %d clusters", len(slots), len(cs))
	}
	for i, c := range cs {
		b := make([]byte, 0, l.cluster)
		for _, s := range slots[min(len(slots), i*per):min(len(slots), (i+1)*per)] {
			b = append(b, s...)
		}
		l.put(l.offset(c), b...)
	}
	l.link(cs)
}

// sub makes a directory of slots in the root.
func (l *lab) sub(name string, slots [][]byte) uint32 {
	n := (len(slots) + 2 + l.slotsPerCluster() - 1) / l.slotsPerCluster()
	cs := l.run(0, n)
	l.fill(cs, slices.Concat([][]byte{slot(".          ", 0x10, cs[0], 0), slot("..         ", 0x10, 0, 0)}, slots))
	l.append(0, slot(name, 0x10, cs[0], 0))
	return cs[0]
}

// guarded runs -y and a check of the result. The deadline is no measure: it is
// there so that a repair that takes for ever fails instead of hanging.
func guarded(t testing.TB, m dev.Device, decide vol.Decider) *vol.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tx := dev.Begin(m)
	defer tx.Rollback()
	res, err := vol.Fsck(ctx, tx, Driver(), vol.CheckOptions{}, decide, nil)
	if err != nil || res.Unproven != nil {
		t.Fatal(err, res)
	}
	again, err := vol.Fsck(ctx, tx, Driver(), vol.CheckOptions{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range again.Outcomes {
		if o.Severity > vol.SevInfo {
			t.Errorf("after the repair: %s", voltest.Line(o))
		}
	}
	return res
}

// counts is how many findings of each slug there are, with those that are only
// counted.
func counts(res *vol.Result) map[string]int {
	n := map[string]int{}
	for _, o := range res.Outcomes {
		if o.Severity == vol.SevInfo {
			continue
		}
		var more int
		if _, err := fmt.Sscanf(o.Detail, "and %d more", &more); err == nil {
			n[o.Slug] += more
		} else {
			n[o.Slug]++
		}
	}
	return n
}

func wantCounts(t *testing.T, res *vol.Result, want map[string]int) {
	t.Helper()
	if got := counts(res); !maps.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// largeDir is a volume with n files in one directory.
func largeDir(t testing.TB, n int, name func(i int) string) *lab {
	l := bare(t, 160<<20, 1024)
	slots := make([][]byte, n)
	for i := range slots {
		slots[i] = slot(name(i), 0x20, 0, 0)
	}
	l.sub("LARGE      ", slots)
	for i := range slots {
		c := l.next + uint32(i)
		l.set(c, l.eoc())
		slots[i] = slot(name(i), 0x20, c, 100)
	}
	l.fill(l.cells("/LARGE"), slices.Concat([][]byte{l.read(l.slotOf("/LARGE", 0), 32), l.read(l.slotOf("/LARGE", 1), 32)}, slots))
	l.count()
	return l
}

func TestLargeDirectory(t *testing.T) {
	l := largeDir(t, 65000, func(i int) string { return fmt.Sprintf("F%07dTXT", i) })
	res := guarded(t, l.m, voltest.Always)
	wantCounts(t, res, map[string]int{})
	if res.Stats.Files != 65000 {
		t.Errorf("%d files", res.Stats.Files)
	}
}

// More findings than are listed are all mended, and counted.
func TestManyEqualNames(t *testing.T) {
	for _, n := range []int{3000, 65000} {
		l := largeDir(t, n, func(int) string { return "SAME    TXT" })
		res := guarded(t, l.m, voltest.Always)
		wantCounts(t, res, map[string]int{"short-twice": n - 1})
		if res.Rounds != 2 || len(res.Outcomes) > 10_100 {
			t.Errorf("%d rounds, %d outcomes", res.Rounds, len(res.Outcomes))
		}
		res = guardedReport(t, l.m)
		wantCounts(t, res, map[string]int{"short-twice": n - 1})
	}
}

func guardedReport(t testing.TB, m dev.Device) *vol.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := vol.Fsck(ctx, m, Driver(), vol.CheckOptions{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// orphans is a volume with n chains that no entry leads to, and a file.
func orphans(t testing.TB, n int) *lab {
	l := bare(t, 128<<20, 512)
	l.append(0, slot("FILE       ", 0x20, 3, 10))
	l.set(3, l.eoc())
	for i := range uint32(n) {
		l.link([]uint32{10 + 3*i, 11 + 3*i})
	}
	l.count()
	return l
}

func TestManyOrphans(t *testing.T) {
	l := orphans(t, 20_000)
	for _, fix := range []string{fixFree, fixRescue} {
		res := guarded(t, l.m, voltest.Choose("lost-chains", fix))
		if n := counts(res)["lost-chains"]; n != 1 {
			t.Errorf("%v", counts(res))
		}
	}
}

// Every file starts one cluster further along the same chain.
func TestManyCrossLinks(t *testing.T) {
	l := bare(t, 128<<20, 512)
	const n = 10_000
	l.next = 20_000
	chain := l.run(0, n)
	l.link(chain)
	slots := [][]byte{slot("CHAIN      ", 0x20, chain[0], uint32(n*l.cluster))}
	for i := range n - 1 {
		slots = append(slots, slot(fmt.Sprintf("F%07d   ", i), 0x20, chain[i+1], 100))
	}
	l.sub("LINKS      ", slots)
	l.count()
	res := guarded(t, l.m, voltest.Always)
	if got := counts(res)["cross-linked"]; got != n-1 {
		t.Errorf("%v", counts(res))
	}
	// All start in the same cluster.
	for i := range slots[1:] {
		slots[i+1] = slot(fmt.Sprintf("F%07d   ", i), 0x20, chain[5], 100)
	}
	l.fill(l.cells("/LINKS"), slices.Concat([][]byte{l.read(l.slotOf("/LINKS", 0), 32), l.read(l.slotOf("/LINKS", 1), 32)}, slots))
	res = guarded(t, l.m, voltest.Always)
	if got := counts(res)["cross-linked"]; got != n-1 {
		t.Errorf("%v", counts(res))
	}
}

func TestDeepNesting(t *testing.T) {
	l := bare(t, 64<<20, 512)
	const depth = 5000
	cs := l.run(0, depth)
	for i, c := range cs {
		up := uint32(0)
		if i > 0 {
			up = cs[i-1]
		}
		slots := [][]byte{slot(".          ", 0x10, c, 0), slot("..         ", 0x10, up, 0)}
		if i+1 < depth {
			slots = append(slots, slot("D          ", 0x10, cs[i+1], 0))
		}
		l.fill([]uint32{c}, slots)
	}
	l.append(0, slot("D          ", 0x10, cs[0], 0))
	l.count()
	res := guarded(t, l.m, voltest.Always)
	wantCounts(t, res, map[string]int{})
	if res.Stats.Directories != depth {
		t.Errorf("%d directories", res.Stats.Directories)
	}
	for _, c := range cs {
		l.put16(l.offset(c)+32+26, uint16(cs[depth-1]))
		l.put16(l.offset(c)+64+22, 31<<11)
	}
	wantCounts(t, guarded(t, l.m, voltest.Always), map[string]int{"dotdot-start": depth})
	// .. of the first waits for the other entry that leads there to be judged.
	l.append(cs[depth-1], slot("LOOP       ", 0x10, cs[0], 0))
	wantCounts(t, guarded(t, l.m, voltest.Always), map[string]int{"dotdot-start": depth, "directory-twice": 1})
}

// TestDeepPaths: of a tree of thousands of levels with long names, of which there is
// something to say in each, the paths are no longer than can be used.
func TestDeepPaths(t *testing.T) {
	l := bare(t, 72<<20, 1024)
	const depth = 3000
	name := strings.Repeat("ä", 150)
	cs := l.run(0, depth)
	for i, c := range cs {
		up := uint32(0)
		if i > 0 {
			up = cs[i-1]
		}
		slots := [][]byte{slot(".          ", 0x10, c+1, 0), slot("..         ", 0x10, up, 0)}
		if i+1 < depth {
			slots = append(slots, longSlotsOf(name, "A          ")...)
			slots = append(slots, slot("A          ", 0x10, cs[i+1], 0))
		}
		l.fill([]uint32{c}, slots)
	}
	l.append(0, append(longSlotsOf(name, "A          "), slot("A          ", 0x10, cs[0], 0))...)
	l.count()
	n := 0
	for _, o := range fsck(t, l.m, nil).Outcomes {
		if p := o.Loc.Path; o.Slug == "dot-start" {
			if n++; len(p) > vol.MaxPath+len(name)+10 || !utf8.ValidString(p) || !strings.HasSuffix(p, "/"+name) {
				t.Fatalf("%d bytes of path: %.200s", len(p), p)
			}
		}
	}
	if n != depth {
		t.Errorf("%d directories were found, planted %d", n, depth)
	}
}

// A directory of more entries than any system reads, all of them in use.
func TestEndlessDirectory(t *testing.T) {
	l := bare(t, 128<<20, 512)
	const n = 70_000
	slots := make([][]byte, n)
	for i := range slots {
		slots[i] = slot(fmt.Sprintf("F%07d   ", i), 0x20, 0, 0)
	}
	l.sub("ENDLESS    ", slots)
	l.count()
	res := guarded(t, l.m, voltest.Always)
	if got := counts(res); got["directory-too-long"] != 1 || res.Stats.Files != maxDirEntries-2 {
		t.Errorf("%v, %d files", got, res.Stats.Files)
	}
}

// TestMemory checks a volume of 2^28 clusters: two bitmaps of 32 MiB, and little
// besides.
func TestMemory(t *testing.T) {
	m := formatted(t, "fat32", 1<<40, 4096)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := guardedReport(t, m)
	runtime.ReadMemStats(&after)
	if res.Stats.Clusters < 1<<28-1<<20 || len(res.Outcomes) > 0 {
		t.Errorf("%d clusters, %v", res.Stats.Clusters, counts(res))
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 128<<20 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
}

func benchCheck(b *testing.B, m *dev.Mem, decide vol.Decider) {
	b.ReportAllocs()
	for b.Loop() {
		tx := dev.Begin(m)
		if _, err := vol.Fsck(context.Background(), tx, Driver(), vol.CheckOptions{}, decide, nil); err != nil {
			b.Fatal(err)
		}
		tx.Rollback()
	}
}

// BenchmarkCheckDirectory65k checks one directory of 65 000 files.
func BenchmarkCheckDirectory65k(b *testing.B) {
	benchCheck(b, largeDir(b, 65000, func(i int) string { return fmt.Sprintf("F%07dTXT", i) }).m, nil)
}

// BenchmarkCheckOrphans10k gives 10 000 lost chains back.
func BenchmarkCheckOrphans10k(b *testing.B) { benchCheck(b, orphans(b, 10_000).m, voltest.Always) }

// BenchmarkCheckRescue10k makes files of 10 000 lost chains.
func BenchmarkCheckRescue10k(b *testing.B) {
	benchCheck(b, orphans(b, 10_000).m, voltest.Choose("lost-chains", fixRescue))
}

// BenchmarkCheckEmpty checks a fresh volume of 2^27 clusters.
func BenchmarkCheckEmpty(b *testing.B) { benchCheck(b, formatted(b, "fat32", 1<<39, 4096), nil) }

// BenchmarkCheckCrossLinks parts 10 000 files from one chain.
func BenchmarkCheckCrossLinks(b *testing.B) {
	l := bare(b, 128<<20, 512)
	chain := l.run(20_000, 10_000)
	l.link(chain)
	slots := [][]byte{slot("CHAIN      ", 0x20, chain[0], uint32(10_000*l.cluster))}
	for i := range 9_999 {
		slots = append(slots, slot(fmt.Sprintf("F%07d   ", i), 0x20, chain[i+1], 100))
	}
	l.sub("LINKS      ", slots)
	l.count()
	benchCheck(b, l.m, voltest.Always)
}
