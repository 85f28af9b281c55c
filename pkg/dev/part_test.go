package dev

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// checkPartitions holds the partitions of d that have bytes against want, nil
// for no table, and the kinds of faults against kinds.
func checkPartitions(t *testing.T, d Device, want []Partition, kinds ...string) {
	t.Helper()
	table, err := ReadTable(d)
	if err != nil {
		t.Fatal(err)
	}
	if table == nil {
		if want != nil || kinds != nil {
			t.Errorf("no table, want %v", want)
		}
		return
	}
	got := slices.DeleteFunc(table.Parts, func(p Partition) bool { return p.Range.Empty() })
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Partition{}, "Claims", "Entry", "ID")); diff != "" || want == nil {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	var faults []string
	for _, f := range table.Faults {
		faults = append(faults, f.Kind)
		if CheckRange("", f.At, d.Size()) != nil {
			t.Errorf("%s: %v is outside", f.Kind, f.At)
		}
	}
	if diff := cmp.Diff(kinds, faults, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("faults (-want +got):\n%s\n%+v", diff, table.Faults)
	}
}

func TestPrimaries(t *testing.T) {
	const sectors = 20000
	for _, tt := range []struct {
		name  string
		slots []mbrSlot
		want  []Partition
		kinds []string
	}{
		{"one", []mbrSlot{{0x80, 0x0C, 2048, 10000}}, []Partition{mbrPart(1, "0x0c", 2048, 10000)}, nil},
		{"to the end", []mbrSlot{{0, 0x07, 63, sectors - 63}}, []Partition{mbrPart(1, "0x07", 63, sectors-63)}, nil},
		{"two, not in order", []mbrSlot{{}, {0, 0x0B, 9000, 1000}, {}, {0, 0x83, 1, 8999}},
			[]Partition{mbrPart(2, "0x0b", 9000, 1000), mbrPart(4, "0x83", 1, 8999)}, nil},
		{"of no length", []mbrSlot{{0, 0x0C, 2048, 100}, {0, 0x83, 7, 0}}, []Partition{mbrPart(1, "0x0c", 2048, 100)}, nil},
		{"none", nil, nil, nil},
		{"only of no length", []mbrSlot{{0, 0x0C, 2048, 0}}, nil, nil},
		{"odd status", []mbrSlot{{0x80, 0x0C, 2048, 100}, {0x01, 0, 0, 0}}, nil, nil},
		{"beyond the end", []mbrSlot{{0x80, 0x0C, 2048, sectors}}, []Partition{mbrPart(1, "0x0c", 2048, sectors-2048)}, []string{FaultBeyond}},
		{"far beyond", []mbrSlot{{0x80, 0x0C, 0xFFFFFFFF, 0xFFFFFFFF}}, []Partition{}, []string{FaultBeyond}},
		{"beyond the end, and leftovers", []mbrSlot{{0x80, 0x0C, 2048, sectors}, {0, 0, 7, 0}}, nil, nil},
		{"from this sector on", []mbrSlot{{0x80, 0x0C, 0, sectors}}, nil, nil}, // mkfs.fat --mbr
		{"overlapping", []mbrSlot{{0, 0x0C, 2048, 100}, {0, 0x0C, 2147, 100}},
			[]Partition{mbrPart(1, "0x0c", 2048, 100), mbrPart(2, "0x0c", 2147, 100)}, []string{FaultOverlap}},
		{"one in another", []mbrSlot{{0, 0x0C, 2048, 1000}, {0, 0x0C, 2148, 100}, {0, 0x0C, 3000, 100}},
			[]Partition{mbrPart(1, "0x0c", 2048, 1000), mbrPart(2, "0x0c", 2148, 100), mbrPart(3, "0x0c", 3000, 100)}, []string{FaultOverlap, FaultOverlap}},
		{"0xee elsewhere", []mbrSlot{{0, 0xEE, 2, 100}}, []Partition{mbrPart(1, "0xee", 2, 100)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMem(sectors * 512)
			writeMBR(t, m, 0, tt.slots...)
			checkPartitions(t, m, tt.want, tt.kinds...)
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
		kinds  []string
	}{
		{"whole", func(*testing.T, *Mem) {}, all, nil},
		{"loop to the first", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 952}, mbrSlot{0, 0x05, 0, 1000})
		}, all, []string{FaultChainLoop}},
		{"loop to itself", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 952}, mbrSlot{0, 0x05, 6000, 1000})
		}, all, []string{FaultChainLoop}},
		{"a table without signature", func(t *testing.T, m *Mem) { put(t, m, []byte{0}, (x+6000)*512+510) }, all[:4], []string{FaultChain}},
		{"the next outside", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+2000, mbrSlot{0, 0x07, 1, 2999}, mbrSlot{0, 0x05, 9000, 1})
		}, all[:4], []string{FaultChain}},
		{"a partition outside", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 2048, 953})
		}, append(slices.Clone(all[:4]), mbrPart(7, "0x83", x+6000+2048, 953)), []string{FaultOutside}},
		{"an extended partition past the end", func(t *testing.T, m *Mem) {
			writeMBR(t, m, 0, mbrSlot{0, 0x0C, 63, 900}, mbrSlot{0, 0x0F, x, 90000}, mbrSlot{0, 0x83, 15000, 100})
		}, all, []string{FaultBeyond, FaultOverlap}},
		{"an extended partition on a primary one", func(t *testing.T, m *Mem) {
			writeMBR(t, m, 0, mbrSlot{0, 0x0C, 63, x - 62}, mbrSlot{0, 0x0F, x, 9000}, mbrSlot{0, 0x83, 15000, 100})
		}, append([]Partition{mbrPart(1, "0x0c", 63, x-62)}, all[1:]...), []string{FaultOverlap}},
		{"a partition on its table", func(t *testing.T, m *Mem) {
			writeMBR(t, m, x+6000, mbrSlot{0, 0x83, 0, 10})
		}, all[:4], []string{FaultOnTable}},
		{"the link first", func(t *testing.T, m *Mem) { // as DR-DOS makes it
			writeMBR(t, m, x, mbrSlot{0, 0x05, 2000, 3000}, mbrSlot{0, 0x0B, 63, 100})
		}, all, nil},
		{"no logical partition", func(t *testing.T, m *Mem) { writeMBR(t, m, x) }, all[:2], nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := disk(t)
			tt.damage(t, m)
			checkPartitions(t, m, tt.want, tt.kinds...)
		})
	}
}

func TestOnlyExtended(t *testing.T) {
	m := NewMem(1 << 20)
	writeMBR(t, m, 0, mbrSlot{0, 0x05, 100, 1000})
	checkPartitions(t, m, []Partition{}, FaultChain)
	writeMBR(t, m, 100)
	checkPartitions(t, m, []Partition{})
}

// TestLongChain: a chain that is longer than anybody makes it ends.
func TestLongChain(t *testing.T) {
	const n = maxPartitions + 100
	m := NewMem(16 << 20)
	writeMBR(t, m, 0, mbrSlot{0, 0x05, 1, 2 * n})
	for i := range uint32(n) {
		writeMBR(t, m, int64(1+2*i), mbrSlot{0, 0x83, 1, 1}, mbrSlot{0, 0x05, 2 * (i + 1), 2})
	}
	got, err := ReadTable(m)
	if err != nil || len(got.Parts) != maxPartitions {
		t.Fatalf("%v", err)
	}
	if len(got.Faults) != 1 || got.Faults[0].Kind != FaultTooMany {
		t.Errorf("%+v", got.Faults)
	}
}

// TestManyOverlapping: a full GPT whose partitions all claim the same.
func TestManyOverlapping(t *testing.T) {
	g := gptDisk{sector: 512, count: gptTableMax / 128, entrySize: 128, slots: map[int]gptSlot{}}
	for i := range g.count {
		g.slots[int(i)+1] = gptSlot{typeBasic, 10000, 20000, "all the same"}
	}
	m := NewMem(32 << 20)
	writeGPT(t, m, g)
	got, err := ReadTable(m)
	if err != nil || len(got.Parts) != maxPartitions {
		t.Fatalf("%v", err)
	}
	if n := len(got.Faults); n != maxPartitions {
		t.Errorf("%d faults", n)
	}
}

// TestMBRSectors: where there is nothing at the place that sectors of 512 bytes
// give, and something where larger ones lead, the table is of a 4K disk.
func TestMBRSectors(t *testing.T) {
	boot := make([]byte, 2048)
	boot[510], boot[511] = 0x55, 0xAA
	big := func() *Mem {
		m := NewMem(64 << 20)
		writeMBR(t, m, 0, mbrSlot{0, 0x0C, 256, 8000}, mbrSlot{0, 0x0F, 9000, 1000})
		return m
	}
	want := func(sector int64) []Partition {
		return []Partition{{Number: 1, Range: Range{256 * sector, 8000 * sector}, Type: "0x0c", Scheme: SchemeMBR}}
	}
	m := big()
	checkPartitions(t, m, want(512), FaultChain)
	put(t, m, boot, 256*4096)
	writeMBR(t, m, 9000*8)
	checkPartitions(t, m, want(4096))
	put(t, m, boot, 256*512) // both: the sectors are those of the device
	checkPartitions(t, m, want(512), FaultChain)
	checkPartitions(t, bigSectors{m}, []Partition{{Number: 1, Range: Range{256 * 512, 8000 * 512}, Type: "0x0c", Scheme: SchemeMBR}}, FaultChain)
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
	last      int64           // sector of the backup; writeGPT sets it
}

// writeGPT writes a protective MBR and both copies of a GPT.
func writeGPT(t testing.TB, d Device, g gptDisk) {
	t.Helper()
	writeMBR(t, d, 0, mbrSlot{0, typeGPT, 1, 0xFFFFFFFF})
	table := make([]byte, g.count*g.entrySize)
	for n, s := range g.slots {
		e := table[uint32(n-1)*g.entrySize:]
		putGUID(e, s.kind)
		binary.LittleEndian.PutUint32(e[16:], uint32(n)) // its own
		binary.LittleEndian.PutUint64(e[32:], s.first)
		binary.LittleEndian.PutUint64(e[40:], s.last)
		for i, u := range utf16.Encode([]rune(s.name)) {
			binary.LittleEndian.PutUint16(e[56+2*i:], u)
		}
	}
	last := d.Size()/g.sector - 1
	g.last = last
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
	sectors := (uint64(len(table)) + uint64(g.sector) - 1) / uint64(g.sector)
	last := max(self, g.last)
	binary.LittleEndian.PutUint64(h[32:], uint64(1+last-self))
	binary.LittleEndian.PutUint64(h[40:], 2+sectors)
	binary.LittleEndian.PutUint64(h[48:], uint64(last)-sectors-1)
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
	return []Partition{
		gptPart(1, 40, 99, sector, typeEFI, "EFI system partition"),
		gptPart(3, 100, 400, sector, typeBasic, "Bücher 📚"),
		gptPart(4, 300, 499, sector, typeBasic, "too long"),
		gptPart(128, 401, 401, sector, typeBasic, "0123456789abcdef0123456789abcdefWXYZ"),
	}
}

// usualFaults are what is wrong with usualGPT.
func usualFaults() []string {
	return []string{FaultBeyond, FaultBackwards, FaultOnTable, FaultOverlap, FaultOverlap}
}

// gptPart is a partition of these sectors.
func gptPart(n int, first, last, sector int64, kind, name string) Partition {
	return Partition{Number: n, Range: Range{first * sector, (last - first + 1) * sector}, Type: kind, Name: name, Scheme: SchemeGPT}
}

func TestGPT(t *testing.T) {
	for _, sector := range []int64{512, 4096} {
		m := NewMem(500*sector + 100) // not whole sectors
		writeGPT(t, m, usualGPT(sector))
		checkPartitions(t, m, usualParts(sector), usualFaults()...)
		put(t, m, make([]byte, 3*sector), sector) // the first copy is gone
		checkPartitions(t, m, usualParts(sector), append([]string{FaultPrimary}, usualFaults()...)...)
	}
	m := NewMem(1 << 20)
	writeGPT(t, m, gptDisk{sector: 512, count: 128, entrySize: 128})
	checkPartitions(t, m, []Partition{})

	m = NewMem(1 << 20)
	g := usualGPT(512)
	g.entrySize = 256
	g.slots[1] = gptSlot{typeEFI, 70, 99, "EFI system partition"}
	writeGPT(t, m, g)
	checkPartitions(t, m, []Partition{
		gptPart(1, 70, 99, 512, typeEFI, "EFI system partition"), usualParts(512)[1],
		gptPart(4, 300, 2047, 512, typeBasic, "too long"), usualParts(512)[3],
	}, usualFaults()...)
}

// bigSectors is a disk with sectors of 2 KiB.
type bigSectors struct{ *Mem }

func (bigSectors) Limits() Limits { return Limits{LogicalSector: 2048} }

func TestGPTSectorOfDevice(t *testing.T) {
	d := bigSectors{NewMem(500 * 2048)}
	writeGPT(t, d, usualGPT(2048))
	checkPartitions(t, d, usualParts(2048), usualFaults()...)
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
		"table after it":   func(h []byte) { binary.LittleEndian.PutUint64(h[72:], 500); sealGPT(h) },
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
			hurt(size - sector)
			checkPartitions(t, m, usualParts(sector), append([]string{FaultBackup}, usualFaults()...)...)
			writeGPT(t, m, usualGPT(sector))
			hurt(sector)
			checkPartitions(t, m, usualParts(sector), append([]string{FaultPrimary}, usualFaults()...)...)
			hurt(size - sector)
			got, err := ReadTable(m)
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
		if _, err := ReadTable(failing{m, bad}); !errors.Is(err, errMedium) {
			t.Errorf("bad from byte %d: %v", bad, err)
		}
	}
	m = NewMem(20000 * 512)
	writeMBR(t, m, 0, mbrSlot{0, 0x0F, 1000, 9000})
	if _, err := ReadTable(failing{m, 512}); !errors.Is(err, errMedium) {
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
		checkTable(t, m)
	})
}

// checkTable holds what ReadTable says of any bytes against what it promises.
func checkTable(t *testing.T, d Device) {
	t.Helper()
	table, err := ReadTable(d)
	if table == nil {
		return
	}
	if err != nil {
		t.Fatalf("%v and %v", table, err)
	}
	if len(table.Parts) > maxPartitions || len(table.Faults) > 8*maxPartitions {
		t.Errorf("%d partitions, %d faults", len(table.Parts), len(table.Faults))
	}
	cut := map[int]bool{}
	for _, f := range table.Faults {
		cut[f.Partition] = cut[f.Partition] || f.Kind == FaultBeyond
		if CheckRange("", f.At, d.Size()) != nil || f.At.Empty() {
			t.Errorf("%s at %v on %d bytes", f.Kind, f.At, d.Size())
		}
	}
	for i, p := range table.Parts {
		if CheckRange("", p.Range, d.Size()) != nil || CheckRange("", p.Entry, d.Size()) != nil || p.Claims.Off < 0 || p.Claims.End() < p.Claims.Off {
			t.Errorf("%+v on %d bytes", p, d.Size())
		}
		if p.Range.Len != p.Claims.Len && !cut[p.Number] {
			t.Errorf("%+v is cut, and nothing says so", p)
		}
		if i > 0 && table.Parts[i-1].Number >= p.Number {
			t.Errorf("numbers %d, %d", table.Parts[i-1].Number, p.Number)
		}
	}
}
