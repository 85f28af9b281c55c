package exfat

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	// describedEntries is how much of a root directory describe goes through,
	// bytes. The entries of the volume itself are at its start.
	describedEntries = 1 << 20
	// mostSpecial is how many of those entries it shows: there should be four.
	mostSpecial = 16
)

// describe is Driver.Describe.
func describe(d dev.Device) (vol.Info, error) {
	main, backup, err := readRegions(d)
	if err != nil {
		return vol.Info{}, err
	}
	r := usableRegion(main, backup)
	g := r.g
	info := newInfo(r.boot().u32(offSerial), g, rootLabel(d, g, describedEntries))
	info.Fields = bootFields(r)
	info.Fields = append(info.Fields, regionFields(main, backup)...)
	info.Fields = append(info.Fields, headFields(d, g)...)
	info.Fields = append(info.Fields, rootFields(d, g)...)
	vol.Explain(info.Fields, meanings())
	return info, nil
}

// newInfo is a volume in short.
func newInfo(serial uint32, g *Geometry, label string) vol.Info {
	return vol.Info{
		Type: "exfat", Label: label, ID: vol.SerialText(serial), Size: g.VolumeBytes(),
		SectorSize: int(g.SectorSize), ClusterSize: int(g.ClusterSize), Clusters: uint64(g.Clusters),
	}
}

// usableRegion is the better of two boot regions that readRegions has read.
func usableRegion(main, backup *region) *region {
	if !main.whole() && backup.whole() || main.g == nil {
		return backup
	}
	return main
}

// readRegions reads both boot regions. One of them has a geometry; where not
// that is vol.ErrDamaged if there is something of exFAT to be damaged, else
// vol.ErrNotVolume.
func readRegions(d dev.Device) (main, backup *region, err error) {
	main, err = readMain(d)
	if errors.Is(err, dev.ErrRange) {
		return nil, nil, fmt.Errorf("%w: %d bytes are less than a boot sector", vol.ErrNotVolume, d.Size())
	}
	if err != nil {
		return nil, nil, err
	}
	backup = readBackup(d, main)
	if main.g != nil || backup.whole() {
		return main, backup, nil
	}
	if main.err != nil {
		return nil, nil, main.err
	}
	kind := vol.ErrNotVolume
	if probe(d).Confidence > vol.No {
		kind = vol.ErrDamaged
	}
	if main.fault == nil {
		return nil, nil, fmt.Errorf("%w: the boot region is cut short", kind)
	}
	return nil, nil, fmt.Errorf("%w: boot sector: %w", kind, main.fault)
}

// bootFields are all fields of the boot sector of r, [exFAT] §3.1.
func bootFields(r *region) []vol.Field {
	b := r.boot()
	var fs []vol.Field
	add := func(name string, off int, v any) {
		fs = append(fs, vol.Field{Name: name, Offset: r.off + int64(off), Value: v})
	}
	add("JumpBoot", offJumpBoot, fmt.Sprintf("%#x", []byte(b[:len(jumpBoot)])))
	add("FileSystemName", offFileSystemName, string(b[offFileSystemName:offMustBeZero]))
	add("PartitionOffset", offPartitionOffset, b.u64(offPartitionOffset))
	add("VolumeLength", offVolumeLength, b.u64(offVolumeLength))
	add("FatOffset", offFatOffset, b.u32(offFatOffset))
	add("FatLength", offFatLength, b.u32(offFatLength))
	add("ClusterHeapOffset", offHeapOffset, b.u32(offHeapOffset))
	add("ClusterCount", offClusterCount, b.u32(offClusterCount))
	add("FirstClusterOfRootDirectory", offRootCluster, b.u32(offRootCluster))
	add("VolumeSerialNumber", offSerial, vol.SerialText(b.u32(offSerial)))
	add("FileSystemRevision", offRevision, fmt.Sprintf("%d.%02d", r.g.Revision>>8, r.g.Revision&0xFF))
	add("VolumeFlags", offVolumeFlags, hex(b.u16(offVolumeFlags)))
	add("BytesPerSectorShift", offSectorShift, b[offSectorShift])
	add("SectorsPerClusterShift", offClusterShift, b[offClusterShift])
	add("NumberOfFats", offNumberOfFats, b[offNumberOfFats])
	add("DriveSelect", offDriveSelect, hex(b[offDriveSelect]))
	add("PercentInUse", offPercentInUse, b[offPercentInUse])
	add("BootSignature", offBootSignature, hex(b.u16(offBootSignature)))
	return fs
}

func hex[T byte | uint16 | uint32](v T) string { return fmt.Sprintf("%#x", v) }

// regionFields are what each boot region has behind its boot sector: what the
// maker of the medium left there, and the checksum.
func regionFields(main, backup *region) []vol.Field {
	var fs []vol.Field
	for _, c := range []struct {
		name string
		r    *region
	}{{"Main", main}, {"Backup", backup}} {
		if c.r.raw == nil {
			continue
		}
		sector := int64(len(c.r.raw)) / regionSectors
		oem, sum := sectorOEM*sector, sectorChecksum*sector
		fs = append(fs,
			vol.Field{Name: c.name + " OEM Parameters", Offset: c.r.off + oem, Value: !dev.AllZero(c.r.raw[oem : oem+sector])},
			vol.Field{Name: c.name + " Boot Checksum", Offset: c.r.off + sum, Value: hex(binary.LittleEndian.Uint32(c.r.raw[sum:]))},
			vol.Field{Name: c.name + " Boot Checksum right", Offset: c.r.off + sum, Value: c.r.sumOK})
	}
	return fs
}

// headFields are the two entries of the FAT that belong to no cluster, if they
// are there: the device may end before.
func headFields(d dev.Device, g *Geometry) []vol.Field {
	var fs []vol.Field
	for c, name := range []string{"FatEntry[0]", "FatEntry[1]"} {
		if v, err := fatEntry(d, g, uint32(c)); err == nil {
			fs = append(fs, vol.Field{Name: name, Offset: g.FatOff() + 4*int64(c), Value: hex(v)})
		}
	}
	return fs
}

// fatEntry is the FAT entry of cluster c, for those who read only a few.
func fatEntry(d dev.Device, g *Geometry, c uint32) (uint32, error) {
	var b [4]byte
	_, err := d.ReadAt(b[:], g.FatOff()+4*int64(c))
	return binary.LittleEndian.Uint32(b[:]), err
}

// eachRootEntry calls fn with the entries of the root directory and where they
// are, up to its end, or to most bytes, or to where it cannot be read, until fn
// returns false.
func eachRootEntry(d dev.Device, g *Geometry, most int64, fn func(e entry, off int64) bool) {
	const piece = 64 << 10
	for c := g.RootCluster; g.Valid(c) && most > 0; {
		at := g.ClusterRange(c, 1)
		for at.Len > 0 && most > 0 {
			b := make([]byte, min(at.Len, most, piece))
			if _, err := d.ReadAt(b, at.Off); err != nil {
				return
			}
			for i := 0; i+entryLen <= len(b); i += entryLen {
				e := entry(b[i : i+entryLen])
				if e.isEnd() || !fn(e, at.Off+int64(i)) {
					return
				}
			}
			n := int64(len(b))
			at.Off, at.Len, most = at.Off+n, at.Len-n, most-n
		}
		next, err := fatEntry(d, g, c)
		if err != nil {
			return
		}
		c = next
	}
}

// rootLabel is the volume's label as the first most bytes of the root
// directory have it, "" for none.
func rootLabel(d dev.Device, g *Geometry, most int64) string {
	label := ""
	eachRootEntry(d, g, most, func(e entry, _ int64) bool {
		if e.kind() == typeLabel {
			label = labelText(e)
		}
		return e.kind() != typeLabel
	})
	return label
}

// labelText is the label in e. A count beyond the 11 units that there is room
// for cannot be, and counts as 11.
func labelText(e entry) string {
	u := make([]uint16, min(int(e[offLabelCount]), labelUnits))
	for i := range u {
		u[i] = e.u16(offLabel + 2*i)
	}
	return decodeUnits(u)
}

// rootFields are the fields of the entries in the root directory that describe
// the volume: bitmap, up-case table, label and GUID, [exFAT] §7.1, §7.2, §7.3
// and §7.5.
func rootFields(d dev.Device, g *Geometry) []vol.Field {
	var fs []vol.Field
	left := mostSpecial
	eachRootEntry(d, g, describedEntries, func(e entry, off int64) bool {
		add := func(name string, at int, v any) {
			fs = append(fs, vol.Field{Name: name, Offset: off + int64(at), Value: v})
		}
		switch e.kind() {
		case typeBitmap:
			add("Allocation Bitmap BitmapFlags", offBitmapFlags, hex(e[offBitmapFlags]))
			add("Allocation Bitmap FirstCluster", offFirstCluster, e.first())
			add("Allocation Bitmap DataLength", offDataLength, e.length())
		case typeUpcase:
			add("Up-case Table TableChecksum", offTableChecksum, hex(e.u32(offTableChecksum)))
			add("Up-case Table FirstCluster", offFirstCluster, e.first())
			add("Up-case Table DataLength", offDataLength, e.length())
		case typeLabel:
			add("Volume Label CharacterCount", offLabelCount, e[offLabelCount])
			add("Volume Label VolumeLabel", offLabel, labelText(e))
		case typeGUID:
			add("Volume GUID SetChecksum", offSetChecksum, hex(e.u16(offSetChecksum)))
			add("Volume GUID GeneralPrimaryFlags", offGUIDFlags, hex(e.u16(offGUIDFlags)))
			add("Volume GUID VolumeGuid", offGUID, swapGUID(uuid.UUID(e[offGUID:offGUID+len(uuid.UUID{})])).String())
		default:
			return true
		}
		left--
		return left > 0
	})
	return fs
}
