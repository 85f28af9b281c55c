package lfs

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// ZeroRanges makes ranges of files read as zeros, as fallocate(2) with
// FALLOC_FL_ZERO_RANGE does on F2FS: blocks become reservations again and are
// given back run by run, see runs; holes become reservations, too. Of the blocks
// at both ends that are only zeroed in part, new ones are written. The result
// counts the blocks whose places are given back, and in how many runs.
//
// After an error nothing that was staged may be committed.
func (v *volume) ZeroRanges(ctx context.Context, r vol.ZeroRequest) (*vol.ZeroResult, error) {
	c, err := v.begin(ctx)
	if err != nil {
		return nil, err
	}
	res := &vol.ZeroResult{}
	for _, f := range r.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		z, err := c.zeroFile(f, r.KeepSize)
		if err != nil {
			return nil, err
		}
		res.Files = append(res.Files, z)
	}
	return res, c.finish()
}

// zeroFile does one file of the request.
func (c *batch) zeroFile(f vol.ZeroFile, keepSize bool) (z vol.ZeroedFile, err error) {
	if _, err := vol.RangeEnd(f.Path, f.Offset, max(f.Length, 0)); err != nil {
		return z, err
	}
	h, err := c.file(f.Path, false)
	if err != nil {
		return z, err
	}
	if err := h.writable(); err != nil {
		return z, err
	}
	if h.b.flags()&flagAppend != 0 {
		return z, vol.Refusef("%s: it is marked as one that only grows at its end", h.path)
	}
	if h.isPinned() {
		return z, vol.Refusef("%s: it is pinned: its blocks stay where they are, and cannot become reservations", h.path)
	}
	r := f.Within(int64(min(h.b.size(), 1<<62)), false)
	z = vol.ZeroedFile{Path: f.Path, Offset: r.Off, Length: r.Len}
	if r.Empty() {
		return z, nil
	}
	if err := h.reaches(r.End()); err != nil {
		return z, err
	}
	if err := h.moveInline(); err != nil {
		return z, err
	}
	t := &runs{h: h, release: c.w.sit.release}
	if err := c.zeroRange(h, r, t); err != nil {
		return z, err
	}
	z.Blocks, z.Runs = t.blocks, t.calls
	if err := h.grow(r.End(), keepSize); err != nil {
		return z, err
	}
	h.touch()
	c.files[h.nid] = h.path
	return z, h.store()
}

// zeroRange zeroes bytes of a file: whole blocks, and the parts at both ends.
func (c *batch) zeroRange(h *handle, r dev.Range, t releaser) error {
	bs := c.w.g.BlockSize
	from, to := uint64(r.Off/bs), c.w.g.pages(r.End())
	holes, nodes, err := h.missing(from, to)
	if err != nil {
		return err
	}
	if err := c.w.room(h.path, holes+nodes); err != nil {
		return err
	}
	// What reaches the end of the file may take the rest of its last block, too.
	first, last := from, to
	if r.Off%bs != 0 {
		first++
	}
	if r.End()%bs != 0 && uint64(r.End()) < h.b.size() {
		last--
	}
	if first <= last {
		if err := h.zeroPages(first, last, t); err != nil {
			return err
		}
	}
	for page := range edges(from, to, first, last) {
		if err := h.zeroPart(page, r, t); err != nil {
			return err
		}
	}
	return nil
}

// edges are the pages of from … to-1 that are not of first … last-1: at most
// two.
func edges(from, to, first, last uint64) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if from < first && !yield(from) {
			return
		}
		if last < to && (to-1 != from || first == from) {
			yield(to - 1)
		}
	}
}

// releaser takes the blocks of a file that become reservations, in the order of
// the file. See runs.
type releaser interface {
	add(addr uint32) error
	flush() error
	rewrote() // a block at one end, whose old place is a run of its own
}

// zeroPages makes reservations of pages from … to-1. In each node holes are
// filled first, as in the kernel; then what is mapped is given back. Slots that
// are reserved already do not end a run: what makes one is that blocks are
// neighbours, and nothing is between them.
func (h *handle) zeroPages(from, to uint64, t releaser) error {
	h.forget(from, to)
	err := h.eachNode(from, to, true, func(p *pointers, _ uint64, first, end int) error {
		holes := uint64(0)
		for word := first; word < end; word++ {
			switch a := p.get(word); a {
			case newAddr:
				continue
			case nullAddr:
				holes++
			default:
				if err := t.add(a); err != nil {
					return err
				}
			}
			p.set(word, newAddr)
		}
		h.w.validBlocks += holes
		h.addBlocks(int64(holes))
		return nil
	})
	if err != nil {
		return err
	}
	return t.flush()
}

// runs gathers blocks that lie one behind the other, and gives each run back at
// once: lesson 3, as Linux' f2fs_do_zero_range() does since it learned to. A run
// is given back before the address that follows it is looked at, so that one
// that the file lists twice is free by then, and is noticed.
type runs struct {
	h       *handle
	release func(addr, n uint32) error
	addr, n uint32
	blocks  uint64 // given back
	calls   uint64 // in how many runs
}

// add takes the next block.
func (t *runs) add(addr uint32) error {
	if t.n > 0 && addr == t.addr+t.n && addr != nullAddr {
		t.n++
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	if _, err := t.h.mapped(addr); err != nil {
		return err
	}
	t.addr, t.n = addr, 1
	return nil
}

func (t *runs) rewrote() { t.blocks, t.calls = t.blocks+1, t.calls+1 }

// flush gives back the run at hand.
func (t *runs) flush() error {
	if t.n == 0 {
		return nil
	}
	addr, n := t.addr, t.n
	t.n = 0
	t.calls++
	t.blocks += uint64(n)
	if err := t.release(addr, n); err != nil {
		return pathError(t.h.path, err)
	}
	return nil
}

// zeroPart zeroes the bytes of a page that are in r. One without a block reads
// as zeros, and only needs to be reserved.
func (h *handle) zeroPart(page uint64, r dev.Range, t releaser) error {
	b, err := h.readPage(page)
	if err != nil {
		return err
	}
	if b == nil {
		_, err := h.reserve(page, page+1)
		return err
	}

	if h.has(adviseEncrypted) {
		return vol.Refusef("%s: it is encrypted, so that a part of a block cannot be zeroed without its key; whole blocks can", h.path)
	}
	at := dev.Range{Off: int64(page) * h.w.g.BlockSize, Len: h.w.g.BlockSize}
	part := at.Intersect(r)
	clear(b[part.Off-at.Off : part.End()-at.Off])
	if dev.AllZero(b) { // so it need not be written
		return h.zeroPages(page, page+1, t)
	}
	t.rewrote()
	return h.writePage(page, b)
}

// FreeRanges calls fn with the bytes of the main area that hold nothing: free
// segments and blocks that are not in use any more, in rising order; with slack
// also with what lies behind the ends of files in their last blocks. What the
// checkpoint before this one had there is lost with them, as it is when a mount
// discards. The volume must have passed a check.
func (v *volume) FreeRanges(ctx context.Context, slack bool, fn func(dev.Range) error) (vol.FreeTotal, error) {
	l, err := load(ctx, v.d, v.opened)
	if err != nil {
		return vol.FreeTotal{}, err
	}
	at := func(e space.Extent) dev.Range { return l.g.BlockRange(l.g.Main+e.Start, e.Len) }
	return vol.EachFree(ctx, l.sit.freeRuns(), at, slack, l.tails, fn)
}

// freeRuns are the runs of blocks that are not valid, counted from the start of
// the main area.
func (t *segments) freeRuns() func(func(space.Extent) bool) {
	return func(yield func(space.Extent) bool) {
		at, done := uint64(0), false
		free := func(end uint64) bool {
			return at >= end || yield(space.Extent{Start: uint32(at), Len: uint32(end - at)})
		}
		t.valid.Runs(space.Extent{Len: uint32(min(t.valid.Len(), 1<<32-1))}, func(e space.Extent) bool {
			done = !free(uint64(e.Start))
			at = e.End()
			return !done
		})
		if !done {
			free(t.valid.Len())
		}
	}
}

// tails are what lies behind the ends of regular files in their last blocks.
// Of what is encrypted, compressed or sealed the bytes there are not zeros to
// begin with.
func (l *loaded) tails(ctx context.Context) ([]dev.Range, error) {
	t, _, err := l.s.loadTables(ctx, l.d, 0)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(l, 0)
	if err != nil {
		return nil, err
	}
	var out []dev.Range
	for _, n := range t.nodes {
		// A freed number keeps its inode in NAT, with no address, [Linux]
		// behaviour truncate_node().
		if n.nid != n.ino || n.nid < rootIno || n.addr == nullAddr {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := w.open(textf("<inode %d>", n.nid), n.nid)
		if err != nil {
			return nil, err
		}
		r, err := h.tail()
		if err != nil {
			return nil, err
		}
		if !r.Empty() {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b dev.Range) int { return int(a.Off/512 - b.Off/512) })
	return out, nil
}

// tail is what lies behind the end of a file in its last block.
func (h *handle) tail() (dev.Range, error) {
	bs, size := uint64(h.w.g.BlockSize), h.b.size()
	if h.b.fileType() != modeFile || h.b.inline()&inlineData != 0 || size%bs == 0 || size > 1<<62 ||
		h.has(adviseEncrypted|adviseVerity) || h.b.flags()&(flagCompressed|flagDeviceAlias) != 0 {
		return dev.Range{}, nil
	}
	p, way, err := h.at(size/bs, false)
	if err != nil || p == nil {
		return dev.Range{}, err
	}
	addr := p.get(way.slot)
	if ok, err := h.mapped(addr); err != nil || !ok {
		return dev.Range{}, err
	}
	return dev.Range{Off: h.w.g.BlockOff(addr) + int64(size%bs), Len: int64(bs - size%bs)}, nil
}
