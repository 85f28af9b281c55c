package fat

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

func ptr[T any](v T) *T { return &v }

// mustPlan plans, and holds the plan against all that every plan must be.
func mustPlan(t *testing.T, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry) {
	t.Helper()
	p, err := planFormat(at, o)
	if err != nil {
		t.Fatalf("%s of %d bytes, options %s: %v", o.Type, at.Size, showOptions(o), err)
	}
	g := planGeometry(t, p)
	if err := planFault(at, o, p, g); err != nil {
		t.Fatalf("%s of %d bytes at %d, sectors of %d, options %s: %v\n%+v", o.Type, at.Size, at.Offset, at.SectorSize, showOptions(o), err, g)
	}
	return p, g
}

func showOptions(o vol.FormatOptions) string {
	s := fmt.Sprintf("-c %d -S %d --align %d", o.ClusterSize, o.SectorSize, o.Align)
	if o.Fats != nil {
		s += fmt.Sprintf(" --fats %d", *o.Fats)
	}
	if o.ReservedSectors != nil {
		s += fmt.Sprintf(" --reserved-sectors %d", *o.ReservedSectors)
	}
	if o.RootEntries != nil {
		s += fmt.Sprintf(" --root-entries %d", *o.RootEntries)
	}
	return s
}

func planBoot(t testing.TB, p *vol.Plan) bootSector {
	t.Helper()
	for _, s := range p.Steps {
		if s.Phase == vol.Head && s.Off == 0 {
			return bootSector(s.Data)
		}
	}
	t.Fatal("the plan writes no boot sector")
	return nil
}

func planGeometry(t testing.TB, p *vol.Plan) *Geometry {
	t.Helper()
	g, f := parseGeometry(planBoot(t, p))
	if f != nil {
		t.Fatalf("the planned boot sector does not parse: %v", f)
	}
	return g
}

// planFault is the first thing that is wrong with p, of which g is the boot
// sector read back.
func planFault(at vol.Target, o vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	for _, check := range []func(vol.Target, vol.FormatOptions, *vol.Plan, *Geometry) error{
		infoFault, optionFault, clusterFault, maximalFault, totalFault, stepFault, regionFault,
	} {
		if err := check(at, o, p, g); err != nil {
			return err
		}
	}
	return nil
}

func infoFault(_ vol.Target, o vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	free := uint64(g.Clusters)
	if g.Type == FAT32 {
		free--
	}
	want := vol.Info{Type: g.Type.String(), Label: p.Label, ID: p.ID, Size: g.VolumeBytes(),
		SectorSize: int(g.SectorSize), ClusterSize: int(g.ClusterSize()), Clusters: uint64(g.Clusters)}
	if !reflect.DeepEqual(p.Info, want) {
		return fmt.Errorf("Info is %+v, the boot sector says %+v", p.Info, want)
	}
	if p.FreeClusters != free {
		return fmt.Errorf("FreeClusters is %d, want %d", p.FreeClusters, free)
	}
	if o.Type != "fat" && p.Type != o.Type {
		return fmt.Errorf("type is %s", p.Type)
	}
	return nil
}

// optionFault: what was asked for is there exactly.
func optionFault(at vol.Target, o vol.FormatOptions, _ *vol.Plan, g *Geometry) error {
	switch {
	case o.ClusterSize != 0 && g.ClusterSize() != o.ClusterSize:
		return fmt.Errorf("cluster size is %d", g.ClusterSize())
	case o.SectorSize != 0 && g.SectorSize != o.SectorSize:
		return fmt.Errorf("sector size is %d", g.SectorSize)
	case o.Fats != nil && g.Fats != *o.Fats:
		return fmt.Errorf("%d FATs", g.Fats)
	case o.ReservedSectors != nil && g.Reserved != *o.ReservedSectors:
		return fmt.Errorf("%d reserved sectors", g.Reserved)
	case o.RootEntries != nil && g.RootEntries != int64(*o.RootEntries):
		return fmt.Errorf("%d root entries", g.RootEntries)
	case o.MediaType != nil && g.Media != byte(*o.MediaType):
		return fmt.Errorf("media byte %#x", g.Media)
	case o.Align != 0 && (at.Offset+g.DataOff())%o.Align != 0:
		return fmt.Errorf("data area at %d of the disk is not aligned", at.Offset+g.DataOff())
	case g.RootBytes()%g.SectorSize != 0:
		return fmt.Errorf("%d root entries do not fill sectors", g.RootEntries)
	}
	return nil
}

// clusterFault: every cluster has its entry, and no system can take the type
// for another.
func clusterFault(_ vol.Target, _ vol.FormatOptions, _ *vol.Plan, g *Geometry) error {
	n := int64(g.Clusters)
	if g.claimed != n {
		return fmt.Errorf("the sectors make %d clusters, the FAT has entries for %d", g.claimed, n)
	}
	if g.FatBytes()*8 < (n+2)*int64(g.Type) {
		return fmt.Errorf("FAT of %d bytes for %d clusters", g.FatBytes(), n)
	}
	// [FAT] "FAT Type Determination"
	byCount := FAT32
	if n < 4085 {
		byCount = FAT12
	} else if n < 65525 {
		byCount = FAT16
	}
	if byCount != g.Type || n > 0x0FFFFFF5 {
		return fmt.Errorf("%d clusters make it %s", n, byCount)
	}
	for _, edge := range []int64{4085, 65525} {
		if n >= edge-16 && n <= edge+16 {
			return fmt.Errorf("%d clusters are within 16 of %d", n, edge)
		}
	}
	return nil
}

// planAlign is the alignment that the data area is to have, told again in
// other words than defaultAlign.
func planAlign(at vol.Target, o vol.FormatOptions, g *Geometry) int64 {
	switch {
	case o.ReservedSectors != nil:
		return g.SectorSize
	case o.Align != 0:
		return o.Align
	case g.Type == FAT12 || at.Offset%g.SectorSize != 0:
		return g.SectorSize
	}
	a := g.ClusterSize()
	for a*512 > at.Size && a > g.SectorSize {
		a /= 2
	}
	return a
}

// atLimit reports whether the type, not the size, bounds the cluster count.
func atLimit(g *Geometry) bool {
	return g.Clusters == 4068 || g.Clusters == 65508 || g.Clusters == 0x0FFFFFF5
}

// maximalFault: one more cluster, with the shortest FAT that has an entry for
// it, would not fit.
func maximalFault(at vol.Target, o vol.FormatOptions, _ *vol.Plan, g *Geometry) error {
	if atLimit(g) {
		return nil
	}
	reserved := int64(1)
	if g.Type == FAT32 {
		reserved = 32
	}
	if o.ReservedSectors != nil {
		reserved = *o.ReservedSectors
	}
	n := int64(g.Clusters) + 1
	fat := (((n+2)*int64(g.Type)+7)/8 + g.SectorSize - 1) / g.SectorSize
	start := at.Offset + (reserved+int64(g.Fats)*fat)*g.SectorSize + g.RootEntries*32
	if rest := start % planAlign(at, o, g); rest != 0 && at.Offset%g.SectorSize == 0 {
		start += planAlign(at, o, g) - rest
	}
	end := min(at.Size/g.SectorSize, 1<<32-1) * g.SectorSize
	if start-at.Offset+n*g.ClusterSize() <= end {
		return fmt.Errorf("%d clusters, and one more has room", g.Clusters)
	}
	if at.Offset%g.SectorSize == 0 && (at.Offset+g.DataOff())%planAlign(at, o, g) != 0 {
		return fmt.Errorf("data area at %d of the disk is not aligned to %d", at.Offset+g.DataOff(), planAlign(at, o, g))
	}
	return nil
}

// totalFault: all sectors are used, but for what no cluster can use.
func totalFault(at vol.Target, o vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	all := at.Size / g.SectorSize
	left := all - g.TotalSectors
	switch {
	case left < 0:
		return fmt.Errorf("%d sectors of %d", g.TotalSectors, all)
	case left > 0 && len(p.Warnings) == 0:
		return fmt.Errorf("%d sectors are left out without a word", left)
	case atLimit(g) || all == 1<<32:
		return nil
	case left > 0 && o.ReservedSectors == nil && o.Align == 0:
		return fmt.Errorf("%d sectors are left out", left)
	case left > int64(g.Fats)+g.SectorsPerCluster+o.Align/g.SectorSize:
		return fmt.Errorf("%d sectors are left out", left)
	}
	b := planBootSector(p)
	if t16 := int64(b.u16(offTotSec16)); (t16 != 0) != (g.Type != FAT32 && all < 0x10000) {
		return fmt.Errorf("16-bit total is %d", t16)
	}
	return nil
}

func planBootSector(p *vol.Plan) bootSector {
	for _, s := range p.Steps {
		if s.Phase == vol.Head && s.Off == 0 {
			return bootSector(s.Data)
		}
	}
	return nil
}

// stepFault: steps are in order, inside the target, apart from each other
// within their phase, and body and head leave no byte of the metadata out.
func stepFault(at vol.Target, _ vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	phase, end := vol.Wipe, int64(0)
	covered := map[vol.Phase]int64{}
	for _, s := range p.Steps {
		if s.Phase != phase {
			if s.Phase < phase {
				return fmt.Errorf("step %v of phase %d behind phase %d", s.Range, s.Phase, phase)
			}
			phase, end = s.Phase, 0
		}
		if s.Off < end || s.Len <= 0 || s.End() > at.Size {
			return fmt.Errorf("step %v of phase %d, after byte %d, target of %d", s.Range, s.Phase, end, at.Size)
		}
		if s.Data != nil && int64(len(s.Data)) != s.Len {
			return fmt.Errorf("step %v with %d bytes of data", s.Range, len(s.Data))
		}
		if s.Phase != vol.Wipe && s.End() > metadataEnd(g) {
			return fmt.Errorf("step %v reaches into the files", s.Range)
		}
		end = s.End()
		covered[phase] += s.Len
	}
	if covered[vol.Body] != metadataEnd(g)-g.SectorSize {
		return fmt.Errorf("the body is %d bytes, should be %d", covered[vol.Body], metadataEnd(g)-g.SectorSize)
	}
	return nil
}

func regionFault(_ vol.Target, _ vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	at := int64(0)
	for _, r := range p.Regions {
		if r.Off != at || r.Len <= 0 {
			return fmt.Errorf("region %s is at %v, should be at %d", r.Name, r.Range, at)
		}
		at = r.End()
	}
	if at != g.VolumeBytes() {
		return fmt.Errorf("regions end at %d of %d", at, g.VolumeBytes())
	}
	return nil
}

// TestPlanSweepSmall goes through every size up to 12 MiB, which is where the
// types meet and FATs are only a few sectors long.
func TestPlanSweepSmall(t *testing.T) {
	most := int64(24 << 10)
	if testing.Short() {
		most = 9 << 10
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
			if _, err := planFormat(at, o); err != nil {
				if !errors.Is(err, vol.ErrRequest) {
					t.Fatalf("%d sectors, %s: %v", n, o.Type, err)
				}
				continue
			}
			mustPlan(t, at, o)
			made++
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
			if _, err := planFormat(at, o); err == nil {
				mustPlan(t, at, o)
			} else if !errors.Is(err, vol.ErrRequest) || o.Type == "fat" {
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
	rounds := 120_000
	if testing.Short() {
		rounds = 10_000
	}
	for range rounds {
		at, o := randomRequest(r)
		if _, err := planFormat(at, o); err != nil {
			if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) {
				t.Fatal(err)
			}
			continue
		}
		p, _ := mustPlan(t, at, o)
		made[p.Type]++
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
		a, errA := planFormat(at, o)
		b, errB := planFormat(at, o)
		if !reflect.DeepEqual(a, b) || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Fatalf("two plans of %+v %+v differ", at, o)
		}
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
