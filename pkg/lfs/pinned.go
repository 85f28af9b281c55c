package lfs

import (
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// placement says what blocks a request wants.
type placement struct {
	real         bool // blocks with a place, and not reservations
	contiguous   bool // each file is one extent
	fill         bool // they read as zeros
	align, phase uint32
}

// newPlacement turns a boundary in bytes of the volume into one in sections.
func (c *batch) newPlacement(r vol.PreallocRequest) (*placement, error) {
	p := &placement{real: r.Contiguous || r.ValidAll, contiguous: r.Contiguous, fill: r.FillZero}
	g := c.w.g
	section := int64(g.SegsPerSec) * g.SegmentBytes()
	switch {
	case r.Align < 0:
		return nil, vol.Usagef("an alignment of %d bytes", r.Align)
	case r.Align > 0 && !p.real:
		return nil, vol.Refusef("F2FS gives a reservation its place when it is written, so it has no alignment; one file in one extent has")
	}
	var ok bool
	if p.align, p.phase, ok = space.Boundary(uint64(section), uint64(g.BlockOff(g.Main)), uint64(r.Align)); !ok {
		return nil, vol.Usagef("no section starts at a multiple of %d bytes: they are %d bytes long, the first one is at byte %d", r.Align, section, g.BlockOff(g.Main))
	}
	return p, nil
}

// pageRun is adjacent pages of a file.
type pageRun struct{ first, n uint64 }

// pin gives pages from … to-1 of a file blocks, as the kernel does for a file
// that is pinned: whole sections, so that collecting garbage never moves it, and
// what is left of the last one behind the range. [Linux] behaviour
// f2fs_expand_inode_data(). It returns how many blocks there are.
func (c *batch) pin(h *handle, from, to uint64, p *placement) (uint64, error) {
	es, mapped, err := h.extents()
	if err != nil {
		return 0, err
	}
	if !h.isPinned() {
		done, err := h.pinnable(es, mapped, from, to, p)
		if err != nil || done {
			return 0, err
		}
		h.b[inodeInline] |= inlinePinned
	}
	per := uint64(c.w.g.SegsPerSec) * segmentBlocks
	holes, err := h.holes(from, to, per)
	if err != nil || len(holes) == 0 {
		return 0, err
	}
	req := space.Request{Contiguous: p.contiguous, Align: p.align, Phase: p.phase}
	if p.contiguous {
		if err := c.goOn(h, es, mapped, holes, &req); err != nil {
			return 0, err
		}
	}
	n := uint64(0)
	for _, r := range holes {
		n += r.n
	}
	if err := h.roomForPins(holes, n); err != nil {
		return 0, err
	}
	got, err := c.w.logs.sections(uint32(n/per), req)
	if err != nil {
		return 0, pathError(h.path, err)
	}
	if p.fill {
		for _, e := range got {
			c.fresh = append(c.fresh, c.w.g.BlockRange(c.w.g.Main+e.Start*uint32(per), e.Len*uint32(per)))
		}
	}
	return n, h.place(holes, got, uint32(per))
}

// pinnable refuses to pin a file that has blocks, which may lie anywhere. done
// is true where there is nothing to do.
func (h *handle) pinnable(es []space.Extent, mapped, from, to uint64, p *placement) (done bool, err error) {
	if h.has(adviseEncrypted) && p.fill {
		return false, vol.Refusef("%s: it is encrypted, and blocks of zeros would read as noise", h.path)
	}
	if mapped == 0 {
		return false, nil
	}
	holes, _, err := h.missing(from, max(from, to))
	if err != nil {
		return false, err
	}
	if holes == 0 && len(es) == 1 && uint64(es[0].Len) == mapped {
		return true, nil // it is as is asked for
	}
	return false, vol.Refusef("%s: it has %d blocks, %d of them reserved, and F2FS pins a file that has none", h.path, mapped, mapped-space.Units(es))
}

// holes are the pages of from … to-1 that have no block, and of those behind as
// many as make whole sections of per blocks.
func (h *handle) holes(from, to, per uint64) (runs []pageRun, err error) {
	n := uint64(0)
	for page := from; page < to || n%per != 0; {
		p, way, err := h.at(page, false)
		if err != nil {
			return nil, err
		}
		end := way.next
		if end > to {
			end = max(to, min(end, page+per-n%per)) // no further than a section
		}
		for word := way.slot; page < end && (page < to || n%per != 0); page, word = page+1, word+1 {
			if p != nil && p.get(word) != nullAddr {
				continue
			}
			n++
			if k := len(runs) - 1; k >= 0 && runs[k].first+runs[k].n == page {
				runs[k].n++
			} else {
				runs = append(runs, pageRun{page, 1})
			}
		}
	}
	return runs, nil
}

// goOn has one run of sections go on where the file ends, so that all of it is
// one extent.
func (c *batch) goOn(h *handle, es []space.Extent, mapped uint64, holes []pageRun, req *space.Request) error {
	refuse := func(why string) error {
		return vol.Refusef("%s: it cannot be one extent: %s", h.path, why)
	}
	switch {
	case len(holes) > 1:
		return refuse("it has blocks in the range already")
	case mapped == 0:
		return nil
	case len(es) != 1 || uint64(es[0].Len) != mapped:
		return refuse(textf("what it has is in %d extents", len(es)))
	}
	p, way, err := h.at(holes[0].first-min(1, holes[0].first), false)
	if err != nil {
		return err
	}
	end := uint32(es[0].End())
	if holes[0].first == 0 || p == nil || p.get(way.slot) != end-1 {
		return refuse("there would be a hole in it, or the new part would be in front")
	}
	g := c.w.g
	if !g.ValidMain(end) || (end-g.Main)%(g.SegsPerSec*segmentBlocks) != 0 {
		return refuse("it does not end with a section")
	}
	req.Goal, req.Exact = (end-g.Main)/(g.SegsPerSec*segmentBlocks), true
	return nil
}

// roomForPins counts n blocks and the nodes that lead to them.
func (h *handle) roomForPins(holes []pageRun, n uint64) error {
	for _, r := range holes {
		if _, ok := h.wayTo(r.first + r.n - 1); !ok {
			return vol.Refusef("%s: a file cannot have %d blocks", h.path, r.first+r.n)
		}
		_, nodes, err := h.missing(r.first, r.first+r.n)
		if err != nil {
			return err
		}
		n += nodes
	}
	return h.w.room(h.path, n)
}

// place gives the holes of a file the blocks of sections, in their order, and
// writes the summaries of these: they are no log's.
func (h *handle) place(holes []pageRun, sections []space.Extent, per uint32) error {
	s := &stripe{w: h.w, sections: sections, per: per}
	for _, r := range holes {
		h.forget(r.first, r.first+r.n)
		err := h.eachNode(r.first, r.first+r.n, true, func(p *pointers, _ uint64, first, end int) error {
			for word := first; word < end; word++ {
				addr, err := s.next(p.nid, p.version, p.slot(word))
				if err != nil {
					return err
				}
				p.set(word, addr)
			}
			h.w.validBlocks += uint64(end - first)
			h.addBlocks(int64(end - first))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stripe gives out the blocks of sections one after the other.
type stripe struct {
	w        *writer
	sections []space.Extent // of sections of per blocks
	per      uint32
	at       uint32 // block in the first of sections
	sum      summaryBlock
}

// next is the next block, which pointer slot of node nid leads to.
func (s *stripe) next(nid uint32, version byte, slot uint16) (uint32, error) {
	g := s.w.g
	addr := g.Main + s.sections[0].Start*s.per + s.at
	i := g.IndexOf(addr)
	if i == 0 {
		s.sum = make(summaryBlock, g.SummaryBytes)
		s.w.sit.take(addr, segmentBlocks, coldData)
	}
	s.sum.entry(int(i)).put(nid, version, slot)
	if s.at++; s.at == s.sections[0].Len*s.per {
		s.sections, s.at = s.sections[1:], 0
	}
	if i == segmentBlocks-1 {
		return addr, s.w.writeSummary(g.SegmentOf(addr), s.sum)
	}
	return addr, nil
}
