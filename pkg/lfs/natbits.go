package lfs

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// natBits are two bits for each block of NAT at the end of a checkpoint pack,
// [Linux] behaviour __get_nat_bitmaps(): that no entry of it is free, and that
// none is in use. Linux gives out node numbers by them and does not look at the
// blocks again. They are a hint: what counts is NAT.
type natBits struct{ full, empty []byte }

const natBitsHead = 8 // the version of the checkpoint they are of, with its checksum in the high half

// natBitsBlocks is how many blocks they take.
func (g *Geometry) natBitsBlocks() uint32 {
	return uint32((natBitsHead + 2*g.NATBitmapBytes() + g.BlockSize - 1) / g.BlockSize)
}

// natBitsBlock is where they start in a pack: they end with its segment.
func (g *Geometry) natBitsBlock(pack uint32) uint32 {
	return pack + segmentBlocks - g.natBitsBlocks()
}

// natBitsFault is why Linux refuses a pack with the mark for them, "" where it does
// not: [Linux] behaviour f2fs_sanity_check_ckpt(), which has them twice as long as
// they are, for both copies of NAT.
func (s *state) natBitsFault() string {
	if !s.cp.has(cpNatBits) || s.g.natBitsFit() {
		return ""
	}
	return textf("beside a payload of %d blocks Linux sees no room for the bits of NAT in a pack", s.g.CPPayload)
}

// natBitsFit tells whether Linux sees room for them.
func (g *Geometry) natBitsFit() bool {
	blocks := (natBitsHead + 4*g.NATBitmapBytes() + g.BlockSize - 1) / g.BlockSize
	return int64(g.CPPayload)+packCount+logCount+blocks < segmentBlocks
}

// readNATBits reads them; nil where there are none for this checkpoint.
func (s *state) readNATBits(d dev.Device) (*natBits, error) {
	g := s.g
	if !s.cp.has(cpNatBits) || g.natBitsBlocks()+s.cp.blocks() > segmentBlocks {
		return nil, nil
	}
	n := g.NATBitmapBytes()
	b := make([]byte, natBitsHead+2*n)
	if _, err := d.ReadAt(b, g.BlockOff(g.natBitsBlock(s.p.start))); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint64(b) != s.cp.version()|uint64(s.cp.sum())<<32 {
		return nil, nil
	}
	b = b[natBitsHead:]
	return &natBits{full: b[:n], empty: b[n:]}, nil
}

// wrong tells whether the bits of block index contradict it; b is nil for one
// of zeros. The entries themselves count, not those that the journal has instead
// of them. Number 0 is never free.
func (x *natBits) wrong(index uint32, b []byte, entries int) bool {
	full, empty := testLSB(x.full, index), testLSB(x.empty, index)
	if !full && !empty {
		return false
	}
	from := 0
	if index == 0 {
		from = 1
	}
	used := from
	for k := from; k < entries && b != nil; k++ {
		if natEntry(b[k*natLen:(k+1)*natLen]).addr() != nullAddr {
			used++
		}
	}
	return full && used < entries || empty && used > 0
}

// checkNATBits reports what was found wrong with them.
func (c *checker) checkNATBits(r *vol.Report, blocks []uint32) {
	if len(blocks) > 0 {
		at := c.g.BlockRange(c.g.natBitsBlock(c.s.p.start), c.g.natBitsBlocks())
		r.Found(c.cat.Found("nat-bits", vol.Location{Range: at}, vol.Detail("of %d blocks of NAT, the first is number %d", len(blocks), blocks[0])), c.mended(gradeShape, func(w *writer) { w.carry.bits = nil }))
	}
}
