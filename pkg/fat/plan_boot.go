package fat

import "github.com/fatkit/fatkit/pkg/vol"

// [FAT] BPB_BkBootSec: "no value other than 6 is recommended", because code
// that has lost sector 0 cannot read the field and looks there.
const usualBackup = 6

// [FAT] BPB_FSInfo: "usually 1".
const usualFSInfo = 1

// placeReserved says where FSInfo and the backup boot sector of a FAT32 volume
// go, which has at least 2 reserved sectors. [FAT] FSInfo is in sector 1, the
// backup in sector 6 with its FSInfo behind. Where fewer than 7 are reserved
// the backup goes as far back as its FSInfo lets it; with 2 there is none.
func placeReserved(g *Geometry) {
	g.FSInfoSector = usualFSInfo
	switch {
	case g.Reserved > usualBackup:
		g.BackupSector = usualBackup
	case g.Reserved > 3:
		g.BackupSector = g.Reserved - 2
	case g.Reserved == 3:
		g.BackupSector = 2
	}
}

// backupFSInfo is the sector with the copy of FSInfo, or 0 where there is none.
func backupFSInfo(g *Geometry) int64 {
	if g.BackupSector == 0 || g.BackupSector+1 >= g.Reserved {
		return 0
	}
	return g.BackupSector + 1
}

// reservedPieces are FSInfo and what else goes between the boot sector and the
// first FAT of a FAT32 volume, but for the backup boot sector, in rising order.
func reservedPieces(g *Geometry) []vol.Piece {
	// [FAT] FSI_Nxt_Free: the last cluster that was allocated; [Linux] starts
	// to look behind it. That is the root directory's.
	info := newFSInfo(int(g.SectorSize), freeClusters(g), firstCluster)
	ps := []vol.Piece{{Off: g.FSInfoSector * g.SectorSize, Data: info}}
	if hasThird(g) {
		ps = append(ps, vol.Piece{Off: 2 * g.SectorSize, Data: signedSector(g)})
	}
	if s := backupFSInfo(g); s != 0 {
		ps = append(ps, vol.Piece{Off: s * g.SectorSize, Data: info})
	}
	if hasThird(g) {
		ps = append(ps, vol.Piece{Off: (g.BackupSector + 2) * g.SectorSize, Data: signedSector(g)})
	}
	return ps
}

// hasThird reports whether there is room for the third boot sector in both
// copies. [FAT] "FAT32 FSInfo Sector Structure and Backup Boot Sector": the
// boot record is three sectors long, and all of them end in 55 AA.
func hasThird(g *Geometry) bool {
	return g.BackupSector == usualBackup && g.BackupSector+2 < g.Reserved
}

func signedSector(g *Geometry) []byte {
	b := make([]byte, g.SectorSize)
	b[offSignature], b[offSignature+1] = 0x55, 0xAA
	return b
}

// bootSector is sector 0 of the volume, [FAT] "Boot Sector and BPB".
func (r *formatRequest) bootSector(g *Geometry) bootSector {
	b := bootSector(signedSector(g))
	// [FAT] BS_OEMName: "MSWIN4.1" is what the fewest drivers stumble over.
	// Some only believe a boot sector with a Microsoft name in it.
	copy(b[offOEM:], "MSWIN4.1")
	b.put16(offBytsPerSec, uint16(g.SectorSize))
	b[offSecPerClus] = byte(g.SectorsPerCluster)
	b.put16(offRsvdSecCnt, uint16(g.Reserved))
	b[offNumFATs] = byte(g.Fats)
	b.put16(offRootEntCnt, uint16(g.RootEntries))
	// [FAT] BPB_TotSec16: 0 on FAT32, and where the total takes more than 16
	// bits; else it holds the total, and BPB_TotSec32 is 0.
	if g.Type != FAT32 && g.TotalSectors < 0x10000 {
		b.put16(offTotSec16, uint16(g.TotalSectors))
	} else {
		b.put32(offTotSec32, uint32(g.TotalSectors))
	}
	b[offMedia] = g.Media
	track, heads := r.tracks(g)
	b.put16(offSecPerTrk, track)
	b.put16(offNumHeads, heads)
	b.put32(offHiddSec, r.hidden)
	if g.Type == FAT32 {
		r.putFAT32(b, g)
	} else {
		r.putNarrow(b, g)
	}
	return b
}

// tracks is the geometry of the medium. For a hard disk it is what BIOSes make
// of any large one; nothing reads it there but boot code without LBA.
func (r *formatRequest) tracks(g *Geometry) (perTrack, heads uint16) {
	if f := r.floppy(g.Type); f != nil {
		return f.track, f.heads
	}
	return 63, 255
}

func (r *formatRequest) putNarrow(b bootSector, g *Geometry) {
	b.put16(offFATSz16, uint16(g.FatSectors))
	r.putExt(b, g, offDrvNum16)
	putBootCode(b, offFilSysTy16+8)
}

// putFAT32 leaves BPB_ExtFlags 0, all FATs are mirrored, and BPB_FSVer 0.0.
func (r *formatRequest) putFAT32(b bootSector, g *Geometry) {
	b.put32(offFATSz32, uint32(g.FatSectors))
	b.put32(offRootClus, g.RootCluster)
	b.put16(offFSInfo, uint16(g.FSInfoSector))
	b.put16(offBkBootSec, uint16(g.BackupSector))
	r.putExt(b, g, offDrvNum32)
	putBootCode(b, offFilSysTy32+8)
}

// putExt writes the extended boot record, which all types have from at on.
func (r *formatRequest) putExt(b bootSector, g *Geometry, at int) {
	// [FAT] BS_DrvNum: as int 13h numbers drives, 0x80 is the first fixed one.
	// Media byte F8 stands for a fixed one.
	if g.Media == mediaFixed {
		b[at] = 0x80
	}
	b[at+offBootSig16-offDrvNum16] = extBootSig
	b.put32(at+offVolID16-offDrvNum16, r.serial)
	name := r.label
	if name == nil {
		name = padLabel(noName) // [FAT] BS_VolLab: what stands there without a label
	}
	copy(b[at+offVolLab16-offDrvNum16:], name)
	kind := map[Type]string{FAT12: "FAT12   ", FAT16: "FAT16   ", FAT32: "FAT32   "}[g.Type]
	copy(b[at+offFilSysTy16-offDrvNum16:], kind)
}

// putBootCode writes the program that starts where the fields end, and the
// jump to it. A PC that is started from the volume then says what is wrong,
// instead of running into zeros.
func putBootCode(b bootSector, at int) {
	copy(b, []byte{0xEB, byte(at - 2), 0x90}) // jmp short at; nop
	n := copy(b[at:offSignature], bootCode())
	copy(b[at+n:offSignature], bootMessage)
}

const bootMessage = "\r\nThis is not a bootable disk: fatkit formatted it for data.\r\n" +
	"Put in another one and press any key.\r\n\x00"

// bootCode is 8086 code that prints the text behind it, waits for a key and
// starts over with the next boot device. It runs wherever it is put, with CS
// 0 or 07C0h: it finds the text from its own instruction pointer.
func bootCode() []byte {
	return []byte{
		0xFA,       // 00 cli
		0x31, 0xC0, // 01 xor ax,ax
		0x8E, 0xD0, // 03 mov ss,ax
		0xBC, 0x00, 0x7C, // 05 mov sp,7C00h; the stack grows down from here
		0xFB,             // 08 sti
		0x0E,             // 09 push cs
		0x1F,             // 0A pop ds
		0xFC,             // 0B cld
		0xE8, 0x00, 0x00, // 0C call 0F
		0x5E,             // 0F pop si; where this instruction is
		0x83, 0xC6, 0x1B, // 10 add si,2Ah-0Fh; the text
		0xAC,       // 13 lodsb
		0x84, 0xC0, // 14 test al,al
		0x74, 0x09, // 16 jz 21
		0xB4, 0x0E, // 18 mov ah,0Eh; BIOS: write the character
		0xBB, 0x07, 0x00, // 1A mov bx,7
		0xCD, 0x10, // 1D int 10h
		0xEB, 0xF2, // 1F jmp 13
		0x31, 0xC0, // 21 xor ax,ax
		0xCD, 0x16, // 23 int 16h; BIOS: wait for a key
		0xCD, 0x19, // 25 int 19h; BIOS: boot
		0xF4,       // 27 hlt
		0xEB, 0xFD, // 28 jmp 27
		// 2A the text
	}
}
