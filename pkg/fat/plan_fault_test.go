package fat

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

func ptr[T any](v T) *T { return &v }

// mustPlan plans, and holds the plan against all that every plan must be.
func mustPlan(t *testing.T, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry) {
	t.Helper()
	p, g, err := tryPlan(t, at, o)
	if err != nil {
		t.Fatalf("%s of %d bytes, options %s: %v", o.Type, at.Size, showOptions(o), err)
	}
	return p, g
}

// tryPlan is mustPlan for a request that may be refused.
func tryPlan(t *testing.T, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry, error) {
	t.Helper()
	p, err := planFormat(at, o)
	if err != nil {
		return nil, nil, err
	}
	g := planGeometry(t, p)
	if err := planFault(at, o, p, g); err != nil {
		t.Fatalf("%s of %d bytes at %d, sectors of %d, options %s: %v\n%+v", o.Type, at.Size, at.Offset, at.SectorSize, showOptions(o), err, g)
	}
	return p, g, nil
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
	b := planBootSector(p)
	if b == nil {
		t.Fatal("the plan writes no boot sector")
	}
	return b
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
		infoFault, optionFault, clusterFault, maximalFault, totalFault, stepFault,
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
	case o.ReservedSectors != nil && left >= int64(g.Fats):
		return fmt.Errorf("%d sectors are left out, which a longer FAT could take", left)
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

// stepFault: besides what holds for all plans, body and head leave no byte of
// the metadata out.
func stepFault(at vol.Target, _ vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	if err := voltest.StepFault(p, at.Size, g.SectorSize); err != nil {
		return err
	}
	body := int64(0)
	for _, s := range p.Steps {
		if s.Phase != vol.Wipe && s.End() > metadataEnd(g) {
			return fmt.Errorf("step %v reaches into the files", s.Range)
		}
		if s.Phase == vol.Body {
			body += s.Len
		}
	}
	if body != metadataEnd(g)-g.SectorSize {
		return fmt.Errorf("the body is %d bytes, should be %d", body, metadataEnd(g)-g.SectorSize)
	}
	return voltest.RegionFault(p, g.VolumeBytes())
}
