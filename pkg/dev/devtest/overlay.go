package devtest

import (
	"maps"

	"github.com/fatkit/fatkit/pkg/dev"
)

const (
	pageSize = 4096
	sector   = 512 // what a power cut does not tear
)

// overlay is bytes over a base that is only read: pages by number, nil for a
// page of zeros. A page is never changed, only replaced, so a clone shares
// them all.
type overlay struct {
	base  dev.Device // nil: zeros
	size  int64
	pages map[int64][]byte
}

func newOverlay(base dev.Device, size int64) *overlay {
	return &overlay{base: base, size: size, pages: make(map[int64][]byte)}
}

func (o *overlay) clone() *overlay {
	return &overlay{base: o.base, size: o.size, pages: maps.Clone(o.pages)}
}

// each calls fn for the part of each page in r, page by page.
func each(r dev.Range, fn func(page int64, at, n int) error) error {
	for r.Len > 0 {
		at := int(r.Off % pageSize)
		n := int(min(r.Len, int64(pageSize-at)))
		if err := fn(r.Off/pageSize, at, n); err != nil {
			return err
		}
		r = dev.Range{Off: r.Off + int64(n), Len: r.Len - int64(n)}
	}
	return nil
}

func (o *overlay) readAt(p []byte, off int64) error {
	return each(dev.Range{Off: off, Len: int64(len(p))}, func(page int64, at, n int) error {
		into := p[:n]
		p = p[n:]
		mem, ok := o.pages[page]
		switch {
		case ok && mem != nil:
			copy(into, mem[at:])
		case ok || o.base == nil:
			clear(into)
		default:
			_, err := o.base.ReadAt(into, page*pageSize+int64(at))
			return err
		}
		return nil
	})
}

func (o *overlay) writeAt(p []byte, off int64) error {
	return each(dev.Range{Off: off, Len: int64(len(p))}, func(page int64, at, n int) error {
		mem := make([]byte, pageSize)
		if n < pageSize {
			old := mem[:min(pageSize, o.size-page*pageSize)]
			if err := o.readAt(old, page*pageSize); err != nil {
				return err
			}
		}
		copy(mem[at:], p[:n])
		o.pages[page] = mem
		p = p[n:]
		return nil
	})
}

func (o *overlay) zero(r dev.Range) error {
	return each(r, func(page int64, at, n int) error {
		if n == pageSize || at == 0 && page*pageSize+int64(n) == o.size {
			o.pages[page] = nil
			return nil
		}
		return o.writeAt(make([]byte, n), page*pageSize+int64(at))
	})
}

// nextData answers for Device.NextData, page by page: it is right, not fast.
func (o *overlay) nextData(off int64) dev.Range {
	known := dev.Range{Off: -1} // the base's last answer
	for pos := max(off, 0); pos < o.size; pos = (pos/pageSize + 1) * pageSize {
		end := min((pos/pageSize+1)*pageSize, o.size)
		mem, ok := o.pages[pos/pageSize]
		if ok && mem != nil {
			return dev.Range{Off: pos, Len: end - pos}
		}
		if ok || o.base == nil {
			continue
		}
		if known.Off < 0 || known.Len > 0 && known.End() <= pos {
			known = o.base.NextData(pos)
		}
		if r := known.Intersect(dev.Range{Off: pos, Len: end - pos}); r.Len > 0 {
			return r
		}
	}
	return dev.Range{Off: max(off, o.size)}
}
