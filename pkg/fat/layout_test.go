package fat

import (
	"bytes"
	"testing"
)

// field is where the specification puts one. The tables below are written from
// [FAT] alone, with decimal offsets as they stand there.
type field struct {
	name      string
	off, size int
	got       int
}

// within proves that the fields of a record follow each other from first to
// end, without gaps where the specification has none.
func within(t *testing.T, fields []field, first, end int) {
	t.Helper()
	at := first
	for _, f := range fields {
		if f.off != at {
			t.Errorf("%s: the table has %d bytes before it, up to %d", f.name, at, f.off)
		}
		if f.got >= 0 && f.got != f.off {
			t.Errorf("%s is at %d, should be at %d", f.name, f.got, f.off)
		}
		at = f.off + f.size
	}
	if at != end {
		t.Errorf("the record has %d bytes, should have %d", at, end)
	}
}

// TestLayoutBoot: [FAT] "Boot Sector and BPB Structure". -1 is a field that the
// package has no name for.
func TestLayoutBoot(t *testing.T) {
	common := []field{
		{"BS_jmpBoot", 0, 3, offJump}, {"BS_OEMName", 3, 8, offOEM},
		{"BPB_BytsPerSec", 11, 2, offBytsPerSec}, {"BPB_SecPerClus", 13, 1, offSecPerClus},
		{"BPB_RsvdSecCnt", 14, 2, offRsvdSecCnt}, {"BPB_NumFATs", 16, 1, offNumFATs},
		{"BPB_RootEntCnt", 17, 2, offRootEntCnt}, {"BPB_TotSec16", 19, 2, offTotSec16},
		{"BPB_Media", 21, 1, offMedia}, {"BPB_FATSz16", 22, 2, offFATSz16},
		{"BPB_SecPerTrk", 24, 2, offSecPerTrk}, {"BPB_NumHeads", 26, 2, offNumHeads},
		{"BPB_HiddSec", 28, 4, offHiddSec}, {"BPB_TotSec32", 32, 4, offTotSec32},
	}
	within(t, common, 0, 36)
	within(t, []field{
		{"BS_DrvNum", 36, 1, offDrvNum16}, {"BS_Reserved1", 37, 1, offFlags16}, {"BS_BootSig", 38, 1, offBootSig16},
		{"BS_VolID", 39, 4, offVolID16}, {"BS_VolLab", 43, 11, offVolLab16}, {"BS_FilSysType", 54, 8, offFilSysTy16},
	}, 36, 62)
	within(t, []field{
		{"BPB_FATSz32", 36, 4, offFATSz32}, {"BPB_ExtFlags", 40, 2, offExtFlags}, {"BPB_FSVer", 42, 2, offFSVer},
		{"BPB_RootClus", 44, 4, offRootClus}, {"BPB_FSInfo", 48, 2, offFSInfo}, {"BPB_BkBootSec", 50, 2, offBkBootSec},
		{"BPB_Reserved", 52, 12, -1}, {"BS_DrvNum", 64, 1, offDrvNum32}, {"BS_Reserved1", 65, 1, offFlags32},
		{"BS_BootSig", 66, 1, offBootSig32}, {"BS_VolID", 67, 4, offVolID32}, {"BS_VolLab", 71, 11, offVolLab32},
		{"BS_FilSysType", 82, 8, offFilSysTy32},
	}, 36, 90)
	within(t, []field{{"signature", 510, 2, offSignature}}, 510, bootSectorLen)
}

// TestLayoutFSInfo: [FAT] "FAT32 FSInfo Sector Structure and Backup Boot Sector".
func TestLayoutFSInfo(t *testing.T) {
	within(t, []field{
		{"FSI_LeadSig", 0, 4, offFSILead}, {"FSI_Reserved1", 4, 480, -1}, {"FSI_StrucSig", 484, 4, offFSIStruct},
		{"FSI_Free_Count", 488, 4, offFSIFree}, {"FSI_Nxt_Free", 492, 4, offFSINext},
		{"FSI_Reserved2", 496, 12, -1}, {"FSI_TrailSig", 508, 4, offFSITrail},
	}, 0, 512)
	f := newFSInfo(512, 0x01020304, 0x05060708)
	for off, want := range map[int]string{0: "RRaA", 484: "rrAa", 488: "\x04\x03\x02\x01", 492: "\x08\x07\x06\x05", 508: "\x00\x00\x55\xAA"} {
		if got := string(f[off : off+4]); got != want {
			t.Errorf("FSInfo has %q at %d, want %q", got, off, want)
		}
	}
	if !f.signed() || f.free() != 0x01020304 || f.next() != 0x05060708 {
		t.Errorf("FSInfo reads as %v %#x %#x", f.signed(), f.free(), f.next())
	}
}

// TestLayoutEntry: [FAT] "FAT 32 Byte Directory Entry Structure" and "FAT Long
// Directory Entry Structure".
func TestLayoutEntry(t *testing.T) {
	within(t, []field{
		{"DIR_Name", 0, 11, offName}, {"DIR_Attr", 11, 1, offAttr}, {"DIR_NTRes", 12, 1, offNTRes},
		{"DIR_CrtTimeTenth", 13, 1, offCrtTenth}, {"DIR_CrtTime", 14, 2, offCrtTime}, {"DIR_CrtDate", 16, 2, offCrtDate},
		{"DIR_LstAccDate", 18, 2, offAccDate}, {"DIR_FstClusHI", 20, 2, offClusHi}, {"DIR_WrtTime", 22, 2, offWrtTime},
		{"DIR_WrtDate", 24, 2, offWrtDate}, {"DIR_FstClusLO", 26, 2, offClusLo}, {"DIR_FileSize", 28, 4, offFileSize},
	}, 0, entryLen)
	within(t, []field{
		{"LDIR_Ord", 0, 1, offLdirOrd}, {"LDIR_Name1", 1, 10, ldirOffset(0)}, {"LDIR_Attr", 11, 1, offAttr},
		{"LDIR_Type", 12, 1, offLdirType}, {"LDIR_Chksum", 13, 1, offLdirChk}, {"LDIR_Name2", 14, 12, ldirOffset(5)},
		{"LDIR_FstClusLO", 26, 2, offLdirClus}, {"LDIR_Name3", 28, 4, ldirOffset(11)},
	}, 0, entryLen)
	for i, want := range []int{1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30} {
		if got := ldirOffset(i); got != want {
			t.Errorf("unit %d is at %d, want %d", i, got, want)
		}
	}
}

// rising is n bytes that tell where they lie.
func rising(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// TestViews: the methods read and write the right bytes, little-endian.
func TestViews(t *testing.T) {
	b := bootSector(rising(512))
	b[22], b[23] = 1, 0 // no FAT32
	if b.serial() != 0x2B2A2928 || string(b.label()) != string(rising(512)[43:54]) || string(b.fsType()) != string(rising(512)[54:62]) || b.state() != 38 {
		t.Errorf("FAT16: %#x %q %q %d", b.serial(), b.label(), b.fsType(), b.state())
	}
	b[22] = 0
	if b.serial() != 0x47464544 || string(b.label()) != string(rising(512)[71:82]) || string(b.fsType()) != string(rising(512)[82:90]) || b.state() != 66 {
		t.Errorf("FAT32: %#x %q %q %d", b.serial(), b.label(), b.fsType(), b.state())
	}
	if b.u16(11) != 0x0D0C || b.u32(32) != 0x24232221 || b.u8(13) != 14 {
		t.Errorf("%#x %#x %d", b.u16(11), b.u32(32), b.u8(13))
	}
	b.put16(510, 0xAA55)
	if !b.signed() || b[510] != 0x55 {
		t.Error("the signature is 55 AA")
	}
	e := dirEntry(rising(32))
	if e.start(FAT16) != 0x1C1B || e.start(FAT32) != 0x16151C1B || e.size() != 0x201F1E1D || e.attr() != 12 || !bytes.Equal(e.name(), rising(11)) {
		t.Errorf("entry: %#x %#x %#x %d %q", e.start(FAT16), e.start(FAT32), e.size(), e.attr(), e.name())
	}
	e.setStart(FAT16, 0x00120034)
	if e.start(FAT32) != 0x16150034 {
		t.Errorf("on FAT16 the high half is not part of the cluster: %#x", e.start(FAT32))
	}
	e.setStart(FAT32, 0x01234567)
	e.setSize(0x89ABCDEF)
	if want := []byte{0x23, 0x01, 23, 24, 25, 26, 0x67, 0x45, 0xEF, 0xCD, 0xAB, 0x89}; !bytes.Equal(e[20:32], want) {
		t.Errorf("% x, want % x", e[20:32], want)
	}
	l := longSlot(rising(32))
	var u [ldirChars]uint16
	l.units(&u)
	want := [ldirChars]uint16{0x0302, 0x0504, 0x0706, 0x0908, 0x0B0A, 0x100F, 0x1211, 0x1413, 0x1615, 0x1817, 0x1A19, 0x1E1D, 0x201F}
	if u != want || l.chksum() != 14 || l.kind() != 13 || l.start() != 0x1C1B || l.ord() != 1 || l.isLast() {
		t.Errorf("long slot: %x %d %d %#x %d", u, l.chksum(), l.kind(), l.start(), l.ord())
	}
}

// TestAttributes: which attributes make what of a slot.
func TestAttributes(t *testing.T) {
	for attr := range 256 {
		e := dirEntry(make([]byte, 32))
		e[0], e[11] = 'A', byte(attr)
		long := attr&0x3F == 0x0F
		if e.isLong() != long || e.isDir() != (!long && attr&0x10 != 0) || e.isVolume() != (!long && attr&0x18 == 0x08) {
			t.Errorf("attributes %#x: long %v, directory %v, volume %v", attr, e.isLong(), e.isDir(), e.isVolume())
		}
	}
	for ord := range 256 {
		l := longSlot(make([]byte, 32))
		l[0] = byte(ord)
		n := ord &^ 0x40
		if l.ordOK() != (n >= 1 && n <= 20) || l.isLast() != (ord&0x40 != 0) {
			t.Errorf("number %#x: %v %v", ord, l.ordOK(), l.isLast())
		}
	}
}

// TestNameSum holds the checksum against names whose sums are known, and against
// the rule in words: rotate right by one, add the byte.
func TestNameSum(t *testing.T) {
	for _, name := range []string{"HELLO   TXT", "ARATHE~1BIN", "           ", "\xE5\xFF\x80ABCDEFGH"} {
		var s uint
		for _, c := range []byte(name) {
			s = (s&1*128 + s/2 + uint(c)) % 256
		}
		if got := nameSum([]byte(name)); uint(got) != s || got != sum(name) {
			t.Errorf("%q: %#x, want %#x", name, got, s)
		}
	}
}
