package dev

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

const (
	typeBasic = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"
	typeEFI   = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
)

// mbrSlot is one entry of a table in a test.
type mbrSlot struct {
	status, kind  byte
	start, length uint32
}

// put writes p, failing the test.
func put(t testing.TB, d Device, p []byte, off int64) {
	t.Helper()
	if _, err := d.WriteAt(p, off); err != nil {
		t.Fatal(err)
	}
}

// writeMBR writes a table with these entries into sector at of d.
func writeMBR(t testing.TB, d Device, at int64, slots ...mbrSlot) {
	t.Helper()
	var m mbr
	m[510], m[511] = 0x55, 0xAA
	for i, s := range slots {
		e := m[446+16*i:]
		e[0], e[4] = s.status, s.kind
		binary.LittleEndian.PutUint32(e[8:], s.start)
		binary.LittleEndian.PutUint32(e[12:], s.length)
	}
	put(t, d, m[:], at*512)
}

// logical is a partition of an MBR, in sectors.
func mbrPart(number int, kind string, start, length int64) Partition {
	return Partition{Number: number, Range: Range{start * 512, length * 512}, Type: kind, Scheme: SchemeMBR}
}

func checkPartitions(t *testing.T, d Device, want []Partition) {
	t.Helper()
	got, err := Partitions(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}

func TestPrimaries(t *testing.T) {
	const sectors = 20000
	for _, tt := range []struct {
		name  string
		slots []mbrSlot
		want  []Partition
	}{
		{"one", []mbrSlot{{0x80, 0x0C, 2048, 10000}}, []Partition{mbrPart(1, "0x0c", 2048, 10000)}},
		{"to the end", []mbrSlot{{0, 0x07, 63, sectors - 63}}, []Partition{mbrPart(1, "0x07", 63, sectors-63)}},
		{"two, not in order", []mbrSlot{{}, {0, 0x0B, 9000, 1000}, {}, {0, 0x83, 1, 8999}},
			[]Partition{mbrPart(2, "0x0b", 9000, 1000), mbrPart(4, "0x83", 1, 8999)}},
		{"of no length", []mbrSlot{{0, 0x0C, 2048, 100}, {0, 0x83, 7, 0}}, []Partition{mbrPart(1, "0x0c", 2048, 100)}},
		{"none", nil, nil},
		{"only of no length", []mbrSlot{{0, 0x0C, 2048, 0}}, nil},
		{"odd status", []mbrSlot{{0x80, 0x0C, 2048, 100}, {0x01, 0, 0, 0}}, nil},
		{"beyond the end", []mbrSlot{{0x80, 0x0C, 2048, sectors}}, nil},
		{"far beyond", []mbrSlot{{0x80, 0x0C, 0xFFFFFFFF, 0xFFFFFFFF}}, nil},
		{"from this sector on", []mbrSlot{{0x80, 0x0C, 0, sectors}}, nil}, // mkfs.fat --mbr
		{"overlapping", []mbrSlot{{0, 0x0C, 2048, 100}, {0, 0x0C, 2147, 100}}, nil},
		{"0xee elsewhere", []mbrSlot{{0, 0xEE, 2, 100}}, []Partition{mbrPart(1, "0xee", 2, 100)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMem(sectors * 512)
			writeMBR(t, m, 0, tt.slots...)
			checkPartitions(t, m, tt.want)
		})
	}
}

func TestNoTable(t *testing.T) {
	checkPartitions(t, NewMem(0), nil)
	checkPartitions(t, NewMem(511), nil)
	checkPartitions(t, NewMem(1<<20), nil)

	// A FAT boot sector: code where an MBR has its entries.
	fat := pattern(512)
	copy(fat, "\xEB\x58\x90MSWIN4.1")
	fat[510], fat[511] = 0x55, 0xAA
	m := NewMem(1 << 20)
	put(t, m, fat, 0)
	checkPartitions(t, m, nil)
	clear(fat[90:510]) // or none
	put(t, m, fat, 0)
	checkPartitions(t, m, nil)

	// A table without its signature.
	writeMBR(t, m, 0, mbrSlot{0x80, 0x0C, 1, 100})
	put(t, m, []byte{0}, 511)
	checkPartitions(t, m, nil)
}

func TestLogicals(t *testing.T) {
	const x = 1000 // where the extended partition is
	disk := func(t *testing.T) *Mem {
		m := NewMem(20000 * 512)
		writeMBR(t, m, 0, mbrSlot{0, 0x0C, 63, 900}, mbrSlot{0, 0x0F, x, 9000}, mbrSlot{0, 0x83, 15000, 100})
		writeMBR(t, m, x, mbrSlot{0, 0x0B, 63, 100}, mbrSlot{0, 0x05, 2000, 3000})
		writeMBR(t, m, x+2000, mbrSlot{0, 0x07, 1, 2999}, mbrSlot{0, 0x85, 6000, 3000})
		writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 952})
		return m
	}
	all := []Partition{
		mbrPart(1, "0x0c", 63, 900), mbrPart(3, "0x83", 15000, 100),
		mbrPart(5, "0x0b", x+63, 100), mbrPart(6, "0x07", x+2001, 2999), mbrPart(7, "0x83", x+6000+2048, 952),
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, *Mem)
		want   []Partition
	}{
		{"whole", func(*testing.T, *Mem) {}, all},
		{"loop to the first", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 952}, mbrSlot{0, 0x05, 0, 1000})
		}, all},
		{"loop to itself", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 952}, mbrSlot{0, 0x05, 6000, 1000})
		}, all},
		{"a table without signature", func(t *testing.T, m *Mem) { put(t, m, []byte{0}, (x+6000)*512+510) }, all[:4]},
		{"the next outside", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+2000, mbrSlot{0, 0x07, 1, 2999}, mbrSlot{0, 0x05, 9000, 1})
		}, all[:4]},
		{"a partition outside", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 953})
		}, all[:4]},
		{"a partition on its table", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 0, 10})
		}, all[:4]},
		{"the link first", func(t *testing.T, m *Mem) { // as DR-DOS makes it
			writeMBR(t, m, x, mbrSlot{0, 0x05, 2000, 3000}, mbrSlot{0, 0x0B, 63, 100})
		}, all},
		{"no logical partition", func(t *testing.T, m *Mem) { writeMBR(t, m, x) }, all[:2]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := disk(t)
			tt.damage(t, m)
			checkPartitions(t, m, tt.want)
		})
	}
}

func TestOnlyExtended(t *testing.T) {
	m := NewMem(1 << 20)
	writeMBR(t, m, 0, mbrSlot{0, 0x05, 100, 1000})
	checkPartitions(t, m, []Partition{})
}

func TestLongChain(t *testing.T) {
	m := NewMem(1 << 20)
	writeMBR(t, m, 0, mbrSlot{0, 0x05, 1, 2000})
	for i := range uint32(900) {
		writeMBR(t, m, int64(1+2*i), mbrSlot{0, 0x83, 1, 1}, mbrSlot{0, 0x05, 2 * (i + 1), 2})
	}
	got, err := Partitions(m)
	if err != nil || len(got) != maxLogicals {
		t.Errorf("%d partitions, %v", len(got), err)
	}
}

// gptSlot is an entry of a GPT in a test.
type gptSlot struct {
	kind        string
	first, last uint64
	name        string
}

// gptDisk says how writeGPT lays out a disk.
type gptDisk struct {
	sector    int64
	count     uint32
	entrySize uint32
	slots     map[int]gptSlot // from 1
}

// writeGPT writes a protective MBR and both copies of a GPT.
func writeGPT(t testing.TB, d Device, g gptDisk) {
	t.Helper()
	writeMBR(t, d, 0, mbrSlot{0, typeGPT, 1, 0xFFFFFFFF})
	table := make([]byte, g.count*g.entrySize)
	for n, s := range g.slots {
		e := table[uint32(n-1)*g.entrySize:]
		putGUID(e, s.kind)
		binary.LittleEndian.PutUint64(e[32:], s.first)
		binary.LittleEndian.PutUint64(e[40:], s.last)
		for i, u := range utf16.Encode([]rune(s.name)) {
			binary.LittleEndian.PutUint16(e[56+2*i:], u)
		}
	}
	last := d.Size()/g.sector - 1
	tableSectors := (int64(len(table)) + g.sector - 1) / g.sector
	put(t, d, table, 2*g.sector)
	put(t, d, table, (last-tableSectors)*g.sector)
	put(t, d, gptHead(g, table, 1, 2), g.sector)
	put(t, d, gptHead(g, table, last, last-tableSectors), last*g.sector)
}

// gptHead is the header sector self for table, which is at sector at.
func gptHead(g gptDisk, table []byte, self, at int64) []byte {
	h := make([]byte, g.sector)
	copy(h, "EFI PART\x00\x00\x01\x00")
	binary.LittleEndian.PutUint32(h[12:], 92)
	binary.LittleEndian.PutUint64(h[24:], uint64(self))
	binary.LittleEndian.PutUint64(h[72:], uint64(at))
	binary.LittleEndian.PutUint32(h[80:], g.count)
	binary.LittleEndian.PutUint32(h[84:], g.entrySize)
	binary.LittleEndian.PutUint32(h[88:], crc32.ChecksumIEEE(table))
	sealGPT(h)
	return h
}

// sealGPT makes the checksum of the header h right.
func sealGPT(h []byte) {
	binary.LittleEndian.PutUint32(h[16:], 0)
	binary.LittleEndian.PutUint32(h[16:], crc32.ChecksumIEEE(h[:92]))
}

// putGUID writes one of the two types that the tests use.
func putGUID(e []byte, guid string) {
	switch guid {
	case typeBasic:
		copy(e, "\xA2\xA0\xD0\xEB\xE5\xB9\x33\x44\x87\xC0\x68\xB6\xB7\x26\x99\xC7")
	case typeEFI:
		copy(e, "\x28\x73\x2A\xC1\x1F\xF8\xD2\x11\xBA\x4B\x00\xA0\xC9\x3E\xC9\x3B")
	}
}

// usualGPT is a table as tools make it, with three partitions of which one
// cannot be.
func usualGPT(sector int64) gptDisk {
	return gptDisk{sector: sector, count: 128, entrySize: 128, slots: map[int]gptSlot{
		1:   {typeEFI, 40, 99, "EFI system partition"},
		3:   {typeBasic, 100, 400, "Bücher 📚"},
		4:   {typeBasic, 300, 1 << 40, "too long"},
		5:   {typeBasic, 400, 399, "backwards"},
		6:   {typeBasic, 0, 399, "from the start"},
		128: {typeBasic, 401, 401, "0123456789abcdef0123456789abcdefWXYZ"},
	}}
}

// usualParts are the partitions of usualGPT.
func usualParts(sector int64) []Partition {
	at := func(n int, first, last int64, kind, name string) Partition {
		return Partition{Number: n, Range: Range{first * sector, (last - first + 1) * sector}, Type: kind, Name: name, Scheme: SchemeGPT}
	}
	return []Partition{
		at(1, 40, 99, typeEFI, "EFI system partition"),
		at(3, 100, 400, typeBasic, "Bücher 📚"),
		at(128, 401, 401, typeBasic, "0123456789abcdef0123456789abcdefWXYZ"),
	}
}

func TestGPT(t *testing.T) {
	for _, sector := range []int64{512, 4096} {
		m := NewMem(500*sector + 100) // not whole sectors
		writeGPT(t, m, usualGPT(sector))
		checkPartitions(t, m, usualParts(sector))
		put(t, m, make([]byte, 3*sector), sector) // the first copy is gone
		checkPartitions(t, m, usualParts(sector))
	}
	m := NewMem(1 << 20)
	writeGPT(t, m, gptDisk{sector: 512, count: 128, entrySize: 128})
	checkPartitions(t, m, []Partition{})

	m = NewMem(1 << 20)
	g := usualGPT(512)
	g.entrySize = 256
	writeGPT(t, m, g)
	checkPartitions(t, m, usualParts(512))
}

// bigSectors is a disk with sectors of 2 KiB.
type bigSectors struct{ *Mem }

func (bigSectors) Limits() Limits { return Limits{LogicalSector: 2048} }

func TestGPTSectorOfDevice(t *testing.T) {
	d := bigSectors{NewMem(500 * 2048)}
	writeGPT(t, d, usualGPT(2048))
	checkPartitions(t, d, usualParts(2048))
}

func TestGPTDamaged(t *testing.T) {
	const sector, size = 512, 500 * 512
	for name, damage := range map[string]func(h []byte){
		"signature":        func(h []byte) { h[0] = 'X'; sealGPT(h) },
		"header checksum":  func(h []byte) { h[16]++ },
		"header size 0":    func(h []byte) { binary.LittleEndian.PutUint32(h[12:], 0) },
		"header size huge": func(h []byte) { binary.LittleEndian.PutUint32(h[12:], 0xFFFFFFFF) },
		"self":             func(h []byte) { h[24]++; sealGPT(h) },
		"table far away":   func(h []byte) { binary.LittleEndian.PutUint64(h[72:], 1<<63); sealGPT(h) },
		"table at the end": func(h []byte) { binary.LittleEndian.PutUint64(h[72:], 499); sealGPT(h) },
		"count huge":       func(h []byte) { binary.LittleEndian.PutUint32(h[80:], 0xFFFFFFFF); sealGPT(h) },
		"entry size 0":     func(h []byte) { binary.LittleEndian.PutUint32(h[84:], 0); sealGPT(h) },
		"entry size odd":   func(h []byte) { binary.LittleEndian.PutUint32(h[84:], 129); sealGPT(h) },
		"entry size huge":  func(h []byte) { binary.LittleEndian.PutUint32(h[84:], 1<<31); sealGPT(h) },
		"entries checksum": func(h []byte) { h[88]++; sealGPT(h) },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMem(size)
			writeGPT(t, m, usualGPT(sector))
			hurt := func(at int64) {
				h := make([]byte, sector)
				if _, err := m.ReadAt(h, at); err != nil {
					t.Fatal(err)
				}
				damage(h)
				put(t, m, h, at)
			}
			hurt(sector)
			checkPartitions(t, m, usualParts(sector))
			hurt(size - sector)
			got, err := Partitions(m)
			wantError(t, err, "partitions", errGPT)
			if got != nil {
				t.Errorf("partitions %v", got)
			}
		})
	}
}

func TestPartitionsReadError(t *testing.T) {
	m := NewMem(500 * 512)
	writeGPT(t, m, usualGPT(512))
	for _, bad := range []int64{0, 512, 1024} {
		if _, err := Partitions(failing{m, bad}); !errors.Is(err, errMedium) {
			t.Errorf("bad from byte %d: %v", bad, err)
		}
	}
	m = NewMem(20000 * 512)
	writeMBR(t, m, 0, mbrSlot{0, 0x0F, 1000, 9000})
	if _, err := Partitions(failing{m, 512}); !errors.Is(err, errMedium) {
		t.Errorf("logical partitions: %v", err)
	}
}

// FuzzPartitions gives the first sectors of a disk and the last ones.
func FuzzPartitions(f *testing.F) {
	seed := func(m *Mem, n int64) {
		head, tail := make([]byte, n), make([]byte, n)
		m.ReadAt(head, 0)
		m.ReadAt(tail, m.Size()-int64(len(tail)))
		f.Add(head, tail, uint8(0))
		f.Add(head, tail, uint8(1))
	}
	for _, sector := range []int64{512, 4096} {
		m := NewMem(500 * sector)
		// Few entries: the fuzzer is at its best with small inputs.
		writeGPT(f, m, gptDisk{sector: sector, count: 4, entrySize: 128, slots: map[int]gptSlot{2: {typeEFI, 40, 99, "x"}}})
		seed(m, 3*sector)
	}
	m := NewMem(1 << 20)
	writeMBR(f, m, 0, mbrSlot{0x80, 0x0C, 30, 10}, mbrSlot{0, 0x05, 1, 20})
	writeMBR(f, m, 1, mbrSlot{0, 0x83, 1, 1}, mbrSlot{0, 0x05, 5, 2})
	seed(m, 8*512)
	f.Fuzz(func(t *testing.T, head, tail []byte, big uint8) {
		if len(head)+len(tail) > 1<<20 {
			return
		}
		m := NewMem(int64(big)<<32 + int64(len(head)+len(tail)))
		put(t, m, head, 0)
		put(t, m, tail, m.Size()-int64(len(tail)))
		parts, err := Partitions(m)
		if err != nil && parts != nil {
			t.Errorf("%v and %v", parts, err)
		}
		if len(parts) > gptMaxEntries {
			t.Errorf("%d partitions", len(parts))
		}
		for i, p := range parts {
			if CheckRange("", p.Range, m.Size()) != nil || p.Range.Empty() || p.Range.Off == 0 {
				t.Errorf("%+v on %d bytes", p, m.Size())
			}
			if i > 0 && parts[i-1].Number >= p.Number {
				t.Errorf("numbers %d, %d", parts[i-1].Number, p.Number)
			}
		}
	})
}
