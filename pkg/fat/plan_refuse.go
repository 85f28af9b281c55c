package fat

import (
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// refuse says why there is no volume of type t, and what would work.
func (r *formatRequest) refuse(t Type, m *misfit) error {
	size := r.total * r.sector
	want := clusterBounds(t)
	var why string
	switch {
	case m.kind == unaligned && r.o.ReservedSectors != nil:
		why = fmt.Sprintf("with %d reserved sectors the data area does not start at a multiple of %s", *r.o.ReservedSectors, vol.SizeText(r.o.Align))
		if m.reserved != 0 {
			why += fmt.Sprintf("; use --reserved-sectors %d", m.reserved)
		}
		return vol.Refusef("%s", why)
	case m.kind == unaligned && r.t.Offset%r.sector != 0:
		return vol.Refusef("the volume starts at byte %d of the disk, between two sectors: nothing in it can be aligned", r.t.Offset)
	case m.kind == unaligned:
		return vol.Refusef("to start the data area at a multiple of %s takes more than %d reserved sectors", vol.SizeText(r.o.Align), maxReserved)
	case m.clusters == 0:
		why = fmt.Sprintf("%s has no room for a %s with clusters of %s", vol.SizeText(size), t, vol.SizeText(m.cluster))
	case m.kind == tooFew:
		why = fmt.Sprintf("a %s must have at least %d clusters, and %s has %d of %s", t, want.lo, vol.SizeText(size), m.clusters, vol.SizeText(m.cluster))
	default:
		why = fmt.Sprintf("a %s can have at most %d clusters, and %s has %d of %s", t, want.hi, vol.SizeText(size), m.clusters, vol.SizeText(m.cluster))
	}
	if ways := r.ways(t, m); len(ways) > 0 {
		why += ": use " + strings.Join(ways, ", or ")
	}
	return vol.Refusef("%s", why)
}

// ways are changes to the request of which each makes it work.
func (r *formatRequest) ways(t Type, m *misfit) []string {
	var ways []string
	if w := r.otherClusters(t); w != "" {
		ways = append(ways, w)
	}
	if w := r.otherSize(t, m); w != "" {
		ways = append(ways, w)
	}
	if r.o.Type != "fat" {
		for _, other := range []Type{FAT12, FAT16, FAT32} {
			if other != t && r.fits(other) {
				ways = append(ways, "-t "+other.String())
			}
		}
	}
	if s := r.otherSector(t, m); s != 0 {
		ways = append(ways, "-S "+vol.SizeFlag(s))
	}
	return ways
}

func (r *formatRequest) fits(t Type) bool {
	if r.allows(t) != nil {
		return false
	}
	_, m := r.fit(t)
	return m == nil
}

// otherClusters names the cluster sizes that would do, where one was given.
func (r *formatRequest) otherClusters(t Type) string {
	if r.cluster == 0 {
		return ""
	}
	return vol.ClusterFlag(r.sector, r.largestCluster(), func(c int64) bool {
		_, m := r.layout(t, c)
		return m == nil
	})
}

// otherSize is the least or the greatest size that would do with the other
// options as they are.
func (r *formatRequest) otherSize(t Type, m *misfit) string {
	c := r.cluster
	if c == 0 && m.kind == tooFew {
		c = r.sector
	} else if c == 0 {
		c = r.largestCluster()
	}
	at := func(total int64) *misfit {
		q := *r
		q.total, q.t.Size = total, total*r.sector
		_, got := q.layout(t, c)
		return got
	}
	if m.kind == tooFew {
		least := vol.FirstWhere(maxTotal, func(n int64) bool { got := at(n); return got == nil || got.kind != tooFew })
		unit, name := vol.SizeUnit(least * r.sector)
		first := (least*r.sector + unit - 1) / unit
		// Alignment depends on the size, so it is round sizes that are tried.
		for n := first; n < first+4; n++ {
			if at(n*unit/r.sector) == nil {
				return fmt.Sprintf("at least %d %s", n, name)
			}
		}
		return ""
	}
	over := vol.FirstWhere(maxTotal, func(n int64) bool { got := at(n); return got != nil && got.kind == tooMany })
	unit, name := vol.SizeUnit((over - 1) * r.sector)
	last := (over - 1) * r.sector / unit
	for n := last; n > 0 && n > last-4; n-- {
		if at(n*unit/r.sector) == nil {
			return fmt.Sprintf("at most %d %s", n, name)
		}
	}
	return ""
}

// otherSector is a sector size that would do, or 0.
func (r *formatRequest) otherSector(t Type, m *misfit) int64 {
	var sizes []int64
	if m.kind == tooFew && r.sector > minSector {
		sizes = []int64{minSector}
	} else if m.kind == tooMany && r.sector < maxSector {
		sizes = []int64{maxSector}
	}
	for _, s := range sizes {
		o := r.o
		o.SectorSize = s
		if q, err := newFormatRequest(r.t, o); err == nil && q.fits(t) {
			return s
		}
	}
	return 0
}
