package lfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// refuse says why there is no such volume, and what would work.
func (r *formatRequest) refuse(m *misfit) error {
	size := vol.SizeText(r.t.Size)
	var why string
	switch m.kind {
	case tooSmall:
		why = fmt.Sprintf("%s is too small: it has %d whole segments of %s, and at least %d are needed", size, m.have, vol.SizeText(r.block*segmentBlocks), m.needed)
	case tooFew:
		why = fmt.Sprintf("%s has room for %d zones of %s, and each log needs one of its own: at least %d",
			size, m.have, vol.SizeText(r.zoneBytes()), m.needed)
	case tooTight:
		why = fmt.Sprintf("%s has room for %d segments, and what is kept back for cleaning%s takes all of them", size, m.have, percent(m.overhead))
	default:
		why = fmt.Sprintf("%s is too large: addresses reach 2^32 blocks of %s", size, vol.SizeText(r.block))
	}
	if ways := r.ways(m); len(ways) > 0 {
		why += ": use " + strings.Join(ways, ", or ")
	}
	return vol.Refusef("%s", why)
}

func percent(o float64) string {
	if o == 0 {
		return ""
	}
	return fmt.Sprintf(" with an over-provision of %s %%", strconv.FormatFloat(o, 'g', 4, 64))
}

func (r *formatRequest) zoneBytes() int64 {
	return r.segsPerSec * r.secsPerZone * segmentBlocks * r.block
}

// ways are changes to the request of which each makes it work.
func (r *formatRequest) ways(m *misfit) []string {
	var ways []string
	if w := r.otherSize(m); w != "" {
		ways = append(ways, w)
	}
	for _, w := range []struct {
		have   bool
		text   string
		change func(o *vol.FormatOptions)
	}{
		{r.secsPerZone > 1, "--secs-per-zone 1", func(o *vol.FormatOptions) { o.SectionsPerZone = nil }},
		{r.segsPerSec > 1, "--segs-per-sec 1", func(o *vol.FormatOptions) { o.SegmentsPerSection = nil }},
		{r.segsPerSec > 1 && r.secsPerZone > 1, "--segs-per-sec 1 --secs-per-zone 1", func(o *vol.FormatOptions) {
			o.SegmentsPerSection, o.SectionsPerZone = nil, nil
		}},
		{r.o.Overprovision != nil, "no --overprovision", func(o *vol.FormatOptions) { o.Overprovision = nil }},
		{r.block > minBlock, "-c 4K", func(o *vol.FormatOptions) { o.ClusterSize = 0 }},
		{r.block < maxBlock && m.kind == tooLarge, "-c 16K", func(o *vol.FormatOptions) { o.ClusterSize = maxBlock }},
	} {
		if o := r.o; w.have {
			w.change(&o)
			if _, m := layoutOf(r.t, r.t.Size, o); m == nil {
				ways = append(ways, w.text)
			}
		}
	}
	return ways
}

// layoutOf lays out a volume of size bytes with other options.
func layoutOf(t vol.Target, size int64, o vol.FormatOptions) (*layout, *misfit) {
	q, err := newFormatRequest(vol.Target{Size: size, Offset: t.Offset, SectorSize: t.SectorSize}, o)
	if err != nil {
		return nil, &misfit{kind: tooSmall}
	}
	return q.layout(size)
}

// otherSize is the least or the greatest size that would do with the other
// options as they are.
func (r *formatRequest) otherSize(m *misfit) string {
	if m.kind == tooLarge {
		return "at most " + vol.SizeText(1<<32*r.block)
	}
	fits := func(mib int64) bool {
		_, m := r.layout(mib << 20)
		return m == nil || m.kind == tooLarge
	}
	most := 1 << 32 * r.block >> 20
	for n := vol.FirstWhere(most, fits); n <= most; n++ {
		if _, m := r.layout(n << 20); m == nil {
			return fmt.Sprintf("at least %d MiB", n)
		} else if m.kind == tooLarge {
			break
		}
	}
	return ""
}
