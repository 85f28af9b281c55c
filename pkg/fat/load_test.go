package fat

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// The map must say of each cluster what its entry says, whatever the window,
// and also where the volume lies at an odd offset, so that holes begin within
// entries.
func TestLoadMap(t *testing.T) {
	for _, tt := range []struct {
		typ           string
		size, cluster int64
	}{{"fat12", 1 << 20, 512}, {"fat12", 2 << 20, 512}, {"fat16", 30 << 20, 512}, {"fat32", 70 << 20, 512}} {
		for _, shift := range []int64{0, 3, 512} {
			m := formatted(t, tt.typ, tt.size, tt.cluster)
			big := dev.NewMem(tt.size + shift)
			at, err := dev.Section(big, dev.Range{Off: shift, Len: tt.size})
			if err != nil {
				t.Fatal(err)
			}
			voltest.Copy(t, at, m)
			_, g, err := readBoot(at)
			if err != nil {
				t.Fatal(err)
			}
			tab := newTable(at, g, 0)
			rnd := rand.New(rand.NewPCG(1, uint64(shift)))
			bad := scatter(t, tab, rnd)
			for _, window := range []int64{-1, 0, 4096, 1 << 20} {
				used, stats, err := loadMap(context.Background(), at, g, 0, window)
				if err != nil {
					t.Fatal(err)
				}
				for c := uint32(firstCluster); c <= g.Last(); c++ {
					v, err := tab.get(c)
					if err != nil {
						t.Fatal(err)
					}
					if used.Used(c-firstCluster) != (v != entryFree) {
						t.Fatalf("%s at %d, window %d: cluster %d with entry %#x: used is %v", tt.typ, shift, window, c, v, used.Used(c-firstCluster))
					}
				}
				if used.Len() != uint64(g.Clusters) || stats.bad != bad || stats.reads == 0 {
					t.Errorf("%s at %d, window %d: %d units, stats %+v, want %d bad", tt.typ, shift, window, used.Len(), stats, bad)
				}
			}
			if at, err := fatsDiffer(context.Background(), at, g, 0); at != -1 || err != nil {
				t.Errorf("%s: FATs differ at %d, %v", tt.typ, at, err)
			}
		}
	}
}

// scatter writes entries of all kinds and returns how many are bad.
func scatter(t testing.TB, tab *table, rnd *rand.Rand) (bad uint32) {
	t.Helper()
	for range 300 {
		c := firstCluster + rnd.Uint32N(tab.g.Clusters)
		n := min(1+rnd.Uint32N(200), tab.g.Last()-c+1)
		if err := tab.setRuns([]link{{first: c, n: n, next: entryLast, free: rnd.IntN(3) == 0}}); err != nil {
			t.Fatal(err)
		}
		if err := tab.set(firstCluster+rnd.Uint32N(tab.g.Clusters), entryBad); err != nil {
			t.Fatal(err)
		}
	}
	if err := tab.set(tab.g.Last(), entryBad); err != nil {
		t.Fatal(err)
	}
	for c := uint32(firstCluster); c <= tab.g.Last(); c++ {
		if v, err := tab.get(c); err != nil {
			t.Fatal(err)
		} else if v == entryBad {
			bad++
		}
	}
	return bad
}

// Reserved bits are neither used clusters nor differences.
func TestLoadMapReservedBits(t *testing.T) {
	m := formatted(t, "fat32", 70<<20, 512)
	_, g, err := readBoot(m)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4*200)
	for i := 3; i < len(b); i += 4 {
		b[i] = 0xA0
	}
	if _, err := m.WriteAt(b, g.FatOff(0)+4*100); err != nil {
		t.Fatal(err)
	}
	used, _, err := loadMap(context.Background(), m, g, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := used.CountUsed(); n != 1 {
		t.Errorf("%d clusters are used, want the root's only", n)
	}
	if at, err := fatsDiffer(context.Background(), m, g, 0); at != -1 || err != nil {
		t.Errorf("FATs differ at %d, %v", at, err)
	}
	for _, k := range []int{0, 1} {
		off := g.FatOff(k) + 4*5000
		if _, err := m.WriteAt([]byte{9}, off); err != nil {
			t.Fatal(err)
		}
		if at, err := fatsDiffer(context.Background(), m, g, 0); err != nil || at < 0 || (at-g.FatOff(int(0)))%g.FatBytes() != 4*5000 {
			t.Errorf("FATs differ at %d, %v, want entry 5000", at, err)
		}
		if _, err := m.WriteAt([]byte{0}, off); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoadMapCancelled(t *testing.T) {
	m := formatted(t, "fat32", 70<<20, 512)
	_, g, err := readBoot(m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := loadMap(ctx, m, g, 0, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled load: %v", err)
	}
}

// What a chain that comes back to itself takes does not grow with the size that its
// file claims.
func TestLoopedChain(t *testing.T) {
	m := formatted(t, "fat16", 9<<20, 2048)
	_, g, err := readBoot(m)
	must(t, err)
	tab := newTable(m, g, 0)
	for i := range uint32(100) { // no two of them adjacent
		must(t, tab.set(10+2*i, 10+2*((i+1)%100)))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err = tab.fileClusters("/F", 10, maxFileSize)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, vol.ErrDamaged) || !strings.Contains(err.Error(), "comes back") {
		t.Errorf("a loop is %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("it took %d bytes", n)
	}
}
