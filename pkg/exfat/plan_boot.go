package exfat

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/dev"
)

const (
	revision   = 1 << 8 // §3.1.12: 1.00
	driveFixed = 0x80   // §3.1.17: as INT 13h numbers drives, the first fixed one
	hlt        = 0xF4   // §3.1.19: what fills BootCode where there is none
)

// bootRegion is a boot region of 12 sectors, [exFAT] §3; the main one and the
// backup are the same.
func (r *formatRequest) bootRegion(l *layout) []byte {
	s := r.sector
	b := make([]byte, regionSectors*s)
	r.putBoot(bootSector(b), l)
	for i := int64(sectorExtended); i < sectorExtended+extendedSectors; i++ {
		bootSector(b[(i+1)*s-4:]).put32(0, extendedSignature)
	}
	copy(b[sectorOEM*s:sectorReserved*s], oemParameters(r.t.Old))
	copy(b[sectorChecksum*s:], checksumSector(b[:sectorChecksum*s], s))
	return b
}

// putBoot writes the boot sector, [exFAT] §3.1. VolumeFlags are 0: the first
// FAT, clean, no media failures known.
func (r *formatRequest) putBoot(b bootSector, l *layout) {
	copy(b[offJumpBoot:], jumpBoot)
	copy(b[offFileSystemName:], fileSystemName)
	b.put64(offPartitionOffset, r.hidden)
	b.put64(offVolumeLength, uint64(l.VolumeSectors))
	b.put32(offFatOffset, uint32(l.FatOffset))
	b.put32(offFatLength, uint32(l.FatSectors))
	b.put32(offHeapOffset, uint32(l.HeapOffset))
	b.put32(offClusterCount, l.Clusters)
	b.put32(offRootCluster, l.RootCluster)
	b.put32(offSerial, r.serial)
	b.put16(offRevision, l.Revision)
	b[offSectorShift] = shift(l.SectorSize)
	b[offClusterShift] = shift(l.ClusterSize / l.SectorSize)
	b[offNumberOfFats] = byte(l.Fats)
	b[offDriveSelect] = driveFixed
	b[offPercentInUse] = l.percent(uint64(l.free()))
	for i := range lenBootCode {
		b[offBootCode+i] = hlt
	}
	b.put16(offBootSignature, bootSignature)
}

// shift is the power of two that n is.
func shift(n int64) (s byte) {
	for ; n > 1; n >>= 1 {
		s++
	}
	return s
}

// oemParameters is the OEM parameters sector of the exFAT volume on d, nil
// where there is none: [exFAT] §3.3 has a format keep what the maker of the
// medium wrote there. The ten parameters and what is reserved behind them are
// 512 bytes whatever the sector size. A region with a wrong checksum is not
// believed.
func oemParameters(d dev.Device) []byte {
	if d == nil {
		return nil
	}
	main, err := readMain(d)
	if err != nil {
		return nil
	}
	from := main
	if !main.whole() {
		if from = wholeBackup(d, main); from == nil {
			return nil
		}
	}
	s := from.g.SectorSize
	return bytes.Clone(from.raw[sectorOEM*s : sectorReserved*s])
}
