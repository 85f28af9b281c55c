package dev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unicode/utf16"
)

// Bounds of a GPT, UEFI specification 2.10, 5.3.2 and 5.3.3: the header has 92
// bytes or more, an entry 128 times a power of two.
const (
	gptHeaderMin = 92
	gptEntryMin  = 128
	gptEntryMax  = 4096
	gptTableMax  = 4 << 20 // bytes of entries that we read; Linux stops there, too
)

// gptHeader is a sector that holds a header of a GPT.
type gptHeader []byte

func (h gptHeader) size() int64       { return int64(binary.LittleEndian.Uint32(h[12:])) }
func (h gptHeader) crc() uint32       { return binary.LittleEndian.Uint32(h[16:]) }
func (h gptHeader) self() uint64      { return binary.LittleEndian.Uint64(h[24:]) }
func (h gptHeader) other() uint64     { return binary.LittleEndian.Uint64(h[32:]) }
func (h gptHeader) firstUsed() uint64 { return binary.LittleEndian.Uint64(h[40:]) }
func (h gptHeader) lastUsed() uint64  { return binary.LittleEndian.Uint64(h[48:]) }
func (h gptHeader) disk() string      { return guid(h[56:72]) }
func (h gptHeader) entries() uint64   { return binary.LittleEndian.Uint64(h[72:]) }
func (h gptHeader) count() int64      { return int64(binary.LittleEndian.Uint32(h[80:])) }
func (h gptHeader) entrySize() int64  { return int64(binary.LittleEndian.Uint32(h[84:])) }
func (h gptHeader) entryCRC() uint32  { return binary.LittleEndian.Uint32(h[88:]) }

// signed reports whether h looks like a header at all.
func (h gptHeader) signed() bool { return bytes.HasPrefix(h, []byte("EFI PART")) }

// wrong says what makes h no header for sector lba of a disk of sectors, or "".
// Only then are the other fields to be believed, within bounds.
func (h gptHeader) wrong(lba, sectors int64) string {
	switch {
	case !h.signed():
		return "it has no signature"
	case h.size() < gptHeaderMin || h.size() > int64(len(h)):
		return fmt.Sprintf("it says that it has %d bytes", h.size())
	}
	sum := crc32.NewIEEE()
	sum.Write(h[:16])
	sum.Write(make([]byte, 4)) // the checksum itself counts as zeros
	sum.Write(h[20:h.size()])
	n, table := h.entrySize(), h.count()*h.entrySize()
	switch {
	case sum.Sum32() != h.crc():
		return fmt.Sprintf("its checksum is %08x, and should be %08x", h.crc(), sum.Sum32())
	case h.self() != uint64(lba):
		return fmt.Sprintf("it is in sector %d and says sector %d", lba, h.self())
	case n < gptEntryMin || n > gptEntryMax || n&(n-1) != 0:
		return fmt.Sprintf("its entries have %d bytes each", n)
	case table > gptTableMax:
		return fmt.Sprintf("it claims %d entries, more than is read", h.count())
	case h.entries() >= uint64(sectors) || table > (sectors-int64(h.entries()))*int64(len(h)):
		return fmt.Sprintf("its entries would be in sector %d of %d", h.entries(), sectors)
	}
	return ""
}

// gptCopy is one of the two copies of a GPT.
type gptCopy struct {
	sector int64
	at     Range // bytes of the header
	head   gptHeader
	table  []byte // entries; nil where the copy is damaged
	wrong  string // why
	err    error  // why it could not be read, or nil
}

// readGPTCopy reads the copy whose header is sector lba. A sector that cannot be read
// damages that copy, and not the other one.
func readGPTCopy(d Device, sector, lba int64) *gptCopy {
	c := &gptCopy{sector: sector, at: Range{Off: lba * sector, Len: sector}}
	if lba < 1 || lba >= d.Size()/sector {
		c.wrong = fmt.Sprintf("it would be in sector %d of %d", lba, d.Size()/sector)
		return c
	}
	c.head = make(gptHeader, sector)
	if !c.read(d, c.head, c.at.Off) {
		return c
	}
	if c.wrong = c.head.wrong(lba, d.Size()/sector); c.wrong != "" {
		return c
	}
	table := make([]byte, c.head.count()*c.head.entrySize())
	at := Range{Off: int64(c.head.entries()) * sector, Len: int64(len(table))}
	if !c.read(d, table, at.Off) {
		c.at = at
		return c
	}
	if sum := crc32.ChecksumIEEE(table); sum != c.head.entryCRC() {
		c.at = at
		c.wrong = fmt.Sprintf("the checksum of its entries is %08x, and should be %08x", sum, c.head.entryCRC())
		return c
	}
	c.table = table
	return c
}

// read reads a part of c.
func (c *gptCopy) read(d Device, p []byte, off int64) bool {
	if _, c.err = d.ReadAt(p, off); c.err != nil {
		c.wrong = fmt.Sprintf("it cannot be read: %v", c.err)
	}
	return c.err == nil
}

// gptCopies are both copies in sectors of one size.
type gptCopies struct{ first, last *gptCopy }

// badGPT is a GPT of which neither copy is sound.
type badGPT struct{ gptCopies }

func (e *badGPT) Error() string {
	return fmt.Sprintf("%v: the first copy: %s; the backup: %s", errGPT, e.first.wrong, e.last.wrong)
}

// Unwrap are errGPT and what reading said.
func (e *badGPT) Unwrap() []error {
	errs := []error{errGPT}
	for _, c := range []*gptCopy{e.first, e.last} {
		if c.err != nil {
			errs = append(errs, c.err)
		}
	}
	return errs
}

// chosen is the copy that counts: the first, if it is sound.
func (c gptCopies) chosen() *gptCopy {
	if c.first.wrong == "" {
		return c.first
	}
	return c.last
}

// readGPTCopies reads both. The first one says where the other is; where it does
// not, or is wrong about that, the other is looked for in the last sector.
func readGPTCopies(d Device, sector int64) gptCopies {
	c := gptCopies{first: readGPTCopy(d, sector, 1)}
	end := d.Size()/sector - 1
	if c.first.wrong == "" && c.first.head.other() != uint64(end) && c.first.head.other() < uint64(end) {
		if c.last = readGPTCopy(d, sector, int64(c.first.head.other())); c.last.wrong == "" {
			return c
		}
	}
	c.last = readGPTCopy(d, sector, end)
	return c
}

// readGPT reads the GPT of d behind the protective MBR m: the first copy or, if
// that is not sound, the one at the end, in sectors of whichever size they are
// found.
func readGPT(d Device, m *mbr) (*Table, error) {
	var reasons []error
	for _, sector := range sectorSizes(d) {
		c := readGPTCopies(d, sector)
		if c.chosen().wrong == "" {
			r := newGPTReader(d, c)
			r.hybrid(m)
			r.protection(m)
			return &r.Table, nil
		}
		if c.first.head != nil && c.first.head.signed() || len(reasons) == 0 {
			reasons = []error{&badGPT{c}}
		}
	}
	return nil, &Error{Op: "partitions", Range: Range{Len: mbrSize}, Err: errors.Join(reasons...)}
}

// readUnprotected reads a GPT that no MBR announces, as far as its first copy is
// sound: a backup alone may be left from an earlier life of the disk. Systems take
// such a disk for an empty one.
func readUnprotected(d Device) *Table {
	for _, sector := range sectorSizes(d) {
		// No table was promised, so none is missed: what cannot be read shows where it is
		// needed.
		c := readGPTCopies(d, sector)
		if c.first.wrong == "" {
			r := newGPTReader(d, c)
			r.fault(FaultUnprotected, 0, Range{Off: 446, Len: 66}, "")
			return &r.Table
		}
	}
	return nil
}

// newGPTReader takes in the copy of c that counts, and what is wrong with both.
func newGPTReader(d Device, c gptCopies) *tableReader {
	from := c.chosen()
	r := &tableReader{d: d, Table: Table{Scheme: SchemeGPT, Sector: from.sector, ID: from.head.disk(), Parts: []Partition{}}}
	end := (d.Size()/from.sector - 1) * from.sector
	switch {
	case c.first.wrong != "":
		r.fault(FaultPrimary, 0, c.first.at, "%s; the backup is taken", c.first.wrong)
	case c.last.wrong != "":
		detail := c.last.wrong
		if other := c.first.head.other(); other > uint64(end/from.sector) {
			detail = fmt.Sprintf("it should be in sector %d, and the last one is %d", other, end/from.sector)
		}
		r.fault(FaultBackup, 0, c.last.at, "%s", detail)
	case !bytes.Equal(c.first.table, c.last.table) || c.first.head.disk() != c.last.head.disk():
		r.fault(FaultDiffer, 0, c.last.at, "the first copy is taken")
	case c.last.at.Off != end:
		r.fault(FaultMisplaced, 0, c.last.at, "it is in sector %d, and the last one is %d", c.last.at.Off/from.sector, end/from.sector)
	}
	r.entries(from)
	r.overlaps()
	return r
}

// entries takes in the entries of a copy.
func (r *tableReader) entries(c *gptCopy) {
	seen := map[string]int{}
	size := c.head.entrySize()
	for i := range int64(len(c.table)) / size {
		e := gptEntry(c.table[i*size:][:gptEntryMin])
		if e.empty() {
			continue
		}
		p := Partition{Number: int(i) + 1, Type: guid(e[:16]), ID: guid(e[16:32]), Name: e.name(),
			Entry: Range{Off: int64(c.head.entries())*r.Sector + i*size, Len: gptEntryMin}}
		r.addGPT(p, e.first(), e.last(), c.head)
		if was := seen[p.ID]; was != 0 {
			r.fault(FaultSameGUID, p.Number, Range{p.Entry.Off + 16, 16}, "partition %d has %s, too", was, p.ID)
		} else {
			seen[p.ID] = p.Number
		}
		if r.has(FaultTooMany) {
			return
		}
	}
}

// addGPT adds p, which claims these sectors.
func (r *tableReader) addGPT(p Partition, first, last uint64, h gptHeader) {
	const most = 1 << 62 // bytes, so that an end never overflows
	limit := uint64(most / r.Sector)
	switch {
	case first > last:
		r.fault(FaultBackwards, p.Number, Range{p.Entry.Off + 32, 16}, "from sector %d to %d", first, last)
	case first >= limit:
		p.Claims = Range{Off: most}
	default:
		p.Claims = Range{Off: int64(first) * r.Sector, Len: int64(min(last, limit)-first+1) * r.Sector}
	}
	if !p.Claims.Empty() && (first < h.firstUsed() || last > h.lastUsed()) && last < uint64(r.d.Size()/r.Sector) {
		r.fault(FaultOnTable, p.Number, Range{p.Entry.Off + 32, 16}, "sectors %d to %d, and only %d to %d are for partitions", first, last, h.firstUsed(), h.lastUsed())
		if first == 0 {
			p.Claims = Range{} // it holds the table, and nothing of its own
		}
	}
	r.add(p)
}

// hybrid looks at what the MBR before a GPT holds besides the entry that
// protects it: firmware that knows no GPT reads it, and must see the same.
func (r *tableReader) hybrid(m *mbr) {
	for i := range 4 {
		e := m.entry(i)
		if e.empty() || e.kind() == typeGPT {
			continue
		}
		at := Range{Off: e.start() * r.Sector, Len: e.length() * r.Sector}
		known := false
		for _, p := range r.Parts {
			known = known || p.Claims == at
		}
		if !known {
			r.fault(FaultHybrid, 0, mbrEntryRange(0, i), "entry %d has type 0x%02x, sectors %d to %d", i+1, e.kind(), e.start(), e.start()+e.length()-1)
		}
	}
}

// protection looks at how far the entry goes that protects a GPT: [UEFI] 5.2.3, to the
// end of the disk, or as far as 32 bits can say. In a hybrid it protects what lies before
// the others, and where the backup is not at the end, the disk became larger, which is
// told of there. One that goes beyond the disk protects all of it.
func (r *tableReader) protection(m *mbr) {
	at := -1
	for i := range 4 {
		switch e := m.entry(i); {
		case e.kind() == typeGPT && at < 0: // of no sectors, too
			at = i
		case !e.empty():
			return
		}
	}
	if at < 0 || r.has(FaultMisplaced) {
		return
	}
	e, sectors := m.entry(at), r.d.Size()/r.Sector
	if end := e.start() + e.length(); e.length() != math.MaxUint32 && end < sectors {
		r.fault(FaultShort, 0, mbrEntryRange(0, at), "it protects %d sectors from %d on, and the last one is %d", e.length(), e.start(), sectors-1)
	}
}

// gptEntry is an entry of a GPT.
type gptEntry [gptEntryMin]byte

func (e *gptEntry) first() uint64 { return binary.LittleEndian.Uint64(e[32:]) }
func (e *gptEntry) last() uint64  { return binary.LittleEndian.Uint64(e[40:]) }

// empty reports whether nothing is in it: a type of zeros.
func (e *gptEntry) empty() bool { return [16]byte(e[:16]) == [16]byte{} }

// guid is a GUID as it stands on the disk, in the usual form. Its first three
// fields are little-endian.
func guid(b []byte) string {
	return fmt.Sprintf("%08X-%04X-%04X-%X-%X", binary.LittleEndian.Uint32(b[0:]),
		binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:]), b[8:10], b[10:16])
}

// name is the name, which ends at the first NUL.
func (e *gptEntry) name() string {
	var u []uint16
	for i := 56; i < gptEntryMin; i += 2 {
		c := binary.LittleEndian.Uint16(e[i:])
		if c == 0 {
			break
		}
		u = append(u, c)
	}
	return string(utf16.Decode(u))
}
