package lfs

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/vol"
)

// crowd gives a lab the largest payload that Linux takes, so that in a pack there is
// no room for the bits of NAT, and the mark that they are there.
func (l *lab) crowd() {
	m := newBuilder(l.t, 64<<20, vol.FormatOptions{})
	m.g.CPPayload = linuxPayload - 1
	m.editSupers(func(b superblock) { b.put32(sbCPPayload, m.g.CPPayload) })
	m.flags = cpUmount | cpNatBits
	*l = *fillLab(m)
}

// packDamages break the checkpoint packs.
func packDamages() []damage {
	flag := func(slug string, bit uint32) damage {
		return damage{slug: slug, do: func(l *lab) vol.Location { return l.put32(cpFlags, l.cp.flags()|bit) }}
	}
	num := func(slug, more string, off int64, v func(l *lab) uint32) damage {
		return damage{slug: slug, more: more, do: func(l *lab) vol.Location { return l.put32(off, v(l)) }}
	}
	set := func(v uint32) func(*lab) uint32 { return func(*lab) uint32 { return v } }
	return []damage{
		{slug: "log-type", do: func(l *lab) vol.Location {
			return l.editSIT(l.logSegment(coldNode), func(e sitEntry) { e.put(hotData, 0) })
		}},
		{slug: "cp-none", more: "cp-checksum", do: func(l *lab) vol.Location {
			for i := range packCount {
				l.edit(l.g.PackBlock(i), func(b []byte) { b[cpElapsed] ^= 1 })
			}
			return at(l.g.BlockOff(l.g.CP), l.g.SegmentBytes())
		}},
		{slug: "cp-checksum", do: func(l *lab) vol.Location {
			l.edit(l.g.PackBlock(1), func(b []byte) { b[cpElapsed] ^= 1 })
			return at(l.g.BlockOff(l.g.PackBlock(1)+1)-4, 4)
		}},
		{slug: "cp-checksum", name: " place", do: func(l *lab) vol.Location {
			l.edit(l.g.PackBlock(1), func(b []byte) { checkpoint(b).put32(cpChecksumOffset, 4094) })
			return at(l.g.BlockOff(l.g.PackBlock(1))+cpChecksumOffset, 4)
		}},
		{slug: "cp-blank", do: func(l *lab) vol.Location {
			l.edit(l.g.PackBlock(1), func(b []byte) { clear(b) })
			return at(l.g.BlockOff(l.g.PackBlock(1)), l.g.BlockSize)
		}},
		{slug: "cp-blocks", do: func(l *lab) vol.Location {
			l.edit(l.g.PackBlock(1), func(b []byte) {
				checkpoint(b).put32(cpBlocks, 600)
				checkpoint(b).putSum()
			})
			return at(l.g.BlockOff(l.g.PackBlock(1))+cpBlocks, 4)
		}},
		{slug: "cp-blocks", name: " two", do: func(l *lab) vol.Location {
			l.edit(l.g.PackBlock(1), func(b []byte) {
				checkpoint(b).put32(cpBlocks, 2)
				checkpoint(b).putSum()
				l.write(l.g.PackBlock(1)+1, b)
			})
			return at(l.g.BlockOff(l.g.PackBlock(1))+cpBlocks, 4)
		}},
		{slug: "cp-tail", do: func(l *lab) vol.Location {
			c := checkpoint(l.read(l.g.PackBlock(1)))
			l.edit(l.g.PackBlock(1)+c.blocks()-1, func(b []byte) {
				checkpoint(b).put64(cpVersion, 1)
				checkpoint(b).putSum()
			})
			return at(l.g.BlockOff(l.g.PackBlock(1)+c.blocks()-1), 4)
		}},
		num("cp-layout", "", cpNatBitmap, set(128)),
		num("cp-layout", "", cpSitBitmap, set(1<<30)),
		num("cp-layout", "", cpStartSum, set(0)),
		num("cp-layout", "", cpStartSum, set(1<<31)),
		num("cp-layout", "", cpStartSum, set(maxStartSum+1)),
		flag("cp-fsck", cpFsck),
		flag("cp-error", cpError),
		flag("cp-quota", cpQuotaFsck),
		flag("cp-disabled", cpDisabled),
		flag("cp-resize", cpResize),
		flag("cp-flags", 1<<20),
		{slug: "not-unmounted", do: func(l *lab) vol.Location { return l.leave(cpCRCRecovery) }},
		{slug: "not-unmounted", name: " fastboot", do: func(l *lab) vol.Location { return l.leave(cpFastboot) }},
		{slug: "replay", lost: 1, do: func(l *lab) vol.Location { return l.sync(newAddr, 3) }},
		{slug: "replay", name: " not unmounted", lost: 1, do: func(l *lab) vol.Location {
			l.leave(cpCRCRecovery)
			return l.sync(newAddr, 3)
		}},
		{slug: "replay", name: " without checksum", lost: 1, do: func(l *lab) vol.Location {
			l.leave(cpNoCRCRecovery)
			return l.sync(newAddr, 3)
		}},
		{slug: "replay-address", more: "replay", do: func(l *lab) vol.Location { return l.sync(0x7FFFFFFF, 1) }},
		{slug: "replay-address", name: " loop", more: "replay", do: func(l *lab) vol.Location {
			first := l.sync(newAddr, 2)
			second := first.Cluster + 1
			l.edit(second, func(b []byte) { nodeBlock(b).put32(len(b)-footerNext, first.Cluster) })
			return vol.Location{Cluster: second}
		}},
		{slug: "orphans", do: func(l *lab) vol.Location { return l.list() }},
		{slug: "orphan-count", more: "orphans", do: func(l *lab) vol.Location {
			where := l.list()
			blk := uint32(where.Range.Off / l.g.BlockSize)
			l.edit(blk, func(b []byte) { binary.LittleEndian.PutUint32(b[len(b)-orphanCount:], 5000) })
			return at(l.g.BlockOff(blk+1)-orphanCount, 4)
		}},
		{slug: "orphan-invalid", more: "orphans", do: func(l *lab) vol.Location {
			l.list(0x7FFFFFFF)
			return at(l.g.BlockOff(l.g.PackBlock(0)), 0)
		}},
		{slug: "orphan-linked", more: "orphans", do: func(l *lab) vol.Location {
			l.list(l.at["plain"].ino)
			return vol.Location{Path: "/plain", Cluster: l.at["plain"].addr}
		}},
		{slug: "cp-user-blocks", do: func(l *lab) vol.Location {
			return l.editPack(func(c checkpoint) { c.put64(cpUserBlocks, 7) }, cpUserBlocks, 8)
		}},
		{slug: "cp-user-blocks", name: " all", do: func(l *lab) vol.Location {
			return l.editPack(func(c checkpoint) { c.put64(cpUserBlocks, l.g.MainBlocks()) }, cpUserBlocks, 8)
		}},
		{slug: "cp-reserve", do: func(l *lab) vol.Location {
			return l.editPack(func(c checkpoint) { c.put32(cpOverprovision, 0) }, cpReserved, 8)
		}},
		{slug: "cp-reserve", name: " all", do: func(l *lab) vol.Location {
			return l.editPack(func(c checkpoint) { c.put32(cpReserved, l.g.MainSegments) }, cpReserved, 8)
		}},
		num("cp-totals", "", cpValidInodes, set(3)),
		num("cp-free-segments", "", cpFreeSegments, set(3)),
		num("cp-next-nid", "", cpNextNid, set(1<<31)),
		{slug: "log-alloc", do: func(l *lab) vol.Location {
			return l.editPack(func(c checkpoint) { c[cpAllocTypes+2] = 7 }, cpAllocTypes+2, 1)
		}},
		num("log-place", "", cpDataSegments+4*warmData, set(1<<31)),
		{slug: "log-place", name: " twice", more: "cp-free-segments", do: func(l *lab) vol.Location {
			return l.put32(cpDataSegments+4*coldData, l.logSegment(warmData))
		}},
		{slug: "log-place", name: " used", do: func(l *lab) vol.Location {
			l.editPack(func(c checkpoint) { c.putLog(warmData, l.logSegment(warmData), 1) }, 0, 0)
			return at(l.g.BlockOff(l.g.PackBlock(0))+cpDataSegments+4*warmData, 4)
		}},
		{slug: "log-place", name: " end", do: func(l *lab) vol.Location {
			l.editPack(func(c checkpoint) { c.putLog(coldData, l.logSegment(coldData), segmentBlocks) }, 0, 0)
			return at(l.g.BlockOff(l.g.PackBlock(0))+cpDataSegments+4*coldData, 4)
		}},
		{slug: "log-place", name: " used hole", do: func(l *lab) vol.Location {
			l.editPack(func(c checkpoint) { c[cpAllocTypes+warmData] = allocSSR; c.putLog(warmData, l.logSegment(warmData), 1) }, 0, 0)
			return at(l.g.BlockOff(l.g.PackBlock(0))+cpDataSegments+4*warmData, 4)
		}},
		{slug: "log-summary", do: func(l *lab) vol.Location {
			l.editSummary(warmNode, func(b summaryBlock) { b.putKind(summaryData) })
			return at(l.g.BlockOff(l.g.PackBlock(0))+cpNodeSegments+4, 4)
		}},
		{slug: "journal", do: func(l *lab) vol.Location {
			l.editSummary(hotData, func(b summaryBlock) { b.journal().putCount(60000) })
			return l.journalAt(hotData)
		}},
		{slug: "journal-entry", do: func(l *lab) vol.Location {
			l.editSummary(hotData, func(b summaryBlock) {
				b.journal().putCount(2)
				b.journal().putNid(1, 1<<31)
			})
			return l.journalAt(hotData)
		}},
		{slug: "journal-entry", name: " SIT", do: func(l *lab) vol.Location {
			l.editSummary(coldData, func(b summaryBlock) {
				b.journal().putCount(2)
				b.journal().putSegment(1, l.g.MainSegments)
			})
			return l.journalAt(coldData)
		}},
		num("cp-counts", "", cpValidNodes, set(3)),
		{slug: "cp-counts", name: " blocks", do: func(l *lab) vol.Location {
			return l.editPack(func(c checkpoint) { c.put64(cpValidBlocks, 9) }, cpValidBlocks, 8)
		}},
	}
}

// leave writes the pack with other flags than those of an unmount.
func (l *lab) leave(flags uint32) vol.Location {
	l.flags = flags
	l.writePack()
	return at(l.g.BlockOff(l.g.PackBlock(0))+cpFlags, 4)
}

// editSummary changes the summary of a log in the first pack.
func (m *builder) editSummary(log int, fn func(b summaryBlock)) {
	head := m.g.PackBlock(0)
	c := checkpoint(m.read(head))
	m.edit(head+c.startSum()+uint32(log), func(b []byte) { fn(summaryBlock(b[:m.g.SummaryBytes])) })
}

// journalAt is where the journal in the summary of a log is.
func (m *builder) journalAt(log int) vol.Location {
	blk := m.g.PackBlock(0) + checkpoint(m.read(m.g.PackBlock(0))).startSum() + uint32(log)
	n := int64(journalBytes(int(m.g.SummaryBytes)))
	return at(m.g.BlockOff(blk)+m.g.SummaryBytes-summaryFooterLen-n, n)
}

// sync writes n direct nodes of the file double behind the checkpoint, as a
// sync of it does, with a pointer to addr in each.
func (l *lab) sync(addr uint32, n int) vol.Location {
	x := l.at["direct"]
	ver := l.cp.version()
	if l.cp.has(cpCRCRecovery) {
		ver |= uint64(l.cp.sum()) << 32
	}
	first := l.next[warmNode]
	for i := range uint32(n) {
		b := make(nodeBlock, l.g.BlockSize)
		b.put32(0, addr)
		b.putFooter(x.nodes[1].nid, x.ino, 1<<footerShift|footerFsync, ver, first+i+1)
		l.write(first+i, b)
	}
	return vol.Location{Cluster: first, Range: l.g.BlockRange(first, 1)}
}

// list makes l a volume with a list of orphans: one that is one, and others.
func (l *lab) list(inos ...uint32) vol.Location {
	*l = *newOrphans(l.t, inos...)
	return at(l.g.BlockOff(l.g.PackBlock(0)+1+l.g.CPPayload), l.g.BlockSize)
}
