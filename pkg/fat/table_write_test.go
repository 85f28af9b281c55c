package fat

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// The entries must be what a model says, in every FAT, for runs of all lengths
// in any order, over holes and over data, next to and over each other.
func TestSetRuns(t *testing.T) {
	for name, make := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			_, g, err := readBoot(m)
			must(t, err)
			rnd := rand.New(rand.NewPCG(5, 5))
			model := map[uint32]uint32{}
			for c := uint32(0); c <= g.Last(); c++ {
				v, err := newTable(m, g, 0).get(c)
				must(t, err)
				model[c] = v
			}
			tab := newTable(m, g, 0)
			for round := range 30 {
				var runs []link
				for range 1 + rnd.IntN(40) {
					c := firstCluster + rnd.Uint32N(g.Clusters)
					n := min(1+rnd.Uint32N(1<<rnd.IntN(12)), g.Last()-c+1)
					runs = append(runs, link{first: c, n: n, next: []uint32{entryLast, 2, g.Last(), entryBad}[rnd.IntN(4)], free: rnd.IntN(4) == 0})
				}
				if round%2 == 0 {
					slices.SortFunc(runs, func(a, b link) int { return int(a.first) - int(b.first) })
				}
				for _, r := range runs {
					for i := range r.n {
						model[r.first+i] = r.value(i)
					}
				}
				must(t, tab.setRuns(runs))
				last := runs[len(runs)-1]
				if at, err := tab.mismatch(last); at != 0 || err != nil {
					t.Fatalf("round %d: cluster %d of %+v reads back as another: %v", round, at, last, err)
				}
				for _, k := range g.targets() {
					check := newTable(m, g, k)
					for c := uint32(0); c <= g.Last(); c++ {
						if v, err := check.get(c); err != nil || v != model[c] {
							t.Fatalf("round %d, FAT %d: entry %d is %#x, want %#x, %v", round, k, c, v, model[c], err)
						}
					}
				}
			}
		})
	}
}

// mismatch finds the one entry that is wrong, wherever in a window it is.
func TestMismatch(t *testing.T) {
	m := formatted(t, "fat32", 60<<20, 512)
	_, g, err := readBoot(m)
	must(t, err)
	tab := newTable(m, g, 0)
	run := link{first: 10, n: 60_000, next: entryLast}
	must(t, tab.setRuns([]link{run}))
	for _, c := range []uint32{10, 11, dev.WindowLen/4 - 1, dev.WindowLen / 4, 3*dev.WindowLen/4 + 7, 60_008, 60_009} {
		was, err := tab.get(c)
		must(t, err)
		must(t, tab.set(c, 7))
		if at, err := tab.mismatch(run); at != c || err != nil {
			t.Errorf("cluster %d is wrong, found %d, %v", c, at, err)
		}
		must(t, tab.set(c, was))
	}
	if at, err := tab.mismatch(run); at != 0 || err != nil {
		t.Errorf("found %d, %v", at, err)
	}
}

// More changes than a piece of the table may hold all come out.
func TestSetRunsMany(t *testing.T) {
	m := formatted(t, "fat32", 60<<20, 512)
	_, g, err := readBoot(m)
	must(t, err)
	var runs []link
	for c := uint32(3); len(runs) < 2*pieceMax+5; c += 2 {
		runs = append(runs, link{first: c, n: 1, next: 3 + c%100})
	}
	must(t, newTable(m, g, 0).setRuns(runs))
	for _, k := range g.targets() {
		tab := newTable(m, g, k)
		for _, r := range runs {
			v, err := tab.get(r.first)
			must(t, err)
			beside, err := tab.get(r.first + 1)
			must(t, err)
			if v != r.next || beside != 0 {
				t.Fatalf("FAT %d: entry %d is %d, want %d, and the one behind it is %d", k, r.first, v, r.next, beside)
			}
		}
	}
}

// Changes that are far apart do not stage what lies between them.
func TestSetRunsStagesLittle(t *testing.T) {
	m := formatted(t, "fat32", 8<<30, 512)
	tx := dev.Begin(m)
	_, g, err := readBoot(tx)
	must(t, err)
	var runs []link
	for c := uint32(100); c < g.Clusters; c += 1 << 20 {
		runs = append(runs, link{first: c, n: 2, next: entryLast})
	}
	must(t, newTable(tx, g, 0).setRuns(runs))
	if n, most := tx.DirtyBytes(), int64(len(runs)*2*2*4096); n > most {
		t.Errorf("%d bytes are staged for %d changes", n, len(runs))
	}
}

// counted counts the patterns that are written to a transaction.
type counted struct {
	*dev.Txn
	patterns int
}

func (c *counted) WritePattern(r dev.Range, p dev.Pattern) error {
	c.patterns++
	return c.Txn.WritePattern(r, p)
}

// Long runs, one after the other, come out the same as patterns as they do entry
// by entry, before a commit and after it, and reserved bits stay where there are
// some: such a FAT gets no pattern.
func TestSetRunsPatterns(t *testing.T) {
	for what, c := range map[string]struct {
		reserved uint32 // in an entry of FAT 1, amid the runs
		patterns int
	}{"free": {0, 2}, "reserved bits": {0xA000_0000, 1}} {
		t.Run(what, func(t *testing.T) {
			m := formatted(t, "fat32", 60<<20, 512)
			_, g, err := readBoot(m)
			must(t, err)
			put := func(d dev.Device, k int, c, v uint32) {
				_, err := d.WriteAt(binary.LittleEndian.AppendUint32(nil, v), g.FatOff(k)+4*int64(c))
				must(t, err)
			}
			if c.reserved != 0 {
				put(m, 1, 40_000, c.reserved)
			}
			want := dev.NewMem(m.Size())
			voltest.Copy(t, want, m)
			runs := []link{
				{first: 5, n: 30_001, next: 40_006}, {first: 30_006, n: 10_000, next: entryLast}, {first: 40_006, n: 50_000, next: 30_006},
			}
			for _, r := range runs {
				for i := range r.n {
					for k := range g.Fats {
						v := r.value(i)
						if k == 1 && r.first+i == 40_000 {
							v |= c.reserved
						}
						put(want, k, r.first+i, v)
					}
				}
			}
			tx := &counted{Txn: dev.Begin(m)}
			must(t, newTable(tx, g, 0).setRuns(runs))
			if tx.patterns != c.patterns {
				t.Errorf("%d patterns were written, want %d", tx.patterns, c.patterns)
			}
			sameBytes(t, "staged", tx, want)
			_, err = tx.Commit(context.Background(), dev.CommitOptions{Undo: devtest.NewWorld(m).Journal()})
			must(t, err)
			sameBytes(t, "committed", m, want)
		})
	}
}

// chainPattern gives the same bytes whatever piece of it is asked for.
func TestChainPattern(t *testing.T) {
	const fat = 512 * 9
	whole := make([]byte, 4<<10)
	p := chainPattern{off: fat}
	for c := range uint32(len(whole) / 4) {
		binary.LittleEndian.PutUint32(whole[4*c:], c+1)
	}
	rnd := rand.New(rand.NewPCG(6, 6))
	for range 2000 {
		at := rnd.IntN(len(whole))
		b := make([]byte, rnd.IntN(min(100, len(whole)-at)+1))
		if p.Fill(b, fat+int64(at)); !bytes.Equal(b, whole[at:at+len(b)]) {
			t.Fatalf("%d bytes at %d are %x, want %x", len(b), at, b, whole[at:at+len(b)])
		}
	}
}

func contentsOf(t *testing.T, d dev.Device) []byte {
	t.Helper()
	b := make([]byte, d.Size())
	_, err := d.ReadAt(b, 0)
	must(t, err)
	return b
}

func sameBytes(t *testing.T, what string, got, want dev.Device) {
	t.Helper()
	a, b := contentsOf(t, got), contentsOf(t, want)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("%s: byte %d is %#x, want %#x", what, i, a[i], b[i])
		}
	}
}

// TestPatternCuts: a preallocation whose FAT is a pattern is as before or as after
// wherever the power goes, and whatever operation fails.
func TestPatternCuts(t *testing.T) {
	image := formatted(t, "fat32", 40<<20, 512)
	c := devtest.Case{
		Image: func() dev.Device { return image },
		Change: func(d dev.Device, j dev.Journal) error {
			ctx := context.Background()
			tx := &counted{Txn: dev.Begin(d)}
			v, err := open(ctx, tx, vol.OpenOptions{Raw: d})
			if err != nil {
				return err
			}
			r := newFiles(map[string]int64{"A": 9<<20 + 1, "B": 5 << 20}, "A", "B")
			if _, err := v.Preallocate(ctx, r); err != nil {
				return err
			}
			if tx.patterns != 2 {
				t.Errorf("%d patterns were written", tx.patterns)
			}
			_, err = tx.Commit(ctx, dev.CommitOptions{Undo: j})
			return err
		},
		Max: 40,
	}
	t.Run("power", func(t *testing.T) { devtest.Matrix(t, c) })
	t.Run("faults", func(t *testing.T) { devtest.FaultMatrix(t, c) })
}
