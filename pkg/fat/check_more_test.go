package fat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// found lists the slugs of what was found, with what became of it.
func found(res *vol.Result) string {
	var out []string
	for _, o := range res.Outcomes {
		if o.Severity == vol.SevInfo {
			continue
		}
		s := o.Slug
		if o.Repaired != nil {
			s += ":" + o.Repaired.Name
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// A chain that is longer than a file can be is rescued in pieces.
func TestRescueLongChain(t *testing.T) {
	l := bare(t, 8<<30, 32<<10)
	const n = 1<<17 + 5
	l.link(l.run(10, n))
	l.count()
	res := guarded(t, l.m, voltest.Choose("lost-chains", fixRescue))
	if got := found(res); got != "lost-chains:rescue fsinfo-free-wrong:set" {
		t.Error(got)
	}
	tx := dev.Begin(l.m)
	fsck(t, tx, voltest.Choose("lost-chains", fixRescue))
	r, err := newReader(tx)
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.mustFind(l, "/FOUND.000/FILE0000.CHK"), r.mustFind(l, "/FOUND.000/FILE0001.CHK")
	if a.size != (1<<17-1)*(32<<10) || b.size != 6*(32<<10) {
		t.Errorf("%d and %d bytes", a.size, b.size)
	}
}

// Where the root directory is full the one of FAT32 grows; that of FAT16 cannot,
// and the clusters stay lost, with not a byte changed.
func TestRescueRootFull(t *testing.T) {
	for _, kind := range []string{"16", "32"} {
		l := newLab(t, kind)
		for i := 11; i < len(l.places("/")); i++ {
			l.append(0, slot(fmt.Sprintf("R%03d       ", i), 0x20, 0, 0))
		}
		l.link([]uint32{l.spare(0)})
		l.count()
		before := voltest.HashOf(t, l.m)
		tx := dev.Begin(l.m)
		res := fsck(t, tx, func(f *vol.Finding) int {
			if f.Slug != "lost-chains" {
				return voltest.Always(f)
			}
			return slices.IndexFunc(f.Offered(), func(r vol.Repair) bool { return r.Name == fixRescue })
		})
		if i := slices.IndexFunc(res.Outcomes, func(o vol.Outcome) bool { return o.Slug == "lost-chains" }); i < 0 || (kind == "16") != strings.Contains(res.Outcomes[i].Message(), "is full") {
			t.Errorf("FAT%s: why there is no room, or no finding", kind)
		}
		want := map[string]string{"16": "lost-chains", "32": "lost-chains:rescue fsinfo-free-wrong:set"}[kind]
		if got := found(res); got != want {
			t.Errorf("FAT%s: %s", kind, got)
		}
		if kind == "16" && (tx.Dirty() || voltest.HashOf(t, tx) != before) {
			t.Error("a repair that was not possible changed something")
		}
	}
}

// A lost directory is rescued unasked if it has entries, and given back if it was
// emptied before.
func TestRescueOfDirectories(t *testing.T) {
	for _, emptied := range []bool{false, true} {
		l := newLab(t, "16")
		for _, off := range l.places("/MANY")[2:] {
			if emptied && l.get(off) != 0 {
				l.put(off, 0xE5)
			}
		}
		l.put(l.node("/MANY").off, 0xE5)
		want := map[bool]string{false: "lost-chains:rescue", true: "lost-chains:free"}[emptied]
		if got := found(fsckAll(t, l.m)); got != want {
			t.Errorf("emptied %v: %s", emptied, got)
		}
	}
}

// A FOUND directory that is there already is left alone.
func TestRescueAgain(t *testing.T) {
	l := newLab(t, "16")
	for range 2 {
		l.link([]uint32{l.spare(0), l.spare(1)})
		l.next = l.spare(10)
		tx := dev.Begin(l.m)
		fsck(t, tx, voltest.Choose("lost-chains", fixRescue))
		commit(t, tx)
		l.set(l.spare(20), l.eoc())
	}
	for _, path := range []string{"/FOUND.000/FILE0000.CHK", "/FOUND.001/FILE0000.CHK"} {
		if _, ok := l.find(path); !ok {
			t.Errorf("there is no %s", path)
		}
	}
}

// -p must not close a directory over entries that it may not judge: to make dot
// entries it would drop what stands behind the end mark.
func TestDotsBehindHidden(t *testing.T) {
	l := newLab(t, "12")
	l.put(l.slotOf("/SUB/DEEP", 0), make([]byte, 32)...)
	l.put(l.slotOf("/SUB/DEEP", 2)+64, 0xE5) // the first file goes, with it its evidence
	n := l.node("/BIG.BIN")
	for i := 2; i < 8; i++ {
		l.put(l.slotOf("/SUB/DEEP", i), slot(fmt.Sprintf("OLD%d       ", i), 0x20, n.start, 9)...)
	}
	tx := dev.Begin(l.m)
	res := fsck(t, tx, voltest.Lossless)
	if got := found(res); !strings.Contains(got, "after-end ") || !strings.Contains(got, "dots-missing") || strings.Contains(got, "dots-missing:") {
		t.Error(got)
	}
	if _, err := tx.Commit(context.Background(), dev.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if l.get(l.slotOf("/SUB/DEEP", 7)) != 'O' {
		t.Error("an entry behind the end mark is gone")
	}
	fsckAll(t, l.m)
}

// Without room for a copy a file that shares clusters is cut, in the same run.
func TestCrossLinkWithoutRoom(t *testing.T) {
	l := newLab(t, "12")
	cs := l.cells("/BIG.BIN")
	for _, path := range []string{"/SUB/LEAF.TXT", "/ONE.BIN"} {
		n := l.node(path)
		for _, c := range l.cells(path) {
			l.set(c, 0)
		}
		l.start(n, cs[0])
		l.put32(n.off+28, uint32(9*l.cluster))
	}
	for c := uint32(2); c <= l.last(); c++ {
		if l.entry(0, c) == 0 {
			l.set(c, l.bad())
		}
	}
	for i := range 9 {
		l.set(l.spare(i), 0) // for one of the two
	}
	res := fsckAll(t, l.m)
	if got := found(res); got != "cross-linked:truncate cross-linked:copy" && got != "cross-linked:copy cross-linked:truncate" {
		t.Error(got)
	}
}

// A label may stand anywhere in the root directory.
func TestLabelLast(t *testing.T) {
	l := newLab(t, "16")
	e := l.read(l.slotOf("/", 0), 32)
	l.put(l.slotOf("/", 0), 0xE5)
	l.append(0, e)
	sound(t, l.m)
	res := fsck(t, l.m, nil)
	if res.Info.Label != "LABEL" || found(res) != "" {
		t.Errorf("%q, %s", res.Info.Label, found(res))
	}
}

// TestTable sets entries of all widths one by one and holds the FATs against a
// plain reading of them; those of FAT12 share bytes, and some cross sectors.
func TestTable(t *testing.T) {
	for _, kind := range []string{"12", "16", "32"} {
		l := newLab(t, kind)
		_, g, err := readBoot(l.m)
		if err != nil {
			t.Fatal(err)
		}
		tab := newTable(l.m, g, 0)
		rnd := rand.New(rand.NewPCG(1, 1))
		want := map[uint32]uint32{}
		for range 3000 {
			c := 2 + rnd.Uint32N(2000)
			v := rnd.Uint32() & l.mask()
			if err := tab.set(c, widen(g.Type, v)); err != nil {
				t.Fatal(err)
			}
			want[c] = v
		}
		for c, v := range want {
			for k := range l.fats {
				if got := l.entry(k, c); got != v {
					t.Fatalf("FAT%s: entry %d in FAT %d is %#x, want %#x", kind, c, k, got, v)
				}
			}
		}
	}
}

// What is cancelled ends with the error of its context.
func TestCheckCancelled(t *testing.T) {
	l := orphans(t, 3000)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := vol.Fsck(ctx, dev.Begin(l.m), Driver(), vol.CheckOptions{}, func(f *vol.Finding) int {
		if calls++; calls == 1 {
			cancel()
		}
		return voltest.Always(f)
	}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v after %d decisions", err, calls)
	}
}

// Of two files of one length nothing says which of them lost the chain that is
// left over: it is offered to none of them.
func TestCrossLinkWithoutEvidence(t *testing.T) {
	l := bare(t, 36<<20, 512)
	l.link([]uint32{10, 11})
	l.link([]uint32{20, 21})
	l.append(0, slot("A          ", 0x20, 10, 1000), slot("B          ", 0x20, 10, 1000))
	l.count()
	for _, o := range fsck(t, l.m, nil).Outcomes {
		if o.Slug == "cross-linked" && o.Offered()[0].Name != fixCopy {
			t.Errorf("offers %v", o.Offered())
		}
	}
}

// The evidence decides which owner of a shared cluster keeps it.
func TestCrossLinkEvidence(t *testing.T) {
	for _, tt := range []struct{ loser, why string }{
		{"/A", "B fits its chain, A does not"},
		{"/B", "both fit: the first in the order of the directories keeps it"},
	} {
		l := bare(t, 36<<20, 512)
		l.link([]uint32{10, 11, 12})
		l.link([]uint32{20, 11})
		size := uint32(3 * 512)
		if tt.loser == "/A" {
			size = 512
		}
		l.append(0, slot("A          ", 0x20, 10, size), slot("B          ", 0x20, 20, 3*512))
		l.count()
		res := fsck(t, l.m, nil)
		i := slices.IndexFunc(res.Outcomes, func(o vol.Outcome) bool { return o.Slug == "cross-linked" })
		if i < 0 || res.Outcomes[i].Loc.Path != tt.loser {
			t.Errorf("%s: %s", tt.why, found(res))
			voltest.Log(t, res)
		}
	}
}
