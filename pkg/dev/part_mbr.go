package dev

import (
	"encoding/binary"
	"fmt"
)

const (
	mbrSize      = 512
	maxLogicals  = 128  // bounds a chain that is longer than anyone makes it
	typeGPT      = 0xEE // the entry that protects a GPT
	firstLogical = 5
)

// mbr is a sector with a partition table, also one of a logical partition.
type mbr [mbrSize]byte

// mbrEntry is one of the four entries in it. Sectors are counted from where
// the table, or for a chain the extended partition, is.
type mbrEntry [16]byte

func (m *mbr) signed() bool { return m[510] == 0x55 && m[511] == 0xAA }

func (m *mbr) entry(i int) mbrEntry { return mbrEntry(m[446+16*i:]) }

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
type mbrReader struct {
	d      Device
	sector int64 // bytes
	parts  []Partition
}

// readMBR reads the partitions of the table m, nil if it is none.
func readMBR(d Device, m *mbr) ([]Partition, error) {
	r := &mbrReader{d: d, sector: sectorSizes(d)[0], parts: []Partition{}}
	if !r.sane(m) {
		return nil, nil
	}
	var extended []Range
	for i := range 4 {
		e := m.entry(i)
		switch at, _ := r.place(e, 0, Range{Len: d.Size()}); {
		case e.empty():
		case e.extended():
			extended = append(extended, at)
		default:
			r.add(i+1, e, at)
		}
	}
	for _, x := range extended {
		if err := r.chain(x); err != nil {
			return nil, err
		}
	}
	return r.parts, nil
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

// place is where the partition e lies that counts from byte base on; ok if
// that is inside of bounds.
func (r *mbrReader) place(e mbrEntry, base int64, bounds Range) (_ Range, ok bool) {
	at := Range{Off: base + e.start()*r.sector, Len: e.length() * r.sector}
	return at, at.Off >= bounds.Off && at.End() <= bounds.End()
}

func (r *mbrReader) add(number int, e mbrEntry, at Range) {
	r.parts = append(r.parts, Partition{
		Number: number, Range: at, Type: fmt.Sprintf("0x%02x", e.kind()), Scheme: SchemeMBR,
	})
}

// chain adds the logical partitions of the extended partition x. Each has a
// table in front, whose entry for the next table counts from x on, and whose
// others count from the table itself. The chain ends at the first table that
// is none, lies outside or was there before.
func (r *mbrReader) chain(x Range) error {
	seen := map[int64]bool{}
	at := x.Off
	for !seen[at] && len(seen) < maxLogicals {
		seen[at] = true
		var m mbr
		if _, err := r.d.ReadAt(m[:], at); err != nil {
			return err
		}
		if !m.signed() {
			return nil
		}
		next, ok := r.logicals(&m, at, x)
		if !ok {
			return nil
		}
		at = next
	}
	return nil
}

// logicals adds what the table m at byte at of the extended partition x holds,
// and tells where the next table is, if there is one.
func (r *mbrReader) logicals(m *mbr, at int64, x Range) (next int64, ok bool) {
	for i := range 4 {
		e := m.entry(i)
		if e.empty() {
			continue
		}
		if e.extended() {
			if to, inside := r.place(e, x.Off, x); inside && !ok {
				next, ok = to.Off, true
			}
			continue
		}
		if to, inside := r.place(e, at, x); inside && e.start() > 0 {
			r.add(r.nextLogical(), e, to)
		}
	}
	return next, ok
}

// nextLogical is the number of the next logical partition.
func (r *mbrReader) nextLogical() int {
	if n := len(r.parts); n > 0 && r.parts[n-1].Number >= firstLogical {
		return r.parts[n-1].Number + 1
	}
	return firstLogical
}
