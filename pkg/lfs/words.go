package lfs

import (
	"encoding/binary"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
)

// run is blocks that follow one another in one segment, and to which pointers
// lead that do so in one node; or the block of a node itself.
type run struct {
	addr  uint32
	node  int32 // in the index: the one that leads to them
	inode int32
	slot  uint16 // of the first pointer
	n     uint16
}

// origin is where pointers are: a node of a file.
type origin struct {
	f     *body // nothing but the tally may change meanwhile
	t     *tally
	node  int32
	inode int32
	base  int32 // byte of the first
}

// takeWords takes the pointers in b, from block page of the file on. Holes are
// most of what nodes hold, so they are skipped in large steps.
func (h *harvest) takeWords(s origin, b []byte, page uint64) {
	const step = 512
	header := noHeader // block of the file with the mark of the last compressed cluster
	for i := 0; i < len(b); {
		end := min(i+step, len(b))
		if dev.AllZero(b[i:end]) {
			i = end
			continue
		}
		for ; i < end; i += 4 {
			if a := binary.LittleEndian.Uint32(b[i:]); a != nullAddr {
				header = h.takePointer(s, uint16(i/4), page+uint64(i/4), a, header)
			} else if i+12 <= end && binary.LittleEndian.Uint64(b[i+4:]) == 0 {
				if i += 8; dev.AllZero(b[i:end]) {
					i = end - 4
				}
			}
		}
	}
}

const noHeader = ^uint64(0)

// takePointer takes one pointer of a file that is no hole.
func (h *harvest) takePointer(s origin, slot uint16, page uint64, addr uint32, header uint64) uint64 {
	f, t := s.f, s.t
	switch {
	case h.w.g.ValidMain(addr):
		h.takeBlock(s, slot, page, addr)
	case addr == newAddr:
		h.reserved++
		if header != noHeader && page-header < 1<<f.cluster && f.inline&inlineReleased == 0 {
			t.saved++
		}
	case addr == compressAddr:
		if f.cluster == 0 || f.cluster != unknownCluster && page%(1<<f.cluster) != 0 {
			if f.lost > 0 && page%(1<<f.lost) == 0 {
				h.packed++
			}
			h.note(note{slug: "addr-compress", inode: s.inode, from: h.w.index.nodes[s.node].nid, word: s.base + 4*int32(slot), detail: textf("block %d of the file", page)})
			return header
		}
		if f.inline&inlineReleased != 0 {
			return header
		}
		h.reserved++
		t.saved++
		header = page
	default:
		h.note(note{slug: "addr-range", inode: s.inode, from: h.w.index.nodes[s.node].nid, word: s.base + 4*int32(slot), got: hex(addr), detail: textf("block %d of the file", page)})
		return header
	}
	t.counted++
	t.pages = max(t.pages, page+1)
	if addr != newAddr {
		t.held = max(t.held, page+1)
	}
	if at := page - uint64(f.extAt); at < uint64(f.extLen) && addr == f.extBlk+uint32(at) {
		t.extSeen++
	}
	return header
}

// takeBlock takes a pointer to a block. One that goes on where the one before
// it ended makes that run longer.
func (h *harvest) takeBlock(s origin, slot uint16, page uint64, addr uint32) {
	rs := &h.dataRuns
	switch s.f.keeps {
	case keepDir:
		rs = &h.pageRuns
		h.dirBlocks = append(h.dirBlocks, filePage{page, addr, s.inode})
	case keepQuota:
		rs = &h.pageRuns
		h.quota = append(h.quota, filePage{page, addr, s.inode})
	}
	if k := len(*rs) - 1; k >= 0 {
		last := &(*rs)[k]
		if last.node == s.node && uint32(last.slot)+uint32(last.n) == uint32(slot) && last.addr+uint32(last.n) == addr && h.w.g.IndexOf(addr) != 0 {
			last.n++
			return
		}
	}
	if len(*rs) == cap(*rs) {
		*rs = slices.Grow(*rs, max(4*cap(*rs), 1<<12)-len(*rs))
	}
	*rs = append(*rs, run{addr: addr, node: s.node, inode: s.inode, slot: slot, n: 1})
}
