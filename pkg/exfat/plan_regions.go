package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// formatRegions names the parts of a volume in order. They touch, and cover it
// to its last sector.
func formatRegions(l *layout) []vol.Region {
	var rs []vol.Region
	to := func(name string, end int64) { rs = vol.AppendRegion(rs, name, end) }
	to("main boot region", l.RegionBytes())
	to("backup boot region", 2*l.RegionBytes())
	to("alignment", l.FatOff())
	to("fat", l.FatOff()+l.FatBytes())
	to("alignment", l.HeapOff())
	to("allocation bitmap", l.ClusterOff(l.upcaseStart()))
	to("up-case table", l.ClusterOff(l.RootCluster))
	to("root directory", l.metadataEnd())
	to("data", l.HeapOff()+int64(l.Clusters)*l.ClusterSize)
	to("unused", l.VolumeBytes())
	return rs
}
