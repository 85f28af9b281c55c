package dev

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unicode/utf16"
)

const (
	gptHeaderMin  = 92
	gptEntryMin   = 128
	gptEntryMax   = 4096
	gptMaxEntries = 1024
)

// gptHeader is a sector that holds a header of a GPT.
type gptHeader []byte

func (h gptHeader) size() int64      { return int64(binary.LittleEndian.Uint32(h[12:])) }
func (h gptHeader) crc() uint32      { return binary.LittleEndian.Uint32(h[16:]) }
func (h gptHeader) self() uint64     { return binary.LittleEndian.Uint64(h[24:]) }
func (h gptHeader) entries() uint64  { return binary.LittleEndian.Uint64(h[72:]) }
func (h gptHeader) count() int64     { return int64(binary.LittleEndian.Uint32(h[80:])) }
func (h gptHeader) entrySize() int64 { return int64(binary.LittleEndian.Uint32(h[84:])) }
func (h gptHeader) entryCRC() uint32 { return binary.LittleEndian.Uint32(h[88:]) }

// valid reports whether h is the header for sector lba and has not been
// damaged. Only then are the other fields to be believed, within bounds.
func (h gptHeader) valid(lba int64) bool {
	if !bytes.HasPrefix(h, []byte("EFI PART")) || h.size() < gptHeaderMin || h.size() > int64(len(h)) {
		return false
	}
	sum := crc32.NewIEEE()
	sum.Write(h[:16])
	sum.Write(make([]byte, 4)) // the checksum itself counts as zeros
	sum.Write(h[20:h.size()])
	return sum.Sum32() == h.crc() && h.self() == uint64(lba)
}

// bounded reports whether the table of entries has a size that anyone would
// give it: the header claims, and we allocate.
func (h gptHeader) bounded() bool {
	n := h.entrySize()
	return n >= gptEntryMin && n <= gptEntryMax && n&(n-1) == 0 && h.count() <= gptMaxEntries
}

// readGPT reads the GPT of d: the first copy or, if that is not sound, the one
// at the end, in sectors of whichever size it is found.
func readGPT(d Device) ([]Partition, error) {
	for _, backup := range []bool{false, true} {
		for _, sector := range sectorSizes(d) {
			lba := int64(1)
			if backup {
				lba = d.Size()/sector - 1
			}
			parts, err := readGPTAt(d, sector, lba)
			if parts != nil || err != nil {
				return parts, err
			}
		}
	}
	return nil, &Error{Op: "partitions", Range: Range{Len: mbrSize}, Err: errGPT}
}

// readGPTAt reads the GPT whose header is sector lba; nil if that is not sound.
func readGPTAt(d Device, sector, lba int64) ([]Partition, error) {
	at := Range{Off: lba * sector, Len: sector}
	if lba < 1 || CheckRange("read", at, d.Size()) != nil {
		return nil, nil
	}
	h := make(gptHeader, sector)
	if _, err := d.ReadAt(h, at.Off); err != nil {
		return nil, err
	}
	if !h.valid(lba) || !h.bounded() || h.entries() > uint64(d.Size()/sector) {
		return nil, nil
	}
	table := Range{Off: int64(h.entries()) * sector, Len: h.count() * h.entrySize()}
	if CheckRange("read", table, d.Size()) != nil {
		return nil, nil
	}
	b := make([]byte, table.Len)
	if _, err := d.ReadAt(b, table.Off); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(b) != h.entryCRC() {
		return nil, nil
	}
	return gptPartitions(b, h.entrySize(), sector, d.Size()), nil
}

// gptPartitions are the partitions of the table b; never nil.
func gptPartitions(b []byte, entrySize, sector, size int64) []Partition {
	parts := []Partition{}
	for n := 1; len(b) > 0; n++ {
		e := gptEntry(b[:gptEntryMin])
		b = b[entrySize:]
		first, last := e.first(), e.last()
		if e.empty() || first == 0 || first > last || last >= uint64(size/sector) {
			continue
		}
		parts = append(parts, Partition{
			Number: n,
			Range:  Range{Off: int64(first) * sector, Len: int64(last-first+1) * sector},
			Type:   e.kind(), Name: e.name(), Scheme: SchemeGPT,
		})
	}
	return parts
}

// gptEntry is an entry of a GPT.
type gptEntry [gptEntryMin]byte

func (e *gptEntry) first() uint64 { return binary.LittleEndian.Uint64(e[32:]) }
func (e *gptEntry) last() uint64  { return binary.LittleEndian.Uint64(e[40:]) }

// empty reports whether nothing is in it: a type of zeros.
func (e *gptEntry) empty() bool { return [16]byte(e[:16]) == [16]byte{} }

// kind is the GUID of the type. Its first three fields are little-endian.
func (e *gptEntry) kind() string {
	return fmt.Sprintf("%08X-%04X-%04X-%X-%X", binary.LittleEndian.Uint32(e[0:]),
		binary.LittleEndian.Uint16(e[4:]), binary.LittleEndian.Uint16(e[6:]), e[8:10], e[10:16])
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
