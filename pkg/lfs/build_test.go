package lfs

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// builder fills a new volume with files, so that tests have every structure there
// is without a kernel, and know where each lies. It keeps all in memory; finish
// writes it: nodes and tables, and a newer first pack.
type builder struct {
	t    testing.TB
	d    *dev.Mem
	g    *Geometry
	sb   superblock
	cp   checkpoint
	root *built
	all  []*built

	next [logCount]uint32           // block that a log writes to next
	full map[uint32]bool            // segments that a log has begun
	sums map[uint32]summaryBlock    // by segment
	used map[uint32]map[uint32]bool // blocks by segment
	kind map[uint32]int             // logs by segment
	nats map[uint32]natEntry
	nid  uint32 // the next that is free

	orphans []uint32 // inodes that the pack lists
	flags   uint32   // of the pack, instead of that of an unmount
	few     bool     // fill makes few files, to be quick
}

// built is a file or directory, and where it is.
type built struct {
	m       *builder
	ino     uint32
	parent  *built
	name    string
	node    nodeBlock
	addr    uint32
	nodes   map[uint32]*builtNode // by place
	pages   map[uint32]uint32     // addresses
	entries []builtEntry
	old     bool // the format made it
}

type builtNode struct {
	nid, addr, place uint32
	b                nodeBlock
}

// builtEntry is where an entry of a directory is.
type builtEntry struct {
	name string
	blk  uint32 // 0: in the inode
	slot int
}

// newBuilder formats a volume.
func newBuilder(t testing.TB, size int64, o vol.FormatOptions) *builder {
	t.Helper()
	o.Type, o.Seed, o.Time = "f2fs", 1, 1700000000
	p, err := planFormat(vol.Target{Size: size}, o)
	if err != nil {
		t.Fatal(err)
	}
	m := &builder{t: t, d: dev.NewMem(size), full: map[uint32]bool{}, sums: map[uint32]summaryBlock{}, used: map[uint32]map[uint32]bool{}, kind: map[uint32]int{}, nats: map[uint32]natEntry{}}
	if _, err := p.Apply(context.Background(), m.d); err != nil {
		t.Fatal(err)
	}
	m.load()
	return m
}

// load takes over what the format has written.
func (m *builder) load() {
	first, _, err := readSupers(m.d)
	m.must(err)
	m.sb, m.g = first.raw, first.g
	pk := readPack(m.d, m.g, 0)
	s, f, err := readState(m.d, m.g, pk)
	m.must(err)
	if f != nil {
		m.t.Fatal(f)
	}
	m.cp = append(checkpoint{}, pk.cp...)
	tabs, _, err := s.loadTables(context.Background(), m.d, 0)
	m.must(err)
	for i := range logCount {
		segno := m.cp.logSegment(i)
		m.next[i] = m.g.SegmentBlock(segno) + uint32(m.cp.logOffset(i))
		m.begin(i, segno)
		copy(m.sums[segno], s.logs[i])
		m.sums[segno].journal().putCount(0)
	}
	tabs.sit.valid.Runs(space.Extent{Len: uint32(m.g.MainBlocks())}, func(e space.Extent) bool {
		for u := e.Start; uint64(u) < e.End(); u++ {
			m.used[u/segmentBlocks][u%segmentBlocks] = true
		}
		return true
	})
	for nid := nodeIno; nid <= metaIno; nid++ {
		m.setNAT(uint32(nid), uint32(nid), 1)
	}
	m.nid = m.cp.nextNid()
	for _, n := range tabs.nodes {
		if n.nid < rootIno {
			continue
		}
		m.setNAT(n.nid, n.ino, n.addr)
		x := &built{m: m, ino: n.ino, node: m.read(n.addr), addr: n.addr, nodes: map[uint32]*builtNode{}, pages: map[uint32]uint32{}, old: true}
		for i := range m.slots(x) {
			if a := x.node.word(m.g.extraWords(x.node) + int(i)); a != 0 {
				x.pages[i] = a
			}
		}
		m.all = append(m.all, x)
	}
	m.root = m.all[0]
}

func (m *builder) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *builder) read(blk uint32) []byte {
	b, err := readBlock(m.d, m.g, blk)
	m.must(err)
	return b
}

func (m *builder) write(blk uint32, b []byte) {
	_, err := m.d.WriteAt(b, m.g.BlockOff(blk))
	m.must(err)
}

// edit changes a block.
func (m *builder) edit(blk uint32, fn func(b []byte)) {
	b := m.read(blk)
	fn(b)
	m.write(blk, b)
}

func (m *builder) setNAT(nid, ino, addr uint32) {
	e := make(natEntry, natLen)
	e.put(0, ino, addr)
	m.nats[nid] = e
}

// begin has a log write to a segment.
func (m *builder) begin(log int, segno uint32) {
	m.full[segno], m.kind[segno], m.used[segno] = true, log, map[uint32]bool{}
	m.sums[segno] = make(summaryBlock, m.g.SummaryBytes)
	if log >= logsPerKind {
		m.sums[segno].putKind(summaryNode)
	}
}

// take allocates a block of a log.
func (m *builder) take(log int) uint32 {
	blk := m.next[log]
	segno := m.g.SegmentOf(blk)
	m.used[segno][m.g.IndexOf(blk)] = true
	m.next[log]++
	if m.g.IndexOf(blk) == segmentBlocks-1 {
		next := uint32(0)
		for m.full[next] {
			next++
		}
		if next >= m.g.MainSegments {
			m.t.Fatal("the volume is full")
		}
		m.begin(log, next)
		m.next[log] = m.g.SegmentBlock(next)
	}
	return blk
}

// owner notes in the summary who leads to a block.
func (m *builder) owner(blk, nid uint32, slot int) {
	m.sums[m.g.SegmentOf(blk)].entry(int(m.g.IndexOf(blk))).put(nid, 0, uint16(slot))
}

// newNid numbers a node.
func (m *builder) newNid() uint32 {
	m.nid++
	return m.nid - 1
}

// finish writes everything, and checks that it is clean.
func (m *builder) finish() *builder {
	m.t.Helper()
	blocks, nodes := uint64(0), uint32(0)
	for _, x := range m.all {
		x.finish()
		blocks += x.node.blocks()
		nodes += uint32(len(x.nodes)) + 1
	}
	m.writeQuotas(uint64(len(m.all)))
	m.cp.put64(cpValidBlocks, blocks)
	m.cp.put32(cpValidNodes, nodes)
	m.cp.put32(cpValidInodes, uint32(len(m.all)))
	m.cp.put32(cpNextNid, m.nid)
	m.writeTables()
	m.writePack()
	return m
}

// writeQuotas notes what root has, to whom all belongs; quota files do not
// count, and neither do inodes as space.
func (m *builder) writeQuotas(inodes uint64) {
	space := uint64(0)
	for _, x := range m.all {
		if x.kept() {
			inodes--
		} else {
			space += (x.node.blocks() - 1) * uint64(m.g.BlockSize)
		}
	}
	for kind, ino := range m.g.QuotaInos {
		for _, x := range m.all {
			if x.ino != ino {
				continue
			}
			for i, b := range blocksOf(newQuotaFile(kind, 0, int(inodes), space), m.g.BlockSize) {
				m.write(x.pages[uint32(i)], b)
			}
		}
	}
}

// kept tells whether x is a quota file.
func (x *built) kept() bool {
	for _, ino := range x.m.g.QuotaInos {
		if ino == x.ino {
			return true
		}
	}
	return false
}

// writeTables writes the first copy of SIT and NAT, but for entries that the
// pack has in its journals, and SSA.
func (m *builder) writeTables() {
	for segno, used := range m.used {
		if m.inJournal(segno) {
			continue
		}
		m.edit(m.g.SITBlock(segno, false), func(b []byte) {
			_, slot := m.g.SITIndex(segno)
			m.putSIT(sitEntry(b[slot*sitLen:][:sitLen]), segno, used)
		})
	}
	for nid, e := range m.nats {
		if nid == rootIno {
			continue
		}
		m.edit(m.g.NATBlock(nid, false), func(b []byte) {
			_, slot := m.g.NATIndex(nid)
			copy(b[slot*natLen:], e)
		})
	}
	if m.g.ReadOnly() {
		return
	}
	for segno, sum := range m.sums {
		_, err := m.d.WriteAt(sum, m.g.SummaryOff(segno))
		m.must(err)
	}
}

func (m *builder) putSIT(e sitEntry, segno uint32, used map[uint32]bool) {
	clear(e)
	e.put(m.kind[segno], len(used))
	for i := range used {
		setMSB(e.validMap(), i)
	}
}

// inJournal tells which segments have their entry in the journal: that of the
// log of hot data. Of NAT it is the root directory's.
func (m *builder) inJournal(segno uint32) bool { return segno == m.g.SegmentOf(m.next[hotData]) }

// writePack writes the first pack anew, with full summaries.
func (m *builder) writePack() {
	segments := uint32(0)
	for i := range logCount {
		m.cp.putLog(i, m.g.SegmentOf(m.next[i]), uint16(m.g.IndexOf(m.next[i])))
		m.cp[cpAllocTypes+i] = allocLFS
	}
	for segno := range m.g.MainSegments {
		if len(m.used[segno]) == 0 && !m.full[segno] {
			segments++
		}
	}
	m.cp.put32(cpFreeSegments, segments)
	flags, logs := uint32(cpUmount), uint32(logCount)
	if m.flags != 0 {
		flags = m.flags
	}
	if flags&(cpUmount|cpFastboot) == 0 {
		logs = logsPerKind // without those of nodes
	}
	m.cp.put32(cpFlags, flags|m.cp.flags()&cpLargeNat)
	list := m.orphanBlock()
	if list != nil {
		m.cp.put32(cpFlags, m.cp.flags()|cpOrphans)
	}
	m.cp.put64(cpVersion, m.cp.version()+2)
	start := 1 + m.g.CPPayload
	if list != nil {
		start++
	}
	m.cp.put32(cpStartSum, start)
	m.cp.put32(cpBlocks, start+logs+1)
	m.cp.putSum()
	sums := [logCount]summaryBlock{}
	for i := range sums {
		sums[i] = m.sums[m.g.SegmentOf(m.next[i])]
	}
	j := sums[hotData].journal()
	j.putCount(1)
	j.putNid(0, rootIno)
	_, e := j.nat(0)
	copy(e, m.nats[rootIno])
	j = sums[coldData].journal()
	j.putCount(1)
	segno := m.g.SegmentOf(m.next[hotData])
	j.putSegment(0, segno)
	_, se := j.sit(0)
	m.putSIT(se, segno, m.used[segno])
	blk := m.g.PackBlock(0)
	m.write(blk, m.cp)
	if list != nil {
		m.write(blk+start-1, list)
	}
	for i := range logs {
		b := make([]byte, m.g.BlockSize)
		copy(b, sums[i])
		m.write(blk+start+i, b)
	}
	m.write(blk+start+logs, m.cp)
}

// orphanBlock is the list of orphans, nil for none.
func (m *builder) orphanBlock() orphanBlock {
	if len(m.orphans) == 0 {
		return nil
	}
	b := make([]byte, m.g.BlockSize)
	for i, ino := range m.orphans {
		binary.LittleEndian.PutUint32(b[4*i:], ino)
	}
	binary.LittleEndian.PutUint16(b[len(b)-orphanIndex:], 1)
	binary.LittleEndian.PutUint16(b[len(b)-orphanBlocks:], 1)
	binary.LittleEndian.PutUint32(b[len(b)-orphanCount:], uint32(len(m.orphans)))
	return b
}
