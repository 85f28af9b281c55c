package fat

import "github.com/fatkit/fatkit/pkg/vol"

// bounds are the cluster counts that a format makes, inclusive.
type bounds struct{ lo, hi int64 }

// boundaryGap: [FAT] "FAT Type Determination", systems compute the boundary
// between the types a few clusters off, so a format stays more than 16 clusters
// away from it.
const boundaryGap = 17

func clusterBounds(t Type) bounds {
	switch t {
	case FAT12:
		return bounds{1, maxFAT12 - boundaryGap}
	case FAT16:
		return bounds{maxFAT12 + boundaryGap, maxFAT16 - boundaryGap}
	default:
		return bounds{maxFAT16 + boundaryGap, maxFAT32}
	}
}

// misfitKind is why there is no volume of a type and cluster size.
type misfitKind int

const (
	tooFew  misfitKind = iota // clusters, or none at all
	tooMany                   // clusters
	unaligned
)

// misfit is why, in numbers.
type misfit struct {
	kind     misfitKind
	cluster  int64 // bytes
	clusters int64 // that there would be
	reserved int64 // unaligned: the number of reserved sectors that would do, 0 for none
}

// solver finds the layout with the most clusters, for one type and cluster
// size.
type solver struct {
	g        Geometry
	reserved int64 // sectors: the least, or the number asked for
	exact    bool
	align    int64 // bytes, of the data area; 0 for none
	before   int64 // bytes of the disk before the volume
}

// layout lays out a volume of type t with clusters of c bytes.
func (r *formatRequest) layout(t Type, c int64) (*Geometry, *misfit) {
	s := r.solver(t, c)
	most := s.most()
	want := clusterBounds(t)
	// A count a trifle too high is lowered: a FAT16 of 2 GiB, the largest with
	// clusters that all systems read, would have 19 clusters too many.
	n := most
	if n > want.hi && n <= want.hi+r.spareClusters(t) {
		n = want.hi
	}
	if n > want.hi {
		return nil, &misfit{kind: tooMany, cluster: c, clusters: n}
	}
	if n < want.lo {
		return nil, &misfit{kind: tooFew, cluster: c, clusters: n}
	}
	s.settle(n, n < most)
	g := &s.g
	if g.Reserved > maxReserved {
		return nil, &misfit{kind: unaligned, cluster: c}
	}
	if a := r.o.Align; a != 0 && (r.t.Offset+g.DataOff())%a != 0 {
		return nil, &misfit{kind: unaligned, cluster: c, reserved: r.reservedFor(t, c)}
	}
	if t == FAT32 {
		placeReserved(g)
	}
	return g, nil
}

// spareClusters is how many clusters a volume may do without to be of type t:
// at most 0.4 % of a FAT12, 0.1 % of a FAT16. Where the cluster size is ours
// to choose, only FAT16 does without, whose tables reach up to the limit.
func (r *formatRequest) spareClusters(t Type) int64 {
	switch {
	case t == FAT16:
		return 64
	case r.cluster == 0:
		return 0
	}
	return boundaryGap
}

// reservedFor is the number of reserved sectors that meets --align.
func (r *formatRequest) reservedFor(t Type, c int64) int64 {
	if r.o.ReservedSectors == nil {
		return 0
	}
	free := *r
	free.o.ReservedSectors = nil
	if g, m := free.layout(t, c); m == nil {
		return g.Reserved
	}
	return 0
}

func (r *formatRequest) solver(t Type, c int64) *solver {
	s := &solver{
		g: Geometry{
			Type: t, SectorSize: r.sector, SectorsPerCluster: c / r.sector, Fats: r.fats,
			RootEntries: r.rootEntries(t), TotalSectors: r.total, Media: r.media(t), Mirrored: true,
		},
		reserved: 1, before: r.t.Offset,
	}
	// [FAT] BPB_RsvdSecCnt: 1 on FAT12 and FAT16, typically 32 on FAT32.
	if t == FAT32 {
		s.reserved, s.g.RootCluster = 32, firstCluster
	}
	if n := r.o.ReservedSectors; n != nil {
		s.reserved, s.exact = *n, true
		return s
	}
	if s.align = r.o.Align; s.align == 0 {
		s.align = r.defaultAlign(t, c)
	}
	if s.before%r.sector != 0 {
		s.align = 0 // nothing in the volume is aligned then; layout refuses what was asked for
	}
	return s
}

// defaultAlign is the cluster size: then no cluster straddles more physical
// sectors, flash pages or RAID chunks than it must. It is less where that
// would take more than 1/512 of the volume, and nothing on FAT12: much of what
// reads that takes for granted that 1 sector is reserved, as [FAT]
// BPB_RsvdSecCnt warns.
func (r *formatRequest) defaultAlign(t Type, c int64) int64 {
	if t == FAT12 {
		return 0
	}
	for c > r.sector && c > r.t.Size/512 {
		c /= 2
	}
	return c
}

// fatSectors is how many sectors the FAT entries of n clusters take.
func (s *solver) fatSectors(n int64) int64 {
	return (entryBytes(s.g.Type, n+firstCluster) + s.g.SectorSize - 1) / s.g.SectorSize
}

// start is the first sector of the data area behind FATs of f sectors.
func (s *solver) start(f int64) int64 {
	at := s.reserved + int64(s.g.Fats)*f + vol.RoundUp(s.g.RootBytes(), s.g.SectorSize)/s.g.SectorSize
	if s.align == 0 {
		return at
	}
	return (vol.RoundUp(s.before+at*s.g.SectorSize, s.align) - s.before) / s.g.SectorSize
}

// most is the largest number of clusters that has room together with the FATs
// that it needs. (The formula in [FAT] "FAT Type Determination" gives FATs
// that are a few sectors longer than that.)
func (s *solver) most() int64 {
	per := s.g.SectorsPerCluster
	fits := func(n int64) bool { return s.start(s.fatSectors(n))+n*per <= s.g.TotalSectors }
	return vol.FirstWhere(s.g.TotalSectors/per, func(n int64) bool { return !fits(n + 1) })
}

// settle fixes the layout for n clusters, which is most() unless fewer is set.
// Readers compute the count from the sectors that are left for data, so these
// must not be enough for one more.
func (s *solver) settle(n int64, fewer bool) {
	g := &s.g
	g.Clusters = uint32(n)
	g.FatSectors = s.fatSectors(n)
	start := s.start(g.FatSectors)
	need := n * g.SectorsPerCluster
	spare := (g.TotalSectors - start - need) / g.SectorsPerCluster * g.SectorsPerCluster
	switch longer := s.start(g.FatSectors + 1); {
	case spare == 0:
	case fewer:
		g.TotalSectors = start + need
	case longer+need <= g.TotalSectors:
		// The FAT is full to the last entry, and one more cluster would not
		// have room with a longer one: take the longer one all the same.
		g.FatSectors++
		start = longer
	case !s.exact && (s.align == 0 || spare*g.SectorSize%s.align == 0):
		start += spare
	default:
		g.TotalSectors = start + need
	}
	g.Reserved = start - vol.RoundUp(g.RootBytes(), g.SectorSize)/g.SectorSize - int64(g.Fats)*g.FatSectors
}
