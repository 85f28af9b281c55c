package lfs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestPlanKept: how many segments are kept back, against volumes that a newer
// mkfs.f2fs (1.16) made than the one that other tests hold ours against.
func TestPlanKept(t *testing.T) {
	for _, c := range []struct {
		size                           int64
		o                              vol.FormatOptions
		main, reserved, overprov, user int64
	}{
		{128 * mib, vol.FormatOptions{}, 56, 11, 17, 19968},
		{128 * mib, vol.FormatOptions{Features: "quota"}, 56, 11, 17, 19968},
		{64 * mib, vol.FormatOptions{}, 24, 8, 14, 5120},
		{128 * mib, vol.FormatOptions{SegmentsPerSection: ptr(2)}, 54, 18, 30, 12288},
		{128 * mib, vol.FormatOptions{Features: "ro"}, 57, 0, 0, 57 * 512},
	} {
		p, g := mustPlan(t, vol.Target{Size: c.size}, c.o)
		cp := checkpoint((&planned{Plan: p, g: g}).block(g.CP))
		if int64(g.MainSegments) != c.main || int64(cp.reserved()) != c.reserved || int64(cp.overprovision()) != c.overprov || int64(cp.userBlocks()) != c.user {
			t.Errorf("%d bytes, %s: %d segments, %d and %d kept back, %d blocks for files; should be %d, %d, %d, %d", c.size, showOptions(c.o),
				g.MainSegments, cp.reserved(), cp.overprovision(), cp.userBlocks(), c.main, c.reserved, c.overprov, c.user)
		}
	}
}

// TestPlanSmallest: the least sizes that work, of each kind, and that a sector
// less is refused with that size.
func TestPlanSmallest(t *testing.T) {
	for _, c := range []struct {
		size int64
		o    vol.FormatOptions
		says string
	}{
		{47104 * kib, vol.FormatOptions{}, "at least 46 MiB"},
		{18882560, vol.FormatOptions{Features: "ro"}, "at least 19 MiB"},
		{4 * 47104 * kib, vol.FormatOptions{ClusterSize: 16384}, "at least 184 MiB, or -c 4K"},
		{4 * 18882560, vol.FormatOptions{ClusterSize: 16384, Features: "ro"}, "at least 73 MiB, or -c 4K"},
		{80 * mib, vol.FormatOptions{SegmentsPerSection: ptr(2)}, "at least 80 MiB, or --segs-per-sec 1"},
		{52 * mib, vol.FormatOptions{SectionsPerZone: ptr(2)}, "at least 52 MiB, or --secs-per-zone 1"},
	} {
		if _, g, err := tryPlan(t, vol.Target{Size: c.size}, c.o); err != nil || g == nil {
			t.Errorf("%s: %v", showOptions(c.o), err)
		}
		c.o.Type = "f2fs"
		_, err := planFormat(vol.Target{Size: c.size - 512}, c.o)
		if !errors.Is(err, vol.ErrRequest) || !bytes.Contains([]byte(err.Error()), []byte(": use "+c.says)) {
			t.Errorf("%d bytes, %s: %v, should say %s", c.size-512, showOptions(c.o), err, c.says)
		}
	}
}

// TestPlanLargest: addresses of 32 bits, of which the last two mean something
// else.
func TestPlanLargest(t *testing.T) {
	for _, block := range []int64{4096, 8192, 16384} {
		most := block << 32
		for _, o := range []vol.FormatOptions{{}, {SegmentsPerSection: ptr(3), SectionsPerZone: ptr(5)}, {Features: "ro"}, {Features: "lost_found,quota"}} {
			o.ClusterSize = block
			for _, size := range []int64{most, most - 512, most - block, most - 512*block, most / 2} {
				mustPlan(t, vol.Target{Size: size}, o)
			}
			o.Type = "f2fs"
			if _, err := planFormat(vol.Target{Size: most + block}, o); !errors.Is(err, vol.ErrRequest) {
				t.Errorf("%d bytes in blocks of %d: %v", most+block, block, err)
			}
		}
	}
}

// TestPlanSupersApart: with blocks of any size the checkpoints lie behind both
// superblocks, also where they are packed as tightly as can be.
func TestPlanSupersApart(t *testing.T) {
	for block := int64(4096); block <= 16384; block *= 2 {
		_, g := mustPlan(t, vol.Target{Size: gib}, vol.FormatOptions{ClusterSize: block, Features: "ro"})
		if g.Segment0 != 2 || g.SSASegments != 0 {
			t.Errorf("blocks of %d: segment 0 at block %d, %d segments of SSA", block, g.Segment0, g.SSASegments)
		}
	}
}

// TestPlanOnDisk: zones start at multiples of their size on the disk.
func TestPlanOnDisk(t *testing.T) {
	for off, want := range map[int64]uint32{0: 512, mib: 256, 2 * mib: 512, 63 * 512: 512, 2*mib - 8192: 2, 2*mib - 4096: 513} {
		_, g := mustPlan(t, vol.Target{Size: gib, Offset: off}, vol.FormatOptions{})
		if g.Segment0 != want {
			t.Errorf("at byte %d of the disk segment 0 is at block %d, should be at %d", off, g.Segment0, want)
		}
	}
}

// TestPlanSweepGrid: sizes, sections, zones, blocks and sectors.
func TestPlanSweepGrid(t *testing.T) {
	made := 0
	for size := 32 * mib; size <= 64*tib; size = size*3 + 12345 {
		for _, s := range []int{1, 2, 3, 7, 64} {
			for _, z := range []int{1, 2, 5} {
				for _, block := range []int64{4096, 8192, 16384} {
					for _, f := range []string{"", "ro"} {
						o := vol.FormatOptions{SegmentsPerSection: &s, SectionsPerZone: &z, ClusterSize: block, Features: f}
						_, _, err := tryPlan(t, vol.Target{Size: size, SectorSize: 512 << (s % 4)}, o)
						if err == nil {
							made++
						} else if !errors.Is(err, vol.ErrRequest) {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
	if made < 700 {
		t.Errorf("only %d volumes were made", made)
	}
}

// randomRequest makes requests of which most can be met.
func randomRequest(r *rand.Rand) (vol.Target, vol.FormatOptions) {
	at := vol.Target{Size: 48 * mib << r.IntN(17)}
	at.Size += r.Int64N(at.Size)
	o := vol.FormatOptions{Type: "f2fs", Seed: r.Uint64(), Time: r.Int64N(1 << 33)}
	if r.IntN(3) == 0 {
		at.Offset = r.Int64N(1<<30) * 512
	}
	at.SectorSize = []int{0, 512, 4096}[r.IntN(3)]
	if r.IntN(4) == 0 {
		o.ClusterSize = 4096 << r.IntN(3)
	}
	if r.IntN(3) == 0 {
		o.SegmentsPerSection, o.SectionsPerZone = ptr(1+r.IntN(8)), ptr(1+r.IntN(4))
	}
	for _, f := range featureNames() {
		if f.not == "" && f.bit != featReadOnly && r.IntN(3) == 0 {
			o.Features += f.name + ","
		}
	}
	o.Features += []string{"extra_attr", "extra_attr,ro"}[r.IntN(2)]
	if r.IntN(3) == 0 {
		o.RootOwner = &[2]uint32{r.Uint32(), r.Uint32()}
	}
	o.Label = []string{"", "A", "Ünïcode 日本", "😀"}[r.IntN(4)]
	return at, o
}

func TestPlanSweepRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds, made := 2000, 0
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		at, o := randomRequest(r)
		_, _, err := tryPlan(t, at, o)
		if err == nil {
			made++
		} else if !errors.Is(err, vol.ErrRequest) {
			t.Fatal(err)
		}
	}
	if made < rounds*2/3 {
		t.Errorf("only %d of %d were made", made, rounds)
	}
}

// TestPlanRepeats: the same request gives the same bytes, and another seed
// others.
func TestPlanRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		at, o := randomRequest(r)
		a := voltest.PlanTwice(t, planFormat, at, o)
		o.Seed++
		if c, _ := planFormat(at, o); a != nil && (c.ID == a.ID || reflect.DeepEqual(a.Steps, c.Steps)) {
			t.Fatalf("seed %d gives the same as the one before", o.Seed)
		}
	}
}

// TestPlanApply writes plans over a device full of rubbish: no byte of it is
// left in the metadata, little is written behind, and it is found and
// described.
func TestPlanApply(t *testing.T) {
	for _, c := range []peerCase{
		{46 * mib, vol.FormatOptions{Label: "TINY"}},
		{64 * mib, vol.FormatOptions{Features: "quota,lost_found,extra_attr,inode_checksum,sb_checksum"}},
		{80 * mib, vol.FormatOptions{ClusterSize: 16384, Features: "ro"}},
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
		main, end := g.BlockOff(g.Main), c.size-768*kib
		if i := bytes.Index(got[:main], rubbish[:4]); i >= 0 {
			t.Errorf("%s: rubbish is left at byte %d", c, i)
		}
		if n := int64(bytes.Count(got[main:end], []byte{0xA5})); end-main-n > 20*g.BlockSize {
			t.Errorf("%s: %d bytes of the main area were written", c, end-main-n)
		}
		id := probe(d)
		info, err := describe(d)
		if id.Confidence != vol.Sure || id.Label != c.o.Label || id.ID != p.ID || id.Size != p.Size || err != nil {
			t.Errorf("%s: it is taken for %+v, %v", c, id, err)
		}
		info.Fields = nil
		if !reflect.DeepEqual(info, p.Info) {
			t.Errorf("%s: described as %+v, planned as %+v", c, info, p.Info)
		}
	}
}

// TestPlanCut: whatever part of the steps a cut lets through, what is there is
// no volume until the last phase; and after its first step it is one.
func TestPlanCut(t *testing.T) {
	const size = 64 << 20
	old, _ := mustPlan(t, vol.Target{Size: size}, vol.FormatOptions{Label: "OLD", Features: "ro"})
	p, _ := mustPlan(t, vol.Target{Size: size}, vol.FormatOptions{Label: "NEW"})
	d := dev.NewMem(size)
	if _, err := old.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Steps {
		one := &vol.Plan{Steps: []vol.Step{s}}
		if _, err := one.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		id := probe(d)
		if s.Phase != vol.Head && id.Confidence != vol.No || s.Phase == vol.Head && id.Confidence != vol.Sure {
			t.Fatalf("after %v of phase %d it is taken for %+v", s.Range, s.Phase, id)
		}
	}
}

// TestPlanSparse: a volume of 1 TiB takes next to nothing.
func TestPlanSparse(t *testing.T) {
	for _, size := range []int64{46 * mib, tib, 16 * tib} {
		p, _ := mustPlan(t, vol.Target{Size: size}, vol.FormatOptions{Features: "lost_found,quota"})
		d := dev.NewMem(size)
		if _, err := p.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if n := d.Allocated(); n > mib {
			t.Errorf("%s takes %s", vol.SizeText(size), vol.SizeText(n))
		}
	}
}

// FuzzPlan: whatever is asked for, it is refused as one kind of error, or what
// is planned is right.
func FuzzPlan(f *testing.F) {
	f.Add(int64(64<<20), int64(0), 512, int64(0), int64(0), "", "LABEL", "12345678-9abc-4def-8123-456789abcdef", 0, 0, 0.0, "", "", uint64(1))
	f.Add(int64(1<<44), int64(1<<20), 4096, int64(16384), int64(4096), "ro,lost_found", "é", "", 2, 3, 5.5, "raw", "db", uint64(2))
	f.Add(int64(-1), int64(-1), -1, int64(-1), int64(-1), "x,,", "\xFF", "x", -1, 1<<30, -1.0, ".", "jp", uint64(3))
	f.Add(int64(1<<30), int64(512), 0, int64(0), int64(0), "extra_attr,project_quota,casefold", "", "", 1, 1, 99.0, "", "sqlite", uint64(4))
	f.Fuzz(func(t *testing.T, size, offset int64, sector int, block, sectorSize int64, features, label, id string, s, z int, over float64, cold, hot string, seed uint64) {
		at := vol.Target{Size: size, Offset: offset, SectorSize: sector}
		o := vol.FormatOptions{Type: "f2fs", Label: label, ID: id, Features: features, ClusterSize: block, SectorSize: sectorSize, Seed: seed}
		if s != 0 {
			o.SegmentsPerSection = &s
		}
		if z != 0 {
			o.SectionsPerZone = &z
		}
		if over != 0 {
			o.Overprovision = &over
		}
		if cold != "" {
			o.ColdExtensions = []string{cold}
		}
		if hot != "" {
			o.HotExtensions = []string{hot}
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

func BenchmarkPlan1TiB(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := planFormat(vol.Target{Size: tib}, vol.FormatOptions{Type: "f2fs"}); err != nil {
			b.Fatal(err)
		}
	}
}
