package exfat

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// plannedVolume is a new volume in memory.
func plannedVolume(t testing.TB, at vol.Target, o vol.FormatOptions) (dev.Device, *Geometry) {
	t.Helper()
	p, g := mustPlan(t, at, o)
	d := dev.NewMem(at.Size)
	if _, err := p.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d, g
}

func put(t testing.TB, d dev.Device, off int64, b ...byte) {
	t.Helper()
	if _, err := d.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

// resum makes the checksum of the boot region at off right again.
func resum(t testing.TB, d dev.Device, off, sector int64) {
	t.Helper()
	b := make([]byte, regionSectors*sector)
	if _, err := d.ReadAt(b, off); err != nil {
		t.Fatal(err)
	}
	put(t, d, off+sectorChecksum*sector, checksumSector(b[:sectorChecksum*sector], sector)...)
}

// damage is a way to break a volume of 8 MiB with sectors of some size.
type damage struct {
	name string
	do   func(t *testing.T, d dev.Device, sector int64)
	want vol.Confidence
	note string
}

func damages() []damage {
	bytesAt := func(off int64, b ...byte) func(*testing.T, dev.Device, int64) {
		return func(t *testing.T, d dev.Device, _ int64) { put(t, d, off, b...) }
	}
	summed := func(off int64, b ...byte) func(*testing.T, dev.Device, int64) {
		return func(t *testing.T, d dev.Device, s int64) { put(t, d, off, b...); resum(t, d, 0, s) }
	}
	sectors := func(from, n int64, fill byte) func(*testing.T, dev.Device, int64) {
		return func(t *testing.T, d dev.Device, s int64) {
			put(t, d, from*s, []byte(strings.Repeat(string([]byte{fill}), int(n*s)))...)
		}
	}
	return []damage{
		{"none", bytesAt(0), vol.Sure, ""},
		{"dirty", bytesAt(offVolumeFlags, 2), vol.Sure, ""},
		{"percent", bytesAt(offPercentInUse, 77), vol.Sure, ""},
		{"backup lost", sectors(12, 12, 0), vol.Sure, ""},
		{"boot code changed", bytesAt(440, 1, 2, 3, 4), vol.Likely, "checksum"},
		{"signature", summed(offBootSignature, 0, 0), vol.Likely, "signature"},
		{"jump", summed(0, 0xE9), vol.Likely, "jump"},
		{"volume length", summed(offVolumeLength+3, 1), vol.Likely, "larger"},
		{"volume length 2^63", summed(offVolumeLength+7, 0x80), vol.Likely, "2^63"},
		{"sector shift 31", summed(offSectorShift, 31), vol.Likely, "BytesPerSectorShift"},
		{"sector shift 200", bytesAt(offSectorShift, 200), vol.Likely, "BytesPerSectorShift"},
		{"another sector size", func(t *testing.T, d dev.Device, s int64) { put(t, d, offSectorShift, 9+shift(1024/min(s, 1024))) }, vol.Likely, " "},
		{"cluster shift", bytesAt(offClusterShift, 200), vol.Likely, "SectorsPerClusterShift"},
		{"fat offset", bytesAt(offFatOffset, 1, 0, 0, 0), vol.Likely, "FatOffset"},
		{"fat offset past 4 GiB", bytesAt(offFatOffset, 0, 0, 0x90, 0), vol.Likely, "inside the FAT"},
		{"revision", bytesAt(offRevision+1, 2), vol.Likely, "Revision"},
		{"two FATs", bytesAt(offNumberOfFats, 2), vol.Likely, "TexFAT"},
		{"root cluster", bytesAt(offRootCluster, 0), vol.Likely, "root directory"},
		{"name", bytesAt(offFileSystemName, 'X'), vol.Maybe, "backup"},
		{"boot sector zeroed", sectors(0, 1, 0), vol.Maybe, "backup"},
		{"boot sector erased", sectors(0, 1, 0xFF), vol.Maybe, "backup"},
		{"main region zeroed", sectors(0, 12, 0), vol.Maybe, "backup"},
		{"both boot sectors zeroed", func(t *testing.T, d dev.Device, s int64) { sectors(0, 1, 0)(t, d, s); sectors(12, 1, 0)(t, d, s) }, vol.No, ""},
		{"all zeroed", sectors(0, 24, 0), vol.No, ""},
	}
}

func TestProbeDamage(t *testing.T) {
	for _, sector := range []int64{512, 1024, 2048, 4096} {
		for _, c := range damages() {
			d, _ := plannedVolume(t, vol.Target{Size: 8 * mib}, vol.FormatOptions{SectorSize: sector, Label: "PROBE", ID: "1234-ABCD"})
			c.do(t, d, sector)
			id := probe(d)
			if id.Confidence != c.want || !strings.Contains(id.Note, c.note) || (id.Note == "") != (c.note == "") {
				t.Errorf("%s, sectors of %d: %+v, want %v and %q", c.name, sector, id, c.want, c.note)
			}
			if id.Confidence > vol.No && (id.Type != "exfat" || id.ID != "1234-ABCD" || id.Label != "PROBE" && c.name != "root cluster" ||
				id.Size != 8*mib && c.name != "volume length") {
				t.Errorf("%s, sectors of %d: %+v", c.name, sector, id)
			}
			checkDescribe(t, d, c)
		}
	}
}

// checkDescribe: what is recognised and has a geometry is described, and the
// rest is an error of the right kind.
func checkDescribe(t *testing.T, d dev.Device, c damage) {
	t.Helper()
	info, err := describe(d)
	switch {
	case err == nil && (info.Type != "exfat" || info.ID != "1234-ABCD" || info.ClusterSize == 0 || c.want == vol.No):
		t.Errorf("%s: described as %+v", c.name, info)
	case err != nil && errors.Is(err, vol.ErrNotVolume) != (c.want == vol.No):
		t.Errorf("%s: %v", c.name, err)
	case err != nil && c.want > vol.No:
		t.Errorf("%s: %v", c.name, err)
	}
}

// TestProbeOverlaid: the backup region of an exFAT volume that was here before
// does not count where another format lives now.
func TestProbeOverlaid(t *testing.T) {
	for name, do := range map[string]func(d dev.Device){
		"FAT": func(d dev.Device) {
			put(t, d, 0, []byte("\xEB\x3C\x90MSWIN4.1\x00\x02\x04\x01\x00\x02")...)
			put(t, d, offFileSystemName+8+45, 0x29)
		},
		"NTFS": func(d dev.Device) { put(t, d, 3, []byte("NTFS    \x00\x02\x08")...) },
		"MBR": func(d dev.Device) {
			put(t, d, 0, make([]byte, 510)...)
			put(t, d, 446, 0, 0, 2, 0, 7, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0)
		},
		"ext":   func(d dev.Device) { put(t, d, 0, make([]byte, 2048)...); put(t, d, 1080, 0x53, 0xEF) },
		"F2FS":  func(d dev.Device) { put(t, d, 0, make([]byte, 512)...); put(t, d, 1024, 0x10, 0x20, 0xF5, 0xF2) },
		"XFS":   func(d dev.Device) { put(t, d, 0, []byte("XFSB")...) },
		"Btrfs": func(d dev.Device) { put(t, d, 3, make([]byte, 8)...); put(t, d, 65600, []byte("_BHRfS_M")...) },
		"swap":  func(d dev.Device) { put(t, d, 3, make([]byte, 8)...); put(t, d, 4086, []byte("SWAPSPACE2")...) },
	} {
		d, _ := plannedVolume(t, vol.Target{Size: 8 * mib}, vol.FormatOptions{})
		do(d)
		if id := probe(d); id.Confidence != vol.No {
			t.Errorf("%s: %+v", name, id)
		}
	}
}

// TestProbeSizes: a volume that is cut short, and devices that hold none.
func TestProbeSizes(t *testing.T) {
	whole, _ := plannedVolume(t, vol.Target{Size: 8 * mib}, vol.FormatOptions{Label: "CUT"})
	for _, c := range []struct {
		size int64
		want vol.Confidence
	}{{0, vol.No}, {1, vol.No}, {511, vol.No}, {512, vol.No}, {6 * kib, vol.Likely}, {12 * kib, vol.Likely}, {mib, vol.Likely}, {8*mib - 1, vol.Likely}} {
		d, err := dev.Section(whole, dev.Range{Len: c.size})
		if err != nil {
			t.Fatal(err)
		}
		if id := probe(d); id.Confidence != c.want {
			t.Errorf("%d bytes: %+v", c.size, id)
		}
		if _, err := describe(d); (err == nil) != (c.want > vol.No) || err != nil && !errors.Is(err, vol.ErrNotVolume) {
			t.Errorf("%d bytes: %v", c.size, err)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		d := dev.NewMem(mib)
		b := make([]byte, 64*kib)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		put(t, d, 0, b...)
		if id := probe(d); id.Confidence != vol.No {
			t.Fatalf("random bytes are taken for %+v", id)
		}
	}
}

// FuzzProbe: whatever the boot regions hold, looking at them comes back.
func FuzzProbe(f *testing.F) {
	p, _ := mustPlan(f, vol.Target{Size: mib}, vol.FormatOptions{Label: "FUZZ"})
	f.Add(voltest.Planned(p, 0, 40*kib), uint16(0), byte(0))
	f.Add(voltest.Planned(p, 0, 24*512), uint16(offRootCluster), byte(3))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, v byte) {
		d := dev.NewMem(mib)
		b = b[:min(len(b), int(mib))]
		put(t, d, 0, b...)
		put(t, d, int64(at), v)
		resum(t, d, 0, 512)
		probe(d)
		if info, err := describe(d); err == nil && (info.Size < mib || info.ClusterSize < 512 || info.Clusters == 0) {
			t.Fatalf("described as %+v", info)
		}
	})
}

// TestFirstDiff: regions of different lengths, or none, are compared as far as
// they go.
func TestFirstDiff(t *testing.T) {
	full := bytes.Repeat([]byte{7}, 6144)
	flags := bytes.Clone(full)
	flags[106], flags[107], flags[112] = 1, 2, 3
	late := bytes.Clone(full)
	late[6143] = 8
	for _, c := range []struct {
		a, b []byte
		want int
	}{{full, full, -1}, {full, flags, -1}, {full, late, 6143}, {full, nil, 0}, {nil, full, 0}, {full, full[:512], 512}, {full[:512], full, 512}, {nil, nil, -1}} {
		if got := firstDiff(c.a, c.b); got != c.want {
			t.Errorf("%d against %d bytes: %d, want %d", len(c.a), len(c.b), got, c.want)
		}
	}
}
