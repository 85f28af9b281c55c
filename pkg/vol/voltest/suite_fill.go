package voltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// fill holds a driver that puts entries on volumes to what the commands expect.
func (v volume) fill(t *testing.T) {
	if v.Driver.Read == nil || v.Driver.Need == nil {
		t.Fatal("a driver must read and fill its volumes")
	}
	t.Run("round trip", v.fillRoundTrip)
	t.Run("random trees", v.fillRandom)
	t.Run("refuse", v.fillRefuse)
	t.Run("replace", v.fillReplace)
	t.Run("remove", v.fillRemove)
}

// told is a node in words: what the format has a place for.
func (v volume) told(t rapid.TB, tree vol.Tree, n *vol.Node) string {
	t.Helper()
	if err := tree.Details(n); err != nil {
		t.Fatalf("%s: %v", n.Path, err)
	}
	s := fmt.Sprintf("%s %d %s", n.Kind, n.Modified.Unix(), n.Link)
	if v.Driver.Holds.Modes {
		s += fmt.Sprintf(" %o", n.Mode)
	}
	if v.Driver.Holds.Owners {
		s += fmt.Sprintf(" %d:%d", n.UID, n.GID)
	}
	if n.Kind == vol.KindFile {
		s += fmt.Sprintf(" %d", n.Size)
	}
	return s
}

// inside is all that is on a volume, by path, and the contents of files.
func (v volume) inside(t rapid.TB, d dev.Device) (map[string]string, map[string][]byte) {
	t.Helper()
	ctx := context.Background()
	tree, err := v.Driver.Read(ctx, d, vol.ReadOptions{})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	root, err := tree.Root()
	if err != nil {
		t.Fatal(err)
	}
	what, data := map[string]string{}, map[string][]byte{}
	err = vol.Walk(ctx, tree, root, func(n *vol.Node, err error) error {
		if err != nil || n.Path == "/" {
			return err
		}
		what[n.Path] = v.told(t, tree, n)
		if n.Kind == vol.KindFile {
			data[n.Path] = contents(t, tree, n)
		}
		found, err := vol.Resolve(tree, n.Path)
		if err == nil && (found.Path != n.Path || found.ID != n.ID) {
			err = fmt.Errorf("looking up %s finds %s", n.Path, found.Path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
	delete(what, v.own(what))
	return what, data
}

// own is a directory that a format makes by itself, and which is not counted.
func (v volume) own(what map[string]string) string {
	const lost = "/lost+found"
	if _, ok := what[lost]; ok {
		return lost
	}
	return ""
}

func contents(t rapid.TB, tree vol.Tree, n *vol.Node) []byte {
	t.Helper()
	in, err := tree.Contents(n)
	if err != nil {
		t.Fatalf("%s: %v", n.Path, err)
	}
	b := make([]byte, n.Size+1)
	got, err := in.ReadAt(b, 0)
	if int64(got) != n.Size || !errors.Is(err, io.EOF) {
		t.Fatalf("%s: read %d of %d bytes: %v", n.Path, got, n.Size, err)
	}
	return b[:got]
}

// must compares a volume with what was put there.
func (v volume) must(t rapid.TB, d dev.Device, c *content) {
	t.Helper()
	what, data := v.inside(t, d)
	want, wantData := map[string]string{}, map[string][]byte{}
	for i := range c.entries {
		e := &c.entries[i]
		s := fmt.Sprintf("%s %d %s", e.Kind, e.Modified.Unix(), e.Link)
		if v.Driver.Holds.Modes {
			s += fmt.Sprintf(" %o", e.Mode)
		}
		if v.Driver.Holds.Owners {
			s += fmt.Sprintf(" %d:%d", e.UID, e.GID)
		}
		if e.Kind == vol.KindFile {
			s += fmt.Sprintf(" %d", e.Size)
			wantData["/"+e.Path] = c.data[e.Path]
		}
		want["/"+e.Path] = s
	}
	if diff := cmp.Diff(want, what); diff != "" {
		t.Fatalf("on the volume is something else than was put there: %s", diff)
	}
	for p, b := range wantData {
		if !bytes.Equal(b, data[p]) {
			t.Fatalf("%s has other contents", p)
		}
	}
}

// sample has what there is to be careful about.
func (v volume) sample(cluster int64) *content {
	c := newContent()
	rnd := rand.New(rand.NewPCG(5, 6))
	random := func(n int64) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	c.entry("dir", vol.KindDir)
	c.entry("dir/empty directory", vol.KindDir)
	// So many that a cluster does not hold them: they count for the right one.
	c.entry(".hidden directory", vol.KindDir)
	c.entry("hidden directory", vol.KindDir)
	for i := range 40 {
		c.file(fmt.Sprintf(".hidden directory/a file with a long name %d", i), nil)
	}
	for i, n := range []int64{0, 1, cluster - 1, cluster, cluster + 1, 3*cluster + 7} {
		c.file(fmt.Sprintf("dir/size %d.bin", i), random(n))
	}
	deep := "deep"
	for range 12 {
		c.entry(deep, vol.KindDir)
		deep += "/d"
	}
	c.entry(deep, vol.KindDir)
	c.file(deep+"/at the bottom", random(100))
	for _, name := range []string{"UPPER.TXT", "lower.txt", "Mixed.Case", "a.b.c", "日本語 ファイル.txt", "emoji 😀.bin",
		strings.Repeat("n", v.longest()), "Ünïcödé", ".hidden", "no extension", "~tilde", "x.y z"} {
		c.file(name, random(20))
	}
	zeros := random(6 * cluster)
	clear(zeros[cluster : 5*cluster])
	e := c.file("with a hole", zeros)
	e.Data = []dev.Range{{Len: cluster}, {Off: 5 * cluster, Len: cluster}}
	return c
}

// longest is how many characters a name has at most.
func (v volume) longest() int { return 255 }

func (v volume) fillRoundTrip(t *testing.T) {
	d := v.fresh(t)
	x, _ := v.open(t, d)
	c := v.sample(int64(x.Info().ClusterSize))
	v.mustPut(t, d, c.request())
	v.must(t, d, c)
	again := v.fresh(t)
	v.mustPut(t, again, c.request())
	if r, err := devtest.Diff(d, again); err != nil || !r.Empty() {
		t.Errorf("the same put twice differs at bytes %v (%v)", r, err)
	}
	v.needed(t, d, c)
	v.uses(t, d)
}

// needed: what Need says is what Put takes, or a little more.
func (v volume) needed(t *testing.T, d dev.Device, c *content) {
	t.Helper()
	p := v.plan(t)
	need, err := v.Driver.Need(p, vol.ReadOptions{}, c.entries)
	if err != nil {
		t.Fatalf("need: %v", err)
	}
	took := v.mapped(t, v.fresh(t)) - v.mapped(t, d)
	if need < took || need > took+took/8+8 {
		t.Errorf("%d clusters are said to be needed, %d were taken", need, took)
	}
}

// uses: the map of a volume agrees with the scan. Of a format that keeps space
// back a scan may count whole segments alone.
func (v volume) uses(t *testing.T, d dev.Device) {
	t.Helper()
	scan, err := v.Driver.MountScan(context.Background(), d, vol.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if free := v.mapped(t, d); free != scan.FreeClusters && !v.Reserve {
		t.Errorf("the map has %d free clusters, the scan %d", free, scan.FreeClusters)
	}
}

// mapped is how many clusters are free on the map of a volume, which covers it
// once.
func (v volume) mapped(t *testing.T, d dev.Device) uint64 {
	t.Helper()
	ctx := context.Background()
	tree, err := v.Driver.Read(ctx, d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at, free := int64(0), int64(0)
	err = tree.Uses(ctx, func(u vol.UseRange) error {
		if u.Off != at || u.Len <= 0 {
			return fmt.Errorf("range %v follows byte %d", u.Range, at)
		}
		at = u.End()
		if u.Use == vol.UseFree {
			free += u.Len
		}
		return nil
	})
	info := tree.Info()
	if err != nil || at != info.Size {
		t.Errorf("the map ends at byte %d of %d: %v", at, info.Size, err)
	}
	return uint64(free) / uint64(info.ClusterSize)
}

// fillRandom: any tree comes back as it was put.
func (v volume) fillRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := randomContent(rt, v)
		d := v.fresh(rt)
		v.mustPut(rt, d, c.request())
		v.must(rt, d, c)
	})
}

// fillRefuse: what cannot be put changes nothing, and says which entry it is.
func (v volume) fillRefuse(t *testing.T) {
	d := v.used(t)
	was := v.used(t)
	big := newContent()
	for i := range 20 {
		big.file(fmt.Sprintf("big %d", i), make([]byte, v.size/16))
	}
	there := newContent()
	there.file("dir/a long name.bin", []byte("x"))
	over := newContent()
	over.file("dir", []byte("x"))
	under := newContent()
	under.file("CLIP0001.MP4/x", []byte("x"))
	lost := newContent()
	lost.file("nowhere/x", []byte("x"))
	long := newContent()
	long.file(strings.Repeat("n", v.longest()+1), []byte("x"))
	slash := newContent()
	slash.file("a\x00b", []byte("x"))
	for name, c := range map[string]*content{"full": big, "there": there, "over a directory": over, "under a file": under,
		"no parent": lost, "name too long": long, "zero byte": slash} {
		x, txn := v.open(t, d)
		_, err := putOn(context.Background(), x, txn, d, c.request())
		if !errors.Is(err, vol.ErrRequest) {
			t.Errorf("%s: error is %v", name, err)
		}
		txn.Rollback()
	}
	deep := newContent()
	deep.file(strings.Repeat("d/", vol.MaxDepth)+"f", []byte("x"))
	r := deep.request()
	r.Parents = true
	x, txn := v.open(t, d)
	if _, err := putOn(context.Background(), x, txn, d, r); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "components") {
		t.Errorf("deeper than a walk goes: %v", err)
	}
	txn.Rollback()
	if v.fold("a") == v.fold("A") {
		twice := newContent()
		twice.file("Readme", []byte("x"))
		twice.file("README", []byte("y"))
		x, txn := v.open(t, d)
		if _, err := putOn(context.Background(), x, txn, d, twice.request()); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "/README") {
			t.Errorf("names that differ by case: %v", err)
		}
		txn.Rollback()
		r := twice.request()
		r.Rename = true
		fresh := v.fresh(t)
		if res := v.mustPut(t, fresh, r); len(res.Renamed) != 1 {
			t.Errorf("renamed: %v", res.Renamed)
		}
	}
	if r, err := devtest.Diff(d, was); err != nil || !r.Empty() {
		t.Errorf("refused requests changed bytes %v (%v)", r, err)
	}
}

func (v volume) fold(name string) string {
	d := dev.NewMem(v.size)
	p, err := v.Driver.Plan(vol.Target{Size: v.size}, vol.FormatOptions{Type: v.typ, Seed: 1})
	if err != nil {
		return name
	}
	if _, err := p.Apply(context.Background(), d); err != nil {
		return name
	}
	tree, err := v.Driver.Read(context.Background(), d, vol.ReadOptions{})
	if err != nil {
		return name
	}
	return tree.Fold(name)
}

// fillReplace: a file takes the place of another one, whose clusters are free
// afterwards and not used before.
func (v volume) fillReplace(t *testing.T) {
	d := v.fresh(t)
	c := newContent()
	c.entry("dir", vol.KindDir)
	c.file("dir/f", pattern(20_000, 1))
	c.file("g", pattern(3000, 2))
	v.mustPut(t, d, c.request())
	other := newContent()
	other.file("dir/f", pattern(5000, 3))
	other.file("new", pattern(1, 4))
	r := other.request()
	r.Replace = true
	v.mustPut(t, d, r)
	c.data["dir/f"] = other.data["dir/f"]
	for i := range c.entries {
		if c.entries[i].Path == "dir/f" {
			c.entries[i] = other.entries[0]
		}
	}
	c.entries = append(c.entries, other.entries[1])
	c.data["new"] = other.data["new"]
	v.must(t, d, c)
}

// fillRemove: what is removed is gone, its clusters are free, and the rest is as
// it was.
func (v volume) fillRemove(t *testing.T) {
	d := v.fresh(t)
	x, _ := v.open(t, d)
	c := v.sample(int64(x.Info().ClusterSize))
	v.mustPut(t, d, c.request())
	free, err := v.Driver.MountScan(context.Background(), d, vol.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	more := newContent()
	more.entry("tree", vol.KindDir)
	more.entry("tree/branch", vol.KindDir)
	for i := range 30 {
		more.file(fmt.Sprintf("tree/branch/a leaf with a long name %d", i), pattern(int64(i)*700, i))
	}
	more.file("one", pattern(9000, 7))
	v.mustPut(t, d, more.request())
	v.removed(t, d, vol.RemoveRequest{Paths: []string{"tree", "one"}}, vol.ErrRequest) // not empty
	v.removed(t, d, vol.RemoveRequest{Paths: []string{"one", "gone"}}, vol.ErrRequest)
	v.removed(t, d, vol.RemoveRequest{Paths: []string{"tree/branch/a leaf with a long name 3", "tree", "one", "tree/branch"}, Recursive: true}, nil)
	v.mustBeClean(t, d, "remove")
	v.must(t, d, c)
	after, err := v.Driver.MountScan(context.Background(), d, vol.ScanOptions{})
	if err != nil || after.FreeClusters != free.FreeClusters {
		t.Errorf("%d clusters were free, %d are (%v)", free.FreeClusters, after.FreeClusters, err)
	}
	what, _ := v.inside(t, d)
	v.removed(t, d, vol.RemoveRequest{Paths: slices.Sorted(maps.Keys(what)), Recursive: true}, nil)
	v.mustBeClean(t, d, "removing all")
	if what, _ := v.inside(t, d); len(what) > 0 {
		t.Errorf("left: %v", what)
	}
}

func (v volume) removed(t *testing.T, d dev.Device, r vol.RemoveRequest, want error) {
	t.Helper()
	x, txn := v.open(t, d)
	_, err := x.Remove(context.Background(), r)
	if !errors.Is(err, want) {
		t.Fatalf("remove %v: %v", r.Paths, err)
	}
	if err == nil {
		commit(t, txn)
	}
}

// fillCases are the changes of a filler, for the matrices of power cuts and
// faults.
func (v volume) fillCases(t *testing.T) map[string]devtest.Case {
	if v.Driver.Read == nil || v.Driver.Need == nil {
		return nil
	}
	free := v.freeOf(t, v.used(t))
	put := func(c *content, replace bool) func(context.Context, vol.Volume, dev.Device, dev.Device) error {
		return func(ctx context.Context, x vol.Volume, d, raw dev.Device) error {
			r := c.request()
			r.Replace = replace
			_, err := putOn(ctx, x, d, raw, r)
			return err
		}
	}
	tree, other := newContent(), newContent()
	tree.entry("new", vol.KindDir)
	tree.file("new/a file with a long name", pattern(10_000, 3))
	tree.file("new/another", pattern(600, 4))
	other.file("dir/a long name.bin", pattern(9000, 5))
	image := func() dev.Device { return v.used(t) }
	return map[string]devtest.Case{
		"put":     {Image: image, Ignore: free, Change: v.changeRaw(put(tree, false))},
		"replace": {Image: image, Ignore: free, Change: v.changeRaw(put(other, true))},
		"remove": {Image: image, Change: v.changeRaw(func(ctx context.Context, x vol.Volume, _, _ dev.Device) error {
			_, err := x.Remove(ctx, vol.RemoveRequest{Paths: []string{"dir", "CLIP0001.MP4"}, Recursive: true})
			return err
		})},
	}
}

// changeRaw is change for one that writes to the device below, too.
func (v volume) changeRaw(do func(ctx context.Context, x vol.Volume, d, raw dev.Device) error) func(dev.Device, dev.Journal) error {
	return func(d dev.Device, j dev.Journal) error {
		ctx := context.Background()
		txn := dev.Begin(d)
		x, err := v.Driver.Open(ctx, txn, vol.OpenOptions{Raw: d, Now: 1700000000})
		if err != nil {
			return err
		}
		if err := do(ctx, x, txn, d); err != nil {
			return err
		}
		_, err = txn.Commit(ctx, dev.CommitOptions{Undo: j})
		return err
	}
}
