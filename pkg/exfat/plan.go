package exfat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// planFormat is Driver.Plan: it lays out a new volume on t. Options that
// cannot be are vol.ErrUsage, a volume that cannot be vol.ErrRequest.
func planFormat(t vol.Target, o vol.FormatOptions) (*vol.Plan, error) {
	r, err := newFormatRequest(t, o)
	if err != nil {
		return nil, err
	}
	l, err := r.choose()
	if err != nil {
		return nil, err
	}
	p := &vol.Plan{
		Info:         newInfo(r.serial, &l.Geometry, decodeUnits(r.label)),
		FreeClusters: uint64(l.free()),
		Regions:      formatRegions(l),
		Warnings:     r.warnings(l),
		Steps:        vol.WipeSteps(t.Size),
	}
	region := r.bootRegion(l)
	p.Steps = append(p.Steps, r.bodySteps(l, region)...)
	p.Steps = append(p.Steps, headSteps(l, region)...)
	return p, nil
}

// bodySteps write everything between the boot sectors and the files. All that
// is not named is zeroed, and stays a hole where the device has holes: the
// bitmap of a large volume is hundreds of megabytes of zeros.
func (r *formatRequest) bodySteps(l *layout, region []byte) []vol.Step {
	table := standardUpcase()
	behindBoot := region[l.SectorSize:]
	backup := backupSector * l.SectorSize
	steps := vol.FillSteps(dev.Range{Off: l.SectorSize, Len: backup - l.SectorSize}, []vol.Piece{{Off: l.SectorSize, Data: behindBoot}})
	from := backup + l.SectorSize
	return append(steps, vol.FillSteps(dev.Range{Off: from, Len: l.metadataEnd() - from}, []vol.Piece{
		{Off: from, Data: behindBoot},
		{Off: l.FatOff(), Data: wholeSectors(l.chains(), l.SectorSize)},
		{Off: l.HeapOff(), Data: wholeSectors(l.usedBits(), l.SectorSize)},
		{Off: l.ClusterOff(l.upcaseStart()), Data: wholeSectors(table, l.SectorSize)},
		{Off: l.ClusterOff(l.RootCluster), Data: wholeSectors(r.rootEntries(l, table), l.SectorSize)},
	})...)
}

// headSteps write the boot sector and its copy in the backup region. The copy
// waits for the body as the boot sector does: recovery tools make a volume of
// either.
func headSteps(l *layout, region []byte) []vol.Step {
	b := region[:l.SectorSize]
	return []vol.Step{
		{Phase: vol.Head, Range: dev.Range{Len: l.SectorSize}, Data: b},
		{Phase: vol.Head, Range: dev.Range{Off: backupSector * l.SectorSize, Len: l.SectorSize}, Data: b},
	}
}

// wholeSectors is b with zeros behind it up to the end of a sector.
func wholeSectors(b []byte, sector int64) []byte {
	n := int64(len(b))
	return append(b, make([]byte, vol.RoundUp(n, sector)-n)...)
}

// warnings are what the user should know of a volume that is laid out all the
// same.
func (r *formatRequest) warnings(l *layout) []string {
	var ws []string
	if l.Clusters > recommendedClusters {
		ws = append(ws, fmt.Sprintf("%d clusters: the specification recommends at most %d; every mount reads a bitmap of %s, and the FAT takes %s",
			l.Clusters, recommendedClusters, vol.SizeText(l.BitmapBytes()), vol.SizeText(l.FatBytes())))
	}
	if device := int64(max(r.t.SectorSize, minSector)); l.SectorSize != device {
		ws = append(ws, fmt.Sprintf("sectors of %d bytes, and the device has %d: not all systems mount a volume whose sectors are not the device's",
			l.SectorSize, device))
	}
	return ws
}
