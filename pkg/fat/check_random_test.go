package fat

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

// seeds are the random volumes that a test tries: the first n, and those on
// which something went wrong once.
func seeds(n int, once ...uint64) []uint64 {
	if testing.Short() {
		n /= 5
	}
	for seed := range uint64(n) {
		once = append(once, seed)
	}
	return once
}

// soft is a testing.TB on which a damage that cannot be done any more, because
// an earlier one took what it is for, gives up quietly.
type soft struct{ testing.TB }

type cannot struct{ error }

func (s soft) Fatal(args ...any)            { panic(cannot{fmt.Errorf("%v", args)}) }
func (s soft) Fatalf(f string, args ...any) { panic(cannot{fmt.Errorf(f, args...)}) }

// try does a damage; ok tells whether it could be done.
func (l *lab) try(d *damage) (ok bool) {
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

// TestManyDamages does several damages at once to one volume.
func TestManyDamages(t *testing.T) {
	labs := map[string]*lab{"12": newLab(t, "12"), "16": newLab(t, "16"), "32": newLab(t, "32")}
	all := damages()
	for _, seed := range seeds(400, 6075) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			kind := []string{"12", "12", "12", "16", "32"}[rnd.IntN(5)]
			l := labs[kind].clone(t)
			var done []string
			for n := 2 + rnd.IntN(5); len(done) < n; {
				d := &all[rnd.IntN(len(all))]
				if d.stays && vol.Find(Problems(), d.slug).Severity == vol.SevError && rnd.IntN(10) > 0 {
					continue // most fatal ones hide all others
				}
				if slices.Contains(strings.Fields(d.kinds), kind) && l.try(d) {
					done = append(done, d.title())
				}
			}
			l.mend(t, done)
		})
	}
}

// TestRandomBytes changes bytes of the metadata at random.
func TestRandomBytes(t *testing.T) {
	labs := map[string]*lab{"12": newLab(t, "12"), "16": newLab(t, "16"), "32": newLab(t, "32")}
	for _, seed := range seeds(600, 7141, 9353) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 2))
			kind := []string{"12", "12", "12", "16", "32"}[rnd.IntN(5)]
			l := labs[kind].clone(t)
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

// TestBytePairs changes two bytes, or few: nearly all files are then as they were,
// and what can be read with the damage is there after -y, though perhaps by another
// name. It cannot be asked of entries that lead into each other.
func TestBytePairs(t *testing.T) {
	labs := map[string]*lab{"12": newLab(t, "12"), "16": newLab(t, "16"), "32": newLab(t, "32")}
	for _, seed := range seeds(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 4))
			l := labs[[]string{"12", "16", "32", "32"}[rnd.IntN(4)]].clone(t)
			areas := l.metadata()[1:]
			var done []string
			for range 2 {
				a := areas[rnd.IntN(len(areas))]
				off := a.Off + rnd.Int64N(a.Len-1)
				for i := range int64(1 + rnd.IntN(2)) {
					b := []byte{byte(rnd.Uint32()), l.get(off+i) ^ 1<<rnd.IntN(8), 0, '.', 0xE5, 0x0F, 0x10}[rnd.IntN(7)]
					l.put(off+i, b)
					done = append(done, fmt.Sprintf("%d: %#x", off+i, b))
				}
			}
			r, err := newReader(l.m)
			if err != nil {
				t.Fatal(err)
			}
			before := r.files()
			tx := dev.Begin(l.m)
			res := fsck(t, tx, voltest.Always)
			l.honest(t, tx, res)
			if res.Stopped || slices.ContainsFunc(res.Outcomes, func(o vol.Outcome) bool { return o.Slug == "cross-linked" }) {
				return
			}
			if r, err = newReader(tx); err != nil {
				t.Fatal(err)
			}
			there := map[string]bool{}
			for _, b := range r.files() {
				there[b] = true
			}
			for path, b := range before {
				if l.known[path] == b && !there[b] {
					t.Errorf("%s is lost: %s", path, strings.Join(done, "; "))
					voltest.Log(t, res)
				}
			}
		})
	}
}

// metadata is where what a check reads lies: directories and FATs more often
// than the boot sector, which as a rule ends the check.
func (l *lab) metadata() []dev.Range {
	out := []dev.Range{{Off: 0, Len: 90}}
	used := int64(80)
	for k := range l.fats {
		out = append(out, dev.Range{Off: l.place(k, 0), Len: used * int64(l.bits) / 8})
	}
	for range 3 {
		for _, path := range []string{"/", "/SUB", "/SUB/DEEP", "/MANY"} {
			ps := l.places(path)
			out = append(out, dev.Range{Off: ps[0], Len: 16 * 32})
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
			if want, ok := l.known[path]; ok && b == want && !r.holds(path, b) {
				t.Errorf("-p lost %s", path)
				voltest.Log(t, res)
			}
		}
	}
	tx = dev.Begin(l.m)
	res = fsck(t, tx, voltest.Always)
	l.honest(t, tx, res)
}

// honest holds a result against a second look at what it is about: what was
// said to be left is found again, and nothing else.
func (l *lab) honest(t *testing.T, d dev.Device, res *vol.Result) {
	t.Helper()
	if res.Unproven != nil {
		t.Errorf("unproven: %v", res.Unproven)
		voltest.Log(t, res)
		return
	}
	left := func(res *vol.Result) (out []string) {
		for _, o := range res.Outcomes {
			if o.Repaired == nil && o.Severity > vol.SevInfo {
				out = append(out, o.Key())
			}
		}
		slices.Sort(out)
		return out
	}
	again := fsck(t, d, nil)
	got, want := left(again), left(res)
	if again.Stopped { // of the passes that were not run nothing can be said
		want = slices.DeleteFunc(want, func(k string) bool { return !slices.Contains(got, k) })
	}
	if !slices.Equal(got, want) {
		t.Errorf("left is %q, a second check finds %q", want, got)
		voltest.Log(t, res)
		t.Log("again:")
		voltest.Log(t, again)
	}
}
