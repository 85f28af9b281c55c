package lfs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

// pack is one of the two checkpoint packs as it was read: the block that it
// starts with, and what was found wrong with it.
type pack struct {
	start uint32 // block
	cp    checkpoint
	fault *fault
	err   error // where it cannot be read, which is a fault, too
}

// readPacks reads both packs. It is an error that one of them cannot be read
// only where the other cannot be used: [Linux] behaviour.
func readPacks(d dev.Device, g *Geometry) (packs [packCount]*pack, err error) {
	for i := range packs {
		packs[i] = readPack(d, g, i)
	}
	if choosePack(packs) == nil {
		err = cmp.Or(packs[0].err, packs[1].err)
	}
	return packs, err
}

// readPack reads and validates pack 0 or 1. [Linux] behaviour: the first block
// has a right checksum, the pack fits its segment, the last block has a right
// checksum and the same version.
func readPack(d dev.Device, g *Geometry, i int) *pack {
	p := &pack{start: g.PackBlock(i)}
	head, err := readBlock(d, g, p.start)
	if err != nil {
		p.unread("cp-checksum", 0, err)
		return p
	}
	p.cp = checkpoint(head)
	if _, ok := p.cp.checksumPlace(); !ok {
		p.bad("cp-checksum", cpChecksumOffset, p.cp.checksumOffset(), nil, "the place of the checksum cannot be")
		return p
	}
	if !p.cp.sumOK() {
		p.bad("cp-checksum", int64(p.cp.checksumOffset()), hex(p.cp.sum()), nil, "the checksum of the pack's first block is wrong")
		return p
	}
	n := p.cp.blocks()
	if n <= packCount || n > segmentBlocks {
		p.bad("cp-blocks", cpBlocks, n, nil, textf("cp_pack_total_block_count must be %d to %d", packCount+1, segmentBlocks))
		return p
	}
	tail, err := readBlock(d, g, p.start+n-1)
	if err != nil {
		p.unread("cp-tail", int64(n-1)*g.BlockSize, err)
		return p
	}
	if t := checkpoint(tail); !t.sumOK() || t.version() != p.cp.version() {
		p.bad("cp-tail", int64(n-1)*g.BlockSize, t.version(), p.cp.version(), "the last block of the pack is not that of this checkpoint")
	}
	return p
}

// blank tells whether the first block of a pack has nothing in it.
func (p *pack) blank() bool { return p.err == nil && len(p.cp) > 0 && dev.AllZero(p.cp) }

// unread notes a block that cannot be read.
func (p *pack) unread(slug string, off int64, err error) {
	p.err = err
	detail := textf("it cannot be read: %v", err)
	if errors.Is(err, dev.ErrRange) {
		detail = "it lies behind the end of the device"
	}
	p.bad(slug, off, nil, nil, detail)
}

func (p *pack) bad(slug string, off int64, got, want any, detail string) {
	p.fault = &fault{slug: slug, off: off, len: 4, got: got, want: want, detail: detail}
}

func readBlock(d dev.Device, g *Geometry, blk uint32) ([]byte, error) {
	b := make([]byte, g.BlockSize)
	_, err := d.ReadAt(b, g.BlockOff(blk))
	return b, err
}

// choosePack is the valid pack with the newer version, or nil; of two that are
// equal the first. Versions are compared by their difference, so that one that
// wrapped is newer.
func choosePack(packs [packCount]*pack) *pack {
	a, b := packs[0], packs[1]
	switch {
	case a.fault != nil && b.fault != nil:
		return nil
	case a.fault != nil:
		return b
	case b.fault != nil:
		return a
	case int64(b.cp.version()-a.cp.version()) > 0:
		return b
	default:
		return a
	}
}

// longJournal is a journal that has more entries than room.
type longJournal struct {
	part int // natPart or sitPart
	fault
}

// state is a checkpoint with what goes with it: the version bitmaps, which say
// which copy of each block of SIT and NAT counts, the journals, which come
// before both, and the summaries of the logs.
type state struct {
	g  *Geometry
	p  *pack
	cp checkpoint

	sitVersions, natVersions []byte
	payload                  uint32 // blocks of the pack that hold bitmaps
	natJournal, sitJournal   journal
	logs                     [logCount]summaryBlock // nil where the pack has none
	longJournals             []longJournal
	natBits                  *natBits // where they were read
}

// readState reads what belongs to pack p. A fault means that the pack cannot
// be used though its checksums are right.
func readState(d dev.Device, g *Geometry, p *pack) (*state, *fault, error) {
	s := &state{g: g, p: p, cp: p.cp, payload: g.CPPayload}
	if f := s.checkSizes(); f != nil {
		return nil, f, nil
	}
	if err := s.readVersions(d); err != nil {
		return nil, nil, err
	}
	if err := s.readSummaries(d); err != nil {
		return nil, nil, err
	}
	return s, nil, nil
}

// checkSizes bounds what the pack says of its parts.
func (s *state) checkSizes() *fault {
	bad := func(off int64, got, want any, format string, args ...any) *fault {
		return &fault{slug: "cp-layout", off: off, len: 4, got: got, want: want, detail: fmt.Sprintf(format, args...)}
	}
	if got, want := int64(s.cp.sitBitmapBytes()), s.g.SITBitmapBytes(); got != want {
		return bad(cpSitBitmap, got, want, "the version bitmap of SIT has another length")
	}
	if got, want := int64(s.cp.natBitmapBytes()), s.g.NATBitmapBytes(); got != want {
		return bad(cpNatBitmap, got, want, "the version bitmap of NAT has another length")
	}
	start, blocks := s.cp.startSum(), s.cp.blocks()
	if start < 1 || start >= blocks {
		return bad(cpStartSum, start, nil, "cp_pack_start_sum must lie in the pack of %d blocks", blocks)
	}
	if start > maxStartSum {
		return bad(cpStartSum, start, nil, "cp_pack_start_sum must leave room for %d summaries and a last block", logCount)
	}
	if s.payload > 0 && start < 1+s.payload {
		// The superblock speaks of blocks that the pack does not have.
		s.payload = start - 1
	}
	if sit, nat := s.bitmapAreas(); sit.Len < s.g.SITBitmapBytes() || nat.Len < s.g.NATBitmapBytes() {
		return bad(cpStartSum, start, nil, "the pack has no room for the version bitmaps")
	}
	return nil
}

// bitmapAreas are the bytes of the pack, from its start, that there are for each
// of the two version bitmaps, [Linux] behaviour __bitmap_ptr(). The checksum
// takes 4 bytes of the first block, at its end or in front of the bitmaps. Where
// there is no room for the first bitmap the second's length is negative.
func (s *state) bitmapAreas() (sit, nat dev.Range) {
	block, payload := s.g.BlockSize-cpBitmaps-4, int64(s.payload)*s.g.BlockSize
	switch {
	case s.cp.has(cpLargeNat):
		nat = dev.Range{Off: cpBitmaps, Len: block + payload}
		if s.cp.checksumOffset() == cpBitmaps {
			nat.Off += 4 // behind the checksum
		}
		n := s.g.NATBitmapBytes()
		return dev.Range{Off: nat.Off + n, Len: nat.Len - n}, nat
	case s.payload > 0:
		return dev.Range{Off: s.g.BlockSize, Len: payload}, dev.Range{Off: cpBitmaps, Len: block}
	default:
		n := s.g.SITBitmapBytes()
		return dev.Range{Off: cpBitmaps, Len: block}, dev.Range{Off: cpBitmaps + n, Len: block - n}
	}
}

// linuxPayload is the first payload that Linux does not take: it leaves room
// for two checkpoint blocks and six summaries in the segment of a pack.
const linuxPayload = segmentBlocks - packCount - logCount

// maxStartSum is where summaries start at the latest in a pack that Linux takes:
// [Linux] behaviour f2fs_sanity_check_ckpt().
const maxStartSum = segmentBlocks - 1 - logCount

// oldLargeNat tells whether the bitmaps of a large NAT start where the checksum
// is by now, which Linux does not mount: [f2fs-tools] behaviour before 1.13.
func (s *state) oldLargeNat() bool { return s.cp.has(cpLargeNat) && s.cp.checksumOffset() != cpBitmaps }

// readVersions finds the two version bitmaps, for which checkSizes has found
// room.
func (s *state) readVersions(d dev.Device) error {
	b := append([]byte{}, s.cp...)
	for i := uint32(1); i <= s.payload; i++ {
		p, err := readBlock(d, s.g, s.p.start+i)
		if err != nil {
			return err
		}
		b = append(b, p...)
	}
	cut := func(r dev.Range, n int64) []byte { return b[r.Off : r.Off+n : r.Off+n] }
	sit, nat := s.bitmapAreas()
	s.sitVersions, s.natVersions = cut(sit, s.g.SITBitmapBytes()), cut(nat, s.g.NATBitmapBytes())
	return nil
}

// nodeSummaries reports whether the pack holds the summaries of the node logs,
// [Linux] behaviour __exist_node_summaries(): a clean unmount writes them, and a
// checkpoint of a volume that is mounted with the option fastboot.
func (s *state) nodeSummaries() bool { return s.cp.has(cpUmount | cpFastboot) }

// readSummaries reads the summaries of the logs, and the journals in them.
func (s *state) readSummaries(d dev.Device) error {
	n := s.cp.blocks()
	nodes := uint32(0)
	if s.nodeSummaries() {
		nodes = logsPerKind
	}
	if s.cp.has(cpCompact) {
		if err := s.readCompact(d); err != nil {
			return err
		}
	} else if n >= 1+logsPerKind+nodes+1 {
		for i := uint32(0); i < logsPerKind; i++ {
			if err := s.readLog(d, int(i), s.p.start+n-1-nodes-logsPerKind+i); err != nil {
				return err
			}
		}
		s.natJournal, s.sitJournal = s.logs[hotData].journal(), s.logs[coldData].journal()
	}
	for i := uint32(0); i < nodes && n >= 1+nodes+1; i++ {
		if err := s.readLog(d, int(logsPerKind+i), s.p.start+n-1-nodes+i); err != nil {
			return err
		}
	}
	s.boundJournals()
	return nil
}

func (s *state) readLog(d dev.Device, i int, blk uint32) error {
	b, err := readBlock(d, s.g, blk)
	s.logs[i] = summaryBlock(b[:s.g.SummaryBytes])
	return err
}

// readCompact reads compact summaries: both journals, then the entries of the
// data logs as far as they are written, in one stream of blocks whose last
// bytes are a footer each.
func (s *state) readCompact(d dev.Device) error {
	size := int(s.g.SummaryBytes)
	blk := s.p.start + s.cp.startSum()
	end := s.p.start + s.cp.blocks() - 1
	b, err := readBlock(d, s.g, blk)
	if err != nil {
		return err
	}
	n := journalBytes(size)
	s.natJournal, s.sitJournal = journal(b[:n]), journal(b[n:2*n])
	at := 2 * n
	for log := range logsPerKind {
		s.logs[log] = make(summaryBlock, size)
		entries := int(s.cp.logOffset(log))
		if s.cp.logAlloc(log) == allocSSR || entries > segmentBlocks {
			entries = segmentBlocks
		}
		for i := range entries {
			if at+summaryLen > size-summaryFooterLen {
				if blk++; blk >= end {
					return nil // the pack ends before: what is missing stays zero
				}
				if b, err = readBlock(d, s.g, blk); err != nil {
					return err
				}
				at = 0
			}
			copy(s.logs[log].entry(i), b[at:at+summaryLen])
			at += summaryLen
		}
	}
	return nil
}

// boundJournals cuts the counts of the journals to what they have room for.
func (s *state) boundJournals() {
	for part, j := range []struct {
		j    journal
		max  func() int
		what string
	}{natPart: {s.natJournal, s.natJournal.maxNats, "NAT"}, sitPart: {s.sitJournal, s.sitJournal.maxSits, "SIT"}} {
		if j.j == nil {
			continue
		}
		if n := j.j.count(); n > j.max() {
			s.longJournals = append(s.longJournals, longJournal{part, fault{slug: "journal", got: n, want: j.max(), detail: fmt.Sprintf("the journal of %s has more entries than room", j.what)}})
			j.j.putCount(0)
		}
	}
}

// natOverrides and sitOverrides are the entries of the journals by number: they
// come before what NAT and SIT hold.
func (s *state) natOverrides() map[uint32]natEntry {
	m := map[uint32]natEntry{}
	for i := 0; s.natJournal != nil && i < s.natJournal.count(); i++ {
		nid, e := s.natJournal.nat(i)
		if _, ok := m[nid]; !ok { // [Linux] behaviour: of two that are for the same the first counts
			m[nid] = e
		}
	}
	return m
}

func (s *state) sitOverrides() map[uint32]sitEntry {
	m := map[uint32]sitEntry{}
	for i := 0; s.sitJournal != nil && i < s.sitJournal.count(); i++ {
		segno, e := s.sitJournal.sit(i)
		m[segno] = e
	}
	return m
}

// logOf is the log that writes to a segment, or -1.
func (s *state) logOf(segno uint32) int {
	for i := range logCount {
		if s.cp.logSegment(i) == segno {
			return i
		}
	}
	return -1
}
