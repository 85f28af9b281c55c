package exfat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// refuse says why there is no such volume, and what would work.
func (r *formatRequest) refuse(m *misfit) error {
	size := sizeText(r.total * r.sector)
	var why string
	switch m.kind {
	case tooFew:
		why = fmt.Sprintf("%s has room for %d clusters of %s, and the bitmap, the up-case table, the root directory and one for files take %d",
			size, m.clusters, sizeText(m.cluster), m.needed)
	case tooMany:
		why = fmt.Sprintf("an exFAT volume can have at most %d clusters, and %s has %d of %s", uint32(maxClusters), size, m.clusters, sizeText(m.cluster))
	default:
		why = fmt.Sprintf("to start the clusters at a multiple of %s takes a number of more than 32 bits for their first sector", sizeText(r.align*r.sector))
	}
	if ways := r.ways(m); len(ways) > 0 {
		why += ": use " + strings.Join(ways, ", or ")
	}
	return refusal("%s", why)
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
	var ok []string
	for c := r.sector; c <= maxCluster; c *= 2 {
		if _, m := r.layout(c); m == nil {
			ok = append(ok, sizeFlag(c))
		}
	}
	switch len(ok) {
	case 0:
		return ""
	case 1:
		return "-c " + ok[0]
	}
	return "-c " + ok[0] + " to " + ok[len(ok)-1]
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
			return "--align " + sizeFlag(a)
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
		least := firstWhere(beyond, func(n int64) bool { got := at(n); return got == nil || got.kind != tooFew })
		unit, name := sizeUnit(least)
		// The default alignment depends on the size, so it is round sizes that
		// are tried.
		for n := divUp(least, unit); n < divUp(least, unit)+4; n++ {
			if at(n*unit) == nil {
				return fmt.Sprintf("at least %d %s", n, name)
			}
		}
	case tooMany:
		over := firstWhere(beyond, func(n int64) bool { got := at(n); return got != nil && got.kind == tooMany })
		unit, name := sizeUnit(over - 1)
		return fmt.Sprintf("at most %d %s", (over-1)/unit, name)
	}
	return ""
}

// sizeUnit is what a size of about n bytes is given in.
func sizeUnit(n int64) (int64, string) {
	switch {
	case n < 4<<20:
		return 1 << 10, "KiB"
	case n < 4<<30:
		return 1 << 20, "MiB"
	case n < 4<<50:
		return 1 << 30, "GiB"
	}
	return 1 << 40, "TiB"
}

// sizeText is a size for people: exact, or to two digits behind the point.
func sizeText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i, v := 0, float64(n)
	for ; i < len(units)-1 && v >= 1024; i++ {
		v /= 1024
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".") + " " + units[i]
}

// sizeFlag is a power of two as -c and --align take it.
func sizeFlag(n int64) string {
	switch {
	case n >= 1<<20:
		return strconv.FormatInt(n>>20, 10) + "M"
	case n >= 1<<10:
		return strconv.FormatInt(n>>10, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}
