package lfs

import "encoding/binary"

// blockSize is the length of a block in bytes, for what depends on it.
type blockSize int

func (n blockSize) sitEntries() int { return int(n) / sitLen }                                     // in a block
func (n blockSize) natEntries() int { return int(n) / natLen }                                     // in a block
func (n blockSize) orphans() int    { return (int(n) - orphanFooterLen) / 4 }                      // in a block
func (n blockSize) nodeSlots() int  { return (int(n) - footerLen) / 4 }                            // in a node that is no inode
func (n blockSize) inodeSlots() int { return (int(n) - inodeAddrs - 4*inodeNids - footerLen) / 4 } // with extra attributes and xattrs

// SIT entry, [Linux] include/linux/f2fs_fs.h struct f2fs_sit_entry.
const (
	sitLen     = 74
	sitVblocks = 0 // 10 bits of count, 6 of type
	sitMap     = 2
	sitMapLen  = segmentBlocks / 8
	sitMtime   = 66 // 64 bits
)

// Types of segments, which are also the numbers of the logs.
const (
	hotData = iota
	warmData
	coldData
	hotNode
	warmNode
	coldNode
)

// sitEntry is a view of what SIT says of a segment.
type sitEntry []byte

func (e sitEntry) vblocks() uint16  { return binary.LittleEndian.Uint16(e[sitVblocks:]) }
func (e sitEntry) count() int       { return int(e.vblocks() & 0x3FF) }
func (e sitEntry) kind() int        { return int(e.vblocks() >> 10) }
func (e sitEntry) validMap() []byte { return e[sitMap : sitMap+sitMapLen] }
func (e sitEntry) put(kind, count int) {
	binary.LittleEndian.PutUint16(e[sitVblocks:], uint16(kind<<10|count))
}

// NAT entry, [Linux] include/linux/f2fs_fs.h struct f2fs_nat_entry.
const (
	natLen     = 9
	natVersion = 0
	natIno     = 1
	natAddr    = 5
)

// natEntry is a view of what NAT says of a node: whose it is, and where.
type natEntry []byte

func (e natEntry) version() byte { return e[natVersion] }
func (e natEntry) ino() uint32   { return binary.LittleEndian.Uint32(e[natIno:]) }
func (e natEntry) addr() uint32  { return binary.LittleEndian.Uint32(e[natAddr:]) }
func (e natEntry) put(version byte, ino, addr uint32) {
	e[natVersion] = version
	binary.LittleEndian.PutUint32(e[natIno:], ino)
	binary.LittleEndian.PutUint32(e[natAddr:], addr)
}

// Summary entry and the footer of a summary block, [Linux]
// include/linux/f2fs_fs.h struct f2fs_summary, struct summary_footer.
const (
	summaryLen       = 7
	summaryNid       = 0
	summaryVersion   = 4
	summaryOffset    = 5
	summaryFooterLen = 5
	summaryData      = 0 // entry_type
	summaryNode      = 1
)

// summary is a view of a summary entry: the node that a block is pointed to by,
// the version of that node, and which of its pointers it is; for the block of a
// node, its nid alone.
type summary []byte

func (s summary) nid() uint32    { return binary.LittleEndian.Uint32(s[summaryNid:]) }
func (s summary) version() byte  { return s[summaryVersion] }
func (s summary) offset() uint16 { return binary.LittleEndian.Uint16(s[summaryOffset:]) }
func (s summary) put(nid uint32, version byte, offset uint16) {
	binary.LittleEndian.PutUint32(s[summaryNid:], nid)
	s[summaryVersion] = version
	binary.LittleEndian.PutUint16(s[summaryOffset:], offset)
}

// summaryBlock is a view of a summary block, whose length is
// Geometry.SummaryBytes: entries, a journal, a footer.
type summaryBlock []byte

// summaryEntries is how many entries a summary block of n bytes has room for;
// a segment uses the first 512.
func summaryEntries(n int) int { return n / 8 }

// journalBytes is the length of the journal in a summary block of n bytes, and
// of each of the two that start a compact summary.
func journalBytes(n int) int { return n - summaryFooterLen - summaryLen*summaryEntries(n) }

func (b summaryBlock) entry(i int) summary { return summary(b[summaryLen*i:][:summaryLen]) }
func (b summaryBlock) journal() journal {
	return journal(b[summaryLen*summaryEntries(len(b)):][:journalBytes(len(b))])
}
func (b summaryBlock) kind() byte     { return b[len(b)-summaryFooterLen] }
func (b summaryBlock) putKind(k byte) { b[len(b)-summaryFooterLen] = k }

// Journals, [Linux] include/linux/f2fs_fs.h struct f2fs_journal: a count of 16
// bits and entries with the number of what they are for before them.
const (
	natJournalLen = 4 + natLen
	sitJournalLen = 4 + sitLen
	journalHead   = 2
)

// journal is a view of the changes to NAT or SIT that a checkpoint holds.
type journal []byte

func (j journal) count() int     { return int(binary.LittleEndian.Uint16(j)) }
func (j journal) putCount(n int) { binary.LittleEndian.PutUint16(j, uint16(n)) }

// maxNats and maxSits are how many entries there is room for.
func (j journal) maxNats() int { return (len(j) - journalHead) / natJournalLen }
func (j journal) maxSits() int { return (len(j) - journalHead) / sitJournalLen }

// nat is entry i of a journal of NAT; i must be below maxNats.
func (j journal) nat(i int) (nid uint32, e natEntry) {
	b := j[journalHead+natJournalLen*i:][:natJournalLen]
	return binary.LittleEndian.Uint32(b), natEntry(b[4:])
}

func (j journal) putNid(i int, nid uint32) {
	binary.LittleEndian.PutUint32(j[journalHead+natJournalLen*i:], nid)
}

// sit is entry i of a journal of SIT; i must be below maxSits.
func (j journal) sit(i int) (segment uint32, e sitEntry) {
	b := j[journalHead+sitJournalLen*i:][:sitJournalLen]
	return binary.LittleEndian.Uint32(b), sitEntry(b[4:])
}

func (j journal) putSegment(i int, segment uint32) {
	binary.LittleEndian.PutUint32(j[journalHead+sitJournalLen*i:], segment)
}
