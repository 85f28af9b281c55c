package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Preallocate reserves space for all files of r, or for none: one checkpoint
// makes all of it count. As fallocate(2) does on F2FS, holes become reservations,
// which count as blocks, read as zeros, and get a place when they are written:
// lesson 1 for a log-structured format, all of a node at once. r.Contiguous and
// r.ValidAll ask for real blocks, see pinned.go.
//
// After an error nothing that was staged may be committed.
func (v *volume) Preallocate(ctx context.Context, r vol.PreallocRequest) (*vol.PreallocResult, error) {
	c, err := v.begin(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.newPlacement(r)
	if err != nil {
		return nil, err
	}
	res := &vol.PreallocResult{}
	nids := make([]uint32, len(r.Files))
	for i, f := range r.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, n, err := c.preallocate(f, r, p)
		if err != nil {
			return nil, err
		}
		nids[i] = h.nid
		res.ClustersAllocated += n
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	for i, f := range r.Files {
		fr, err := c.result(f.Path, nids[i])
		if err != nil {
			return nil, err
		}
		res.Files = append(res.Files, fr)
	}
	return res, nil
}

// preallocate does one file of the request.
func (c *batch) preallocate(f vol.PreallocFile, r vol.PreallocRequest, p *placement) (h *handle, n uint64, err error) {
	end, err := vol.RangeEnd(f.Path, f.Offset, f.Length)
	if err != nil {
		return nil, 0, err
	}
	if h, err = c.file(f.Path, r.Create); err != nil {
		return nil, 0, err
	}
	if err := h.writable(); err != nil {
		return nil, 0, err
	}
	if err := h.reaches(end); err != nil {
		return nil, 0, err
	}
	if err := h.moveInline(); err != nil {
		return nil, 0, err
	}
	from, to := uint64(f.Offset/c.w.g.BlockSize), c.w.g.pages(end)
	if p.real || h.isPinned() {
		n, err = c.pin(h, from, to, p)
	} else {
		n, err = h.reserveAll(from, to)
	}
	if err != nil {
		return nil, 0, err
	}
	if err := h.grow(end, r.KeepSize); err != nil {
		return nil, 0, err
	}
	h.touch()
	c.files[h.nid] = h.path
	return h, n, h.store()
}

// reserveAll is reserve, after it was counted that there is room for all.
func (h *handle) reserveAll(from, to uint64) (uint64, error) {
	if from >= to {
		return 0, nil
	}
	holes, nodes, err := h.missing(from, to)
	if err != nil {
		return 0, err
	}
	if err := h.w.room(h.path, holes+nodes); err != nil {
		return 0, err
	}
	return h.reserve(from, to)
}

// result is what became of a file. A reservation has no place, so the extents
// are of the blocks that have one.
func (c *batch) result(path string, nid uint32) (vol.FileResult, error) {
	h, err := c.w.open(path, nid)
	if err != nil {
		return vol.FileResult{}, err
	}
	r := vol.FileResult{Path: path, Size: int64(h.b.size()), Valid: int64(h.b.size())}
	es, mapped, err := h.extents()
	if err != nil {
		return r, err
	}
	g := c.w.g
	r.Allocated = int64(mapped) * g.BlockSize
	for _, e := range es {
		r.Extents = append(r.Extents, vol.FileExtent{Extent: e, Off: g.BlockOff(e.Start), Length: int64(e.Len) * g.BlockSize})
	}
	return r, nil
}

// extents are the blocks of a file in its order, and how many pages have a block
// or a reservation.
func (h *handle) extents() (es []space.Extent, mapped uint64, err error) {
	if h.b.inline()&(inlineData|inlineDentry) != 0 {
		return nil, 0, nil
	}
	last, err := h.lastPage()
	if err != nil {
		return nil, 0, err
	}
	err = h.eachNode(0, last, false, func(p *pointers, _ uint64, first, end int) error {
		if a, ok := p.same(first, end); ok && a == newAddr {
			mapped += uint64(end - first)
			return nil
		}
		for word := first; word < end; word++ {
			a := p.get(word)
			if a == nullAddr {
				continue
			}
			mapped++
			if ok, err := h.mapped(a); err != nil {
				return err
			} else if ok {
				es = space.Append(es, space.Extent{Start: a, Len: 1})
			}
		}
		return nil
	})
	return es, mapped, err
}

// lastPage is a page behind the last one that has a block: of what follows the
// size of the file all nodes that exist are looked at.
func (h *handle) lastPage() (uint64, error) {
	_, n := h.slots()
	per, leaf := uint64(h.w.g.per().nodeSlots()), uint64(h.leafSlots())
	end, at := uint64(n), uint64(n)
	for i, pages := range [inodeNids]uint64{leaf, leaf, per * leaf, per * leaf, per * per * leaf} {
		if at += pages; h.b.child(i) != 0 {
			end = at
		}
	}
	return end, nil
}
