package fat

import (
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// describe is Driver.Describe.
func describe(d dev.Device) (vol.Info, error) {
	b, g, err := readBoot(d)
	if err != nil {
		return vol.Info{}, err
	}
	info := newInfo(b, g, rootLabel(d, g))
	info.Fields = bootFields(b, g)
	f, err := readFSInfo(d, g)
	if err != nil {
		return vol.Info{}, err
	}
	if f != nil {
		info.Fields = append(info.Fields, fsInfoFields(f, g.FSInfoSector*g.SectorSize)...)
	}
	info.Fields = append(info.Fields, headFields(d, g)...)
	vol.Explain(info.Fields, meanings())
	return info, nil
}

// newInfo is what the boot sector says; label is that of the root directory,
// nil for none.
func newInfo(b bootSector, g *Geometry, label []byte) vol.Info {
	info := vol.Info{
		Type: g.Type.String(), Label: labelOf(b, label), Size: g.VolumeBytes(),
		SectorSize: int(g.SectorSize), ClusterSize: int(g.ClusterSize()), Clusters: uint64(g.Clusters),
	}
	if b.hasExt() {
		info.ID = vol.SerialText(b.serial())
	}
	return info
}

// labelOf is the label of a volume: that of the root directory, else that of
// the boot sector unless it says that there is none ([FAT] BS_VolLab).
func labelOf(b bootSector, root []byte) string {
	if root != nil {
		return labelText(root)
	}
	if s := labelText(b.label()); b.hasExt() && s != noName {
		return s
	}
	return ""
}

// rootLabel is the label entry of the root directory, nil where there is none
// or the directory cannot be read.
func rootLabel(d dev.Device, g *Geometry) []byte {
	ds, err := newFolders(d, g, newTable(d, g, g.ActiveFat), stamp{}, dosPage())
	if err != nil {
		return nil
	}
	return labelAmong(ds.root.used())
}

// firstLabel looks for the label in the first sectors of the root alone, where
// those who format put it.
func firstLabel(d dev.Device, g *Geometry) []byte {
	const most = 4096
	off, n := g.RootOff(), g.RootBytes()
	if g.Type == FAT32 {
		off, n = g.ClusterOff(g.RootCluster), g.ClusterSize()
	}
	slots := make([]byte, min(n, most))
	if _, err := d.ReadAt(slots, off); err != nil {
		return nil
	}
	end := 0
	for end < len(slots)/entryLen && !dirEntry(slots[end*entryLen:][:entryLen]).isEnd() {
		end++
	}
	return labelAmong(slots[:end*entryLen])
}

// labelAmong is the name of the first label entry among slots in use.
func labelAmong(slots []byte) (label []byte) {
	eachEntry(slots, func(n namedEntry) bool {
		if n.e.isVolume() {
			label = append([]byte(nil), n.e.name()...)
		}
		return label == nil
	})
	return label
}

// bootFields are all fields of the boot sector, [FAT] "Boot Sector and BPB".
func bootFields(b bootSector, g *Geometry) []vol.Field {
	var fs []vol.Field
	add := func(name string, off int, v any) {
		fs = append(fs, vol.Field{Name: name, Offset: int64(off), Value: v})
	}
	text := func(p []byte) string { return strings.TrimRight(labelText(p), " ") }
	add("BS_jmpBoot", offJump, hex(uint32(b[0])<<16|uint32(b[1])<<8|uint32(b[2])))
	add("BS_OEMName", offOEM, text(b[offOEM:offOEM+8]))
	add("BPB_BytsPerSec", offBytsPerSec, b.u16(offBytsPerSec))
	add("BPB_SecPerClus", offSecPerClus, b.u8(offSecPerClus))
	add("BPB_RsvdSecCnt", offRsvdSecCnt, b.u16(offRsvdSecCnt))
	add("BPB_NumFATs", offNumFATs, b.u8(offNumFATs))
	add("BPB_RootEntCnt", offRootEntCnt, b.u16(offRootEntCnt))
	add("BPB_TotSec16", offTotSec16, b.u16(offTotSec16))
	add("BPB_Media", offMedia, hex(b.u8(offMedia)))
	add("BPB_FATSz16", offFATSz16, b.u16(offFATSz16))
	add("BPB_SecPerTrk", offSecPerTrk, b.u16(offSecPerTrk))
	add("BPB_NumHeads", offNumHeads, b.u16(offNumHeads))
	add("BPB_HiddSec", offHiddSec, b.u32(offHiddSec))
	add("BPB_TotSec32", offTotSec32, b.u32(offTotSec32))
	if g.Type == FAT32 {
		add("BPB_FATSz32", offFATSz32, b.u32(offFATSz32))
		add("BPB_ExtFlags", offExtFlags, hex(b.u16(offExtFlags)))
		add("BPB_FSVer", offFSVer, hex(b.u16(offFSVer)))
		add("BPB_RootClus", offRootClus, b.u32(offRootClus))
		add("BPB_FSInfo", offFSInfo, b.u16(offFSInfo))
		add("BPB_BkBootSec", offBkBootSec, b.u16(offBkBootSec))
	}
	add("BS_DrvNum", b.off(offDrvNum16, offDrvNum32), hex(b[b.off(offDrvNum16, offDrvNum32)]))
	add("BS_Reserved1", b.off(offFlags16, offFlags32), hex(b.state()))
	add("BS_BootSig", b.off(offBootSig16, offBootSig32), hex(b[b.off(offBootSig16, offBootSig32)]))
	add("BS_VolID", b.off(offVolID16, offVolID32), vol.SerialText(b.serial()))
	add("BS_VolLab", b.off(offVolLab16, offVolLab32), labelText(b.label()))
	add("BS_FilSysType", b.off(offFilSysTy16, offFilSysTy32), text(b.fsType()))
	add("Signature_word", offSignature, hex(b.u16(offSignature)))
	return fs
}

// fsInfoFields are the fields of the FSInfo sector at byte off.
func fsInfoFields(f fsInfo, off int64) []vol.Field {
	return []vol.Field{
		{Name: "FSI_LeadSig", Offset: off + offFSILead, Value: hex(f.u32(offFSILead))},
		{Name: "FSI_StrucSig", Offset: off + offFSIStruct, Value: hex(f.u32(offFSIStruct))},
		{Name: "FSI_Free_Count", Offset: off + offFSIFree, Value: f.free()},
		{Name: "FSI_Nxt_Free", Offset: off + offFSINext, Value: f.next()},
		{Name: "FSI_TrailSig", Offset: off + offFSITrail, Value: hex(f.u32(offFSITrail))},
	}
}

// headFields are the two entries of each FAT, counted from 0, that belong to no
// cluster, as far as they are there: the device may end before.
func headFields(d dev.Device, g *Geometry) []vol.Field {
	var fs []vol.Field
	for k := range g.Fats {
		t := newTable(d, g, k)
		for c, name := range []string{"[0]", "[1]"} {
			v, err := t.raw(uint32(c))
			if err != nil {
				continue
			}
			fs = append(fs, vol.Field{
				Name:   fmt.Sprintf("FAT %d%s", k, name),
				Offset: g.FatOff(k) + int64(c)*int64(g.Type)/8, Value: hex(v),
			})
		}
	}
	return fs
}
