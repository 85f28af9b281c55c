package exfat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// soft is a testing.TB on which an injury that cannot be done any more, because
// an earlier one took what it is for, gives up quietly.
type soft struct{ testing.TB }

type cannot struct{ error }

func (s soft) Fatal(args ...any)            { panic(cannot{fmt.Errorf("%v", args)}) }
func (s soft) Fatalf(f string, args ...any) { panic(cannot{fmt.Errorf(f, args...)}) }

// try does an injury; ok tells whether it could be done.
func (l *lab) try(d *injury) (ok bool) {
	t := l.t
	defer func() {
		l.t = t
		if r := recover(); r != nil {
			ok = false
		}
	}()
	l.t = soft{t}
	d.hit(l)
	return true
}

// randomKind prefers the small lab.
func randomKind(rnd *rand.Rand) string {
	return []string{"512", "512", "512", "512", "4k", "4k", "32k"}[rnd.IntN(7)]
}

func threeLabs(t *testing.T) map[string]*lab {
	labs := map[string]*lab{}
	for _, kind := range strings.Fields(allKinds) {
		labs[kind] = newLab(t, kind)
	}
	return labs
}

// TestManyInjuries does several injuries at once to one volume.
func TestManyInjuries(t *testing.T) {
	labs := threeLabs(t)
	all := injuries()
	for seed := range voltest.Rounds(t, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			kind := randomKind(rnd)
			l := labs[kind].clone(t)
			var done []string
			for n := 2 + rnd.IntN(5); len(done) < n; {
				d := &all[rnd.IntN(len(all))]
				if d.stays && vol.Find(Problems(), d.slug).Severity == vol.SevError && rnd.IntN(20) > 0 {
					continue // most fatal ones hide all others
				}
				if slices.Contains(d.labs(), kind) && l.try(d) {
					done = append(done, d.title())
				}
			}
			l.mend(t, done)
		})
	}
}

// TestRandomBytes changes bytes of the metadata at random.
func TestRandomBytes(t *testing.T) {
	labs := threeLabs(t)
	for seed := range voltest.Rounds(t, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 2))
			l := labs[randomKind(rnd)].clone(t)
			areas := l.metadata()
			var done []string
			for range 1 + rnd.IntN(20) {
				a := areas[rnd.IntN(len(areas))]
				off := a.Off + rnd.Int64N(a.Len)
				b := byte(rnd.Uint32())
				if rnd.IntN(2) == 0 {
					b = l.get(off) ^ 1<<rnd.IntN(8)
				}
				l.put(off, b)
				done = append(done, fmt.Sprintf("%d: %#x", off, b))
			}
			l.mend(t, done)
		})
	}
}

// metadata is where what a check reads lies: directories more often than the
// rest, and the main boot region with its backup seldom.
func (l *lab) metadata() []dev.Range {
	out := []dev.Range{{Off: 0, Len: 120}, {Off: l.fat0, Len: 400}, {Off: l.fat0, Len: 400}, {Off: l.bitPlace(2), Len: 14}}
	for range 2 {
		for _, path := range []string{"/", "/SUB", "/SUB/DEEP", "/MANY"} {
			n := l.at(path)
			cs, _ := l.clusters(n)
			for _, c := range cs {
				out = append(out, dev.Range{Off: l.offset(c), Len: min(l.cluster, 16*32)})
			}
		}
	}
	return out
}

// mend repairs a damaged lab, in two ways, and holds the results against what
// was said of them.
func (l *lab) mend(t *testing.T, done []string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("%s: %s", l.kind, strings.Join(done, "; "))
		}
	}()
	var before map[string]string
	if r, err := newReader(l.m); err == nil {
		before = r.files()
	}
	safe := l.clone(t)
	tx := dev.Begin(safe.m)
	res := fsck(t, tx, voltest.Lossless)
	l.honest(t, tx, res)
	if r, err := newReader(tx); err == nil && res.Unproven == nil {
		for path, b := range before {
			if want, ok := l.known[path]; ok && b == want && b != "" && !r.holds(path, b) {
				t.Errorf("-p lost %s", path)
				report(t, res)
			}
		}
	}
	tx = dev.Begin(l.m)
	res = fsck(t, tx, voltest.Always)
	l.honest(t, tx, res)
	if res.Unproven == nil && len(left(res)) == 0 {
		commit(t, tx)
		l.strict(t, res)
	}
}

// strict has the strict reader go over what is said to be clean. It does not
// know vendor entries and bad clusters.
func (l *lab) strict(t *testing.T, res *vol.Result) {
	t.Helper()
	c := l.forPeer(t)
	for v := uint32(2); v <= c.last(); v++ {
		if c.get32(c.link(v)) == 0xFFFFFFF7 && res.Stats.Bad > 0 {
			return
		}
	}
	odd := false // an entry that is benign and unknown is none of its business
	for _, dir := range append(c.dirs(), c.rootNode()) {
		for _, p := range c.places(dir) {
			odd = odd || c.get(p)&0xE0 == 0xA0 && c.get(p) != 0xA0
		}
	}
	if odd {
		return
	}
	c.count()
	c.wipeTails(c.rootNode())
	if _, err := readPlain(c.m); err != nil {
		t.Errorf("another reader finds in what is said to be clean: %v", err)
		report(t, res)
	}
}

// dirs are all directories but the root.
func (l *lab) dirs() (out []node) {
	l.eachNode(l.rootNode(), func(n node) {
		if n.isDir() {
			out = append(out, n)
		}
	})
	return out
}

// wipeTails zeroes what lies behind the end marks: slots that are not in use may
// hold anything, but the strict reader wants zeros there.
func (l *lab) wipeTails(dir node) {
	places := l.places(dir)
	for _, p := range places[l.end(places):] {
		l.put(p, make([]byte, 32)...)
	}
	for _, n := range l.list(dir) {
		if n.isDir() {
			l.wipeTails(n)
		}
	}
}

// left are the findings that stand, warnings and above.
func left(res *vol.Result) (out []string) {
	for _, o := range res.Outcomes {
		if o.Repaired == nil && o.Severity > vol.SevInfo {
			out = append(out, o.Key())
		}
	}
	slices.Sort(out)
	return out
}

// honest holds a result against a second look at what it is about: what was
// said to be left is found again, and nothing else.
func (l *lab) honest(t *testing.T, d dev.Device, res *vol.Result) {
	t.Helper()
	if res.Unproven != nil {
		t.Errorf("unproven: %v", res.Unproven)
		report(t, res)
		return
	}
	again := fsck(t, d, nil)
	got, want := left(again), left(res)
	if res.Stopped {
		want = slices.DeleteFunc(want, func(k string) bool { return !slices.Contains(got, k) }) // of others nothing is known
	}
	if !slices.Equal(got, want) {
		t.Errorf("left is %q, a second check finds %q", want, got)
		report(t, res)
		t.Log("again:")
		report(t, again)
	}
}
