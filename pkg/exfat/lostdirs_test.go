package exfat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestLostDirBesideHuge: an entry in a lost directory that claims more than there is
// does not keep others from being seen.
func TestLostDirBesideHuge(t *testing.T) {
	for name, claims := range map[string]struct {
		start  func(l *lab) uint32
		length uint64
	}{
		"more than there is":     {func(l *lab) uint32 { return l.next }, 1 << 50},
		"what is another's":      {func(l *lab) uint32 { return l.root }, 300 << 9},
		"clusters that are free": {func(l *lab) uint32 { return l.spare(0) }, 300 << 9},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "512")
			l.dir("/FIRST", l.run(3), noFat)
			l.dir("/NEXT", l.run(1), noFat)
			for _, name := range []string{"A", "B", "C", "D", "E"} {
				l.file("/NEXT/"+name, l.run(60), noFat)
			}
			for i := range 15 { // of three slots each, before an end mark
				set := newSetOf("/"+string(rune('A'+i)), 0x20, noFat, []uint32{claims.start(l)}, claims.length, 0)
				l.append(l.node("/FIRST"), set)
			}
			l.count()
			withoutSet("/FIRST")(l)
			withoutSet("/NEXT")(l)
			res := fsck(t, l.m, voltest.Always)
			if !voltest.Mended(res, "lost-clusters", fixRescue) {
				t.Error(res.Outcomes)
			}
			now := map[string]bool{}
			for _, b := range l.files() {
				now[b] = true
			}
			for path, b := range l.known {
				if !now[b] {
					t.Errorf("%s is nowhere", path)
				}
			}
		})
	}
}

// TestSpread: of the longest run that there can be, [exFAT] §3.1.9, as of many short
// ones, clusters all over are looked at, in order, and no more than a bound.
func TestSpread(t *testing.T) {
	short := make([]space.Extent, 3000)
	for i := range short {
		short[i] = space.Extent{Start: uint32(2 + 5*i), Len: 1 + uint32(i%4)}
	}
	for name, runs := range map[string][]space.Extent{
		"all clusters":   {{Start: 2, Len: 1<<32 - 11}},
		"a little fewer": {{Start: 1000, Len: 1<<32 - 2000}},
		"half of them":   {{Start: 2, Len: 1 << 31}, {Start: 1<<31 + 100, Len: 1 << 30}},
		"runs of a few":  short,
		"one and two":    {{Start: 2, Len: 1}, {Start: 9, Len: 2}},
	} {
		l := tally{runs: runs, clusters: space.Units(runs)}
		var seen []uint32
		l.spread(func(cl uint32) bool {
			seen = append(seen, cl)
			return len(seen) <= maxLiveLooks+len(runs)
		})
		if len(seen) > maxLiveLooks+len(runs) {
			t.Errorf("%s: %d looks", name, len(seen))
			continue
		}
		at := 0
		for _, e := range runs {
			if e.Len > 1 && (at == len(seen) || seen[at] != e.Start+1) {
				t.Fatalf("%s: the second cluster of %v is not looked at", name, e)
			}
			for ; at < len(seen) && uint64(seen[at]) < e.End() && seen[at] > e.Start; at++ {
				if at > 0 && seen[at] <= seen[at-1] {
					t.Fatalf("%s: %d comes after %d", name, seen[at], seen[at-1])
				}
			}
		}
		if at != len(seen) {
			t.Errorf("%s: %d is in no run", name, seen[at])
		}
	}
}
