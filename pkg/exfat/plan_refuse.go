package exfat

import (
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// refuse says why there is no such volume, and what would work.
func (r *formatRequest) refuse(m *misfit) error {
	size := vol.SizeText(r.total * r.sector)
	var why string
	switch m.kind {
	case tooFew:
		why = fmt.Sprintf("%s has room for %d clusters of %s, and the bitmap, the up-case table, the root directory and one for files take %d",
			size, m.clusters, vol.SizeText(m.cluster), m.needed)
	case tooMany:
		why = fmt.Sprintf("an exFAT volume can have at most %d clusters, and %s has %d of %s", uint32(maxClusters), size, m.clusters, vol.SizeText(m.cluster))
	default:
		why = fmt.Sprintf("to start the clusters at a multiple of %s takes a number of more than 32 bits for their first sector", vol.SizeText(r.align*r.sector))
	}
	if ways := r.ways(m); len(ways) > 0 {
		why += ": use " + strings.Join(ways, ", or ")
	}
	return vol.Refusef("%s", why)
}

// ways are changes to the request of which each makes it work.
func (r *formatRequest) ways(m *misfit) []string {
	var ways []string
	if w := r.otherClusters(); w != "" {
		ways = append(ways, w)
	}
	if w := r.otherSize(m); w != "" {
		ways = append(ways, w)
	}
	if w := r.otherAlign(); w != "" {
		ways = append(ways, w)
	}
	return ways
}

// otherClusters names the cluster sizes that would do, where one was given.
func (r *formatRequest) otherClusters() string {
	if r.cluster == 0 {
		return ""
	}
	return vol.ClusterFlag(r.sector, maxCluster, func(c int64) bool {
		_, m := r.layout(c)
		return m == nil
	})
}

// otherAlign is the largest boundary that would do instead of the one that was
// asked for.
func (r *formatRequest) otherAlign() string {
	if r.o.Align == 0 {
		return ""
	}
	const usual = 1 << 20
	for a := int64(usual); a >= r.sector; a /= 2 {
		q := *r
		q.align = a / r.sector
		if _, m := q.fit(); a < r.o.Align && m == nil {
			return "--align " + vol.SizeFlag(a)
		}
	}
	return ""
}

// otherSize is the least or the greatest size that would do with the other
// options as they are.
func (r *formatRequest) otherSize(m *misfit) string {
	at := func(size int64) *misfit {
		q, err := newFormatRequest(vol.Target{Size: size, Offset: r.t.Offset, SectorSize: r.t.SectorSize}, r.o)
		if err != nil {
			return &misfit{kind: tooFew}
		}
		_, got := q.fit()
		return got
	}
	const beyond = 1 << 60
	switch m.kind {
	case tooFew:
		least := vol.FirstWhere(beyond, func(n int64) bool { got := at(n); return got == nil || got.kind != tooFew })
		unit, name := vol.SizeUnit(least)
		// The default alignment depends on the size, so it is round sizes that
		// are tried.
		for n := vol.DivUp(least, unit); n < vol.DivUp(least, unit)+4; n++ {
			if at(n*unit) == nil {
				return fmt.Sprintf("at least %d %s", n, name)
			}
		}
	case tooMany:
		over := vol.FirstWhere(beyond, func(n int64) bool { got := at(n); return got != nil && got.kind == tooMany })
		unit, name := vol.SizeUnit(over - 1)
		return fmt.Sprintf("at most %d %s", (over-1)/unit, name)
	}
	return ""
}
