package fat

import (
	"strconv"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// formatRegions names the parts of a volume in order. They touch, and cover
// it to its last sector. FATs are counted from 0, as BPB_ExtFlags does ([FAT] "Boot
// Sector and BPB") and as all that this package says of them.
func formatRegions(g *Geometry) []vol.Region {
	rs := reservedRegions(g)
	to := func(name string, end int64) { rs = vol.AppendRegion(rs, name, end) }
	for i := range g.Fats {
		to("fat "+strconv.Itoa(i), g.FatOff(i+1))
	}
	to("root directory", g.DataOff())
	to("data", g.DataOff()+int64(g.Clusters)*g.ClusterSize())
	to("unused", g.VolumeBytes())
	return rs
}

// reservedRegions are those before the first FAT.
func reservedRegions(g *Geometry) []vol.Region {
	name := func(sector int64) string {
		switch {
		case sector == 0:
			return "boot sector"
		case g.Type != FAT32:
			return "reserved"
		case sector == g.FSInfoSector:
			return "fsinfo"
		case sector == g.BackupSector:
			return "backup boot sector"
		case sector == backupFSInfo(g):
			return "backup fsinfo"
		}
		return "reserved"
	}
	var rs []vol.Region
	for i := range g.Reserved {
		if n := len(rs); n > 0 && rs[n-1].Name == name(i) {
			rs[n-1].Len += g.SectorSize
			continue
		}
		rs = append(rs, vol.Region{Name: name(i), Range: dev.Range{Off: i * g.SectorSize, Len: g.SectorSize}})
	}
	return rs
}
