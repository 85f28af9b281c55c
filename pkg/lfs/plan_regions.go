package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// formatRegions names the parts of a volume in order. They touch, and cover it
// to its last block.
func formatRegions(l *layout) []vol.Region {
	var rs []vol.Region
	to := func(name string, end int64) { rs = vol.AppendRegion(rs, name, end) }
	to("superblocks", superBlocks*l.BlockSize)
	to("alignment", l.BlockOff(l.CP))
	to("checkpoint packs", l.BlockOff(l.SIT))
	to("segment information table", l.BlockOff(l.NAT))
	to("node address table", l.BlockOff(l.SSA))
	to("segment summary area", l.BlockOff(l.Main))
	to("main area", int64(l.MainEnd())*l.BlockSize)
	to("unused", l.VolumeBytes())
	return rs
}
