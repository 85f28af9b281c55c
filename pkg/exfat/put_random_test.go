package exfat

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// randomTree is a volume and what should be on it, by paths in upper case.
type randomTree struct {
	m    *dev.Mem
	cs   int64
	want load
	key  map[string]string // path as it was made, by that in upper case
	up   *upcaseTable
}

// fold is a path as the volume compares it.
func (r *randomTree) fold(p string) string {
	out, err := foldPath(r.up, p)
	if err != nil {
		panic(err)
	}
	return out
}

func foldPath(up *upcaseTable, p string) (string, error) {
	parts := strings.Split(p, "/")
	for i, name := range parts {
		u, err := encodeName(name)
		if err != nil {
			return "", err
		}
		for k := range u {
			u[k] = up.fold(u[k])
		}
		parts[i] = decodeUnits(u)
	}
	return strings.Join(parts, "/"), nil
}

// name draws a name of some script, of up to 255 units, in which pairs of
// surrogates may be.
func (r *randomTree) name(t *rapid.T) string {
	alphabet := rapid.SampledFrom([]string{"ab", "aA", "äÄß", "日本語", "кК", "😀🎉", "a😀", "ΣσςΩ", "עב", "नम", "a.~1 -_", "\u00a0\u200b\u0301e"}).Draw(t, "script")
	most := rapid.SampledFrom([]int{1, 2, 12, 15, 16, 255}).Draw(t, "most")
	rs := rapid.SliceOfN(rapid.SampledFrom([]rune(alphabet)), 1, most).Draw(t, "runes")
	name := vol.FitName(string(rs), maxName)
	if _, err := encodeName(name); err != nil {
		return "x" // "." and ".."
	}
	return name
}

// draw adds entries to l, whose directories are among dirs.
func (r *randomTree) draw(t *rapid.T) load {
	l := load{}
	taken := maps.Clone(r.key)
	dirs := []string{""}
	for p, data := range r.want {
		if data == nil {
			dirs = append(dirs, p)
		}
	}
	slices.Sort(dirs)
	for range rapid.IntRange(1, 12).Draw(t, "entries") {
		p := path.Join(rapid.SampledFrom(dirs).Draw(t, "in"), r.name(t))
		if _, twice := taken[r.fold(p)]; twice || strings.Count(p, "/") > 20 {
			continue
		}
		taken[r.fold(p)] = p
		if rapid.Bool().Draw(t, "directory") {
			l[p], dirs = nil, append(dirs, p)
			continue
		}
		n := rapid.SampledFrom([]int64{0, 1, r.cs - 1, r.cs, r.cs + 1, 4 * r.cs, 4*r.cs + 7}).Draw(t, "bytes")
		l[p] = text(path.Base(p), n)
	}
	return l
}

func (r *randomTree) took(l load) {
	for p, data := range l {
		r.want[p], r.key[r.fold(p)] = data, p
	}
}

// put puts what is new, by a request that also names what is there.
func (r *randomTree) put(tb testing.TB, t *rapid.T) {
	l := r.draw(t)
	r.putAll(tb, t, l.request())
	r.took(l)
}

// putAll is putAll, with failures that rapid can narrow down.
func (r *randomTree) putAll(tb testing.TB, t *rapid.T, q *vol.PutRequest) {
	tx, v := begun(tb, r.m)
	res, err := v.Put(context.Background(), q)
	if err == nil {
		err = vol.Pour(context.Background(), tx, r.m, q, res, func(int64) {})
	}
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	commit(tb, tx)
}

// replace gives files other contents.
func (r *randomTree) replace(tb testing.TB, t *rapid.T) {
	l := load{}
	for _, p := range slices.Sorted(maps.Keys(r.want)) {
		if r.want[p] != nil && rapid.Bool().Draw(t, "replaced") {
			l[p] = text("new", rapid.Int64Range(0, 3*r.cs).Draw(t, "bytes"))
		}
	}
	q := l.request()
	q.Replace = true
	r.putAll(tb, t, q)
	r.took(l)
}

// remove takes paths away, and what is below them.
func (r *randomTree) remove(tb testing.TB, t *rapid.T) {
	var gone []string
	for _, p := range slices.Sorted(maps.Keys(r.want)) {
		if rapid.IntRange(0, 3).Draw(t, "removed") == 0 {
			gone = append(gone, p)
		}
	}
	gone = rapid.Permutation(gone).Draw(t, "order")
	tx, v := begun(tb, r.m)
	if _, err := v.Remove(context.Background(), vol.RemoveRequest{Paths: gone, Recursive: true}); err != nil {
		t.Fatalf("remove %q: %v", gone, err)
	}
	commit(tb, tx)
	for _, g := range gone {
		for p := range r.want {
			if p == g || strings.HasPrefix(p, g+"/") {
				delete(r.want, p)
				delete(r.key, r.fold(p))
			}
		}
	}
}

// TestPutRandom puts random trees on volumes, replaces files and removes some,
// and reads what is there with another implementation and with ours.
func TestPutRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cs := rapid.SampledFrom([]int64{512, 4096}).Draw(rt, "cluster size")
		r := &randomTree{m: formatted(t, 4<<20, cs), cs: cs, want: load{}, key: map[string]string{}, up: standardTable()}
		if rapid.Bool().Draw(rt, "scattered") {
			spoiled(t, r.m, 3)
			r.took(load{"spoiler": sound(t, r.m).data("/spoiler")})
		}
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			rapid.SampledFrom([]func(testing.TB, *rapid.T){r.put, r.put, r.replace, r.remove}).Draw(rt, "change")(t, rt)
			p, err := readPlain(r.m)
			if err != nil {
				rt.Fatal(err)
			}
			r.compare(rt, t, p)
		}
	})
}

// compare holds what both readers find against what there should be.
func (r *randomTree) compare(rt *rapid.T, t *testing.T, p *plain) {
	tr := treeOf(t, r.m)
	got := walked(t, tr)
	if len(got) != len(p.files)+1 || len(p.files) != len(r.want) {
		rt.Fatalf("there is %q, not %q", p.paths(), slices.Sorted(maps.Keys(r.want)))
	}
	for name, data := range r.want {
		n := got["/"+name]
		switch {
		case n == nil:
			rt.Fatalf("%q is not there", name)
		case data != nil && (n.IsDir() || string(contentsOf(t, tr, n)) != string(data) || string(p.data("/"+name)) != string(data)):
			rt.Fatalf("%q is another file", name)
		}
		if found, err := vol.Resolve(tr, r.fold(name)); err != nil || found.Path != n.Path {
			rt.Fatalf("%q: %v, %v", name, found, err)
		}
	}
	if res, err := vol.Fsck(context.Background(), r.m, Driver(), vol.CheckOptions{}, nil, nil); err != nil || len(res.Outcomes) > 0 {
		rt.Fatalf("check: %v, %v", res.Outcomes, err)
	}
}
