package fat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// TestPlanBootSector holds the bytes of each type's boot sector against what
// [FAT] says of every field.
func TestPlanBootSector(t *testing.T) {
	o := vol.FormatOptions{ID: "1234-ABCD", Label: "My disk"}
	for _, c := range []struct {
		kind string
		size int64
		want []byte
	}{
		{"fat12", 4 * mib, append([]byte("\xEB\x3C\x90MSWIN4.1"+"\x00\x02\x04\x01\x00\x02\xE0\x00\x00\x20\xF8\x06\x00\x3F\x00\xFF\x00"+
			"\x00\x00\x00\x00\x00\x00\x00\x00"+"\x80\x00\x29\xCD\xAB\x34\x12MY DISK    FAT12   "), bootCode()...)},
		{"fat16", 100 * mib, append([]byte("\xEB\x3C\x90MSWIN4.1"+"\x00\x02\x04\x04\x00\x02\x00\x02\x00\x00\xF8\xC8\x00\x3F\x00\xFF\x00"+
			"\x00\x00\x00\x00\x00\x20\x03\x00"+"\x80\x00\x29\xCD\xAB\x34\x12MY DISK    FAT16   "), bootCode()...)},
		{"fat32", gib, append([]byte("\xEB\x58\x90MSWIN4.1"+"\x00\x02\x08\x20\x00\x02\x00\x00\x00\x00\xF8\x00\x00\x3F\x00\xFF\x00"+
			"\x00\x00\x00\x00\x00\x00\x20\x00"+"\xFC\x07\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01\x00\x06\x00"+
			"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"+"\x80\x00\x29\xCD\xAB\x34\x12MY DISK    FAT32   "), bootCode()...)},
	} {
		o.Type = c.kind
		p, _ := mustPlan(t, vol.Target{Size: c.size}, o)
		b := planBoot(t, p)
		if !bytes.HasPrefix(b, c.want) {
			t.Errorf("%s:\n% x, want\n% x", c.kind, b[:len(c.want)], c.want)
		}
		if !b.signed() || !b.jumpOK() || !b.hasExt() || p.ID != "1234-ABCD" || p.Label != "MY DISK" {
			t.Errorf("%s: %+v", c.kind, p.Info)
		}
	}
}

// TestPlanReserved: FSInfo, the backup and its FSInfo are where the boot
// sector says, inside the reserved sectors, however few those are.
func TestPlanReserved(t *testing.T) {
	for _, c := range []struct {
		reserved         int64
		backup, copyInfo int64
		third            bool
	}{
		{2, 0, 0, false}, {3, 2, 0, false}, {4, 2, 3, false}, {5, 3, 4, false}, {6, 4, 5, false},
		{7, 6, 0, false}, {8, 6, 7, false}, {9, 6, 7, true}, {32, 6, 7, true}, {65535, 6, 7, true},
	} {
		for _, sector := range []int64{512, 4096} {
			p, g := mustPlan(t, vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", ReservedSectors: &c.reserved, SectorSize: sector, Label: "X"})
			if g.FSInfoSector != 1 || g.BackupSector != c.backup {
				t.Errorf("%d reserved: fsinfo in %d, backup in %d", c.reserved, g.FSInfoSector, g.BackupSector)
			}
			at := map[int64][]byte{}
			for _, s := range p.Steps {
				if s.Data != nil {
					at[s.Off/sector] = s.Data
				}
			}
			info := fsInfo(at[1])
			if !info.signed() || info.free() != g.Clusters-1 || info.next() != 2 || int64(len(info)) != sector {
				t.Errorf("%d reserved: fsinfo counts %d free, next %d", c.reserved, info.free(), info.next())
			}
			if c.backup != 0 && !bytes.Equal(at[c.backup], at[0]) {
				t.Errorf("%d reserved: the backup differs", c.reserved)
			}
			if c.copyInfo != 0 && !bytes.Equal(at[c.copyInfo], info) {
				t.Errorf("%d reserved: the copy of fsinfo differs", c.reserved)
			}
			if c.third && (!bootSector(at[2]).signed() || !bootSector(at[8]).signed()) {
				t.Errorf("%d reserved: the third boot sectors are not signed", c.reserved)
			}
			for n := range at {
				known := n == 0 || n == 1 || n == c.backup || n == c.copyInfo || c.third && (n == 2 || n == 8)
				if n < c.reserved && !known {
					t.Errorf("%d reserved: sector %d is written", c.reserved, n)
				}
			}
		}
	}
}

func TestPlanRegions(t *testing.T) {
	names := func(kind string, size int64, o vol.FormatOptions) string {
		o.Type = kind
		p, _ := mustPlan(t, vol.Target{Size: size}, o)
		var s []string
		for _, r := range p.Regions {
			s = append(s, r.Name)
		}
		return strings.Join(s, ", ")
	}
	for _, c := range []struct{ got, want string }{
		{names("fat12", 1440*kib, vol.FormatOptions{}), "boot sector, fat 0, fat 1, root directory, data"},
		{names("fat16", 100*mib, vol.FormatOptions{}), "boot sector, reserved, fat 0, fat 1, root directory, data"},
		{names("fat32", gib, vol.FormatOptions{}), "boot sector, fsinfo, reserved, backup boot sector, backup fsinfo, reserved, fat 0, fat 1, data, unused"},
		{names("fat32", gib, vol.FormatOptions{Fats: ptr(1), ReservedSectors: ptr(int64(2))}), "boot sector, fsinfo, fat 0, data, unused"},
	} {
		if strings.TrimSuffix(c.got, ", unused") != strings.TrimSuffix(c.want, ", unused") {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestBootCode: the program's displacements lead where its comments say, and
// the text fits.
func TestBootCode(t *testing.T) {
	code := bootCode()
	rel := func(at int) int { return at + 2 + int(int8(code[at+1])) }
	if code[0x0C] != 0xE8 || int(code[0x12]) != len(code)-0x0F {
		t.Error("add si does not lead to the text")
	}
	if rel(0x16) != 0x21 || rel(0x1F) != 0x13 || rel(0x28) != 0x27 {
		t.Error("a jump leads astray")
	}
	if room := offSignature - (offFilSysTy32 + 8); len(code)+len(bootMessage) > room {
		t.Errorf("%d bytes in room for %d", len(code)+len(bootMessage), room)
	}
}

func TestPlanLabel(t *testing.T) {
	for _, c := range []struct{ in, raw, shown string }{
		{"", "", ""}, {"NO NAME", "", ""}, {"no name", "", ""},
		{"boot", "BOOT       ", "BOOT"}, {"My disk  ", "MY DISK    ", "MY DISK"}, {"ELEVEN_CHRS", "ELEVEN_CHRS", "ELEVEN_CHRS"},
		{"café", "CAF\x90       ", "CAFÉ"}, {"ñandú#1", "", "!"}, {"ÑAND#1", "\xA5AND#1     ", "ÑAND#1"}, {"Σ", "\xE4          ", "Σ"}, {"σ", "\xE4          ", "Σ"},
		{"ELEVEN CHRS   ", "ELEVEN CHRS", "ELEVEN CHRS"},
		{"TWELVE_CHARS", "", "!"}, {" X", "", "!"}, {"日本", "", "!"}, {"\xff", "", "!"}, {"voilà", "", "!"}, {"\x05X", "", "!"}, {"A\x7F", "", "!"}, {"A\u0085", "", "!"},
	} {
		p, err := planFormat(vol.Target{Size: 8 * mib}, vol.FormatOptions{Type: "fat16", Label: c.in})
		if c.shown == "!" {
			if !errors.Is(err, vol.ErrUsage) {
				t.Errorf("label %q: %v", c.in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("label %q: %v", c.in, err)
			continue
		}
		raw := c.raw
		if raw == "" {
			raw = "NO NAME    "
		}
		if got := string(planBoot(t, p).label()); got != raw || p.Label != c.shown {
			t.Errorf("label %q is %q in the boot sector, and shown as %q", c.in, got, p.Label)
		}
		if got := planRootLabel(t, p); got != c.raw {
			t.Errorf("label %q is %q in the root directory", c.in, got)
		}
	}
	for _, r := range "\"*+,./:;<=>?[\\]|\t\n" {
		if _, err := encodeLabel("A" + string(r)); !errors.Is(err, vol.ErrUsage) {
			t.Errorf("label with %q: %v", r, err)
		}
	}
	for _, ok := range []string{"A B", "A-B_C", "A!#$%&'()", "@^`{}~"} {
		if _, err := encodeLabel(ok); err != nil {
			t.Error(err)
		}
	}
	if got := labelEntryName(padLabel("\xE5X")); got[0] != 0x05 || got[1] != 'X' {
		t.Errorf("0xE5 at the start becomes % x", got)
	}
}

// planRootLabel is the name of the label entry in the root directory, "" for
// none.
func planRootLabel(t *testing.T, p *vol.Plan) string {
	t.Helper()
	g := planGeometry(t, p)
	root := g.RootOff()
	if g.Type == FAT32 {
		root = g.DataOff()
	}
	for _, s := range p.Steps {
		if s.Phase == vol.Body && s.Off == root && s.Data != nil {
			if e := dirEntry(s.Data); !e.isVolume() || e.size() != 0 || e.start(FAT32) != 0 {
				t.Errorf("label entry is % x", s.Data[:entryLen])
			}
			return string(s.Data[:labelLen])
		}
	}
	return ""
}

func TestPlanStamp(t *testing.T) {
	for _, c := range []struct {
		at         int64
		date, time uint16
	}{
		{0, 1<<5 | 1, 0},
		{-5, 1<<5 | 1, 0},
		{time.Date(1980, 1, 1, 0, 0, 3, 0, time.UTC).Unix(), 1<<5 | 1, 1},
		{time.Date(2026, 10, 24, 13, 14, 15, 0, time.UTC).Unix(), 46<<9 | 10<<5 | 24, 13<<11 | 14<<5 | 7},
		{1 << 40, 127<<9 | 12<<5 | 31, 23<<11 | 59<<5 | 29},
	} {
		if date, clock := formatStamp(c.at); date != c.date || clock != c.time {
			t.Errorf("%d: %#x %#x, want %#x %#x", c.at, date, clock, c.date, c.time)
		}
	}
	p, g := mustPlan(t, vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", Label: "X", Time: time.Date(2026, 10, 24, 13, 14, 15, 0, time.UTC).Unix()})
	for _, s := range p.Steps {
		if s.Off == g.DataOff() && s.Phase == vol.Body {
			if got := binary.LittleEndian.Uint32(s.Data[offWrtTime:]); got != (46<<9|10<<5|24)<<16|(13<<11|14<<5|7) {
				t.Errorf("the label was written at %#x", got)
			}
		}
	}
}

func TestPlanSerial(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string
	}{
		{"1234-ABCD", "1234-ABCD"}, {"1234abcd", "1234-ABCD"}, {"0X1", "0000-0001"}, {"0", "0000-0000"},
		{"123456789", ""}, {"12345-678", ""}, {"-123", ""},
	} {
		p, err := planFormat(vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", ID: c.in})
		if c.want == "" {
			if !errors.Is(err, vol.ErrUsage) {
				t.Errorf("id %q: %v", c.in, err)
			}
			continue
		}
		if err != nil || p.ID != c.want || vol.SerialText(planBoot(t, p).serial()) != c.want {
			t.Errorf("id %q: %v, %v", c.in, p, err)
		}
	}
}
