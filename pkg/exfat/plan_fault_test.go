package exfat

import (
	"bytes"
	"fmt"
	"math/bits"
	"reflect"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40
	pib = int64(1) << 50
)

func ptr[T any](v T) *T { return &v }

// mustPlan plans, and holds the plan against all that every plan must be.
func mustPlan(t testing.TB, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry) {
	t.Helper()
	p, g, err := tryPlan(t, at, o)
	if err != nil {
		t.Fatalf("%d bytes, options %s: %v", at.Size, showOptions(o), err)
	}
	return p, g
}

// tryPlan is mustPlan for a request that may be refused.
func tryPlan(t testing.TB, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry, error) {
	t.Helper()
	o.Type = "exfat"
	p, err := planFormat(at, o)
	if err != nil {
		return nil, nil, err
	}
	g, err := planFault(at, o, p)
	if err != nil {
		t.Fatalf("%d bytes at %d, sectors of %d, options %s: %v\n%+v", at.Size, at.Offset, at.SectorSize, showOptions(o), err, g)
	}
	return p, g, nil
}

func showOptions(o vol.FormatOptions) string {
	return fmt.Sprintf("-c %d -S %d --align %d -L %q", o.ClusterSize, o.SectorSize, o.Align, o.Label)
}

func planBoot(p *vol.Plan) bootSector { return bootSector(voltest.Planned(p, 0, bootSectorLen)) }

// planFault is the first thing that is wrong with p, and the geometry that its
// boot sector has.
func planFault(at vol.Target, o vol.FormatOptions, p *vol.Plan) (*Geometry, error) {
	g, f := parseGeometry(planBoot(p))
	if f != nil {
		return nil, fmt.Errorf("the boot sector does not parse: %w", f)
	}
	for _, check := range []func(vol.Target, vol.FormatOptions, *vol.Plan, *Geometry) error{
		infoFault, optionFault, orderFault, alignFault, stepFault, bootFault, heapFault,
	} {
		if err := check(at, o, p, g); err != nil {
			return g, err
		}
	}
	return g, nil
}

func infoFault(_ vol.Target, o vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	want := vol.Info{Type: "exfat", Label: o.Label, ID: vol.SerialText(planBoot(p).u32(offSerial)), Size: g.VolumeBytes(),
		SectorSize: int(g.SectorSize), ClusterSize: int(g.ClusterSize), Clusters: uint64(g.Clusters)}
	if !reflect.DeepEqual(p.Info, want) {
		return fmt.Errorf("Info is %+v, the boot sector says %+v", p.Info, want)
	}
	return nil
}

// optionFault: what was asked for is there exactly.
func optionFault(at vol.Target, o vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	b := planBoot(p)
	switch {
	case o.ClusterSize != 0 && g.ClusterSize != o.ClusterSize:
		return fmt.Errorf("cluster size is %d", g.ClusterSize)
	case o.SectorSize != 0 && g.SectorSize != o.SectorSize:
		return fmt.Errorf("sector size is %d", g.SectorSize)
	case o.SectorSize == 0 && g.SectorSize != int64(max(at.SectorSize, 512)):
		return fmt.Errorf("sector size is %d", g.SectorSize)
	case o.HiddenSectors != nil && b.u64(offPartitionOffset) != uint64(*o.HiddenSectors):
		return fmt.Errorf("partition offset is %d", b.u64(offPartitionOffset))
	case o.HiddenSectors == nil && b.u64(offPartitionOffset)*uint64(g.SectorSize) != uint64(at.Offset):
		return fmt.Errorf("partition offset is %d", b.u64(offPartitionOffset))
	case g.VolumeSectors != at.Size/g.SectorSize:
		return fmt.Errorf("%d sectors", g.VolumeSectors)
	}
	return nil
}

// orderFault: what parseGeometry lets pass and the specification does not,
// [exFAT] §3.1.7 and §3.1.9.
func orderFault(_ vol.Target, _ vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	fit := (g.VolumeSectors - g.HeapOffset) * g.SectorSize / g.ClusterSize
	switch {
	case int64(g.Clusters) != fit:
		return fmt.Errorf("%d clusters where there is room for %d", g.Clusters, fit)
	case g.FatSectors != (int64(g.Clusters)*4+8+g.SectorSize-1)/g.SectorSize:
		return fmt.Errorf("FAT of %d sectors for %d clusters", g.FatSectors, g.Clusters)
	case g.HeapOffset > 1<<32-1 || g.FatOffset > 1<<32-1:
		return fmt.Errorf("FAT at sector %d, heap at %d", g.FatOffset, g.HeapOffset)
	case planBoot(p).u32(offHeapOffset) != uint32(g.HeapOffset):
		return fmt.Errorf("the heap offset was cut off")
	}
	return nil
}

// planAlign is the alignment that FAT and heap are to have, told again in
// other words than defaultAlign.
func planAlign(at vol.Target, o vol.FormatOptions, g *Geometry) int64 {
	if o.Align != 0 {
		return o.Align
	}
	return max(min(mib, 1<<(bits.Len64(uint64(at.Size/64))-1)), g.SectorSize)
}

// alignFault: FAT and heap start at aligned bytes of the disk, and could start
// at no earlier one.
func alignFault(at vol.Target, o vol.FormatOptions, _ *vol.Plan, g *Geometry) error {
	before, align := at.Offset, planAlign(at, o, g)
	if before%g.SectorSize != 0 {
		before = 0
	}
	if (before+g.FatOff())%align != 0 || (before+g.HeapOff())%align != 0 {
		return fmt.Errorf("FAT at byte %d, heap at %d of the disk are not aligned to %d", before+g.FatOff(), before+g.HeapOff(), align)
	}
	if g.FatOff()-align >= 24*g.SectorSize {
		return fmt.Errorf("the FAT could start at byte %d", g.FatOff()-align)
	}
	earlier := g.HeapOff() - align
	n := (g.VolumeBytes() - earlier) / g.ClusterSize
	if earlier > g.FatOff() && g.FatOff()+((n+2)*4+g.SectorSize-1)/g.SectorSize*g.SectorSize <= earlier {
		return fmt.Errorf("the heap could start at byte %d, with %d clusters", earlier, n)
	}
	return nil
}

// planUsed is how many clusters bitmap, up-case table and root directory take.
func planUsed(g *Geometry) (bitmap, upcase, all int64) {
	up := func(n int64) int64 { return (n + g.ClusterSize - 1) / g.ClusterSize }
	bitmap, upcase = up(g.BitmapBytes()), up(5836)
	return bitmap, upcase, bitmap + upcase + 1
}

// stepFault: besides what holds for all plans, body and head leave no byte of
// the metadata out, nor write one behind it.
func stepFault(at vol.Target, _ vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	if err := voltest.StepFault(p, at.Size, g.SectorSize); err != nil {
		return err
	}
	_, _, used := planUsed(g)
	metadata := g.HeapOff() + used*g.ClusterSize
	covered, data := int64(0), int64(0)
	for _, s := range p.Steps {
		if s.Phase == vol.Wipe {
			continue
		}
		covered += s.Len
		data += int64(len(s.Data))
		if s.End() > metadata {
			return fmt.Errorf("step %v reaches into the files", s.Range)
		}
	}
	if covered != metadata {
		return fmt.Errorf("%d bytes are covered, should be %d", covered, metadata)
	}
	// 4 bytes of FAT and a bit for each cluster in use, and what all have.
	if most := used*4 + used/8 + 32*g.SectorSize + 5836; data > most {
		return fmt.Errorf("%d bytes of data, should be at most %d", data, most)
	}
	return voltest.RegionFault(p, g.VolumeBytes())
}

// bootFault: both boot regions are the same and whole, [exFAT] §3.
func bootFault(at vol.Target, _ vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	s := g.SectorSize
	main, backup := voltest.Planned(p, 0, 12*s), voltest.Planned(p, 12*s, 12*s)
	if !bytes.Equal(main, backup) {
		return fmt.Errorf("the boot regions differ")
	}
	var sum uint32
	for i, b := range main[:11*s] {
		if i != 106 && i != 107 && i != 112 {
			sum = (sum<<31 | sum>>1) + uint32(b)
		}
	}
	want := bytes.Repeat([]byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)}, int(s/4))
	if !bytes.Equal(main[11*s:], want) {
		return fmt.Errorf("the checksum sector begins with % x, should with % x", main[11*s:][:4], want[:4])
	}
	for i := int64(1); i <= 8; i++ {
		if !bytes.Equal(main[i*s+s-4:(i+1)*s], []byte{0, 0, 0x55, 0xAA}) || len(bytes.Trim(main[i*s:(i+1)*s-4], "\x00")) != 0 {
			return fmt.Errorf("extended boot sector %d is not empty and signed", i)
		}
	}
	if rest := main[9*s : 11*s]; at.Old == nil && len(bytes.Trim(rest, "\x00")) != 0 {
		return fmt.Errorf("the OEM parameters or the reserved sector are not empty")
	}
	_, _, used := planUsed(g)
	if got, want := main[112], byte(used*100/int64(g.Clusters)); got != want {
		return fmt.Errorf("PercentInUse is %d, should be %d", got, want)
	}
	if !bytes.Equal(main[:11], []byte("\xEB\x76\x90EXFAT   ")) || !bytes.Equal(main[510:512], []byte{0x55, 0xAA}) ||
		main[110] != 1 || main[111] != 0x80 || main[104] != 0 || main[105] != 1 || len(bytes.Trim(main[120:510], "\xF4")) != 0 ||
		len(bytes.Trim(main[11:64], "\x00")) != 0 || len(bytes.Trim(main[113:120], "\x00")) != 0 || main[106] != 0 || main[107] != 0 {
		return fmt.Errorf("the boot sector is\n% x", main[:512])
	}
	return nil
}

// heapFault: FAT, bitmap, up-case table and root directory say the same.
func heapFault(_ vol.Target, o vol.FormatOptions, p *vol.Plan, g *Geometry) error {
	bitmap, upcase, used := planUsed(g)
	if p.FreeClusters != uint64(int64(g.Clusters)-used) {
		return fmt.Errorf("%d clusters free, %d of %d in use", p.FreeClusters, used, g.Clusters)
	}
	if int64(g.RootCluster) != 2+bitmap+upcase {
		return fmt.Errorf("the root directory is in cluster %d", g.RootCluster)
	}
	fat := voltest.Planned(p, g.FatOff(), 4*(used+2)+4)
	for c, want := range map[int64]uint32{0: 0xFFFFFFF8, 1: 0xFFFFFFFF, 1 + bitmap: 0xFFFFFFFF, 1 + bitmap + upcase: 0xFFFFFFFF, 1 + used: 0xFFFFFFFF, 2 + used: 0} {
		if got := entry(fat).u32(int(4 * c)); got != want && (c != 2+used || g.EntryBytes() > 4*c) {
			return fmt.Errorf("FAT entry %d is %#x, should be %#x", c, got, want)
		}
	}
	for c := int64(2); c < 2+used; c++ {
		if got := entry(fat).u32(int(4 * c)); got != uint32(c+1) && got != 0xFFFFFFFF {
			return fmt.Errorf("FAT entry %d is %#x", c, got)
		}
	}
	bits := voltest.Planned(p, g.HeapOff(), (used+7)/8+1)
	for i := range used + 8 - used%8 {
		if got := bits[i/8]>>(i%8)&1 == 1; got != (i < used) {
			return fmt.Errorf("bit %d of %d is %v", i, used, got)
		}
	}
	if got := voltest.Planned(p, g.ClusterOff(uint32(2+bitmap)), 5836); !bytes.Equal(got, standardUpcase()) {
		return fmt.Errorf("another up-case table")
	}
	return rootFault(o, voltest.Planned(p, g.ClusterOff(g.RootCluster), 512), g)
}

// rootFault: the root directory has the entries that it must, and no others.
func rootFault(o vol.FormatOptions, root []byte, g *Geometry) error {
	kinds := []byte{0x83, 0x81, 0x82}
	if o.Label == "" {
		kinds[0] = 0x03
	}
	if o.VolumeGUID != "" {
		kinds = append(kinds, 0xA0)
	}
	for i, k := range kinds {
		if root[i*32] != k {
			return fmt.Errorf("root entry %d is of type %#x, should be %#x", i, root[i*32], k)
		}
	}
	if end := len(kinds) * 32; len(bytes.Trim(root[end:], "\x00")) != 0 {
		return fmt.Errorf("the root directory goes on at byte %d", end)
	}
	b, u := entry(root[32:64]), entry(root[64:96])
	switch {
	case labelText(entry(root[:32])) != o.Label:
		return fmt.Errorf("label %q", labelText(entry(root[:32])))
	case b.first() != 2 || b.length() != uint64(g.Clusters+7)/8 && g.Clusters < 1<<32-8 || b[1] != 0:
		return fmt.Errorf("bitmap entry % x", b)
	case u.first() != g.RootCluster-uint32((5836+g.ClusterSize-1)/g.ClusterSize) || u.length() != 5836 || u.u32(4) != 0xE619D30D:
		return fmt.Errorf("up-case entry % x", u)
	case o.VolumeGUID != "" && setChecksum(root[96:128]) != entry(root[96:128]).u16(2):
		return fmt.Errorf("GUID entry % x", root[96:128])
	}
	return nil
}
