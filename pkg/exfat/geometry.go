package exfat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Limits of the specification.
const (
	minSectorShift  = 9          // [exFAT] §3.1.14
	maxSectorShift  = 12         //
	maxClusterShift = 25         // §3.1.15: clusters of at most 32 MiB
	minFatOffset    = 24         // §3.1.6: behind the two boot regions
	maxClusters     = 1<<32 - 11 // §3.1.9
	minVolume       = 1 << 20    // §3.1.5: 1 MiB
)

// Geometry is what a boot sector says, checked: all of it lies inside the
// volume and inside 64 bits. Bytes are from the start of the volume.
type Geometry struct {
	SectorSize    int64
	ClusterSize   int64
	VolumeSectors int64
	FatOffset     int64 // sectors
	FatSectors    int64
	HeapOffset    int64 // sectors
	Clusters      uint32
	RootCluster   uint32
	Fats          int
	Revision      uint16
}

// VolumeBytes is what the boot sector claims.
func (g *Geometry) VolumeBytes() int64 { return g.VolumeSectors * g.SectorSize }

// FatOff is where the FAT starts.
func (g *Geometry) FatOff() int64 { return g.FatOffset * g.SectorSize }

// FatBytes is the length of the FAT; EntryBytes what the entries take of it.
func (g *Geometry) FatBytes() int64   { return g.FatSectors * g.SectorSize }
func (g *Geometry) EntryBytes() int64 { return (int64(g.Clusters) + firstCluster) * 4 }

// HeapOff is where the cluster heap starts.
func (g *Geometry) HeapOff() int64 { return g.HeapOffset * g.SectorSize }

// Valid reports whether c is the number of a cluster.
func (g *Geometry) Valid(c uint32) bool { return c >= firstCluster && c-firstCluster < g.Clusters }

// Last is the highest number of a cluster.
func (g *Geometry) Last() uint32 { return g.Clusters + firstCluster - 1 }

// ClusterOff is where a cluster starts; c must be Valid.
func (g *Geometry) ClusterOff(c uint32) int64 {
	return g.HeapOff() + int64(c-firstCluster)*g.ClusterSize
}

// ClusterRange is n clusters from c on.
func (g *Geometry) ClusterRange(c, n uint32) dev.Range {
	return dev.Range{Off: g.ClusterOff(c), Len: int64(n) * g.ClusterSize}
}

// RegionBytes is the length of a boot region.
func (g *Geometry) RegionBytes() int64 { return regionSectors * g.SectorSize }

// ClustersFor is how many clusters n bytes take; ok is false if that is more
// than the heap has, whatever n is.
func (g *Geometry) ClustersFor(n uint64) (clusters uint32, ok bool) {
	c := n / uint64(g.ClusterSize)
	if n%uint64(g.ClusterSize) != 0 {
		c++
	}
	return uint32(min(c, 1<<32-1)), c <= uint64(g.Clusters)
}

// BitmapBytes is what the bitmap takes, [exFAT] §7.1.4: a bit a cluster.
func (g *Geometry) BitmapBytes() int64 { return (int64(g.Clusters) + 7) / 8 }

// fault is one field of a boot sector that cannot be, by slug of the
// catalogue.
type fault struct {
	slug      string
	off, len  int64
	got, want any
	detail    string
}

func (f *fault) Error() string {
	return fmt.Sprintf("%s (byte %d is %v)", f.detail, f.off, f.got)
}

// parseGeometry reads b, the first 512 bytes of a boot region, and returns the
// first fault that makes it unusable, or the geometry. Every product is made
// of fields that were bounded before, so none wraps. The device's size is for
// the caller to compare.
func parseGeometry(b bootSector) (*Geometry, *fault) {
	if !b.named() {
		return nil, &fault{slug: "boot-name", off: offFileSystemName, len: 8, got: fmt.Sprintf("%q", b[offFileSystemName:offMustBeZero]), detail: `FileSystemName must be "EXFAT   "`}
	}
	ss, cs := b[offSectorShift], b[offClusterShift]
	if ss < minSectorShift || ss > maxSectorShift {
		return nil, &fault{slug: "sector-size", off: offSectorShift, len: 1, got: ss, detail: "BytesPerSectorShift must be 9 to 12"}
	}
	if int(cs) > maxClusterShift-int(ss) {
		return nil, &fault{slug: "cluster-size", off: offClusterShift, len: 1, got: cs, detail: fmt.Sprintf("SectorsPerClusterShift must be at most %d", maxClusterShift-int(ss))}
	}
	g := &Geometry{SectorSize: 1 << ss, ClusterSize: 1 << (ss + cs), Fats: int(b[offNumberOfFats]), Revision: b.u16(offRevision),
		FatOffset: int64(b.u32(offFatOffset)), FatSectors: int64(b.u32(offFatLength)), HeapOffset: int64(b.u32(offHeapOffset)),
		Clusters: b.u32(offClusterCount), RootCluster: b.u32(offRootCluster)}
	if f := g.readVolume(b); f != nil {
		return nil, f
	}
	if f := g.checkOrder(); f != nil {
		return nil, f
	}
	return g, nil
}

// readVolume bounds the length of the volume, so that bytes fit 63 bits.
func (g *Geometry) readVolume(b bootSector) *fault {
	n := b.u64(offVolumeLength)
	if n > 1<<63/uint64(g.SectorSize)-1 {
		return &fault{slug: "volume-length", off: offVolumeLength, len: 8, got: n, detail: "VolumeLength is beyond 2^63 bytes"}
	}
	g.VolumeSectors = int64(n)
	if g.VolumeBytes() < minVolume {
		return &fault{slug: "volume-length", off: offVolumeLength, len: 8, got: n, detail: "VolumeLength is below 1 MiB"}
	}
	// §3.1.12: a major revision other than 1 is not for us to mount.
	if g.Revision>>8 != 1 || g.Revision&0xFF > 99 {
		return &fault{slug: "revision", off: offRevision, len: 2, got: fmt.Sprintf("%d.%02d", g.Revision>>8, g.Revision&0xFF), detail: "FileSystemRevision must be 1.00 to 1.99"}
	}
	if g.Fats != 1 {
		return &fault{slug: "fat-count", off: offNumberOfFats, len: 1, got: g.Fats, detail: "NumberOfFats must be 1; 2 is TexFAT, which no system in use mounts"}
	}
	return nil
}

// checkOrder bounds FAT and heap by one another and by the volume, §3.1.6 to
// §3.1.10.
func (g *Geometry) checkOrder() *fault {
	if g.FatOffset < minFatOffset {
		return &fault{slug: "fat-offset", off: offFatOffset, len: 4, got: g.FatOffset, detail: "FatOffset must be 24 or more: the boot regions lie before"}
	}
	if g.FatOffset+g.FatSectors > g.HeapOffset {
		return &fault{slug: "heap-offset", off: offHeapOffset, len: 4, got: g.HeapOffset, want: g.FatOffset + g.FatSectors, detail: "the cluster heap starts inside the FAT"}
	}
	if g.HeapOffset >= g.VolumeSectors {
		return &fault{slug: "heap-offset", off: offHeapOffset, len: 4, got: g.HeapOffset, detail: fmt.Sprintf("the cluster heap starts behind the volume of %d sectors", g.VolumeSectors)}
	}
	spc := g.ClusterSize / g.SectorSize
	fit := (g.VolumeSectors - g.HeapOffset) / spc
	if n := int64(g.Clusters); n < 1 || n > fit || n > maxClusters {
		return &fault{slug: "cluster-count", off: offClusterCount, len: 4, got: n, want: min(fit, maxClusters), detail: fmt.Sprintf("there is room for %d clusters", fit)}
	}
	if g.FatBytes() < g.EntryBytes() {
		return &fault{slug: "fat-length", off: offFatLength, len: 4, got: g.FatSectors, want: (g.EntryBytes() + g.SectorSize - 1) / g.SectorSize, detail: "the FAT has fewer entries than there are clusters"}
	}
	if !g.Valid(g.RootCluster) {
		return &fault{slug: "root-cluster", off: offRootCluster, len: 4, got: g.RootCluster, detail: fmt.Sprintf("the root directory must start in cluster 2 to %d", g.Last())}
	}
	return nil
}
