package lfs

// packTail is how many blocks a pack has behind its payload: compact summaries
// of the data logs, summaries of the three node logs, and the checkpoint block
// once more.
const packTail = 1 + logsPerKind + 1

// pack is a checkpoint pack of a new volume, with the given version.
func (l *layout) pack(c *contents, version uint64) []byte {
	payload := int(l.CPPayload)
	blocks := 1 + payload + packTail
	b := make([]byte, int64(blocks)*l.BlockSize)
	block := func(i int) []byte { return b[int64(i)*l.BlockSize:][:l.BlockSize] }

	cp := checkpoint(block(0))
	l.putCheckpoint(cp, c, version)
	l.putCompact(block(1+payload), c)
	for log := range logsPerKind {
		sum := summaryBlock(block(2 + payload + log))
		sum.putKind(summaryNode)
		if log == 0 { // hot
			for i, f := range c.files {
				sum.entry(i).put(f.ino, 0, 0)
			}
		}
	}
	copy(block(blocks-1), cp)
	return b
}

// putCheckpoint writes the block that a pack starts and ends with. The version
// bitmaps stay zero: of all blocks of SIT and NAT the first copy counts.
func (l *layout) putCheckpoint(cp checkpoint, c *contents, version uint64) {
	inodes := uint32(len(c.files))
	cp.put64(cpVersion, version)
	cp.put64(cpUserBlocks, uint64(l.userBlocks()))
	cp.put64(cpValidBlocks, uint64(c.blocks()))
	cp.put32(cpReserved, uint32(l.reserved))
	cp.put32(cpOverprovision, uint32(l.overprov))
	cp.put32(cpFreeSegments, l.MainSegments-uint32(l.usedLogs()))
	for i := range cpLogs {
		cp.put32(cpDataSegments+4*i, nullSegment)
		cp.put32(cpNodeSegments+4*i, nullSegment)
	}
	used := [logCount]int{hotData: c.dataBlocks, hotNode: len(c.files)}
	for i, segment := range l.logs {
		cp.putLog(i, segment, uint16(used[i]))
	}
	cp.put32(cpFlags, cpUmount|cpCompact)
	cp.put32(cpBlocks, 1+l.CPPayload+packTail)
	cp.put32(cpStartSum, 1+l.CPPayload)
	cp.put32(cpValidNodes, inodes)
	cp.put32(cpValidInodes, inodes)
	cp.put32(cpNextNid, rootIno+inodes)
	cp.put32(cpSitBitmap, uint32(l.SITBitmapBytes()))
	cp.put32(cpNatBitmap, uint32(l.NATBitmapBytes()))
	cp.put32(cpChecksumOffset, uint32(l.BlockSize-4))
	cp.putSum()
}

// putCompact writes the compact summaries: the journals of NAT and SIT, and
// what the blocks in the log of hot data belong to.
func (l *layout) putCompact(b []byte, c *contents) {
	n := journalBytes(len(b))
	nat, sit := journal(b[:n]), journal(b[n:2*n])
	l.putNodes(nat, c)
	l.putSegments(sit, c)
	at := b[2*n:]
	for _, f := range c.files {
		for i := range f.data {
			summary(at).put(f.ino, 0, uint16(i))
			at = at[summaryLen:]
		}
	}
}

// putNodes enters where the inodes are.
func (l *layout) putNodes(j journal, c *contents) {
	for i, f := range c.files {
		_, e := j.nat(i)
		j.putNid(i, f.ino)
		e.put(0, f.ino, l.SegmentBlock(l.logs[hotNode])+uint32(i))
	}
	j.putCount(len(c.files))
}

// putSegments enters the segments that the logs are in, and which of their
// blocks are in use.
func (l *layout) putSegments(j journal, c *contents) {
	kinds := []int{hotNode, warmNode, coldNode, hotData, warmData, coldData}
	if l.ReadOnly() {
		kinds = []int{hotNode, hotData}
	}
	used := [logCount]int{hotData: c.dataBlocks, hotNode: len(c.files)}
	for i, kind := range kinds {
		_, e := j.sit(i)
		j.putSegment(i, l.logs[kind])
		e.put(kind, used[kind])
		for b := range used[kind] {
			setMSB(e.validMap(), uint32(b))
		}
	}
	j.putCount(len(kinds))
}

// natBlock is the first block of NAT. The entries of the inodes are in the
// journal too, which comes first; they stand here for who reads it alone. The
// two address spaces that are no files have the address 1.
func (l *layout) natBlock(c *contents) []byte {
	b := make([]byte, l.BlockSize)
	entry := func(nid uint32) natEntry { return natEntry(b[natLen*nid:][:natLen]) }
	entry(nodeIno).put(0, nodeIno, 1)
	entry(metaIno).put(0, metaIno, 1)
	for i, f := range c.files {
		entry(f.ino).put(0, f.ino, l.SegmentBlock(l.logs[hotNode])+uint32(i))
	}
	return b
}
