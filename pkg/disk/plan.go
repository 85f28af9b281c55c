package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	// grain is what partitions begin and end at a multiple of, in bytes: what
	// Windows, util-linux and parted do since disks have sectors of 4 KiB and more.
	grain = 1 << 20

	mbrBytes   = 512
	gptEntries = 128 // [UEFI] 5.3.2: room for 16 KiB of them is the least
	gptEntry   = 128
)

// Layout is a new disk with one partition.
type Layout struct {
	Scheme string // dev.SchemeMBR or dev.SchemeGPT
	Size   int64  // bytes of the disk
	Sector int64  // bytes of its sectors
	Part   dev.Range
}

// NewLayout places the partition: from 1 MiB on, as large as it can be with both
// ends at a multiple of that. vol.ErrRequest where the disk is too small for it,
// or too large for the table.
func NewLayout(scheme string, size, sector int64) (*Layout, error) {
	l := &Layout{Scheme: scheme, Size: size, Sector: sector}
	end := size / sector * sector
	if scheme == dev.SchemeGPT {
		end -= sector + l.tableBytes() // the backup
	}
	end = end / grain * grain
	if end <= grain {
		return nil, vol.Refusef("a disk of %s is too small for a partition table: the partition begins at 1 MiB, and there must be room behind it", vol.SizeText(size))
	}
	if l.Part = (dev.Range{Off: grain, Len: end - grain}); scheme == dev.SchemeMBR && end/sector > 1<<32-1 {
		return nil, vol.Refusef("an MBR counts no more than 2^32 sectors of %d bytes, and the disk has %d: --table gpt can", sector, size/sector)
	}
	return l, nil
}

// tableBytes are the bytes of the entries of a GPT, in whole sectors.
func (l *Layout) tableBytes() int64 {
	return (gptEntries*gptEntry + l.Sector - 1) / l.Sector * l.Sector
}

// Plan is the plan of the whole disk, of which p is that of the volume in the
// partition. name is what a GPT calls the partition, seed makes the ids. The
// table comes last of all, as it is what makes the volume reachable.
func (l *Layout) Plan(p *vol.Plan, name string, seed uint64) (*vol.Plan, error) {
	whole := *p
	whole.Steps, whole.Regions = vol.WipeSteps(l.Size), nil
	for _, s := range p.Steps {
		s.Off += l.Part.Off
		whole.Steps = append(whole.Steps, s)
	}
	if !utf8.ValidString(name) {
		return nil, vol.Usagef("a partition's name is text, and %q is not in UTF-8", name)
	}
	units := utf16.Encode([]rune(name))
	if len(units) > 36 {
		return nil, vol.Usagef("a partition's name has at most 36 characters, and %q has more", name)
	}
	ids := idMaker{seed}
	if l.Scheme == dev.SchemeGPT {
		l.gpt(&whole, p, units, ids)
	} else {
		l.mbr(&whole, p, ids)
	}
	slices.SortStableFunc(whole.Steps, func(a, b vol.Step) int { return int(a.Phase) - int(b.Phase) })
	return &whole, nil
}

// put adds bytes to a plan.
func put(p *vol.Plan, phase vol.Phase, off int64, data []byte) {
	p.Steps = append(p.Steps, vol.Step{Phase: phase, Range: dev.Range{Off: off, Len: int64(len(data))}, Data: data})
}

// regions adds those of the volume p, and what is before it.
func (l *Layout) regions(whole, p *vol.Plan) {
	whole.Regions = vol.AppendRegion(whole.Regions, "unused", l.Part.Off)
	for _, g := range p.Regions {
		g.Off += l.Part.Off
		whole.Regions = append(whole.Regions, g)
	}
}

// mbr adds an MBR with one partition, [MBR] partition table.
func (l *Layout) mbr(whole, p *vol.Plan, ids idMaker) {
	b := make([]byte, mbrBytes)
	id := ids.bytes("mbr")
	binary.LittleEndian.PutUint32(b[440:], max(binary.LittleEndian.Uint32(id[:]), 1)) // 0 is none
	kind := TypeFor(dev.SchemeMBR, p.Type, l.Part.Len, l.Sector)
	mbrEntry(b, mbrType(kind), l.Part.Off/l.Sector, l.Part.Len/l.Sector)
	put(whole, vol.Head, 0, b)
	whole.Regions = vol.AppendRegion(whole.Regions, "mbr", l.Sector)
	l.regions(whole, p)
	whole.Regions = vol.AppendRegion(whole.Regions, "unused", l.Size)
}

// mbrEntry writes the first entry of the table in b, and the signature.
func mbrEntry(b []byte, kind byte, start, sectors int64) {
	e := b[446:]
	copy(e[1:], chs(start))
	e[4] = kind
	copy(e[5:], chs(start+sectors-1))
	binary.LittleEndian.PutUint32(e[8:], uint32(start))
	binary.LittleEndian.PutUint32(e[12:], uint32(sectors))
	b[510], b[511] = 0x55, 0xAA
}

// chs is a sector as cylinder, head and sector, with the 255 heads and 63 sectors
// that every tool takes for disks that have none. Beyond the 1024th cylinder it
// is the last address there is.
func chs(lba int64) []byte {
	const heads, sectors = 255, 63
	lba = min(lba, heads*sectors*1024-1)
	c, h, s := lba/(heads*sectors), lba/sectors%heads, lba%sectors+1
	return []byte{byte(h), byte(s) | byte(c>>8)<<6, byte(c)}
}

// gpt adds both copies of a GPT with one partition, and the MBR that protects it.
func (l *Layout) gpt(whole, p *vol.Plan, name []uint16, ids idMaker) {
	last, table := l.Size/l.Sector-1, make([]byte, l.tableBytes())
	entries := table[:gptEntries*gptEntry]
	putGUID(entries, uuid.MustParse(TypeFor(dev.SchemeGPT, p.Type, l.Part.Len, l.Sector)))
	putGUID(entries[16:], ids.uuid("partition"))
	binary.LittleEndian.PutUint64(entries[32:], uint64(l.Part.Off/l.Sector))
	binary.LittleEndian.PutUint64(entries[40:], uint64(l.Part.End()/l.Sector-1))
	for i, u := range name {
		binary.LittleEndian.PutUint16(entries[56+2*i:], u)
	}
	n := l.tableBytes() / l.Sector
	head := func(self, other, at int64) []byte {
		return l.header(self, other, at, n, crc32.ChecksumIEEE(entries), ids.uuid("disk"))
	}
	put(whole, vol.Body, (last-n)*l.Sector, table)
	put(whole, vol.Body, last*l.Sector, head(last, 1, last-n))
	put(whole, vol.Body, 2*l.Sector, table)
	put(whole, vol.Head, l.Sector, head(1, last, 2))

	// [UEFI] 5.2.3: from the second sector to the last one, or as far as the field
	// goes. As util-linux does it, the last one has the address that there is none.
	b := make([]byte, mbrBytes)
	mbrEntry(b, 0xEE, 1, min(last, 1<<32-1))
	copy(b[446+5:], "\xFF\xFF\xFF")
	put(whole, vol.Head, 0, b)

	whole.Regions = vol.AppendRegion(whole.Regions, "protective mbr", l.Sector)
	whole.Regions = vol.AppendRegion(whole.Regions, "gpt header", 2*l.Sector)
	whole.Regions = vol.AppendRegion(whole.Regions, "gpt entries", (2+n)*l.Sector)
	l.regions(whole, p)
	whole.Regions = vol.AppendRegion(whole.Regions, "unused", (last-n)*l.Sector)
	whole.Regions = vol.AppendRegion(whole.Regions, "backup gpt entries", last*l.Sector)
	whole.Regions = vol.AppendRegion(whole.Regions, "backup gpt header", (last+1)*l.Sector)
}

// header is a header sector of a GPT, [UEFI] 5.3.2; n sectors of entries are at
// sector at.
func (l *Layout) header(self, other, at, n int64, sum uint32, id uuid.UUID) []byte {
	b := make([]byte, l.Sector)
	copy(b, "EFI PART\x00\x00\x01\x00")
	binary.LittleEndian.PutUint32(b[12:], 92)
	binary.LittleEndian.PutUint64(b[24:], uint64(self))
	binary.LittleEndian.PutUint64(b[32:], uint64(other))
	binary.LittleEndian.PutUint64(b[40:], uint64(2+n))
	binary.LittleEndian.PutUint64(b[48:], uint64(l.Size/l.Sector-1-n-1))
	putGUID(b[56:], id)
	binary.LittleEndian.PutUint64(b[72:], uint64(at))
	binary.LittleEndian.PutUint32(b[80:], gptEntries)
	binary.LittleEndian.PutUint32(b[84:], gptEntry)
	binary.LittleEndian.PutUint32(b[88:], sum)
	binary.LittleEndian.PutUint32(b[16:], crc32.ChecksumIEEE(b[:92]))
	return b
}

// putGUID writes a GUID as a GPT has it: the first three fields little-endian.
func putGUID(b []byte, id uuid.UUID) {
	copy(b, id[:])
	slices.Reverse(b[0:4])
	slices.Reverse(b[4:6])
	slices.Reverse(b[6:8])
}

// idMaker makes ids from a seed: the same ones from the same.
type idMaker struct{ seed uint64 }

func (m idMaker) bytes(what string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "fatkit disk %d %s", m.seed, what))
}

// uuid is a GUID of version 4, RFC 9562.
func (m idMaker) uuid(what string) uuid.UUID {
	b := m.bytes(what)
	id, err := uuid.NewRandomFromReader(bytes.NewReader(b[:]))
	if err != nil {
		panic("32 bytes are enough for a UUID: " + err.Error())
	}
	return id
}

// Verify holds the table on d against what was laid out.
func (l *Layout) Verify(d dev.Device) error {
	t, err := dev.ReadTable(d)
	if err != nil {
		return err
	}
	if t == nil || t.Scheme != l.Scheme || t.Sector != l.Sector || len(t.Faults) > 0 || len(t.Parts) != 1 || t.Parts[0].Range != l.Part {
		return fmt.Errorf("%w: the partition table does not read back as it was written: %+v", vol.ErrDamaged, t)
	}
	return nil
}
