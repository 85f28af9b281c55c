package fat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40
)

// TestPlanTable: types and cluster sizes are those of Microsoft's tables.
func TestPlanTable(t *testing.T) {
	for _, c := range []struct {
		size, sector int64
		kind         string
		want         string
	}{
		// [FAT] DskTableFAT16, DskTableFAT32 and the 512 MB between them
		{4 * mib, 512, "fat", "fat12/2048"},
		{8400 * 512, 512, "fat", "fat12/2048"},
		{8401 * 512, 512, "fat", "fat16/1024"},
		{32680 * 512, 512, "fat", "fat16/1024"},
		{32681 * 512, 512, "fat", "fat16/2048"},
		{128 * mib, 512, "fat", "fat16/2048"},
		{128*mib + 512, 512, "fat", "fat16/4096"},
		{256*mib + 512, 512, "fat", "fat16/8192"},
		{512*mib - 512, 512, "fat", "fat16/8192"},
		{512 * mib, 512, "fat", "fat32/4096"},
		{8 * gib, 512, "fat", "fat32/4096"},
		{8*gib + 512, 512, "fat", "fat32/8192"},
		{16*gib + 512, 512, "fat", "fat32/16384"},
		{32*gib + 512, 512, "fat", "fat32/32768"},
		{2*tib - 512, 512, "fat", "fat32/32768"},
		{33 * mib, 512, "fat32", "fat32/512"},
		{260 * mib, 512, "fat32", "fat32/512"},
		{260*mib + 512, 512, "fat32", "fat32/4096"},
		{512*mib + 512, 512, "fat16", "fat16/16384"},
		{gib, 512, "fat16", "fat16/16384"},
		{2 * gib, 512, "fat16", "fat16/32768"},
		{4 * gib, 512, "fat16", "fat16/65536"},
		{3 * mib, 512, "fat16", "fat16/512"},
		{16 * mib, 512, "fat12", "fat12/8192"},
		{32 * mib, 512, "fat12", "fat12/16384"},
		{64 * kib, 512, "fat12", "fat12/512"},
		// larger sectors
		{257 * mib, 4096, "fat32", "fat32/4096"},
		{8*gib + 4096, 4096, "fat32", "fat32/8192"},
		{10 * mib, 4096, "fat", "fat12/4096"},
		{100 * mib, 4096, "fat", "fat16/4096"},
		{8 * gib, 4096, "fat16", "fat16/131072"},
		{4 * tib, 4096, "fat", "fat32/32768"},
		{16 * tib, 4096, "fat", "fat32/65536"},
	} {
		p, g := mustPlan(t, vol.Target{Size: c.size, SectorSize: int(c.sector)}, vol.FormatOptions{Type: c.kind})
		if got := fmt.Sprintf("%s/%d", p.Type, g.ClusterSize()); got != c.want {
			t.Errorf("%s of %s, sectors of %d: %s, want %s", c.kind, vol.SizeText(c.size), c.sector, got, c.want)
		}
	}
}

// TestPlanFloppies: each standard format has the BPB that DOS gives it.
func TestPlanFloppies(t *testing.T) {
	for _, c := range []struct {
		kib                               int64
		media                             byte
		perClus, root, fat, track, heads  int64
		clusters, dataOff, reserved, fats int64
	}{
		{160, 0xFE, 1, 64, 1, 8, 1, 313, 7, 1, 2},
		{180, 0xFC, 1, 64, 2, 9, 1, 351, 9, 1, 2},
		{320, 0xFF, 2, 112, 1, 8, 2, 315, 10, 1, 2},
		{360, 0xFD, 2, 112, 2, 9, 2, 354, 12, 1, 2},
		{720, 0xF9, 2, 112, 3, 9, 2, 713, 14, 1, 2},
		{1200, 0xF9, 1, 224, 7, 15, 2, 2371, 29, 1, 2},
		{1440, 0xF0, 1, 224, 9, 18, 2, 2847, 33, 1, 2},
		{2880, 0xF0, 2, 240, 9, 36, 2, 2863, 34, 1, 2},
	} {
		for _, kind := range []string{"fat", "fat12"} {
			p, g := mustPlan(t, vol.Target{Size: c.kib * kib}, vol.FormatOptions{Type: kind})
			b := planBoot(t, p)
			got := fmt.Sprint(g.Type, g.Media, g.SectorsPerCluster, g.RootEntries, g.FatSectors, b.u16(offSecPerTrk), b.u16(offNumHeads),
				g.Clusters, g.DataOff()/512, g.Reserved, g.Fats, g.TotalSectors, b[offDrvNum16])
			want := fmt.Sprint(FAT12, c.media, c.perClus, c.root, c.fat, c.track, c.heads,
				c.clusters, c.dataOff, c.reserved, c.fats, c.kib*2, 0)
			if got != want {
				t.Errorf("%d KiB: %s, want %s", c.kib, got, want)
			}
		}
	}
	// The same size as a part of a disk is no floppy, and options win.
	_, g := mustPlan(t, vol.Target{Size: 1440 * kib, Offset: mib}, vol.FormatOptions{Type: "fat"})
	if g.Media != 0xF8 {
		t.Errorf("a partition of 1440 KiB has the media byte %#x", g.Media)
	}
	p, g := mustPlan(t, vol.Target{Size: 1440 * kib}, vol.FormatOptions{Type: "fat", MediaType: ptr(0xF8), RootEntries: ptr(16), ClusterSize: 2048})
	if b := planBoot(t, p); g.Media != 0xF8 || b[offDrvNum16] != 0x80 || b.u16(offSecPerTrk) != 18 {
		t.Errorf("options on a floppy: %+v", g)
	}
}

type refusalCase struct {
	name string
	at   vol.Target
	o    vol.FormatOptions
	kind error
	want string // part of the message
}

// optionRefusals are for options and values that cannot be.
func optionRefusals() []refusalCase {
	req, use := vol.ErrRequest, vol.ErrUsage
	return []refusalCase{
		{"type", vol.Target{Size: mib}, vol.FormatOptions{Type: "ntfs"}, use, "fat12, fat16 or fat32"},
		{"no type", vol.Target{Size: mib}, vol.FormatOptions{}, use, "must be fat,"},
		{"features", vol.Target{Size: mib}, vol.FormatOptions{Type: "fat", Features: "x"}, use, "--features"},
		{"guid", vol.Target{Size: mib}, vol.FormatOptions{Type: "fat", VolumeGUID: "x"}, use, "--uuid"},
		{"cluster odd", vol.Target{Size: mib}, vol.FormatOptions{Type: "fat", ClusterSize: 3000}, use, "power of two"},
		{"cluster negative", vol.Target{Size: mib}, vol.FormatOptions{Type: "fat", ClusterSize: -512}, use, "power of two"},
		{"cluster large", vol.Target{Size: mib}, vol.FormatOptions{Type: "fat", ClusterSize: 256 * kib}, use, "128K"},
		{"cluster sectors", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", ClusterSize: 128 * kib}, req, "use -c 64K or less, or -S 1024"},
		{"cluster below sector", vol.Target{Size: gib, SectorSize: 4096}, vol.FormatOptions{Type: "fat", ClusterSize: 512}, req, "smaller than a sector"},
		{"sector odd", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", SectorSize: 513}, use, "512, 1024"},
		{"sector large", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", SectorSize: 8192}, use, "512, 1024"},
		{"sector below device", vol.Target{Size: gib, SectorSize: 4096}, vol.FormatOptions{Type: "fat", SectorSize: 512}, req, "device has sectors of 4096"},
		{"device sector", vol.Target{Size: gib, SectorSize: 520}, vol.FormatOptions{Type: "fat"}, req, "sectors of 520"},
		{"fats", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Fats: ptr(5)}, use, "1 to 4"},
		{"no fats", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Fats: ptr(0)}, use, "1 to 4"},
		{"reserved", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", ReservedSectors: ptr(int64(65536))}, use, "1 to 65535"},
		{"reserved 0", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", ReservedSectors: ptr(int64(0))}, use, "1 to 65535"},
		{"reserved fat32", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", ReservedSectors: ptr(int64(1))}, req, "at least 2"},
		{"media", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", MediaType: ptr(0x12)}, use, "0xf0 or 0xf8"},
		{"root odd", vol.Target{Size: 4 * mib}, vol.FormatOptions{Type: "fat", RootEntries: ptr(1000)}, use, "multiple of 16"},
		{"root 4096", vol.Target{Size: 4 * mib, SectorSize: 4096}, vol.FormatOptions{Type: "fat", RootEntries: ptr(16)}, use, "multiple of 128"},
		{"root 0", vol.Target{Size: 4 * mib}, vol.FormatOptions{Type: "fat12", RootEntries: ptr(0)}, use, "has a root"},
		{"root fat32", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", RootEntries: ptr(512)}, use, "not for fat32"},
		{"root negative", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat16", RootEntries: ptr(-16)}, use, "1 to 65535"},
		{"hidden", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", HiddenSectors: ptr(int64(1 << 32))}, use, "--hidden-sectors"},
		{"align odd", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Align: 1000}, use, "multiple of the sector size"},
		{"align negative", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Align: -512}, use, "multiple of the sector size"},
		{"align huge", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Align: 1 << 62}, use, "at most 16 TiB"},
		{"offset huge", vol.Target{Size: gib, Offset: 1<<63 - 512}, vol.FormatOptions{Type: "fat"}, req, "at byte"},
		{"align far", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Align: 64 * mib}, req, "more than 65535 reserved"},
		{"align exact", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", Align: mib, ReservedSectors: ptr(int64(32))}, req, "use --reserved-sectors 2058"},
		{"align nowhere", vol.Target{Size: gib, Offset: 100}, vol.FormatOptions{Type: "fat32", Align: mib, HiddenSectors: ptr(int64(0))}, req, "between two sectors"},
		{"offset", vol.Target{Size: gib, Offset: 63 * 512}, vol.FormatOptions{Type: "fat", SectorSize: 4096}, req, "--hidden-sectors"},
		{"id", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", ID: "hello"}, use, "1234-ABCD"},
		{"label", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat", Label: "TWELVE CHARS"}, use, "more than 11"},
	}
}

// sizeRefusals are for volumes that cannot be, and say what can.
func sizeRefusals() []refusalCase {
	req := vol.ErrRequest
	return []refusalCase{
		{"nothing", vol.Target{}, vol.FormatOptions{Type: "fat"}, req, "no room for a fat12"},
		{"negative", vol.Target{Size: -1}, vol.FormatOptions{Type: "fat"}, req, "size of -1"},
		{"tiny", vol.Target{Size: 4 * kib}, vol.FormatOptions{Type: "fat"}, req, "at least 6 KiB"},
		{"one cluster", vol.Target{Size: 16 * kib}, vol.FormatOptions{Type: "fat12", ClusterSize: 32 * kib}, req, "-c 512 to 8K"},
		{"fat32 few", vol.Target{Size: 32 * mib}, vol.FormatOptions{Type: "fat32"}, req, "at least 33 MiB, or -t fat12, or -t fat16"},
		{"fat32 -c", vol.Target{Size: 64 * mib}, vol.FormatOptions{Type: "fat32", ClusterSize: 4 * kib}, req, "use -c 512, or at least 257 MiB, or -t fat16"},
		{"fat32 4Kn", vol.Target{Size: 256 * mib}, vol.FormatOptions{Type: "fat32", SectorSize: 4096}, req, "at least 257 MiB, or -t fat12, or -t fat16, or -S 512"},
		{"fat32 4Kn device", vol.Target{Size: 256 * mib, SectorSize: 4096}, vol.FormatOptions{Type: "fat32"}, req, "at least 257 MiB, or -t fat12, or -t fat16"},
		{"fat32 many", vol.Target{Size: 2*tib - 512}, vol.FormatOptions{Type: "fat32", ClusterSize: 4096}, req, "use -c 8K to 64K, or at most 1026 GiB"},
		{"fat16 few", vol.Target{Size: mib}, vol.FormatOptions{Type: "fat16"}, req, "at least 2"},
		{"fat16 few -c", vol.Target{Size: 8 * mib}, vol.FormatOptions{Type: "fat16", ClusterSize: 4096}, req, "use -c 512 to 1K, or at least 17 MiB, or -t fat12"},
		{"fat16 many", vol.Target{Size: 8 * gib}, vol.FormatOptions{Type: "fat16"}, req, "at most 4 GiB, or -t fat32, or -S 4K"},
		{"fat16 many -c", vol.Target{Size: 64 * mib}, vol.FormatOptions{Type: "fat16", ClusterSize: 512}, req, "use -c 1K to 8K, or at most 32 MiB, or -t fat32"},
		{"fat12 many", vol.Target{Size: gib}, vol.FormatOptions{Type: "fat12"}, req, "-t fat16, or -t fat32"},
		{"auto", vol.Target{Size: 64 * kib}, vol.FormatOptions{Type: "fat", ClusterSize: 64 * kib}, req, "use -c 512 to 32K, or at least"},
		{"512 too large", vol.Target{Size: 2*tib + 512}, vol.FormatOptions{Type: "fat"}, req, "up to 16 TiB with -S 4096"},
		{"4096 too large", vol.Target{Size: 16*tib + 4096}, vol.FormatOptions{Type: "fat", SectorSize: 4096}, req, "FAT goes up to 16 TiB"},
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, c := range append(optionRefusals(), sizeRefusals()...) {
		t.Run(c.name, func(t *testing.T) {
			p, err := planFormat(c.at, c.o)
			if err == nil {
				t.Fatalf("it is planned: %+v", p.Info)
			}
			if !errors.Is(err, c.kind) || errors.Is(err, vol.ErrUsage) != (c.kind == vol.ErrUsage) {
				t.Errorf("kind of %v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("message %q lacks %q", err, c.want)
			}
		})
	}
}

// TestPlanHints: what a refusal says would work does.
func TestPlanHints(t *testing.T) {
	for _, c := range []struct {
		at vol.Target
		o  vol.FormatOptions
	}{
		{vol.Target{Size: 33 * mib}, vol.FormatOptions{Type: "fat32"}},
		{vol.Target{Size: 257 * mib}, vol.FormatOptions{Type: "fat32", ClusterSize: 4096}},
		{vol.Target{Size: 257 * mib}, vol.FormatOptions{Type: "fat32", SectorSize: 4096}},
		{vol.Target{Size: 6 * kib}, vol.FormatOptions{Type: "fat"}},
		{vol.Target{Size: 17 * mib}, vol.FormatOptions{Type: "fat16", ClusterSize: 4096}},
		{vol.Target{Size: 4 * gib}, vol.FormatOptions{Type: "fat16"}},
		{vol.Target{Size: 8 * gib}, vol.FormatOptions{Type: "fat16", SectorSize: 4096}},
		{vol.Target{Size: 32 * mib}, vol.FormatOptions{Type: "fat16", ClusterSize: 512}},
		{vol.Target{Size: 1026 * gib}, vol.FormatOptions{Type: "fat32", ClusterSize: 4096}},
		{vol.Target{Size: gib}, vol.FormatOptions{Type: "fat32", Align: mib, ReservedSectors: ptr(int64(2058))}},
	} {
		mustPlan(t, c.at, c.o)
	}
}

// TestPlanAuto: with type "fat" options that the usual type for the size
// cannot meet choose another.
func TestPlanAuto(t *testing.T) {
	for _, c := range []struct {
		size int64
		o    vol.FormatOptions
		want string
	}{
		{64 * mib, vol.FormatOptions{ClusterSize: 512}, "fat32"},
		{gib, vol.FormatOptions{ClusterSize: 32 * kib}, "fat16"},
		{100 * mib, vol.FormatOptions{ClusterSize: 64 * kib}, "fat12"},
		{4 * mib, vol.FormatOptions{ClusterSize: 512}, "fat16"},
		{gib, vol.FormatOptions{RootEntries: ptr(512)}, "fat16"},
		{gib, vol.FormatOptions{ReservedSectors: ptr(int64(1))}, "fat16"},
	} {
		c.o.Type = "fat"
		if p, _ := mustPlan(t, vol.Target{Size: c.size}, c.o); p.Type != c.want {
			t.Errorf("%s %s: %s, want %s", vol.SizeText(c.size), showOptions(c.o), p.Type, c.want)
		}
	}
}

// TestPlanLimits: the largest volumes, and the one sector that is too many.
func TestPlanLimits(t *testing.T) {
	for _, c := range []struct {
		size   int64
		sector int64
		total  int64
		warns  string
	}{
		{2*tib - 512, 512, 1<<32 - 1, ""},
		{2 * tib, 512, 1<<32 - 1, "at most 4294967295"},
		{16*tib - 4096, 4096, 1<<32 - 1, "64 KiB"},
		{16 * tib, 4096, 1<<32 - 1, "at most 4294967295"},
		{2*tib + 4096, 4096, 1<<29 + 1, ""},
	} {
		p, g := mustPlan(t, vol.Target{Size: c.size}, vol.FormatOptions{Type: "fat32", SectorSize: c.sector})
		if g.TotalSectors != c.total {
			t.Errorf("%d bytes: %d sectors, want %d", c.size, g.TotalSectors, c.total)
		}
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, c.warns) || c.warns == "" && all != "" {
			t.Errorf("%d bytes: warnings %q, want %q", c.size, p.Warnings, c.warns)
		}
		written := 0
		for _, s := range p.Steps {
			written += len(s.Data)
		}
		if written > 64<<10 {
			t.Errorf("%d bytes: %d bytes are written", c.size, written)
		}
	}
}

func TestPlanWarnings(t *testing.T) {
	for _, c := range []struct {
		size int64
		o    vol.FormatOptions
		want string
	}{
		{gib, vol.FormatOptions{Type: "fat16", ClusterSize: 64 * kib}, "at most 32 KiB"},
		{gib, vol.FormatOptions{Type: "fat32", Fats: ptr(3)}, "3 FATs"},
		{gib, vol.FormatOptions{Type: "fat32", ReservedSectors: ptr(int64(2))}, "no backup boot sector"},
		{gib, vol.FormatOptions{Type: "fat32", ReservedSectors: ptr(int64(5))}, "backup boot sector in sector 3"},
		{2 * gib, vol.FormatOptions{Type: "fat16"}, "at most 65508 clusters"},
		{gib, vol.FormatOptions{Type: "fat32", Label: "café"}, "beyond ASCII"},
		{gib, vol.FormatOptions{Type: "fat32", Label: "cafe"}, ""},
		{1440 * kib, vol.FormatOptions{Type: "fat"}, ""},
	} {
		p, _ := mustPlan(t, vol.Target{Size: c.size}, c.o)
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s %s: warnings %q, want %q", c.o.Type, showOptions(c.o), p.Warnings, c.want)
		}
	}
}

// TestPlanAlign: the data area is aligned on the disk, not in the volume.
func TestPlanAlign(t *testing.T) {
	for _, c := range []struct {
		offset, align int64
		kind          string
	}{
		{0, mib, "fat32"}, {63 * 512, mib, "fat32"}, {63 * 512, 4 * mib, "fat16"}, {mib + 512, 12 * mib, "fat32"},
		{4 * mib, 4 * mib, "fat12"}, {0, 0, "fat32"}, {63 * 512, 0, "fat32"}, {63 * 512, 0, "fat16"},
	} {
		o := vol.FormatOptions{Type: c.kind, Align: c.align}
		_, g := mustPlan(t, vol.Target{Size: 200 * mib, Offset: c.offset}, o)
		align := max(c.align, g.ClusterSize())
		if (c.offset+g.DataOff())%align != 0 {
			t.Errorf("%s at %d: data area at %d of the disk, not a multiple of %d", c.kind, c.offset, c.offset+g.DataOff(), align)
		}
	}
}

func TestPlanHidden(t *testing.T) {
	for _, c := range []struct {
		at     vol.Target
		hidden *int64
		want   uint32
		warns  bool
	}{
		{vol.Target{}, nil, 0, false},
		{vol.Target{Offset: mib}, nil, 2048, false},
		{vol.Target{Offset: mib, SectorSize: 4096}, nil, 256, false},
		{vol.Target{Offset: 63 * 512}, nil, 63, false},
		{vol.Target{Offset: mib}, ptr(int64(7)), 7, false},
		{vol.Target{Offset: 1000}, ptr(int64(0)), 0, false},
		{vol.Target{Offset: 3 * tib}, nil, 0, true},
	} {
		c.at.Size = gib
		p, _ := mustPlan(t, c.at, vol.FormatOptions{Type: "fat32", HiddenSectors: c.hidden})
		if got := planBoot(t, p).u32(offHiddSec); got != c.want || (len(p.Warnings) > 0) != c.warns {
			t.Errorf("at %d: %d hidden sectors, warnings %q; want %d, %v", c.at.Offset, got, p.Warnings, c.want, c.warns)
		}
	}
}
