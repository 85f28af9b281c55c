package exfat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestPlanTable: cluster sizes are Microsoft's, until the recommended number
// of clusters is reached.
func TestPlanTable(t *testing.T) {
	for _, c := range []struct {
		size, sector int64
		want         int64
	}{
		{mib, 512, 4 * kib},
		{8 * mib, 4096, 4 * kib},
		{256 * mib, 512, 4 * kib},
		{256*mib + 512, 512, 32 * kib},
		{32 * gib, 512, 32 * kib},
		{32*gib + 512, 512, 128 * kib},
		{tib, 4096, 128 * kib},
		{2 * tib, 512, 128 * kib},
		{2*tib + gib, 512, 256 * kib},
		{16 * tib, 512, mib},
		{512 * tib, 512, 32 * mib},
		{pib, 512, 32 * mib},
		{128 * pib, 512, 32 * mib},
	} {
		_, g := mustPlan(t, vol.Target{Size: c.size, SectorSize: int(c.sector)}, vol.FormatOptions{})
		if g.ClusterSize != c.want {
			t.Errorf("%s, sectors of %d: clusters of %d, want %d", vol.SizeText(c.size), c.sector, g.ClusterSize, c.want)
		}
		if g.Clusters > 1<<24-2 && c.size < 513*tib {
			t.Errorf("%s: %d clusters", vol.SizeText(c.size), g.Clusters)
		}
	}
}

// TestPlanLimits: the largest volumes, the largest numbers of clusters, and
// the one that is too many.
func TestPlanLimits(t *testing.T) {
	const most = 1<<32 - 11
	full := func(cluster int64) int64 { return mib + 16*gib + most*cluster } // heap at 1 MiB and 16 GiB
	for _, c := range []struct {
		size, cluster int64
		clusters      uint32
	}{
		{128 * pib, 32 * mib, 1<<32 - 513},
		{full(32 * mib), 32 * mib, most},
		{full(32*mib) + 32*mib - 4096, 32 * mib, most},
		{full(512), 512, most},
		{full(512) + 511, 512, most},
		{full(4096), 4096, most},
		{4 * tib, 2 * kib, 0},
		{16*tib - 4096, 4 * kib, 0},
	} {
		p, g := mustPlan(t, vol.Target{Size: c.size}, vol.FormatOptions{ClusterSize: c.cluster})
		if c.clusters != 0 && g.Clusters != c.clusters {
			t.Errorf("%s of %s: %d clusters, want %d", vol.SizeText(c.size), vol.SizeText(c.cluster), g.Clusters, c.clusters)
		}
		data := 0
		for _, s := range p.Steps {
			data += len(s.Data)
		}
		if data > 6<<20 || c.cluster > 512 && data > 2<<20 {
			t.Errorf("%s of %s: %d bytes are written", vol.SizeText(c.size), vol.SizeText(c.cluster), data)
		}
		if c.clusters == most {
			_, err := planFormat(vol.Target{Size: c.size + c.cluster}, vol.FormatOptions{Type: "exfat", ClusterSize: c.cluster})
			if !errors.Is(err, vol.ErrRequest) {
				t.Errorf("%s of %s and one more: %v", vol.SizeText(c.size), vol.SizeText(c.cluster), err)
			}
		}
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
	at := vol.Target{Size: gib}
	var cs []refusalCase
	add := func(name string, o vol.FormatOptions, kind error, want string) {
		cs = append(cs, refusalCase{name, at, o, kind, want})
	}
	add("features", vol.FormatOptions{Features: "x"}, use, "--features is not for exfat")
	add("fats", vol.FormatOptions{Fats: ptr(1)}, use, "--fats")
	add("reserved", vol.FormatOptions{ReservedSectors: ptr(int64(32))}, use, "--reserved-sectors")
	add("root entries", vol.FormatOptions{RootEntries: ptr(512)}, use, "--root-entries")
	add("media", vol.FormatOptions{MediaType: ptr(0xF8)}, use, "--media-type")
	add("hidden negative", vol.FormatOptions{HiddenSectors: ptr(int64(-1))}, use, "negative")
	add("cluster odd", vol.FormatOptions{ClusterSize: 3000}, use, "power of two")
	add("cluster negative", vol.FormatOptions{ClusterSize: -512}, use, "power of two")
	add("cluster small", vol.FormatOptions{ClusterSize: 256}, use, "512 to 32M")
	add("cluster large", vol.FormatOptions{ClusterSize: 64 * mib}, use, "512 to 32M")
	add("cluster of 2^32", vol.FormatOptions{ClusterSize: 1 << 32}, use, "512 to 32M")
	add("cluster of 2^32+4096", vol.FormatOptions{ClusterSize: 4294971392}, use, "cluster size 4294971392")
	add("sector odd", vol.FormatOptions{SectorSize: 513}, use, "512, 1024")
	add("sector large", vol.FormatOptions{SectorSize: 8192}, use, "512, 1024")
	add("cluster below sector", vol.FormatOptions{SectorSize: 4096, ClusterSize: 512}, req, "smaller than a sector")
	add("align odd", vol.FormatOptions{Align: 1000}, use, "multiple of the sector size")
	add("align negative", vol.FormatOptions{Align: -512}, use, "multiple")
	add("align large", vol.FormatOptions{Align: 1 << 50}, use, "at most 16 TiB")
	add("label long", vol.FormatOptions{Label: "123456789012"}, use, "12 units")
	add("label long in UTF-16", vol.FormatOptions{Label: "😀😀😀😀😀😀"}, use, "12 units")
	add("label colon", vol.FormatOptions{Label: "a:b"}, use, "':' must not")
	add("label question mark", vol.FormatOptions{Label: "b?c"}, use, "'?' must not")
	add("label tab", vol.FormatOptions{Label: "a\tb"}, use, `'\t' must not`)
	add("label backslash", vol.FormatOptions{Label: `a\b`}, use, "must not")
	add("label no UTF-8", vol.FormatOptions{Label: "a\xFFb"}, use, "UTF-8")
	add("id letters", vol.FormatOptions{ID: "12G4-ABCD"}, use, "1234-ABCD")
	add("id half", vol.FormatOptions{ID: "0x123qq678"}, use, "1234-ABCD")
	add("id long", vol.FormatOptions{ID: "123456789"}, use, "1234-ABCD")
	add("guid", vol.FormatOptions{VolumeGUID: "nonsense"}, use, "12345678-9abc")
	add("guid half in braces", vol.FormatOptions{VolumeGUID: "{12345678-9abc-def0-1234-56789abcdef0x"}, use, "12345678-9abc")
	add("guid null", vol.FormatOptions{VolumeGUID: "00000000-0000-0000-0000-000000000000"}, use, "all zeros")
	at = vol.Target{Size: gib, SectorSize: 4096}
	add("sector below device", vol.FormatOptions{SectorSize: 512}, req, "device has sectors of 4096")
	at = vol.Target{Size: gib, SectorSize: 520}
	add("device sector", vol.FormatOptions{}, req, "sectors of 520")
	at = vol.Target{Size: gib, Offset: 1000}
	add("offset", vol.FormatOptions{}, req, "--hidden-sectors")
	add("offset aligned", vol.FormatOptions{Align: mib, HiddenSectors: ptr(int64(1))}, req, "nothing in it can be aligned")
	at = vol.Target{Size: gib, Offset: -512}
	add("offset negative", vol.FormatOptions{}, req, "at byte -512")
	return cs
}

// sizeRefusals are for sizes that cannot be.
func sizeRefusals() []refusalCase {
	req := vol.ErrRequest
	return []refusalCase{
		{"nothing", vol.Target{}, vol.FormatOptions{}, req, "at least 1 MiB"},
		{"negative", vol.Target{Size: -1}, vol.FormatOptions{}, req, "size of -1"},
		{"a sector too small", vol.Target{Size: mib - 512}, vol.FormatOptions{}, req, "at least 1 MiB"},
		{"a byte too small", vol.Target{Size: mib - 1}, vol.FormatOptions{}, req, "at least 1 MiB"},
		{"too large", vol.Target{Size: 129 * pib}, vol.FormatOptions{}, req, "4294967285 clusters"},
		{"too large, size", vol.Target{Size: 129 * pib}, vol.FormatOptions{}, req, "at most 131072 TiB"},
		{"far too large", vol.Target{Size: 1<<63 - 1}, vol.FormatOptions{}, req, "up to 128 PiB"},
		{"clusters many", vol.Target{Size: 4 * tib}, vol.FormatOptions{ClusterSize: 512}, req, "use -c 1K to 32M, or at most 2064 GiB"},
		{"clusters few", vol.Target{Size: 8 * mib}, vol.FormatOptions{ClusterSize: 4 * mib}, req, "use -c 512 to 1M, or at least 17 MiB"},
		{"align", vol.Target{Size: 8 * mib}, vol.FormatOptions{Align: 4 * mib}, req, "or --align 1M"},
		{"align beyond", vol.Target{Size: 100 * tib}, vol.FormatOptions{Align: 4 * tib}, req, "more than 32 bits for their first sector: use --align 1M"},
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, c := range append(optionRefusals(), sizeRefusals()...) {
		t.Run(c.name, func(t *testing.T) {
			c.o.Type = "exfat"
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
	if _, err := planFormat(vol.Target{Size: gib}, vol.FormatOptions{Type: "fat"}); !errors.Is(err, vol.ErrUsage) {
		t.Errorf("type fat: %v", err)
	}
}

// TestPlanHints: what a refusal says would work does.
func TestPlanHints(t *testing.T) {
	for _, c := range []struct {
		size int64
		o    vol.FormatOptions
	}{
		{mib, vol.FormatOptions{}},
		{128 * pib, vol.FormatOptions{}},
		{4 * tib, vol.FormatOptions{ClusterSize: kib}},
		{2064 * gib, vol.FormatOptions{ClusterSize: 512}},
		{17 * mib, vol.FormatOptions{ClusterSize: 4 * mib}},
		{8 * mib, vol.FormatOptions{ClusterSize: mib}},
		{8 * mib, vol.FormatOptions{Align: mib}},
		{100 * tib, vol.FormatOptions{Align: mib}},
	} {
		mustPlan(t, vol.Target{Size: c.size}, c.o)
	}
}

func TestPlanWarnings(t *testing.T) {
	for _, c := range []struct {
		at   vol.Target
		o    vol.FormatOptions
		want string
	}{
		{vol.Target{Size: gib}, vol.FormatOptions{}, ""},
		{vol.Target{Size: gib, SectorSize: 4096}, vol.FormatOptions{}, ""},
		{vol.Target{Size: gib}, vol.FormatOptions{SectorSize: 4096}, "the device has 512"},
		{vol.Target{Size: tib}, vol.FormatOptions{ClusterSize: 4096}, "a bitmap of 31.97 MiB, and the FAT takes 1023 MiB"},
	} {
		p, _ := mustPlan(t, c.at, c.o)
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s %s: warnings %q, want %q", vol.SizeText(c.at.Size), showOptions(c.o), p.Warnings, c.want)
		}
	}
}

// TestPlanNames: serial, label and GUID as they are shown and stored.
func TestPlanNames(t *testing.T) {
	o := vol.FormatOptions{ID: "1234-abcd", Label: "My disk é", VolumeGUID: "{00112233-4455-6677-8899-AABBCCDDEEFF}"}
	p, g := mustPlan(t, vol.Target{Size: 64 * mib}, o)
	if p.ID != "1234-ABCD" || p.Label != "My disk é" {
		t.Errorf("%+v", p.Info)
	}
	if got := binary.LittleEndian.Uint32(planBoot(p)[offSerial:]); got != 0x1234ABCD {
		t.Errorf("serial %#x", got)
	}
	root := voltest.Planned(p, g.ClusterOff(g.RootCluster), 128)
	if got, want := fmt.Sprintf("% x", root[:24]), "83 09 4d 00 79 00 20 00 64 00 69 00 73 00 6b 00 20 00 e9 00 00 00 00 00"; got != want {
		t.Errorf("label entry\n%s, want\n%s", got, want)
	}
	if got, want := fmt.Sprintf("% x", root[100:118]), "00 00 33 22 11 00 55 44 77 66 88 99 aa bb cc dd ee ff"; got != want {
		t.Errorf("GUID entry\n%s, want\n%s", got, want)
	}
	a, _ := mustPlan(t, vol.Target{Size: 64 * mib}, vol.FormatOptions{Seed: 1})
	b, _ := mustPlan(t, vol.Target{Size: 64 * mib}, vol.FormatOptions{Seed: 2})
	if a.ID == b.ID {
		t.Errorf("two seeds give the serial %s", a.ID)
	}
}

// TestPlanAlign: FAT and heap are aligned on the disk, not in the volume.
func TestPlanAlign(t *testing.T) {
	for _, c := range []struct {
		size, offset, align int64
		fat, heap           int64
	}{
		{gib, 0, 0, mib, 2 * mib},
		{gib, mib, 0, mib, 2 * mib},
		{gib, 63 * 512, 0, mib - 63*512, 2*mib - 63*512},
		{gib, 63 * 512, 4 * mib, 4*mib - 63*512, 8*mib - 63*512},
		{gib, 4 * mib, 12 * mib, 8 * mib, 20 * mib},
		{mib, 0, 0, 16 * kib, 32 * kib},
		{8 * mib, 0, 0, 128 * kib, 256 * kib},
		{gib, 0, 512, 12 * kib, 12*kib + 128*kib},
	} {
		_, g := mustPlan(t, vol.Target{Size: c.size, Offset: c.offset}, vol.FormatOptions{Align: c.align})
		if g.FatOff() != c.fat || g.HeapOff() != c.heap {
			t.Errorf("%s at %d, --align %d: FAT at %d, heap at %d; want %d, %d", vol.SizeText(c.size), c.offset, c.align, g.FatOff(), g.HeapOff(), c.fat, c.heap)
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{512: "512 bytes", 1024: "1 KiB", 1440 * kib: "1.41 MiB", 33 * mib: "33 MiB", 2 * tib: "2 TiB", 128 * pib: "128 PiB"} {
		if got := vol.SizeText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{512: "512", 4096: "4K", 32 * mib: "32M"} {
		if got := vol.SizeFlag(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
