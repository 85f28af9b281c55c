package space

import "math/bits"

// Pages of a Sparse map.
const (
	pageUnits = 1 << 15
	pageWords = pageUnits / wordBits
)

// Page is the bits of 32768 units, the lowest first.
type Page [pageWords]uint64

// Sparse is a map of up to 2^32 units that takes memory only where it is
// neither all clear nor all set: what a check claims on a volume of 2^31
// clusters is a few runs, or nearly everything, and in both cases a few pages.
// It is not safe for concurrent use.
type Sparse struct {
	n     uint64
	pages []*Page
	full  *Page // stands for all pages that are set throughout
	used  uint64
}

// NewSparse makes an all-clear map of n units.
func NewSparse(n uint64) *Sparse {
	full := new(Page)
	for i := range full {
		full[i] = ^uint64(0)
	}
	return &Sparse{n: n, pages: make([]*Page, (n+pageUnits-1)/pageUnits), full: full}
}

// Len is the number of units; CountUsed how many are set.
func (s *Sparse) Len() uint64       { return s.n }
func (s *Sparse) CountUsed() uint64 { return s.used }

// Pages is the number of pages; Page the bits of one, nil where all are clear.
// They must not be changed.
func (s *Sparse) Pages() int       { return len(s.pages) }
func (s *Sparse) Page(i int) *Page { return s.pages[i] }

// Used reports whether unit u, below Len, is set.
func (s *Sparse) Used(u uint32) bool {
	p := s.pages[u/pageUnits]
	return p != nil && p[u%pageUnits/wordBits]>>(u%wordBits)&1 != 0
}

// SetNew sets unit u, below Len, and reports whether it was clear.
func (s *Sparse) SetNew(u uint32) bool {
	p := s.pages[u/pageUnits]
	if p == nil {
		p = new(Page)
		s.pages[u/pageUnits] = p
	}
	w, m := &p[u%pageUnits/wordBits], uint64(1)<<(u%wordBits)
	if *w&m != 0 {
		return false
	}
	*w |= m
	s.used++
	return true
}

// SetRunNew sets the units of e, clipped to the map, up to the first that is
// set already, and returns how many it set. It set all of e if that is e.Len.
func (s *Sparse) SetRunNew(e Extent) uint32 {
	pos, end := uint64(e.Start), min(e.End(), s.n)
	for pos < end {
		i := pos / pageUnits
		stop := min(end, (i+1)*pageUnits)
		if s.pages[i] == nil && stop-pos == pageUnits {
			s.pages[i] = s.full // shared, and never written to: it has no clear bit
			s.used += pageUnits
			pos = stop
			continue
		}
		n := s.setInPage(i, pos, stop)
		s.used += n
		if pos += n; pos < stop {
			break
		}
	}
	return uint32(pos - min(pos, uint64(e.Start)))
}

// setInPage sets units from … end-1, all in page i, up to the first that is
// set, and returns how many it set.
func (s *Sparse) setInPage(i, from, end uint64) uint64 {
	if s.pages[i] == nil {
		s.pages[i] = new(Page)
	}
	p := s.pages[i]
	for pos := from; pos < end; {
		w := &p[pos%pageUnits/wordBits]
		shift := pos % wordBits
		n := min(wordBits-shift, end-pos)
		mask := (^uint64(0) >> (wordBits - n)) << shift
		if hit := *w & mask; hit != 0 {
			free := uint64(bits.TrailingZeros64(hit)) - shift
			if free > 0 {
				*w |= (^uint64(0) >> (wordBits - free)) << shift
			}
			return pos + free - from
		}
		*w |= mask
		pos += n
	}
	return end - from
}

// IsClear reports whether no unit of e, clipped to the map, is set.
func (s *Sparse) IsClear(e Extent) bool {
	pos, end := uint64(e.Start), min(e.End(), s.n)
	for pos < end {
		i := pos / pageUnits
		stop := min(end, (i+1)*pageUnits)
		if p := s.pages[i]; p != nil && !p.isClear(pos%pageUnits, stop-i*pageUnits) {
			return false
		}
		pos = stop
	}
	return true
}

// isClear reports whether units from … end-1 are clear.
func (p *Page) isClear(from, end uint64) bool {
	for from < end {
		shift := from % wordBits
		n := min(wordBits-shift, end-from)
		if p[from/wordBits]>>shift<<(wordBits-n) != 0 {
			return false
		}
		from += n
	}
	return true
}

// Runs calls fn with every maximal run of set units inside e, in order, until
// it returns false.
func (s *Sparse) Runs(e Extent, fn func(Extent) bool) {
	var run Extent
	end := min(e.End(), s.n)
	for pos := uint64(e.Start); pos < end; {
		n, set := s.same(pos, end)
		if set {
			if run.Len == 0 {
				run.Start = uint32(pos)
			}
			run.Len += uint32(n)
		} else if run.Len > 0 {
			if !fn(run) {
				return
			}
			run = Extent{}
		}
		pos += n
	}
	if run.Len > 0 {
		fn(run)
	}
}

// same is how many units from pos on, up to end, are like that one, within a
// word, or a page that is the same throughout.
func (s *Sparse) same(pos, end uint64) (n uint64, set bool) {
	p := s.pages[pos/pageUnits]
	if p == nil || p == s.full {
		return min(end, (pos/pageUnits+1)*pageUnits) - pos, p != nil
	}
	w := p[pos%pageUnits/wordBits] >> (pos % wordBits)
	left := min(wordBits-pos%wordBits, end-pos)
	if set = w&1 != 0; set {
		w = ^w
	}
	return min(left, uint64(bits.TrailingZeros64(w))), set
}
