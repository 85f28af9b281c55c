package dev

import (
	"encoding/binary"
	"fmt"
)

const (
	mbrSize      = 512
	mbrEntries   = 446  // byte of the sector where they begin
	typeGPT      = 0xEE // the entry that protects a GPT
	firstLogical = 5
)

// mbr is a sector with a partition table, also one of a logical partition.
type mbr [mbrSize]byte

// mbrEntry is one of the four entries in it. Sectors are counted from where
// the table, or for a chain the extended partition, is.
type mbrEntry [16]byte

func (m *mbr) signed() bool { return m[510] == 0x55 && m[511] == 0xAA }

func (m *mbr) entry(i int) mbrEntry { return mbrEntry(m[mbrEntries+16*i:]) }

// disk is the signature that Windows gives a disk, or "".
func (m *mbr) disk() string {
	if id := binary.LittleEndian.Uint32(m[440:]); id != 0 {
		return fmt.Sprintf("0x%08x", id)
	}
	return ""
}

// mbrEntryRange is where entry i of the table at byte at is on the device.
func mbrEntryRange(at int64, i int) Range { return Range{Off: at + mbrEntries + int64(16*i), Len: 16} }

func (e mbrEntry) status() byte  { return e[0] }
func (e mbrEntry) kind() byte    { return e[4] }
func (e mbrEntry) start() int64  { return int64(binary.LittleEndian.Uint32(e[8:])) }
func (e mbrEntry) length() int64 { return int64(binary.LittleEndian.Uint32(e[12:])) }

// empty reports whether there is nothing in it.
func (e mbrEntry) empty() bool { return e.kind() == 0 || e.length() == 0 }

// extended reports whether it holds the chain of logical partitions.
func (e mbrEntry) extended() bool {
	return e.kind() == 0x05 || e.kind() == 0x0F || e.kind() == 0x85
}

// protective reports whether there is a GPT behind the table. Linux asks for
// the same: the type, and the first sector after this one.
func (m *mbr) protective() bool {
	for i := range 4 {
		if e := m.entry(i); e.kind() == typeGPT && e.start() == 1 {
			return true
		}
	}
	return false
}

// mbrReader reads the partitions of an MBR.
type mbrReader struct{ tableReader }

// readMBR reads the partitions of the table m, nil if it is none. An MBR does not
// tell the size of its sectors: those of the device it is, unless there is
// nothing where the partitions would be then, and something with another size.
func readMBR(d Device, m *mbr) (*Table, error) {
	sizes := sectorSizes(d)
	best, most := sizes[0], 0
	for _, sector := range sizes {
		r := &mbrReader{tableReader{d: d, Table: Table{Sector: sector}}}
		if n := r.evidence(m); n > 0 && most == 0 {
			best, most = sector, n
		}
	}
	r := &mbrReader{tableReader{d: d, Table: Table{Scheme: SchemeMBR, Sector: best, ID: m.disk(), Parts: []Partition{}}}}
	if !r.sane(m) && !m.clear() {
		return nil, nil
	}
	if err := r.primaries(m); err != nil {
		return nil, err
	}
	r.overlaps()
	if c := readGPTCopy(d, best, 1); c.wrong == "" {
		r.fault(FaultIgnored, 0, c.at, "")
	}
	return &r.Table, nil
}

// evidence counts the entries that lead to something.
func (r *mbrReader) evidence(m *mbr) (n int) {
	for i := range 4 {
		if e := m.entry(i); !e.empty() && e.start() > 0 && begins(r.d, e.start()*r.Sector) {
			n++
		}
	}
	return n
}

// sane tells a partition table from the boot code of a file system that ends
// in the same two bytes: statuses are 0x00 or 0x80, and there are partitions,
// all behind this sector, on the device and apart from each other.
func (r *mbrReader) sane(m *mbr) bool {
	var seen []Range
	for i := range 4 {
		e := m.entry(i)
		if e.status() != 0 && e.status() != 0x80 {
			return false
		}
		if e.empty() {
			continue
		}
		at, ok := r.place(e, 0, Range{Len: r.d.Size()})
		if !ok || e.start() == 0 {
			return false
		}
		for _, s := range seen {
			if !s.Intersect(at).Empty() {
				return false
			}
		}
		seen = append(seen, at)
	}
	return len(seen) > 0
}

// clear tells a table with faults from boot code: what is not in use is zeros,
// which code hardly ever is in the right places, and what is in use begins
// behind the table.
func (m *mbr) clear() bool {
	used := false
	for i := range 4 {
		e := m.entry(i)
		switch {
		case e == mbrEntry{}:
		case e.empty(), e.status() != 0 && e.status() != 0x80, e.start() == 0:
			return false
		default:
			used = true
		}
	}
	return used
}

// place is where the partition e lies that counts from byte base on; ok if
// that is inside of bounds.
func (r *mbrReader) place(e mbrEntry, base int64, bounds Range) (_ Range, ok bool) {
	at := Range{Off: base + e.start()*r.Sector, Len: e.length() * r.Sector}
	return at, at.Off >= bounds.Off && at.End() <= bounds.End()
}

// primaries adds the partitions of the first table, and of the chains in it.
func (r *mbrReader) primaries(m *mbr) error {
	type link struct {
		entry, at Range
		number    int
	}
	var extended []link
	for i := range 4 {
		e := m.entry(i)
		switch at, _ := r.place(e, 0, Range{}); {
		case e.empty():
		case e.extended():
			extended = append(extended, link{mbrEntryRange(0, i), at, i + 1})
		default:
			r.addMBR(i+1, e, at, mbrEntryRange(0, i))
		}
	}
	for _, x := range extended {
		inside := x.at.Intersect(Range{Len: r.d.Size()})
		if inside.Len < x.at.Len {
			r.fault(FaultBeyond, x.number, x.entry, "the extended partition ends at byte %d of %d", x.at.End(), r.d.Size())
		}
		for _, p := range r.Parts {
			if both := p.Claims.Intersect(x.at); p.Number < firstLogical && !both.Empty() {
				r.fault(FaultOverlap, p.Number, p.Entry, "it shares %d bytes from byte %d on with the extended partition %d", both.Len, both.Off, x.number)
			}
		}
		if inside.Empty() {
			continue
		}
		if err := r.chain(inside, x.entry); err != nil {
			return err
		}
	}
	return nil
}

func (r *mbrReader) addMBR(number int, e mbrEntry, at, entry Range) {
	r.add(Partition{Number: number, Claims: at, Entry: entry, Type: fmt.Sprintf("0x%02x", e.kind())})
}

// chain adds the logical partitions of the extended partition x. Each has a
// table in front, whose entry for the next table counts from x on, and whose
// others count from the table itself. The chain ends at the first table that
// is none, lies outside or was there before. link is the entry that leads to
// the table at hand.
func (r *mbrReader) chain(x, link Range) error {
	seen := map[int64]bool{}
	for at := x.Off; ; {
		switch {
		case seen[at]:
			r.fault(FaultChainLoop, 0, link, "it leads back to the table at byte %d", at)
			return nil
		case len(seen) == maxPartitions:
			r.fault(FaultTooMany, 0, link, "only the first %d tables of logical partitions are read", maxPartitions)
			return nil
		case CheckRange("read", Range{at, mbrSize}, r.d.Size()) != nil:
			r.fault(FaultChain, 0, link, "it leads to byte %d, which is not there", at)
			return nil
		}
		seen[at] = true
		var m mbr
		if _, err := r.d.ReadAt(m[:], at); err != nil {
			return err
		}
		if !m.signed() {
			r.fault(FaultChain, 0, link, "at byte %d, where it leads, is no table", at)
			return nil
		}
		next, entry := r.logicals(&m, at, x)
		if entry.Empty() {
			return nil
		}
		at, link = next, entry
	}
}

// logicals adds what the table m at byte at of the extended partition x holds,
// and tells where the next table is, and which entry says so: an empty range
// where none does.
func (r *mbrReader) logicals(m *mbr, at int64, x Range) (next int64, link Range) {
	for i := range 4 {
		e, entry := m.entry(i), mbrEntryRange(at, i)
		switch {
		case e.empty():
		case e.extended():
			to, _ := r.place(e, x.Off, x)
			inside := !x.Intersect(Range{to.Off, 1}).Empty()
			switch {
			case !inside:
				r.fault(FaultChain, 0, entry, "it leads to byte %d, outside of the extended partition", to.Off)
			case link.Empty():
				next, link = to.Off, entry
			}
		default:
			to, inside := r.place(e, at, x)
			number := r.nextLogical()
			switch {
			case e.start() == 0:
				r.fault(FaultOnTable, 0, entry, "the logical partition begins on its own table")
				continue
			case !inside:
				r.fault(FaultOutside, number, entry, "bytes %d to %d, and the extended partition has %d to %d", to.Off, to.End()-1, x.Off, x.End()-1)
			}
			r.addMBR(number, e, to, entry)
		}
	}
	return next, link
}

// nextLogical is the number of the next logical partition.
func (r *mbrReader) nextLogical() int {
	if n := len(r.Parts); n > 0 && r.Parts[n-1].Number >= firstLogical {
		return r.Parts[n-1].Number + 1
	}
	return firstLogical
}
