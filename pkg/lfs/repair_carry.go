package lfs

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// carried is what is wrong in the checkpoint and goes to the next one as it is:
// a repair of something else must not mend what nobody agreed to. Each repair
// takes out of it what is its own. A change of a sound volume carries nothing
// over, and writes all of it right.
type carried struct {
	free     int64             // how many more free segments are said to be there than are
	nextNid  uint32            // where that is no number that a file can have, else 0
	allocs   map[int]byte      // unknown ways of logs to allocate
	kinds    map[int]byte      // of the summaries of logs of the other kind
	segments [logCount]uint32  // that the logs are in: one that moved is right
	journals [2]journal        // of NAT and SIT, what is not valid of them; or nil
	bits     *natBits          // of free and used node numbers, where there are some
	orphans  map[uint32]uint32 // impossible counts, by block of the list
}

// Journals, as carried and state.badJournals have them.
const (
	natPart = iota
	sitPart
)

// carry collects what is wrong in the checkpoint that counts.
func (c *checker) carry() (*carried, error) {
	s := c.s
	y := &carried{allocs: map[int]byte{}, kinds: map[int]byte{}, orphans: map[uint32]uint32{}, journals: s.badJournals()}
	y.free = int64(s.cp.freeSegments()) - int64(s.freeSegments(c.sit, nil).segments)
	if next := s.cp.nextNid(); next >= c.g.NIDs() || next < firstNid {
		y.nextNid = next
	}
	for i := range logCount {
		y.segments[i] = s.cp.logSegment(i)
		if a := s.cp.logAlloc(i); a != allocLFS && a != allocSSR {
			y.allocs[i] = a
		}
	}
	for _, f := range s.summaryFaults() {
		y.kinds[f.log] = s.logs[f.log].kind()
	}
	_, faults, err := s.readOrphans(c.d)
	if err != nil {
		return nil, err
	}
	from, _ := s.orphanBlocks()
	for _, f := range faults {
		y.orphans[f.blk-from] = f.count
	}
	y.bits, err = s.readNATBits(c.d)
	return y, err
}

// badJournals is what is not valid of the journals of a checkpoint: all of one
// whose count cannot be, or entries that name nothing.
func (s *state) badJournals() (out [2]journal) {
	if s.natJournal == nil || s.sitJournal == nil {
		return out
	}
	for _, f := range s.longJournals {
		out[f.part] = slices.Clone([]journal{natPart: s.natJournal, sitPart: s.sitJournal}[f.part])
		n, _ := f.got.(int)
		out[f.part].putCount(n)
	}
	add := func(part, size, i int, from journal) {
		if out[part] == nil {
			out[part] = make(journal, len(from))
		}
		n := out[part].count()
		copy(out[part][journalHead+size*n:][:size], from[journalHead+size*i:])
		out[part].putCount(n + 1)
	}
	for i := range s.natJournal.count() {
		if nid, _ := s.natJournal.nat(i); nid == 0 || nid >= s.g.NIDs() {
			add(natPart, natJournalLen, i, s.natJournal)
		}
	}
	for i := range s.sitJournal.count() {
		if segno, _ := s.sitJournal.sit(i); segno >= s.g.MainSegments {
			add(sitPart, sitJournalLen, i, s.sitJournal)
		}
	}
	return out
}

// journalAt is where a journal is: with compact summaries both begin the first
// block of those, else each is in the summary of a log.
func (c *checker) journalAt(part int) vol.Location {
	s := c.s
	n := int64(len(s.natJournal))
	blk, off := s.cp.startSum(), int64(part)*n
	if !s.cp.has(cpCompact) {
		nodes := uint32(0)
		if s.nodeSummaries() {
			nodes = logsPerKind
		}
		blk = s.cp.blocks() - 1 - nodes - logsPerKind + uint32([]int{natPart: hotData, sitPart: coldData}[part])
		off = int64(summaryLen * summaryEntries(int(c.g.SummaryBytes)))
	}
	return vol.Location{Range: dev.Range{Off: c.g.BlockOff(s.p.start+blk) + off, Len: n}, Same: textf("journal %d", part)}
}

// put writes what is carried over into a checkpoint that is right otherwise.
func (y *carried) put(cp checkpoint) {
	if y == nil {
		return
	}
	cp.put32(cpFreeSegments, uint32(max(0, min(int64(cp.freeSegments())+y.free, math.MaxUint32))))
	if y.nextNid != 0 {
		cp.put32(cpNextNid, y.nextNid)
	}
	for i, a := range y.allocs {
		if cp.logSegment(i) == y.segments[i] {
			cp[cpAllocTypes+i] = a
		}
	}
}

// putSummary does so with the summary of a log, which writes to segno.
func (y *carried) putSummary(sum summaryBlock, log int, segno uint32) {
	if y == nil {
		return
	}
	if k, ok := y.kinds[log]; ok && segno == y.segments[log] {
		sum.putKind(k)
	}
	for part, of := range [2]int{hotData, coldData} {
		if of == log && y.journals[part] != nil {
			copy(sum.journal(), y.journals[part])
		}
	}
}

// putOrphans does so with the list of orphans.
func (y *carried) putOrphans(list []orphanBlock) {
	for i, o := range list {
		if y == nil {
			return
		}
		if n, ok := y.orphans[uint32(i)]; ok {
			binary.LittleEndian.PutUint32(o[len(o)-orphanCount:], n)
		}
	}
}

// natBits are those of the new checkpoint, nil for none. Of a block of NAT that
// changes nothing is said any more, which is never wrong; unless what was said
// of it was, and is carried over.
func (w *writer) natBits() (*natBits, error) {
	if w.carry == nil || w.carry.bits == nil {
		return nil, nil
	}
	out := &natBits{full: slices.Clone(w.carry.bits.full), empty: slices.Clone(w.carry.bits.empty)}
	for index, n := range w.nat.blocks {
		if !n.dirty {
			continue
		}
		b, err := readBlock(w.d, w.g, w.g.NATAddr(index, testMSB(w.s.natVersions, index)))
		if err != nil {
			return nil, err
		}
		if !out.wrong(index, b, w.g.per().natEntries()) {
			clearLSB(out.full, index)
			clearLSB(out.empty, index)
		}
	}
	return out, nil
}

// putNATBits writes them behind a pack.
func (w *writer) putNATBits(x *natBits, cp checkpoint, pack uint32) error {
	if x == nil {
		return nil
	}
	b := make([]byte, int64(w.g.natBitsBlocks())*w.g.BlockSize)
	binary.LittleEndian.PutUint64(b, cp.version()|uint64(cp.sum())<<32)
	copy(b[natBitsHead+copy(b[natBitsHead:], x.full):], x.empty)
	_, err := w.d.WriteAt(b, w.g.BlockOff(w.g.natBitsBlock(pack)))
	return err
}
