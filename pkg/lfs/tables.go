package lfs

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
)

// tables is what SIT and NAT say.
type tables struct {
	sit   *segments
	nodes []node // by nid; those that are free are left out
	// Blocks of NAT that the bits of the pack contradict, where they were read.
	badBits []uint32
}

// inUse is how many nodes there are; the first numbers stand for none.
func (t *tables) inUse() (n int) {
	for i := range t.nodes {
		if t.nodes[i].nid >= rootIno && t.nodes[i].addr != nullAddr {
			n++
		}
	}
	return n
}

// loadTables reads SIT and NAT: of each block the copy that the version bitmap
// names, overridden by the journals. All of it goes through one plug, so that it
// is read in the order in which it lies there, whichever copies count, one
// window ahead of the reader; what is a hole is not read. The window is as
// dev.NewPlug has it.
//
// Memory is 3 bytes a segment, a bit for each block of a segment in use, and 20
// bytes a node.
func (s *state) loadTables(ctx context.Context, d dev.Device, window int64) (*tables, dev.ReadStats, error) {
	l := newTableLoader(s)
	plug := dev.NewPlug(dev.WholeUnits{Device: d, Unit: s.g.BlockSize}, s.g.window(d, window))
	s.addTable(plug, l.sitEnd, func(i uint32) uint32 { return s.g.SITAddr(i, testMSB(s.sitVersions, i)) })
	s.addTable(plug, s.g.NATBlocks(), func(i uint32) uint32 { return s.g.NATAddr(i, testMSB(s.natVersions, i)) })
	// One worker is a reader that has each piece in its cache still when it looks
	// at it, which counts for more here than to read the next one meanwhile.
	o := dev.ReadOptions{Holes: true, Window: s.g.window(d, window)}
	stats, err := dev.ReadRunsWide(ctx, dev.WholeUnits{Device: d, Unit: s.g.BlockSize}, plug.Unplug(), o, 1, func() func(dev.Range, []byte) error {
		return func(p dev.Range, b []byte) error {
			l.piece(p, b)
			return nil
		}
	})
	if !slices.IsSortedFunc(l.t.nodes, byNid) {
		slices.SortFunc(l.t.nodes, byNid) // where both copies are in use
	}
	return l.t, stats, err
}

// addTable puts the n blocks of a table into the plug; addr says where each is.
func (s *state) addTable(plug *dev.Plug, n uint32, addr func(uint32) uint32) {
	var first, count uint32
	for i := range n {
		a := addr(i)
		if count > 0 && first+count == a {
			count++
			continue
		}
		plug.Add(s.g.BlockRange(first, count))
		first, count = a, 1
	}
	plug.Add(s.g.BlockRange(first, count))
}

// tableLoader takes the blocks of SIT and NAT in any order.
type tableLoader struct {
	s              *state
	g              *Geometry
	t              *tables
	sitPer, natPer uint32 // entries in a block
	sitEnd         uint32 // blocks of SIT that say something of a segment
	sits           map[uint32]sitEntry
	nats           map[uint32]natEntry
	// Blocks with an entry that a journal overrides. All others need no look
	// at the journals.
	sitMarked, natMarked map[uint32]bool
}

// maxExpected bounds the memory that is made on the word of a checkpoint.
const maxExpected = 1 << 20

func newTableLoader(s *state) *tableLoader {
	l := &tableLoader{
		s: s, g: s.g, t: &tables{sit: newSegments(s.g), nodes: dev.MakeLarge[node](int(min(s.cp.validNodes()+3, maxExpected)))}, sitPer: uint32(s.g.per().sitEntries()), natPer: uint32(s.g.per().natEntries()),
		sits: s.sitOverrides(), nats: s.natOverrides(), sitMarked: map[uint32]bool{}, natMarked: map[uint32]bool{},
	}
	l.sitEnd = (s.g.MainSegments + l.sitPer - 1) / l.sitPer
	for segno := range l.sits {
		l.sitMarked[segno/l.sitPer] = true
	}
	for nid := range l.nats {
		l.natMarked[nid/l.natPer] = true
	}
	return l
}

// piece takes whole blocks of the tables; b is nil for blocks of zeros.
func (l *tableLoader) piece(p dev.Range, b []byte) {
	blk := uint32(p.Off / l.g.BlockSize)
	for n := p.Len / l.g.BlockSize; n > 0; n-- {
		var block []byte
		if b != nil {
			block, b = b[:l.g.BlockSize], b[l.g.BlockSize:]
			if dev.AllZero(block) {
				block = nil
			}
		}
		if blk < l.g.NAT {
			l.sitBlock((blk-l.g.SIT)%l.g.SITBlocks(), block)
		} else {
			i := blk - l.g.NAT // segments of the copies alternate
			l.natBlock(i/(2*segmentBlocks)*segmentBlocks+i%segmentBlocks, block)
		}
		blk++
	}
}

// sitBlock takes a block of SIT, nil for one of zeros: no segment in use.
func (l *tableLoader) sitBlock(index uint32, b []byte) {
	if b == nil && !l.sitMarked[index] {
		return
	}
	marked := l.sitMarked[index]
	for k := uint32(0); k < l.sitPer && index*l.sitPer+k < l.g.MainSegments; k++ {
		segno := index*l.sitPer + k
		if marked {
			if e, ok := l.sits[segno]; ok {
				l.t.sit.take(segno, e)
				continue
			}
		}
		if b != nil {
			l.t.sit.take(segno, sitEntry(b[k*sitLen:(k+1)*sitLen]))
		}
	}
}

// natBlock takes a block of NAT, nil for one of zeros: no node.
func (l *tableLoader) natBlock(index uint32, b []byte) {
	if l.s.natBits != nil && l.s.natBits.wrong(index, b, int(l.natPer)) {
		l.t.badBits = append(l.t.badBits, index)
	}
	marked, first, end := l.natMarked[index], uint64(index)*uint64(l.natPer), uint64(l.g.NIDs())
	if b == nil && !marked || first >= end { // NAT may have room for more than there are numbers
		return
	}
	for k := range uint32(min(uint64(l.natPer), end-first)) {
		nid := uint32(first) + k
		if marked {
			if e, ok := l.nats[nid]; ok {
				l.takeNAT(nid, e)
				continue
			}
		}
		if b != nil {
			l.takeNAT(nid, natEntry(b[k*natLen:(k+1)*natLen]))
		}
	}
}

func (l *tableLoader) takeNAT(nid uint32, e natEntry) {
	if addr, ino := e.addr(), e.ino(); addr != nullAddr || ino != 0 {
		l.t.nodes = append(l.t.nodes, node{nid: nid, ino: ino, addr: addr, version: e.version(), inode: -1})
	}
}

// window is a window of whole blocks, so that no piece ends inside of one. 0
// stands for what the limits of the device say, a negative one for none.
func (g *Geometry) window(d dev.Device, want int64) int64 {
	if want == 0 {
		want = d.Limits().Readahead
	}
	if want <= 0 {
		return -1
	}
	const most = 64 << 20 // more is not read at once, so a larger one needs no rounding
	return (min(want, most) + g.BlockSize - 1) / g.BlockSize * g.BlockSize
}
