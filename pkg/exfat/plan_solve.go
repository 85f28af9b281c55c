package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// misfitKind is why there is no volume with a cluster size.
type misfitKind int

const (
	tooFew  misfitKind = iota // clusters for what every volume has
	tooMany                   // clusters
	tooFar                    // the FAT or the heap starts where 32 bits do not reach
)

// misfit is why, in numbers.
type misfit struct {
	kind     misfitKind
	cluster  int64 // bytes
	clusters int64 // that there would be
	needed   int64 // tooFew: the least that do
}

// layout is a new volume. Its heap begins with the bitmap, the up-case table
// and the root directory, in this order and without gaps.
type layout struct {
	Geometry
	bitmap uint32 // clusters
	upcase uint32 // clusters
}

// rootClusters is the length of a new root directory.
const rootClusters = 1

func (l *layout) used() uint32        { return l.bitmap + l.upcase + rootClusters }
func (l *layout) free() uint32        { return l.Clusters - l.used() }
func (l *layout) upcaseStart() uint32 { return firstCluster + l.bitmap }

// metadataEnd is where what a format must write ends: with the root directory.
func (l *layout) metadataEnd() int64 { return l.ClusterOff(l.RootCluster) + rootClusters*l.ClusterSize }

// layout lays out a volume with clusters of c bytes.
func (r *formatRequest) layout(c int64) (*layout, *misfit) {
	const farthest = 1<<32 - 1 // [exFAT] §3.1.5, §3.1.7: fields of 32 bits
	fat := r.aligned(2 * regionSectors)
	heap, n := r.heap(fat, c/r.sector)
	bitmap, upcase := vol.DivUp(vol.DivUp(n, 8), c), vol.DivUp(standardBytes, c)
	needed := bitmap + upcase + rootClusters + 1 // and one for files
	switch {
	case n > maxClusters:
		return nil, &misfit{kind: tooMany, cluster: c, clusters: n}
	case n < needed:
		return nil, &misfit{kind: tooFew, cluster: c, clusters: n, needed: max(needed, 4)}
	case heap > farthest:
		return nil, &misfit{kind: tooFar, cluster: c, clusters: n}
	}
	l := &layout{bitmap: uint32(bitmap), upcase: uint32(upcase)}
	l.Geometry = Geometry{
		SectorSize: r.sector, ClusterSize: c, VolumeSectors: r.total,
		FatOffset: fat, FatSectors: r.fatSectors(n), HeapOffset: heap,
		Clusters: uint32(n), RootCluster: l.upcaseStart() + l.upcase, Fats: 1, Revision: revision,
	}
	return l, nil
}

// fatSectors is how many sectors the FAT entries of n clusters take.
func (r *formatRequest) fatSectors(n int64) int64 {
	return vol.DivUp((n+firstCluster)*4, r.sector)
}

// aligned is the first sector of the volume, not before n, that is aligned on
// the disk.
func (r *formatRequest) aligned(n int64) int64 {
	return (vol.RoundUp(r.before+n*r.sector, r.align*r.sector) - r.before) / r.sector
}

// heap finds the first aligned sector at which the cluster heap can start with
// a FAT from sector fat on, and the number of clusters of per sectors there
// are from there on. That is also how many the FAT has entries for: [exFAT]
// §3.1.9 has ClusterCount be all that there is room for.
func (r *formatRequest) heap(fat, per int64) (start, clusters int64) {
	first := r.aligned(fat + 1)
	count := func(start int64) int64 { return max(r.total-start, 0) / per }
	steps := vol.DivUp(max(r.total-first, 0), r.align)
	k := vol.FirstWhere(steps, func(k int64) bool {
		start := first + k*r.align
		return fat+r.fatSectors(count(start)) <= start
	})
	start = first + k*r.align
	return start, count(start)
}
