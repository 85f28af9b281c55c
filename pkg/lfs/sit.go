package lfs

import (
	"encoding/binary"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// segments is what SIT says: for each segment how many blocks are valid and of
// what type it is, and for each block of the main area whether it is valid.
type segments struct {
	count []uint16 // as it is stored
	kind  []byte
	valid *space.Sparse
	bad   []segFault
}

// segFault is a segment whose entry contradicts itself.
type segFault struct {
	segno     uint32
	slug      string
	got, want int
}

// newSegments is a SIT that says nothing yet: all is free.
func newSegments(g *Geometry) *segments {
	return &segments{count: make([]uint16, g.MainSegments), kind: make([]byte, g.MainSegments), valid: space.NewSparse(g.MainBlocks())}
}

// segment is which blocks of a segment are valid, the first one the lowest bit;
// nil where none is.
func (t *segments) segment(segno uint32) []uint64 {
	const words, perPage = segmentBlocks / 64, uint32(len(space.Page{})) * 64 / segmentBlocks
	p := t.valid.Page(int(segno / perPage))
	if p == nil {
		return nil
	}
	return p[segno%perPage*words:][:words]
}

// take notes one entry.
func (t *segments) take(segno uint32, e sitEntry) {
	t.count[segno], t.kind[segno] = uint16(e.count()), byte(e.kind())
	if e.vblocks() == 0 && dev.AllZero(e.validMap()) {
		return
	}
	n := t.takeMap(segno*segmentBlocks, e.validMap())
	if e.count() != n {
		t.bad = append(t.bad, segFault{segno, "sit-count", e.count(), n})
	}
	if e.kind() >= logCount {
		t.bad = append(t.bad, segFault{segno, "sit-type", e.kind(), logCount - 1})
	}
}

// takeMap notes the blocks of a segment that are valid, and returns how many
// there are. In a byte of the map the highest bit is the first block.
func (t *segments) takeMap(base uint32, m []byte) int {
	n := 0
	for i := 0; i < len(m); i += 8 {
		word := binary.BigEndian.Uint64(m[i:])
		n += bits.OnesCount64(word)
		for at := uint32(i * 8); word != 0; {
			skip := bits.LeadingZeros64(word)
			run := bits.LeadingZeros64(^(word << skip))
			t.valid.SetRunNew(space.Extent{Start: base + at + uint32(skip), Len: uint32(run)})
			word = word << skip << run
			at += uint32(skip + run)
		}
	}
	return n
}
