package exfat

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestPlanSweepSmall goes through the sizes from 1 MiB on sector by sector,
// where every cluster counts.
func TestPlanSweepSmall(t *testing.T) {
	most := int64(600)
	if testing.Short() {
		most = 100
	}
	for _, o := range []vol.FormatOptions{
		{}, {ClusterSize: 512}, {ClusterSize: 1024, Label: "SMALL"}, {ClusterSize: 64 * kib}, {SectorSize: 4096}, {Align: 4096},
		{ClusterSize: 256 * kib, Align: 512}, {SectorSize: 2048, ClusterSize: 8192, VolumeGUID: "12345678-9abc-def0-1234-56789abcdef0"},
	} {
		made := int64(0)
		for n := -most; n <= most; n++ {
			_, _, err := tryPlan(t, vol.Target{Size: mib + n*512 + n&511}, o)
			if err == nil {
				made++
			} else if !errors.Is(err, vol.ErrRequest) {
				t.Fatalf("%d sectors beyond 1 MiB: %v", n, err)
			}
		}
		if made < most/2 && o.ClusterSize < 256*kib {
			t.Errorf("%s: only %d volumes were made", showOptions(o), made)
		}
	}
}

// TestPlanSweepGrid: sizes by clusters by sectors by alignments.
func TestPlanSweepGrid(t *testing.T) {
	made := 0
	for size := mib; size <= 64*tib; size *= 4 {
		for cluster := int64(512); cluster <= 32*mib; cluster *= 4 {
			if used := size / cluster / 8 / cluster; used > 1<<15 {
				continue // a bitmap of very many clusters, see TestPlanLimits
			}
			for _, sector := range []int64{512, 1024, 2048, 4096} {
				for _, align := range []int64{0, 4096, 12 * kib, mib, 16 * mib} {
					at := vol.Target{Size: size + 12345, Offset: size % 7 * 4096}
					_, _, err := tryPlan(t, at, vol.FormatOptions{ClusterSize: cluster, SectorSize: sector, Align: align})
					if err == nil {
						made++
					} else if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if made < 800 {
		t.Errorf("only %d volumes were made", made)
	}
}

// randomRequest makes requests of which most can be met.
func randomRequest(r *rand.Rand) (vol.Target, vol.FormatOptions) {
	pick := func(vs ...int64) int64 { return vs[r.IntN(len(vs))] }
	at := vol.Target{Size: 1 << (20 + r.IntN(26))}
	at.Size += r.Int64N(at.Size)
	o := vol.FormatOptions{Type: "exfat", Seed: r.Uint64(), Time: r.Int64N(1 << 33)}
	if r.IntN(3) == 0 {
		at.Offset = pick(63*512, 1<<20, 4096, 3<<40, 12345*512)
	}
	at.SectorSize = int(pick(0, 512, 4096))
	if r.IntN(3) == 0 {
		o.SectorSize = pick(512, 1024, 2048, 4096)
	}
	if r.IntN(2) == 0 {
		o.ClusterSize = 512 << r.IntN(17)
		for at.Size/o.ClusterSize/8/o.ClusterSize > 1<<14 {
			o.ClusterSize *= 2
		}
	}
	if r.IntN(3) == 0 {
		o.Align = pick(512, 4096, 8192, 1<<20, 4<<20, 12<<20)
	}
	o.Label = []string{"", "A", "Ünïcode 日本", "😀😀😀😀😀.", "lower CASE"}[r.IntN(5)]
	if r.IntN(3) == 0 {
		o.VolumeGUID = "d3f0a1b2-c3d4-e5f6-0718-293a4b5c6d7e"
	}
	if r.IntN(4) == 0 {
		o.HiddenSectors = ptr(r.Int64())
	}
	return at, o
}

func TestPlanSweepRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds, made := 4000, 0
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		at, o := randomRequest(r)
		_, _, err := tryPlan(t, at, o)
		if err == nil {
			made++
		} else if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) {
			t.Fatal(err)
		}
	}
	if made < rounds/2 {
		t.Errorf("only %d of %d were made", made, rounds)
	}
}

// TestPlanRepeats: the same request gives the same bytes.
func TestPlanRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		at, o := randomRequest(r)
		voltest.PlanTwice(t, planFormat, at, o)
	}
}

// TestPlanApply writes plans over a device full of rubbish: no byte of it is
// left in the metadata, and none of the files' is written.
func TestPlanApply(t *testing.T) {
	for _, c := range []struct {
		size int64
		o    vol.FormatOptions
	}{
		{mib, vol.FormatOptions{Label: "TINY"}},
		{20 * mib, vol.FormatOptions{VolumeGUID: "12345678-9abc-def0-1234-56789abcdef0"}},
		{40 * mib, vol.FormatOptions{ClusterSize: 512, Label: "SMALL"}},
		{64 * mib, vol.FormatOptions{ClusterSize: 2 * mib}},
		{64 * mib, vol.FormatOptions{SectorSize: 4096}},
	} {
		p, g := mustPlan(t, vol.Target{Size: c.size}, c.o)
		d := dev.NewMem(c.size)
		rubbish := bytes.Repeat([]byte{0xA5}, int(c.size))
		if _, err := d.WriteAt(rubbish, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, c.size)
		if _, err := d.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		_, _, used := planUsed(g)
		end := g.HeapOff() + used*g.ClusterSize
		if i := bytes.Index(got[:end], rubbish[:4]); i >= 0 {
			t.Errorf("%s: rubbish is left at byte %d", vol.SizeText(c.size), i)
		}
		from, to := max(end, 512*kib), c.size-768*kib
		if from < to && !bytes.Equal(got[from:to], rubbish[from:to]) {
			t.Errorf("%s: bytes behind the metadata were written", vol.SizeText(c.size))
		}
		if id := probe(d); id.Confidence != vol.Sure || id.Label != c.o.Label || id.ID != p.ID {
			t.Errorf("%s: it is taken for %+v", vol.SizeText(c.size), id)
		}
	}
}

// TestPlanCut: whatever part of the steps a cut lets through, what is there is
// no volume until the last phase.
func TestPlanCut(t *testing.T) {
	for _, size := range []int64{4 * mib, 64 * mib} {
		old, _ := mustPlan(t, vol.Target{Size: size}, vol.FormatOptions{Label: "OLD", SectorSize: 2048})
		p, _ := mustPlan(t, vol.Target{Size: size}, vol.FormatOptions{Label: "NEW"})
		d := dev.NewMem(size)
		if _, err := old.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Steps {
			if s.Phase == vol.Head {
				break
			}
			one := &vol.Plan{Steps: []vol.Step{s}}
			if _, err := one.Apply(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if id := probe(d); id.Confidence != vol.No {
				t.Fatalf("after %v of phase %d it is taken for %+v", s.Range, s.Phase, id)
			}
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(int64(64<<20), int64(0), 512, int64(0), int64(0), int64(0), "LABEL", "1234-ABCD", "", int64(-1))
	f.Add(int64(1<<20), int64(63*512), 0, int64(512), int64(512), int64(512), "", "", "12345678-9abc-def0-1234-56789abcdef0", int64(0))
	f.Add(int64(1<<57), int64(1<<20), 4096, int64(0), int64(4096), int64(1<<44), "é", "0x1", "{}", int64(9))
	f.Add(int64(-1), int64(-1), -1, int64(-1), int64(-1), int64(-1), "\xFF", "x", "x", int64(-1))
	f.Fuzz(func(t *testing.T, size, offset int64, sector int, cluster, sectorSize, align int64, label, id, guid string, hidden int64) {
		at := vol.Target{Size: size, Offset: offset, SectorSize: sector}
		o := vol.FormatOptions{Type: "exfat", Label: label, ID: id, VolumeGUID: guid, ClusterSize: cluster, SectorSize: sectorSize, Align: align}
		if hidden >= 0 {
			o.HiddenSectors = &hidden
		}
		p, err := planFormat(at, o)
		if err != nil {
			if errors.Is(err, vol.ErrRequest) == errors.Is(err, vol.ErrUsage) {
				t.Fatalf("error of no kind, or of two: %v", err)
			}
			return
		}
		if _, err := planFault(at, o, p); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkPlan4TiB(b *testing.B) {
	for _, c := range []int64{0, 2 * kib} {
		b.Run(fmt.Sprintf("cluster %d", c), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := planFormat(vol.Target{Size: 4 * tib}, vol.FormatOptions{Type: "exfat", ClusterSize: c}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
