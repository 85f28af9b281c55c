package voltest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Rounds is how many random volumes a test tries: n, a fifth of them in short runs,
// or as many as the environment variable FATKIT_SEEDS asks for.
func Rounds(t testing.TB, n int) int {
	t.Helper()
	if s := os.Getenv("FATKIT_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("FATKIT_SEEDS: %v", err)
		}
		return n
	}
	if testing.Short() {
		return n / 5
	}
	return n
}

// Intact holds check -y to this: a file that no damage met is there afterwards, by
// its path and with its contents, whatever befell all others. Volumes are random,
// made by the driver itself, and damaged in several places at once.
type Intact struct {
	Driver *vol.Driver
	// Format draws a volume that is cheap to make: bytes, and how to format it.
	Format func(rnd *rand.Rand) (int64, vol.FormatOptions)
	// Hits looks at a sound volume, and gives what damages it in one place and
	// says how; "" where the kind of damage that it drew is not possible.
	Hits func(h *Hitter) func() string
	// Ambiguous are the slugs of findings with which a file may have another path
	// afterwards: two entries lay claim to one name or one directory, and nothing
	// tells which is right.
	Ambiguous []string
	// Files are the contents of all files that can be read, by path with a slash
	// in front, by code that the driver does not use; directories have a slash at
	// the end, and no contents.
	Files func(d dev.Device) (map[string]string, error)
	// Rests is which bytes of a sound volume a file rests upon: its own metadata,
	// those of the directories on its path, and its contents. It is intact as long
	// as none of them is another.
	Rests func(t testing.TB, d dev.Device) map[string][]dev.Range
	// Once are seeds with which something went wrong once.
	Once []uint64
}

// Run tries so many volumes, and those of Once.
func (s Intact) Run(t *testing.T, volumes int) {
	seeds := slices.Clone(s.Once)
	for seed := range uint64(Rounds(t, volumes)) {
		seeds = append(seeds, seed)
	}
	slices.Sort(seeds)
	for _, seed := range slices.Compact(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { s.one(t, seed) })
	}
}

func (s Intact) one(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 11))
	good := s.volume(t, rnd)
	d := memCopy(t, good)
	var hits []string
	hit := s.Hits(&Hitter{T: t, Rnd: rnd, Good: good, D: d})
	for n := 1 + rnd.IntN(6); len(hits) < n; {
		if what := hit(); what != "" {
			hits = append(hits, what)
		}
	}
	defer func() {
		if t.Failed() {
			t.Logf("hits: %s", strings.Join(hits, "; "))
		}
	}()
	known, err := s.Files(good)
	if err != nil {
		t.Fatal(err)
	}
	intact := map[string]string{}
	for p, rs := range s.Rests(t, good) {
		if sameBytes(t, good, d, rs) {
			intact[p] = known[p]
		}
	}
	d.SetReadOnly(true)
	fscked(t, s.Driver, d, nil)
	readable := map[string]string{}
	if now, err := s.Files(d); err == nil {
		for p, b := range intact {
			if got, ok := now[p]; ok && got == b {
				readable[p] = b
			}
		}
	}
	s.repaired(t, "-p", d, readable, Lossless)
	s.repaired(t, "-y", d, intact, Always)
}

// repaired repairs d, which stays as it is, and looks for the files.
func (s Intact) repaired(t *testing.T, how string, d *dev.Mem, files map[string]string, decide vol.Decider) {
	t.Helper()
	w := devtest.NewWorld(d)
	img := w.Device()
	tx := dev.Begin(img)
	res := fscked(t, s.Driver, tx, decide)
	if res.Unproven != nil {
		Log(t, res)
		t.Errorf("%s: unproven: %v", how, res.Unproven)
		return
	}
	if _, err := tx.Commit(t.Context(), dev.CommitOptions{Undo: w.Journal(), Keep: true}); err != nil {
		t.Fatalf("%s: commit: %v", how, err)
	}
	again := fscked(t, s.Driver, img, nil)
	if got, want := leftOf(again, nil), leftOf(res, again); !slices.Equal(got, want) {
		Log(t, res)
		t.Errorf("%s: left is %q, a second check finds %q", how, want, got)
	}
	now, err := s.Files(img)
	if err != nil && len(files) > 0 && !res.Stopped {
		t.Errorf("%s: no volume: %v", how, err)
	}
	lost := missing(files, now)
	if slices.ContainsFunc(res.Outcomes, func(o vol.Outcome) bool { return slices.Contains(s.Ambiguous, o.Slug) }) {
		lost = slices.DeleteFunc(lost, func(l string) bool { return strings.HasPrefix(l, "moved ") })
	}
	if len(lost) > 0 && !res.Stopped {
		Log(t, res)
		t.Errorf("%s: %s", how, strings.Join(lost, "\n"))
	}
	if !w.HasLog() {
		return // nothing was changed
	}
	if _, err := dev.ApplyUndo(t.Context(), w.Journal(), img); err != nil {
		t.Fatalf("%s: undo: %v", how, err)
	}
	if r, err := devtest.Diff(img, d); err != nil || !r.Empty() {
		t.Errorf("%s: after the undo bytes %v are not as before (%v)", how, r, err)
	}
}

// missing tells of files that are not there, and what became of them.
func missing(files, now map[string]string) (lost []string) {
	at := map[string]string{}
	for p, b := range now {
		at[path.Base(p)+"/"+b] = p
		if len(b) > 8 {
			at[b] = p
		}
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		got, ok := now[p]
		if ok && got == files[p] {
			continue
		}
		what := fmt.Sprintf("lost %s of %d bytes", p, len(files[p]))
		for _, b := range []string{files[p], path.Base(p) + "/" + files[p]} {
			if other, ok := at[b]; ok {
				what = fmt.Sprintf("moved %s to %s", p, other)
			}
		}
		if ok {
			what += fmt.Sprintf(", there are %d other bytes", len(got))
		}
		lost = append(lost, what)
	}
	return lost
}

// leftOf are the findings that stand, warnings and above. Where other stopped
// before its end, those that it did not come to are none.
func leftOf(res, other *vol.Result) (out []string) {
	for _, o := range res.Outcomes {
		if o.Repaired == nil && o.Severity > vol.SevInfo {
			out = append(out, o.Key())
		}
	}
	slices.Sort(out)
	if other != nil && other.Stopped {
		met := leftOf(other, nil)
		out = slices.DeleteFunc(out, func(k string) bool { return !slices.Contains(met, k) })
	}
	return out
}

func fscked(t testing.TB, drv *vol.Driver, d dev.Device, decide vol.Decider) *vol.Result {
	t.Helper()
	res, err := vol.Fsck(context.Background(), d, drv, vol.CheckOptions{Workers: 1}, decide, nil)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return res
}

// sameBytes reports whether two devices hold the same in all ranges.
func sameBytes(t testing.TB, a, b dev.Device, rs []dev.Range) bool {
	t.Helper()
	for _, r := range rs {
		x, y := make([]byte, r.Len), make([]byte, r.Len)
		if _, err := a.ReadAt(x, r.Off); err != nil {
			t.Fatal(err)
		}
		if _, err := b.ReadAt(y, r.Off); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

func memCopy(t testing.TB, d dev.Device) *dev.Mem {
	t.Helper()
	out := dev.NewMem(d.Size())
	for r := d.NextData(0); !r.Empty(); r = d.NextData(r.End()) {
		b := make([]byte, r.Len)
		if _, err := d.ReadAt(b, r.Off); err != nil {
			t.Fatal(err)
		}
		if _, err := out.WriteAt(b, r.Off); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// grown is a volume on which files were made and removed.
type grown struct {
	volume
	rnd   *rand.Rand
	d     *dev.Mem
	unit  int
	dirs  []string
	files []string
	made  int
}

// volume draws a volume and what is on it.
func (s Intact) volume(t testing.TB, rnd *rand.Rand) *dev.Mem {
	t.Helper()
	size, o := s.Format(rnd)
	p, err := s.Driver.Plan(vol.Target{Size: size}, o)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	g := grown{volume: volume{Suite: Suite{Driver: s.Driver}, typ: o.Type, size: size}, rnd: rnd, d: dev.NewMem(size), unit: p.ClusterSize, dirs: []string{""}}
	if _, err := p.Apply(context.Background(), g.d); err != nil {
		t.Fatalf("format: %v", err)
	}
	for range 1 + rnd.IntN(3) {
		g.grow(t)
		g.shrink(t)
	}
	g.grow(t)
	g.mustBeClean(t, g.d, "making it")
	return g.d
}

// grow puts some entries on the volume. Names are short and long, sizes up to a
// few clusters.
func (g *grown) grow(t testing.TB) {
	t.Helper()
	c := newContent()
	for range 1 + g.rnd.IntN(10) {
		dir := g.dirs[g.rnd.IntN(len(g.dirs))]
		g.made++
		name := []string{fmt.Sprintf("F%d.TXT", g.made), fmt.Sprintf("d %d", g.made), fmt.Sprintf("a longer name %d.bin", g.made), strings.Repeat("ä name ", 1+g.rnd.IntN(8)) + fmt.Sprint(g.made)}[g.rnd.IntN(4)]
		p := path.Join(dir, name)
		if g.rnd.IntN(4) == 0 && strings.Count(p, "/") < 5 {
			c.entry(p, vol.KindDir)
			g.dirs = append(g.dirs, p)
			continue
		}
		n := []int{0, 1, g.unit - 1, g.unit, g.unit + 1, 2 * g.unit, 3*g.unit + 7, 5 * g.unit, 12 * g.unit}[g.rnd.IntN(9)]
		c.file(p, g.bytes(n))
		g.files = append(g.files, p)
	}
	x, txn := g.open(t, g.d)
	if _, err := putOn(context.Background(), x, txn, g.d, c.request()); err != nil {
		t.Fatalf("put: %v", err)
	}
	commit(t, txn)
}

// shrink removes some files.
func (g *grown) shrink(t testing.TB) {
	t.Helper()
	var gone []string
	keep := g.files[:0]
	for _, p := range g.files {
		if g.rnd.IntN(3) == 0 {
			gone = append(gone, p)
		} else {
			keep = append(keep, p)
		}
	}
	g.files = keep
	if len(gone) == 0 {
		return
	}
	x, txn := g.open(t, g.d)
	if _, err := x.Remove(context.Background(), vol.RemoveRequest{Paths: gone}); err != nil {
		t.Fatalf("remove: %v", err)
	}
	commit(t, txn)
}

// bytes are contents that nothing else on the volume has: mostly noise or text,
// seldom what erased flash or a hole looks like.
func (g *grown) bytes(n int) []byte {
	b := make([]byte, n)
	switch g.rnd.IntN(8) {
	case 0:
		for i := range b {
			b[i] = 0xFF
		}
	case 1: // zeros
	case 2, 3:
		line := fmt.Sprintf("line of file %d\n", g.made)
		for i := range b {
			b[i] = line[i%len(line)]
		}
	default:
		for i := range b {
			b[i] = byte(g.rnd.Uint32())
		}
	}
	copy(b, fmt.Sprintf("#%d#", g.made))
	return b
}
