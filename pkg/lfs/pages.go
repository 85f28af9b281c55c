package lfs

import (
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// pathError says which file an error is about.
func pathError(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }

// mapped checks an address that a file has before anything is read or given
// back by it, and tells whether there is a block.
func (h *handle) mapped(addr uint32) (bool, error) {
	switch {
	case addr == nullAddr || addr == newAddr:
		return false, nil
	case !h.w.g.ValidMain(addr):
		return false, damagedf("%s: it leads to block %#x, which is not in the main area; run check -y", h.path, addr)
	case !h.w.reads() && !h.w.sit.valid(addr):
		return false, damagedf("%s: it leads to block %d, which SIT has as free; run check -y", h.path, addr)
	}
	return true, nil
}

// readPage reads a page of the file: nil where it has no block. What it returns
// is the caller's.
func (h *handle) readPage(page uint64) ([]byte, error) {
	b := make([]byte, h.w.g.BlockSize)
	if ok, err := h.readInto(page, b); err != nil || !ok {
		return nil, err
	}
	return b, nil
}

// readInto is readPage into memory that is there; ok is false where the page has
// no block.
func (h *handle) readInto(page uint64, b []byte) (ok bool, err error) {
	p, way, err := h.at(page, false)
	if err != nil || p == nil {
		return false, err
	}
	addr := p.get(way.slot)
	if ok, err := h.mapped(addr); err != nil || !ok {
		return false, err
	}
	_, err = h.w.d.ReadAt(b, h.w.g.BlockOff(addr))
	return true, err
}

// writePage writes a page of the file: out of place, unless it was written since
// the checkpoint.
func (h *handle) writePage(page uint64, b []byte) error {
	p, way, err := h.at(page, true)
	if err != nil {
		return err
	}
	old := p.get(way.slot)
	had, err := h.mapped(old)
	if err != nil {
		return err
	}
	if had && h.w.sit.fresh(old) {
		return errors.Join(p.store(), h.w.write(old, b))
	}
	addr, err := h.w.logs.alloc(h.dataLog(), p.nid, p.version, p.slot(way.slot))
	if err != nil {
		return err
	}
	if had {
		if err := h.w.sit.release(old, 1); err != nil {
			return err
		}
	}
	if old == nullAddr {
		h.w.validBlocks++
		h.addBlocks(1)
	}
	h.forget(page, page+1)
	p.set(way.slot, addr)
	if err := p.store(); err != nil {
		return err
	}
	return h.w.write(addr, b)
}

// reserve makes NEW_ADDR of the holes among pages from … to-1, node by node: a
// reservation that counts as a block and has no place. [Linux] behaviour
// f2fs_reserve_new_blocks().
func (h *handle) reserve(from, to uint64) (n uint64, err error) {
	err = h.eachNode(from, to, true, func(p *pointers, _ uint64, first, end int) error {
		here := p.holes(first, end)
		if here == uint64(end-first) {
			p.fill(first, end, newAddr)
		} else if here > 0 {
			for word := first; word < end; word++ {
				if p.get(word) == nullAddr {
					p.set(word, newAddr)
				}
			}
		}
		n += here
		h.w.validBlocks += here
		h.addBlocks(int64(here))
		return nil
	})
	return n, err
}

// pages is how many pages n bytes take.
func (g *Geometry) pages(n int64) uint64 {
	bs := uint64(g.BlockSize)
	return uint64(n)/bs + min(1, uint64(n)%bs)
}

// moveInline moves data out of the inode, as every change of a file's blocks
// begins: [Linux] behaviour f2fs_convert_inline_inode(). What was marked as
// holding no data has no block afterwards.
func (h *handle) moveInline() error {
	if h.b.inline()&inlineData == 0 {
		return nil
	}
	area := h.w.g.inlineArea(h.b)
	size := h.b.size()
	if size > uint64(len(area)) {
		return damagedf("%s: %d bytes are said to be in the inode, which has room for %d; run check -y", h.path, size, len(area))
	}
	var page []byte
	if h.b.inline()&inlineExist != 0 && size > 0 {
		if h.has(adviseEncrypted) {
			return vol.Refusef("%s: it is encrypted and inside of its inode; without its key it cannot be moved out", h.path)
		}
		page = make([]byte, h.w.g.BlockSize)
		copy(page, area[:size])
		if err := h.w.room(h.path, 1); err != nil {
			return err
		}
	}
	clear(area)
	h.b.clearChildren() // none were led to, whatever stands there
	h.b[inodeInline] &^= inlineData | inlineExist
	if page == nil {
		return nil
	}
	return h.writePage(0, page)
}

// cutTail makes what lies behind the end of the file in its last block zeros,
// before the file grows over it. Kernels keep it so; what a file was mapped to
// memory for may have left something there.
func (h *handle) cutTail() error {
	bs := uint64(h.w.g.BlockSize)
	size := h.b.size()
	if size%bs == 0 || h.has(adviseEncrypted) {
		return nil
	}
	page, err := h.readPage(size / bs)
	if err != nil || page == nil || dev.AllZero(page[size%bs:]) {
		return err
	}
	clear(page[size%bs:])
	if !h.isPinned() {
		return h.writePage(size/bs, page)
	}
	p, way, err := h.at(size/bs, false) // it stays where it is; nobody can read what is lost there
	if err != nil {
		return err
	}
	return h.w.write(p.get(way.slot), page)
}
