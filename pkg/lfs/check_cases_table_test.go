package lfs

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/vol"
)

// tableDamages break SIT, SSA and NAT.
func tableDamages() []damage {
	return []damage{
		{slug: "sit-count", do: func(l *lab) vol.Location {
			return l.editSIT(l.logSegment(warmData), func(e sitEntry) { e.put(e.kind(), e.count()+1) })
		}},
		{slug: "sit-count", name: " map", more: "cp-totals log-place sit-leak", do: func(l *lab) vol.Location {
			return l.editSIT(l.logSegment(warmData), func(e sitEntry) { e.validMap()[sitMapLen-1] |= 1 })
		}},
		{slug: "sit-type", more: "cp-counts", do: func(l *lab) vol.Location {
			return l.editSIT(l.logSegment(warmData), func(e sitEntry) { e.put(warmNode, e.count()) })
		}},
		{slug: "sit-type", name: " unknown", do: func(l *lab) vol.Location {
			return l.editSIT(l.logSegment(warmData), func(e sitEntry) { e.put(9, e.count()) })
		}},
		{slug: "sit-free", more: "cp-totals", do: func(l *lab) vol.Location {
			addr := l.at["plain"].pages[2]
			l.editSIT(l.g.SegmentOf(addr), func(e sitEntry) { flip(e, l.g.IndexOf(addr)) })
			return vol.Location{Path: "/plain", Cluster: addr, Range: l.g.BlockRange(addr, 1)}
		}},
		{slug: "sit-leak", more: "cp-totals", do: func(l *lab) vol.Location {
			segno := l.freeSegment()
			l.editSIT(segno, func(e sitEntry) {
				e.put(coldData, 0)
				flip(e, 7)
			})
			l.put32(cpFreeSegments, l.cp.freeSegments()-1)
			blk := l.g.SegmentBlock(segno) + 7
			return vol.Location{Cluster: blk, Range: l.g.BlockRange(blk, 1)}
		}},
		{slug: "ssa-entry", do: func(l *lab) vol.Location { return l.editSSA(true, func(e summary) { e.put(9999, 0, e.offset()) }) }},
		{slug: "ssa-entry", name: " offset", do: func(l *lab) vol.Location { return l.editSSA(true, func(e summary) { e.put(e.nid(), 0, 77) }) }},
		{slug: "ssa-entry", name: " version", do: func(l *lab) vol.Location { return l.editSSA(true, func(e summary) { e.put(e.nid(), 9, e.offset()) }) }},
		{slug: "ssa-entry", name: " of a log", do: func(l *lab) vol.Location {
			addr := l.at["plain"].pages[2]
			l.editSummary(warmData, func(b summaryBlock) { b.entry(int(l.g.IndexOf(addr))).put(9999, 0, 2) })
			return vol.Location{Path: "/plain", Cluster: addr, Range: l.g.BlockRange(addr, 1)}
		}},
		{slug: "ssa-type", do: func(l *lab) vol.Location {
			segno := l.closedNodes()
			off := l.g.SummaryOff(segno) + l.g.SummaryBytes - summaryFooterLen
			_, err := l.d.WriteAt([]byte{summaryData}, off)
			l.must(err)
			return at(off, 1)
		}},
		{slug: "nat-address", more: "cp-totals dentry-ino sit-leak", do: func(l *lab) vol.Location {
			return l.editNAT(l.at["empty"].ino, func(e natEntry) { e.put(0, e.ino(), 0x7FFFFFFF) })
		}},
		{slug: "nat-reserved", do: func(l *lab) vol.Location { return l.editNAT(metaIno, func(e natEntry) { e.put(0, metaIno, 5) }) }},
		{slug: "nat-reserved", name: " 0", do: func(l *lab) vol.Location { return l.editNAT(0, func(e natEntry) { e.put(0, 0, 5) }) }},
		{slug: "nat-bits", name: " empty", do: func(l *lab) vol.Location { return l.putNATBits(false, 0) }},
		{slug: "nat-bits", name: " full", do: func(l *lab) vol.Location { return l.putNATBits(true, 3) }},
		{slug: "nat-owner", more: "cp-totals inode-blocks node-pointer sit-leak", do: func(l *lab) vol.Location {
			return l.editNAT(l.at["direct"].nodes[1].nid, func(e natEntry) { e.put(0, 0, e.addr()) })
		}},
		{slug: "node-lost", more: "inode-blocks sit-leak xattr-list", do: func(l *lab) vol.Location {
			x := l.at["more attributes"]
			x.editInode(func(n nodeBlock) { n.put32(inodeXattrNid, 0) })
			n := x.nodes[xattrPlace]
			return vol.Location{Cluster: n.addr, Range: l.g.BlockRange(n.addr, 1)}
		}},
	}
}

// freeSegment is one that nothing is in.
func (m *builder) freeSegment() uint32 {
	segno := uint32(0)
	for m.full[segno] {
		segno++
	}
	return segno
}

// closedNodes is a segment of nodes that a log has filled: the 600 files of the
// lab take more than one.
func (m *builder) closedNodes() uint32 {
	for segno := range m.g.MainSegments {
		if m.full[segno] && m.kind[segno] == warmNode && segno != m.logSegment(warmNode) {
			return segno
		}
	}
	m.t.Fatal("no segment of nodes is full")
	return 0
}

// editSSA changes the summary of a node in a segment that no log writes to, or
// with data that of a block of data, which is made so by moving the log on.
func (l *lab) editSSA(_ bool, fn func(e summary)) vol.Location {
	addr := l.at["plain"].pages[2]
	segno := l.g.SegmentOf(addr)
	l.moveLog(warmData)
	off := l.g.SummaryOff(segno) + int64(l.g.IndexOf(addr))*summaryLen
	e := make(summary, summaryLen)
	_, err := l.d.ReadAt(e, off)
	l.must(err)
	fn(e)
	_, err = l.d.WriteAt(e, off)
	l.must(err)
	return vol.Location{Path: "/plain", Cluster: addr, Range: at(off, summaryLen).Range}
}

// moveLog has a log write to another segment, so that the summary of the one it
// was in is in SSA.
func (m *builder) moveLog(log int) {
	segno := m.freeSegment()
	m.begin(log, segno)
	m.next[log] = m.g.SegmentBlock(segno)
	m.writePack()
	m.editSIT(segno, func(e sitEntry) { e.put(log, 0) })
}

// putNATBits writes bits of free and used node numbers: all is so in one block
// of NAT, and nothing is said of the others.
func (l *lab) putNATBits(full bool, index uint32) vol.Location {
	l.editPack(func(c checkpoint) { c.put32(cpFlags, c.flags()|cpNatBits) }, 0, 0)
	c := checkpoint(l.read(l.g.PackBlock(0)))
	at := l.g.BlockRange(l.g.natBitsBlock(l.g.PackBlock(0)), l.g.natBitsBlocks())
	b := make([]byte, at.Len)
	binary.LittleEndian.PutUint64(b, c.version()|uint64(c.sum())<<32)
	n := l.g.NATBitmapBytes()
	if full {
		setLSB(b[natBitsHead:natBitsHead+n], index)
	} else {
		setLSB(b[natBitsHead+n:], index)
	}
	_, err := l.d.WriteAt(b, at.Off)
	l.must(err)
	return vol.Location{Range: at}
}
