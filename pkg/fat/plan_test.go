package fat

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestPlanSweepSmall goes through every size up to 9 MiB, which is where the
// types meet and FATs are only a few sectors long.
func TestPlanSweepSmall(t *testing.T) {
	most := int64(18 << 10)
	if testing.Short() {
		most = 6 << 10
	}
	for _, o := range []vol.FormatOptions{
		{Type: "fat"},
		{Type: "fat", ClusterSize: 512},
		{Type: "fat12", ClusterSize: 1024},
		{Type: "fat16", ClusterSize: 512, Fats: ptr(1)},
		{Type: "fat16", ClusterSize: 512, ReservedSectors: ptr(int64(1))},
		{Type: "fat12", Fats: ptr(4)},
		{Type: "fat12", ClusterSize: 512, ReservedSectors: ptr(int64(1)), Fats: ptr(3)},
	} {
		made := 0
		for n := int64(0); n <= most; n++ {
			at := vol.Target{Size: n*512 + n%512}
			if _, _, err := tryPlan(t, at, o); err == nil {
				made++
			} else if !errors.Is(err, vol.ErrRequest) {
				t.Fatalf("%d sectors, %s: %v", n, o.Type, err)
			}
		}
		if made < 1000 {
			t.Errorf("%s %s: only %d volumes were made", o.Type, showOptions(o), made)
		}
	}
}

// TestPlanSweepBoundary goes through the sizes around which FAT16 becomes
// FAT32, with clusters of one sector.
func TestPlanSweepBoundary(t *testing.T) {
	for _, o := range []vol.FormatOptions{
		{Type: "fat16", ClusterSize: 512}, {Type: "fat32", ClusterSize: 512}, {Type: "fat32"}, {Type: "fat"},
		{Type: "fat32", ClusterSize: 512, ReservedSectors: ptr(int64(32))},
		{Type: "fat32", ClusterSize: 512, Align: 4096},
	} {
		for n := int64(65525); n < 65525+1200; n++ {
			at := vol.Target{Size: n * 512}
			if _, _, err := tryPlan(t, at, o); err != nil && (!errors.Is(err, vol.ErrRequest) || o.Type == "fat") {
				t.Fatalf("%d sectors: %v", n, err)
			}
		}
	}
}

// randomRequest makes requests of which most can be met.
func randomRequest(r *rand.Rand) (vol.Target, vol.FormatOptions) {
	pick := func(vs ...int64) int64 { return vs[r.IntN(len(vs))] }
	at := vol.Target{Size: 1 << (14 + r.IntN(30))}
	at.Size += r.Int64N(at.Size)
	o := vol.FormatOptions{Seed: r.Uint64(), Time: r.Int64N(1 << 33)}
	o.Type = []string{"fat", "fat12", "fat16", "fat32"}[r.IntN(4)]
	if r.IntN(3) == 0 {
		at.Offset = pick(63*512, 1<<20, 4096, 3<<40, 12345*512)
	}
	at.SectorSize = int(pick(0, 512, 4096))
	if r.IntN(3) == 0 {
		o.SectorSize = pick(512, 1024, 2048, 4096)
	}
	if r.IntN(2) == 0 {
		o.ClusterSize = 512 << r.IntN(9)
	}
	switch r.IntN(4) {
	case 0:
		o.Align = pick(4096, 8192, 1<<20, 4<<20, 12<<20)
	case 1:
		o.ReservedSectors = ptr(pick(1, 2, 3, 4, 7, 8, 9, 32, 64, 1000, 65535))
	}
	if r.IntN(3) == 0 {
		o.Fats = ptr(1 + r.IntN(4))
	}
	if r.IntN(4) == 0 {
		o.RootEntries = ptr(int(pick(0, 16, 128, 512, 1024, 65408)))
	}
	return at, o
}

func TestPlanSweepRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	made := map[string]int{}
	rounds := 60_000
	if testing.Short() {
		rounds = 10_000
	}
	for range rounds {
		at, o := randomRequest(r)
		p, _, err := tryPlan(t, at, o)
		if err == nil {
			made[p.Type]++
		} else if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) {
			t.Fatal(err)
		}
	}
	t.Log(made)
	for _, kind := range []string{"fat12", "fat16", "fat32"} {
		if made[kind] < rounds/50 {
			t.Errorf("only %d of %d are %s", made[kind], rounds, kind)
		}
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
		at vol.Target
		o  vol.FormatOptions
	}{
		{vol.Target{Size: 1440 << 10}, vol.FormatOptions{Type: "fat", Label: "FLOPPY"}},
		{vol.Target{Size: 20 << 20}, vol.FormatOptions{Type: "fat16", Label: "SIXTEEN"}},
		{vol.Target{Size: 40 << 20}, vol.FormatOptions{Type: "fat32", Label: "THIRTYTWO"}},
		{vol.Target{Size: 40 << 20}, vol.FormatOptions{Type: "fat32"}},
		{vol.Target{Size: 300 << 20}, vol.FormatOptions{Type: "fat32", SectorSize: 4096, Label: "BIG"}},
	} {
		p, g := mustPlan(t, c.at, c.o)
		d := dev.NewMem(c.at.Size)
		end := metadataEnd(g)
		rubbish := bytes.Repeat([]byte{0xA5}, int(end+512))
		if _, err := d.WriteAt(rubbish, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, end+512)
		if _, err := d.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(got[:end], rubbish[:4]); i >= 0 {
			t.Errorf("%s: rubbish is left at byte %d", p.Type, i)
		}
		if end > 512<<10 && !bytes.Equal(got[end:], rubbish[:512]) {
			t.Errorf("%s: the first sector behind the metadata was written", p.Type)
		}
		checkFatContents(t, g, got)
	}
}

// checkFatContents holds the FATs and the root directory against what a new
// volume has.
func checkFatContents(t *testing.T, g *Geometry, image []byte) {
	t.Helper()
	head := map[Type][]byte{
		FAT12: {g.Media, 0xFF, 0xFF, 0},
		FAT16: {g.Media, 0xFF, 0xFF, 0xFF, 0},
		FAT32: {g.Media, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F, 0},
	}[g.Type]
	for i := range g.Fats {
		f := image[g.FatOff(i):g.FatOff(i+1)]
		if !bytes.HasPrefix(f, head) || len(bytes.Trim(f[len(head):], "\x00")) != 0 {
			t.Errorf("%s: FAT %d starts with % x or is not empty", g.Type, i, f[:16])
		}
	}
	root := image[g.RootOff():metadataEnd(g)]
	if len(bytes.Trim(root[entryLen:], "\x00")) != 0 {
		t.Errorf("%s: the root directory has more than a label", g.Type)
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(int64(64<<20), int64(0), 512, uint8(3), int64(0), int64(0), int64(0), "LABEL", "1234-ABCD", uint8(0), 2, int64(32), 512, int64(0), 0xF8)
	f.Add(int64(1440<<10), int64(0), 0, uint8(0), int64(0), int64(0), int64(0), "", "", uint8(0), 0, int64(0), 0, int64(0), 0)
	f.Add(int64(1<<41), int64(1<<20), 0, uint8(0), int64(1<<16), int64(512), int64(1<<20), "é", "0x1", uint8(0xFF), 1, int64(9), 0, int64(-1), 0xF0)
	f.Fuzz(func(t *testing.T, size, offset int64, sector int, kind uint8, cluster, sectorSize, align int64, label, id string,
		given uint8, fats int, reserved int64, root int, hidden int64, media int) {
		at := vol.Target{Size: size, Offset: offset, SectorSize: sector}
		o := vol.FormatOptions{Type: []string{"fat", "fat12", "fat16", "fat32"}[kind%4], Label: label, ID: id,
			ClusterSize: cluster, SectorSize: sectorSize, Align: align, Time: hidden, Seed: uint64(reserved)}
		for i, set := range []func(){
			func() { o.Fats = &fats }, func() { o.ReservedSectors = &reserved }, func() { o.RootEntries = &root },
			func() { o.HiddenSectors = &hidden }, func() { o.MediaType = &media },
		} {
			if given&(1<<i) != 0 {
				set()
			}
		}
		p, err := planFormat(at, o)
		if err != nil {
			if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if err := planFault(at, o, p, planGeometry(t, p)); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkPlan2TiB(b *testing.B) {
	for b.Loop() {
		if _, err := planFormat(vol.Target{Size: 2 << 40}, vol.FormatOptions{Type: "fat32"}); err != nil {
			b.Fatal(err)
		}
	}
}
