package fat

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Cluster numbers 0 and 1 are the two reserved entries of the FAT; data
// clusters start at 2.
const firstCluster = vol.FirstCluster

// Cluster-count bounds, [FAT] "FAT Type Determination". A volume is FAT12
// below maxFAT12, FAT16 below maxFAT16, else FAT32.
const (
	maxFAT12   = 4085
	maxFAT16   = 65525
	maxFAT32   = 0x0FFFFFF5 // clusters: the highest number is below the BAD mark 0x0FFFFFF7
	maxCluster = 128 << 10  // bytes a cluster that any reader in use takes
)

// Geometry is what a boot sector says, checked: every offset and size here is
// inside 64 bits and inside the volume. Bytes are from the start of the
// volume.
type Geometry struct {
	Type              Type
	SectorSize        int64
	SectorsPerCluster int64
	Reserved          int64 // sectors before the first FAT
	Fats              int
	FatSectors        int64
	RootEntries       int64 // FAT12, FAT16
	RootCluster       uint32
	TotalSectors      int64
	Clusters          uint32 // data clusters; their numbers are 2 … Clusters+1
	Media             byte
	ActiveFat         int  // the FAT that counts
	Mirrored          bool // changes go to all FATs
	FSInfoSector      int64
	BackupSector      int64

	activeBad bool  // BPB_ExtFlags names a FAT that is not there
	claimed   int64 // clusters that the sizes give, before the FAT limits them
}

// clip lowers the cluster count to what lies within size bytes. Even the first
// cluster may be gone: then it is 0.
func (g *Geometry) clip(size int64) {
	fit := max(0, (size-g.DataOff())/g.ClusterSize())
	g.Clusters = uint32(min(int64(g.Clusters), fit))
}

// ClusterSize in bytes.
func (g *Geometry) ClusterSize() int64 { return g.SectorSize * g.SectorsPerCluster }

// FatBytes is the length of one FAT.
func (g *Geometry) FatBytes() int64 { return g.FatSectors * g.SectorSize }

// FatOff is where FAT number n starts.
func (g *Geometry) FatOff(n int) int64 { return (g.Reserved + int64(n)*g.FatSectors) * g.SectorSize }

// RootOff and RootBytes are the fixed root directory of FAT12 and FAT16.
func (g *Geometry) RootOff() int64 { return g.FatOff(g.Fats) }

// RootBytes is the length of the fixed root, without the padding of its last
// sector.
func (g *Geometry) RootBytes() int64 { return g.RootEntries * entryLen }

// DataOff is where cluster 2 starts.
func (g *Geometry) DataOff() int64 {
	return g.RootOff() + vol.RoundUp(g.RootBytes(), g.SectorSize)
}

// VolumeBytes is what the boot sector claims.
func (g *Geometry) VolumeBytes() int64 { return g.TotalSectors * g.SectorSize }

// Valid reports whether c is the number of a data cluster.
func (g *Geometry) Valid(c uint32) bool {
	return c >= firstCluster && c-firstCluster < g.Clusters
}

// Last is the highest number of a data cluster.
func (g *Geometry) Last() uint32 { return g.Clusters + 1 }

// ClusterOff is where a data cluster starts; c must be Valid.
func (g *Geometry) ClusterOff(c uint32) int64 {
	return g.DataOff() + int64(c-firstCluster)*g.ClusterSize()
}

// ClusterRange is n clusters from c on.
func (g *Geometry) ClusterRange(c, n uint32) dev.Range {
	return dev.Range{Off: g.ClusterOff(c), Len: int64(n) * g.ClusterSize()}
}

// locator says where extents, in cluster numbers, lie.
func (g *Geometry) locator() vol.Locator {
	return func(e space.Extent) dev.Range { return g.ClusterRange(e.Start, e.Len) }
}

// rootRange is where the fixed root directory of FAT12 and FAT16 lies.
func (g *Geometry) rootRange() dev.Range {
	return dev.Range{Off: g.RootOff(), Len: vol.RoundUp(g.RootBytes(), g.SectorSize)}
}

// clustersFor is how many clusters a file of size bytes takes.
func (g *Geometry) clustersFor(size uint32) uint32 {
	return uint32((int64(size) + g.ClusterSize() - 1) / g.ClusterSize())
}

// entryBytes is how much of a FAT the entries 0 … Clusters+1 take.
func (g *Geometry) entryBytes() int64 { return entryBytes(g.Type, int64(g.Clusters)+2) }

// entryBytes is the length of n FAT entries of the type, rounded up.
func entryBytes(t Type, n int64) int64 { return (n*int64(t) + 7) / 8 }

// fault is one thing that is wrong with a boot sector. Slug is the row of the
// catalogue; fatal ones leave no Geometry.
type fault struct {
	slug      string
	off       int64 // of the field
	len       int64
	got, want any
	detail    string
}

func (f *fault) Error() string {
	s := f.detail
	if s == "" {
		s = f.slug
	}
	if f.got != nil {
		s += fmt.Sprintf(" (byte %d is %v)", f.off, f.got)
	}
	return s
}

// errBoot wraps the first fatal fault.
var errBoot = errors.New("not a usable FAT boot sector")

// parseGeometry reads b, the first 512 bytes of a volume. It returns the first
// fault that makes the sector unusable, or nil and the geometry. It does not
// compare with the size of the device: checks do, and a volume that is cut
// short can still be described.
func parseGeometry(b bootSector) (*Geometry, *fault) {
	g := &Geometry{Media: b.u8(offMedia), Mirrored: true}
	if f := g.readSizes(b); f != nil {
		return nil, f
	}
	if f := g.readTables(b); f != nil {
		return nil, f
	}
	return g.place(b)
}

func (g *Geometry) readSizes(b bootSector) *fault {
	bps := int64(b.u16(offBytsPerSec))
	// [FAT] BPB_BytsPerSec: 512, 1024, 2048 or 4096.
	if bps < 512 || bps > 4096 || bits.OnesCount64(uint64(bps)) != 1 {
		return &fault{slug: "sector-size", off: offBytsPerSec, len: 2, got: bps, detail: "bytes per sector must be 512, 1024, 2048 or 4096"}
	}
	spc := int64(b.u8(offSecPerClus))
	// [FAT] BPB_SecPerClus: a power of two, 1 to 128.
	if spc == 0 || bits.OnesCount64(uint64(spc)) != 1 {
		return &fault{slug: "cluster-size", off: offSecPerClus, len: 1, got: spc, detail: "sectors per cluster must be a power of two"}
	}
	if bps*spc > 4*maxCluster {
		return &fault{slug: "cluster-size", off: offSecPerClus, len: 1, got: spc, detail: fmt.Sprintf("a cluster of %d bytes is more than any reader takes", bps*spc)}
	}
	g.SectorSize, g.SectorsPerCluster = bps, spc
	g.Reserved = int64(b.u16(offRsvdSecCnt))
	// [FAT] BPB_RsvdSecCnt: must not be 0.
	if g.Reserved == 0 {
		return &fault{slug: "reserved-zero", off: offRsvdSecCnt, len: 2, got: 0, detail: "there must be at least one reserved sector"}
	}
	return nil
}

func (g *Geometry) readTables(b bootSector) *fault {
	g.Fats = int(b.u8(offNumFATs))
	// [FAT] BPB_NumFATs: any value of 1 or more; no reader takes more than 4.
	if g.Fats == 0 || g.Fats > 4 {
		return &fault{slug: "fat-count", off: offNumFATs, len: 1, got: g.Fats, detail: "the number of FATs must be 1 to 4"}
	}
	g.FatSectors = int64(b.u16(offFATSz16))
	if b.isFAT32() {
		g.FatSectors = int64(b.u32(offFATSz32))
	}
	if g.FatSectors == 0 {
		return &fault{slug: "fat-size-zero", off: offFATSz16, len: 2, got: 0, detail: "the FAT has no sectors"}
	}
	g.RootEntries = int64(b.u16(offRootEntCnt))
	g.TotalSectors = int64(b.u16(offTotSec16))
	if g.TotalSectors == 0 {
		g.TotalSectors = int64(b.u32(offTotSec32))
	}
	// 16 TiB with 4096-byte sectors is what 32 bits hold.
	if g.TotalSectors == 0 {
		return &fault{slug: "total-sectors-zero", off: offTotSec32, len: 4, got: 0, detail: "the total number of sectors is 0"}
	}
	return nil
}

// place computes where things lie and what type that makes.
func (g *Geometry) place(b bootSector) (*Geometry, *fault) {
	if b.isFAT32() {
		g.Type = FAT32
		g.readFAT32(b)
	} else if g.RootEntries == 0 {
		return nil, &fault{slug: "no-root", off: offRootEntCnt, len: 2, got: 0, detail: "a FAT12 or FAT16 volume must have root directory entries"}
	}
	data := g.TotalSectors - g.DataOff()/g.SectorSize
	clusters := data / g.SectorsPerCluster
	if data <= 0 || clusters < 1 {
		return nil, &fault{slug: "no-data-area", off: offTotSec32, len: 4, got: g.TotalSectors, detail: "the FATs and the root directory leave no room for a cluster"}
	}
	if g.Type == 0 {
		g.Type = FAT12
		if clusters >= maxFAT12 {
			g.Type = FAT16
		}
		if clusters >= maxFAT16 {
			return nil, &fault{slug: "too-many-clusters", off: offTotSec32, len: 4, got: clusters, detail: "a volume with a 16-bit FAT size must have fewer than 65525 clusters"}
		}
	}
	if clusters > maxFAT32 {
		clusters = maxFAT32
	}
	g.claimed = clusters
	// [FAT] the FAT must have an entry for each cluster. [Linux] takes as
	// many clusters as the FAT has entries for, and so do we.
	if clusters = min(clusters, g.FatBytes()*8/int64(g.Type)-firstCluster); clusters < 1 {
		return nil, &fault{slug: "fat-too-small", off: offFATSz16, len: 2, got: g.FatSectors, detail: "the FAT has no entry for any cluster"}
	}
	g.Clusters = uint32(clusters)
	if g.Type == FAT32 && !g.Valid(g.RootCluster) {
		return nil, &fault{slug: "root-cluster", off: offRootClus, len: 4, got: g.RootCluster, detail: fmt.Sprintf("the root directory must start in cluster 2 to %d", g.Last())}
	}
	return g, nil
}

func (g *Geometry) readFAT32(b bootSector) {
	// [FAT] BPB_RootEntCnt is 0 on FAT32. Linux would place the data area
	// behind a root of that size; mtools and Windows do not.
	g.RootEntries = 0
	g.RootCluster = b.u32(offRootClus)
	g.FSInfoSector = int64(b.u16(offFSInfo))
	g.BackupSector = int64(b.u16(offBkBootSec))
	flags := b.u16(offExtFlags)
	if flags&mirrorOff != 0 {
		g.Mirrored = false
		g.ActiveFat = int(flags & 0x0F)
		if g.ActiveFat >= g.Fats {
			// The field cannot be meant: every FAT is as good as the first.
			g.ActiveFat, g.Mirrored, g.activeBad = 0, true, true
		}
	}
}
