package exfat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// forget takes the entry set of a file away, and nothing else.
func (l *lab) forget(path string) string {
	for _, p := range l.node(path).slots {
		l.put(p, l.get(p)&0x7F)
	}
	b := l.known[path]
	delete(l.known, path)
	return b
}

// rescued runs a check that rescues what is lost, and returns what it made.
func (l *lab) rescued(t *testing.T) map[string]string {
	t.Helper()
	l.count()
	fsckWith(t, l.m, choose("lost-clusters", fixRescue))
	all := l.files()
	l.compare(t, all, nil)
	maps.DeleteFunc(all, func(path, _ string) bool { return !strings.HasPrefix(path, "/FOUND.") || strings.HasSuffix(path, "/") })
	return all
}

// holdsAll looks for files that start with what is given, one for each.
func holdsAll(t *testing.T, got map[string]string, want ...string) {
	t.Helper()
	for i, w := range want {
		n := 0
		for _, b := range got {
			if strings.HasPrefix(b, w) && len(b)-len(w) < 64<<10 {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d files hold what number %d held", n, i)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d files, not %d: %q", len(got), len(want), slices.Sorted(maps.Keys(got)))
	}
}

// TestRescue: of lost clusters comes a file for each chain, wherever its clusters
// lie, and one for each run that is in no chain.
func TestRescue(t *testing.T) {
	for name, c := range map[string]func(l *lab) (want []string){
		"a scattered chain": func(l *lab) []string {
			return []string{l.forget("/A rather long name with ä.bin"), l.forget("/SUB/DEEP/X.BIN")}
		},
		"chains in one run": func(l *lab) []string {
			l.file("/X.BIN", l.run(3), 0)
			l.file("/Y.BIN", l.run(2), 0)
			return []string{l.forget("/X.BIN"), l.forget("/Y.BIN")}
		},
		"a chain that runs backwards": func(l *lab) []string {
			cs := l.run(5)
			slices.Reverse(cs)
			l.file("/X.BIN", cs, 0)
			return []string{l.forget("/X.BIN")}
		},
		"a chain over a run": func(l *lab) []string {
			cs := l.run(5)
			l.file("/X.BIN", []uint32{cs[0], cs[2], cs[3]}, 0)
			l.file("/Y.BIN", cs[1:2], noFat)
			l.setFAT(cs[1], 0)
			return []string{l.forget("/X.BIN"), l.forget("/Y.BIN")}
		},
		"a run": func(l *lab) []string {
			cs := l.run(6)
			l.file("/X.BIN", cs, noFat)
			for _, c := range cs {
				l.setFAT(c, 0)
			}
			return []string{l.forget("/X.BIN")}
		},
		"a chain into a file": func(l *lab) []string {
			cs := l.run(4)
			l.file("/X.BIN", cs, 0)
			l.setFAT(cs[3], l.node("/BIG.BIN").start)
			return []string{l.forget("/X.BIN")}
		},
		"a loop": func(l *lab) []string {
			cs := l.run(4)
			l.file("/X.BIN", cs, 0)
			l.setFAT(cs[3], cs[0])
			return []string{l.forget("/X.BIN")}
		},
		"a chain into a loop": func(l *lab) []string {
			cs := l.run(4)
			l.file("/X.BIN", cs, 0)
			l.setFAT(cs[3], cs[1])
			return []string{l.forget("/X.BIN")}
		},
		// Both lead to the same last cluster. The first has it, and what is left of
		// the other is a run.
		"two chains that meet": func(l *lab) []string {
			x, y := l.run(3), l.run(3)
			l.file("/X.BIN", x, 0)
			l.file("/Y.BIN", y, 0)
			l.setFAT(y[1], x[2])
			l.bit(y[2], false)
			return []string{l.forget("/X.BIN"), l.forget("/Y.BIN")[:2*l.cluster]}
		},
		"a directory": func(l *lab) []string {
			cs := l.run(2)
			l.dir("/D", cs, 0)
			l.file("/D/X.BIN", l.every(3, 2), 0)
			x := l.forget("/D/X.BIN")
			entries := string(l.read(l.offset(cs[0]), l.cluster))
			l.forget("/D")
			delete(l.known, "/D/")
			return []string{x, entries}
		},
	} {
		for _, kind := range strings.Fields(allKinds) {
			t.Run(name+" "+kind, func(t *testing.T) {
				l := newLab(t, kind)
				want := c(l)
				holdsAll(t, l.rescued(t), want...)
			})
		}
	}
}

// TestManyRescued: more files than are kept in memory at a time, in as many FOUND
// directories as they need.
func TestManyRescued(t *testing.T) {
	const files = maxRuns + 1000
	m := formatted(t, 3*files*512, 512)
	r, err := newReader(m)
	must(t, err)
	l := &lab{reader: r, t: t, m: m}
	first := uint32(10)
	for !l.isFreeFrom(first, 64) {
		first += 8
	}
	// Chains of one cluster, and every tenth of them of two. All FAT entries are
	// written at once.
	fat := make([]byte, 4*2*files)
	end := func(i uint32, v uint32) { put32(fat[4*i:], v) }
	marks := make([]byte, 2*files/8)
	chains := 0
	for i := uint32(0); i < 2*files; i++ {
		marks[i/8] |= 1 << (i % 8)
		if end(i, fatEOC); i%10 == 0 {
			end(i, first+i+1)
		} else {
			chains++
		}
	}
	l.put(l.link(first), fat...)
	l.put(l.bitPlace(first), marks...)
	l.put(l.offset(first+20), []byte("twenty")...)
	fsckWith(t, m, choose("lost-clusters", fixRescue))
	got := 0
	for i := range (chains + filesPerFound - 1) / filesPerFound {
		got += len(l.list(l.node(fmt.Sprintf("/FOUND.%03d", i))))
	}
	if got != chains {
		t.Errorf("there are %d files, not %d", got, chains)
	}
	// 18 chains begin before cluster 20.
	f := l.node("/FOUND.000/FILE0018.CHK")
	if f.start != first+20 || f.length != 2*512 || string(l.read(l.offset(f.start), 6)) != "twenty" {
		t.Errorf("file 18 is %+v", f)
	}
}

// isFreeFrom reports whether none of n clusters from c on is marked as used, of
// which c begins a byte of the bitmap.
func (l *lab) isFreeFrom(c, n uint32) bool {
	for i := range n {
		if l.marked(c + i) {
			return false
		}
	}
	return (c-2)%8 == 0
}

// TestRescueStays: a rescue that is not wanted, or has no room, changes nothing.
func TestRescueStays(t *testing.T) {
	l := newLab(t, "4k")
	l.forget("/A rather long name with ä.bin")
	l.count()
	before := voltest.HashOf(t, l.m)
	tx := dev.Begin(l.m)
	fsck(t, tx, func(f *vol.Finding) int {
		if f.Slug == "lost-clusters" {
			return -1
		}
		return voltest.Always(f)
	})
	commit(t, tx)
	if voltest.HashOf(t, l.m) != before {
		t.Error("something was changed")
	}
}
