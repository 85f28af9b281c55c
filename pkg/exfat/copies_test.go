package exfat

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// skip puts unused slots at the end of a directory, until so many are left in
// its cluster.
func (l *lab) skip(path string, left int) {
	places := l.places(l.at(path))
	for i := l.end(places); l.per()-i%l.per() != left; i++ {
		l.put(places[i], 0x05)
	}
}

// full makes a directory with two files in each cluster.
func (l *lab) full(path string, cs []uint32, flags byte) {
	l.dir(path, cs, flags)
	for i := range cs {
		if i > 0 {
			l.pad(path)
		}
		for k := range 2 {
			l.file(fmt.Sprintf("%s/%d%c.DAT", path, i, 'A'+k), l.run(1+k), noFat*byte(k))
		}
	}
}

// copyCase is a double claim in which a directory, or the rest of a file, is the
// loser.
type copyCase struct {
	fix  string                 // of cross-linked; "" for the first
	hit  func(l *lab)           // after which the percentage is counted
	gone []string               // files that it takes
	back int                    // how many of them a rescue brings back elsewhere
	then func(*testing.T, *lab) // what else to prove
}

// overwritten makes a file that comes before a directory, has its last but k-th
// cluster, and wrote to it.
func overwritten(l *lab, dir string, n, k int) {
	cs := l.run(n)
	l.sized("/WRITER.BIN", cs[n-1-k:n-k], noFat, uint64(l.cluster), uint64(l.cluster))
	l.put(l.offset(cs[n-1-k]), make([]byte, l.cluster)...)
	l.full(dir, cs, noFat)
	l.put(l.offset(cs[n-1-k]), []byte(l.known["/WRITER.BIN"])...)
}

func copyCases() map[string]copyCase {
	names := func(t *testing.T, l *lab, dir, want string) {
		t.Helper()
		var got []string
		for _, n := range l.list(l.node(dir)) {
			got = append(got, n.name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s holds %q, not %q", dir, s, want)
		}
	}
	return map[string]copyCase{
		// The file wrote there: what lies there is its own. What the directory has
		// behind it must stay reachable.
		"a file in the midst of a directory": {fix: fixCopy, hit: func(l *lab) {
			overwritten(l, "/D", 3, 1)
		}, gone: []string{"/D/1A.DAT", "/D/1B.DAT"}, then: func(t *testing.T, l *lab) {
			names(t, l, "/D", "0A.DAT 0B.DAT 2A.DAT 2B.DAT")
			if n := len(l.cells("/D")); n != 3 {
				t.Errorf("/D has %d clusters", n)
			}
		}},
		// At the end of the directory nothing is missed: it ends before.
		"a file at the end of a directory": {fix: fixTruncate, hit: func(l *lab) {
			overwritten(l, "/D", 2, 0)
		}, gone: []string{"/D/1A.DAT", "/D/1B.DAT"}, then: func(t *testing.T, l *lab) { names(t, l, "/D", "0A.DAT 0B.DAT") }},
		// The file ran into the directory, whose entries lie there. It gets them
		// back whoever has the cluster.
		"a file runs into a directory that comes later": {fix: fixCopy, hit: func(l *lab) {
			cs := l.every(2, 3)
			f := l.run(2)
			l.file("/RUNS.BIN", f, 0)
			l.full("/D", cs, 0)
			l.setFAT(f[0], cs[1])
			l.bit(f[1], false)
		}, gone: []string{"/RUNS.BIN"}, then: func(t *testing.T, l *lab) {
			names(t, l, "/D", "0A.DAT 0B.DAT 1A.DAT 1B.DAT")
			if l.files()["/RUNS.BIN"][:l.cluster] != l.known["/RUNS.BIN"][:l.cluster] {
				t.Error("RUNS.BIN lost its first cluster")
			}
		}},
		// Both are directories. What the other holds stays there, once.
		"a directory runs into another": {fix: fixTruncate, hit: func(l *lab) {
			e, d := l.every(2, 3), l.every(2, 3)
			l.full("/E", e, 0)
			l.full("/D", d, 0)
			l.setFAT(d[0], e[1])
		}, gone: []string{"/D/1A.DAT", "/D/1B.DAT"}, back: 2, then: func(t *testing.T, l *lab) {
			names(t, l, "/E", "0A.DAT 0B.DAT 1A.DAT 1B.DAT")
			names(t, l, "/D", "0A.DAT 0B.DAT")
			names(t, l, "/FOUND.000/DIR00000", "1A.DAT 1B.DAT")
			for _, name := range []string{"1A.DAT", "1B.DAT"} {
				if l.files()["/FOUND.000/DIR00000/"+name] != l.known["/D/"+name] {
					t.Errorf("%s holds something else", name)
				}
			}
		}},
		// A set that lies in both clusters shows to whom the second belongs, though
		// the other directory comes first.
		"a set over the border": {hit: func(l *lab) {
			e, d := l.every(2, 3), l.every(2, 3)
			l.full("/E", e, 0)
			l.dir("/D", d, 0)
			l.skip("/D", 1)
			l.file("/D/OVER.DAT", l.run(2), 0)
			l.file("/D/NEXT.DAT", l.run(2), noFat)
			l.setFAT(e[0], d[1])
			l.bit(e[1], false)
		}, gone: []string{"/E/1A.DAT", "/E/1B.DAT"}, then: func(t *testing.T, l *lab) {
			names(t, l, "/D", "OVER.DAT NEXT.DAT")
			names(t, l, "/E", "0A.DAT 0B.DAT")
		}},
		// What nobody else claims behind the shared clusters stays where it is.
		"a file over the midst of another": {fix: fixCopy, hit: func(l *lab) {
			cs := l.run(6)
			l.file("/MIDST.BIN", cs[2:4], noFat)
			b := l.known["/MIDST.BIN"]
			l.file("/OVER.BIN", cs, noFat)
			l.put(l.offset(cs[2]), []byte(b)...)
			at := 2 * int(l.cluster)
			over := l.known["/OVER.BIN"]
			l.known["/OVER.BIN"] = over[:at] + b + over[at+len(b):]
		}, then: func(t *testing.T, l *lab) {
			cs, own := l.cells("/OVER.BIN"), l.cells("/MIDST.BIN")
			if len(cs) != 6 || cs[1]+3 != cs[4] || cs[4]+1 != cs[5] || slices.Contains(own, cs[2]) || slices.Contains(own, cs[3]) {
				t.Errorf("OVER.BIN has the clusters %d, MIDST.BIN %d", cs, own)
			}
		}},
		// No room: the name stays all the same.
		"no room": {hit: func(l *lab) {
			start := l.cells("/BIG.BIN")[1]
			l.redo("/SUB/DEEP", func(b []byte) { put32(b[52:], start) })
			var rest []uint32
			for c := uint32(2); c <= l.last(); c++ {
				if !l.marked(c) {
					rest = append(rest, c)
				}
			}
			l.file("/REST.BIN", rest, 0)
		}, fix: fixTruncate, gone: []string{"/SUB/DEEP/"}, then: func(t *testing.T, l *lab) { names(t, l, "/SUB", "DEEP LEAF.TXT V.DAT") }},
	}
}

// TestCopies: who loses clusters that two claim gets a copy of what is his, and
// no more; nothing else changes, and one run is enough.
func TestCopies(t *testing.T) {
	for _, kind := range strings.Fields(allKinds) {
		base := newLab(t, kind)
		for name, c := range copyCases() {
			t.Run(name+" "+kind, func(t *testing.T) {
				l := base.clone(t)
				c.hit(l)
				l.count()
				files := len(l.files())
				res := fsckWith(t, l.m, choose("cross-linked", c.fix))
				if !slices.ContainsFunc(res.Outcomes, func(o vol.Outcome) bool {
					return o.Slug == "cross-linked" && o.Repaired != nil && (c.fix == "" || o.Repaired.Name == c.fix)
				}) {
					t.Errorf("no double claim was mended by %q", c.fix)
				}
				l.compare(t, l.files(), c.gone)
				c.then(t, l)
				if n := len(l.files()); n > files+c.back {
					t.Errorf("there are %d files, and there were %d", n, files)
				}
				if again := fsck(t, l.m, voltest.Always); again.Repaired {
					t.Error("a second run finds something to mend")
					report(t, again)
				}
				if t.Failed() {
					report(t, res)
				}
			})
		}
	}
}

// TestCopyRescues: what a directory leads to that lost its clusters to a file is
// not lost with it.
func TestCopyRescues(t *testing.T) {
	l := newLab(t, "4k")
	cs := l.run(1)
	l.full("/D", cs, noFat)
	for _, c := range l.cells("/D/0B.DAT") {
		l.setFAT(c, 0) // nothing left over makes chains of it
	}
	want := []string{l.known["/D/0A.DAT"], l.known["/D/0B.DAT"]}
	start := l.node("/BIG.BIN").start
	l.redo("/D", func(b []byte) { put32(b[52:], start+1) })
	l.bit(cs[0], false)
	l.count()
	res := fsckWith(t, l.m, func(f *vol.Finding) int {
		if f.Slug == "lost-clusters" {
			return choose("lost-clusters", fixRescue)(f)
		}
		return voltest.Always(f)
	})
	all := ""
	for path, b := range l.files() {
		if strings.HasPrefix(path, "/FOUND.000/") {
			all += b
		}
	}
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("%d bytes are not in FOUND.000", len(w))
		}
	}
	if n, ok := l.find("/D"); !ok || len(l.list(n)) != 0 {
		t.Error("/D is gone, or holds something")
	}
	l.compare(t, l.files(), []string{"/D/"})
	if t.Failed() {
		report(t, res)
	}
}

// claimSome makes a stream, as a sound lab has it, lead to clusters of another,
// and returns its path.
func (l *lab) claimSome(whole *lab, rnd *rand.Rand) string {
	paths := slices.Sorted(maps.Keys(l.known))
	path := strings.TrimSuffix(paths[rnd.IntN(len(paths))], "/")
	cs := whole.cells(path)
	if len(cs) == 0 || !slices.Equal(cs, l.cells(path)) {
		return ""
	}
	other := whole.cells(strings.TrimSuffix(paths[rnd.IntN(len(paths))], "/"))
	if len(other) == 0 {
		return ""
	}
	at, k := rnd.IntN(len(other)), rnd.IntN(len(cs))
	c := other[at]
	switch n := l.node(path); {
	case k == 0 && at > 0 && other[at-1]+1 != c:
		// An entry with the right checksum that leads into a scattered chain is
		// better evidence than that chain.
		return ""
	case k == 0:
		l.redo(path, func(b []byte) { put32(b[52:], c) })
	case n.noFat():
		l.redo(path, func(b []byte) { b[33] &^= noFat })
		l.chainUp(cs)
		l.setFAT(cs[k-1], c)
	default:
		l.setFAT(cs[k-1], c)
	}
	return path
}

// TestManyClaims: whatever leads to the clusters of whatever else, no file that
// was not hit is lost: by its name, in whatever directory, it holds what it held.
// Of several hits two may speak for each other; then what is left is honest.
func TestManyClaims(t *testing.T) {
	labs := threeLabs(t)
	for _, l := range labs {
		l.full("/D", l.every(3, 2), 0)
		l.full("/E", l.run(3), noFat)
		l.count()
	}
	for seed := range voltest.Rounds(t, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 3))
			whole := labs[randomKind(rnd)]
			l := whole.clone(t)
			var done []string
			for range 1 + rnd.IntN(3) {
				if l.try(&injury{hit: func(l *lab) spot {
					done = append(done, l.claimSome(whole, rnd))
					return spot{}
				}}) && done[len(done)-1] == "" {
					done = done[:len(done)-1]
				}
			}
			damaged := l.clone(t)
			l.mend(t, done)
			held := map[string]bool{}
			for path, b := range l.files() {
				held[path[strings.LastIndex(path, "/"):]+"\x00"+b] = true
			}
			for path, b := range l.known {
				below := func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") }
				if len(done) == 1 && !slices.ContainsFunc(done, below) && !held[path[strings.LastIndex(path, "/"):]+"\x00"+b] {
					t.Errorf("%s is lost: %q", path, done)
				}
			}
			if t.Failed() {
				report(t, fsck(t, dev.Begin(damaged.m), voltest.Always))
			}
		})
	}
}
