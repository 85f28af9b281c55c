package fat

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

func write(t testing.TB, d dev.Device, off int64, b ...byte) {
	t.Helper()
	_, err := d.WriteAt(b, off)
	must(t, err)
}

func TestProbe(t *testing.T) {
	for name, make := range kinds() {
		for what, tt := range map[string]struct {
			breakIt func(m *dev.Mem, g *Geometry)
			want    vol.Confidence
		}{
			"whole":        {func(*dev.Mem, *Geometry) {}, vol.Sure},
			"no signature": {func(m *dev.Mem, _ *Geometry) { write(t, m, offSignature, 0, 0) }, vol.Likely},
			"no jump":      {func(m *dev.Mem, _ *Geometry) { write(t, m, 0, 0, 0, 0) }, vol.Likely},
			"FAT head":     {func(m *dev.Mem, g *Geometry) { write(t, m, g.FatOff(0), 0, 0, 0, 0) }, vol.Likely},
			"cluster size": {func(m *dev.Mem, _ *Geometry) { write(t, m, offSecPerClus, 3) }, vol.Likely},
			"no FATs":      {func(m *dev.Mem, _ *Geometry) { write(t, m, offNumFATs, 0) }, vol.Likely},
			"exFAT":        {func(m *dev.Mem, _ *Geometry) { write(t, m, offOEM, []byte("EXFAT   ")...) }, vol.No},
			"NTFS":         {func(m *dev.Mem, _ *Geometry) { write(t, m, offOEM, []byte("NTFS    ")...) }, vol.No},
		} {
			m := make(t)
			_, g, err := readBoot(m)
			must(t, err)
			tt.breakIt(m, g)
			id := probe(m)
			if id.Confidence != tt.want || (id.Note == "") != (tt.want == vol.Sure || tt.want == vol.No) {
				t.Errorf("%s, %s: %+v", name, what, id)
			}
			if id.Confidence > vol.No && id.Type != name {
				t.Errorf("%s, %s: type %q", name, what, id.Type)
			}
			if id.Confidence == vol.Sure && (id.ID != "1234-ABCD" || id.Size != g.VolumeBytes()) {
				t.Errorf("%s, %s: %+v", name, what, id)
			}
		}
	}
}

func TestProbeBackup(t *testing.T) {
	lost := func() *dev.Mem {
		m := kinds()["fat32"](t)
		write(t, m, 0, make([]byte, 512)...)
		return m
	}
	if id := probe(lost()); id.Confidence != vol.Maybe || id.Type != "fat32" || id.ID != "1234-ABCD" {
		t.Errorf("with sector 0 zeroed: %+v", id)
	}
	m := lost()
	ext := make([]byte, 64)
	binary.LittleEndian.PutUint16(ext[56:], 0xEF53)
	write(t, m, 1024, ext...)
	if id := probe(m); id.Confidence != vol.No {
		t.Errorf("under ext4: %+v", id)
	}
	m = lost()
	write(t, m, 1024, 0x10, 0x20, 0xF5, 0xF2)
	if id := probe(m); id.Confidence != vol.No {
		t.Errorf("under F2FS: %+v", id)
	}
	m = lost()
	mbr := make([]byte, 512)
	mbr[446+4], mbr[446+8], mbr[446+12] = 0x0C, 63, 99
	mbr[510], mbr[511] = 0x55, 0xAA
	write(t, m, 0, mbr...)
	if id := probe(m); id.Confidence != vol.No {
		t.Errorf("under a partition table: %+v", id)
	}
}

func TestProbeLabel(t *testing.T) {
	m := formatted(t, "fat16", 9<<20, 2048, func(o *vol.FormatOptions) { o.Label = "SD CARD" })
	if id := probe(m); id.Label != "SD CARD" {
		t.Errorf("%+v", id)
	}
	info, err := describe(m)
	must(t, err)
	if info.Label != "SD CARD" || info.ID != "1234-ABCD" || info.Type != "fat16" || len(info.Fields) < 20 {
		t.Errorf("%+v", info)
	}
}

// Whatever else is there is not FAT.
func TestProbeOthers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		b := make([]byte, 8192)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		b[510], b[511] = 0x55, 0xAA
		m := dev.NewMem(1 << 20)
		write(t, m, 0, b...)
		if id := probe(m); id.Confidence != vol.No {
			t.Fatalf("random bytes are %+v", id)
		}
	}
	for _, size := range []int64{0, 1, 511, 512, 513, 4096} {
		if id := probe(dev.NewMem(size)); id.Confidence != vol.No {
			t.Errorf("%d zeros are %+v", size, id)
		}
		if _, err := open(context.Background(), dev.NewMem(size), vol.OpenOptions{}); !errors.Is(err, vol.ErrNotVolume) {
			t.Errorf("open of %d zeros: %v", size, err)
		}
		if _, err := describe(dev.NewMem(size)); !errors.Is(err, vol.ErrNotVolume) {
			t.Errorf("describe of %d zeros: %v", size, err)
		}
	}
}

func TestProbeMkfs(t *testing.T) {
	for typ, args := range map[string][]string{
		"fat12": {"-F", "12", "-n", "TWELVE"}, "fat16": {"-F", "16", "-n", "SIXTEEN"}, "fat32": {"-F", "32", "-n", "THIRTYTWO"},
	} {
		image := voltest.Saved(t, dev.NewMem(40<<20))
		peer(t, "mkfs.fat", append(args, "-i", "CAFE0123", image)...)
		f, err := dev.OpenFile(image, dev.OpenOptions{})
		must(t, err)
		defer f.Close()
		if id := probe(f); id.Confidence != vol.Sure || id.Type != typ || id.Label != args[3] || id.ID != "CAFE-0123" {
			t.Errorf("%s: %+v", typ, id)
		}
		if s, err := mountScan(context.Background(), f, vol.ScanOptions{}); err != nil || s.Mountable != "rw" || s.Dirty {
			t.Errorf("%s: %+v, %v", typ, s, err)
		}
	}
	image := voltest.Saved(t, dev.NewMem(40<<20))
	peer(t, "mkfs.exfat", image)
	f, err := dev.OpenFile(image, dev.OpenOptions{})
	must(t, err)
	defer f.Close()
	if id := probe(f); id.Confidence != vol.No {
		t.Errorf("exFAT: %+v", id)
	}
}

// smallSeed is a boot sector and the start of a FAT, for fuzzing.
func smallSeed(t testing.TB, typ string) []byte {
	b := make([]byte, 8192)
	_, err := kinds()[typ](t).ReadAt(b, 0)
	must(t, err)
	return b
}

func FuzzProbe(f *testing.F) {
	for _, typ := range []string{"fat12", "fat16", "fat32"} {
		f.Add(smallSeed(f, typ), int64(64<<10))
	}
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		m := dev.NewMem(min(max(size, int64(len(b))), 1<<50))
		write(t, m, 0, b...)
		before := m.Allocated()
		id := probe(m)
		if id.Confidence == vol.Sure && id.Size > m.Size() {
			t.Errorf("sure of %d bytes on %d", id.Size, m.Size())
		}
		if _, err := describe(m); err == nil && id.Confidence < vol.Likely && !parses(b) {
			t.Errorf("described, but identified as %+v", id)
		}
		if m.Allocated() != before {
			t.Error("a probe wrote")
		}
	})
}

// parses tells whether b parses: describe goes by that alone.
func parses(b []byte) bool {
	_, f := parseGeometry(append(b, make([]byte, bootSectorLen)...)[:bootSectorLen])
	return f == nil
}

// FuzzOpenPrealloc changes bytes of a small volume, and then does with it all
// that the commands do. Nothing may panic, hang, or touch what is not free.
func FuzzOpenPrealloc(f *testing.F) {
	for i := range 3 {
		f.Add(byte(i), []byte{1, 2, 3, 4})
		f.Add(byte(i), []byte{0, 2, 4, 9, 0, 38, 0, 1, 1, 0, 0, 0xFF})
	}
	names := []string{"fat12", "fat16", "fat32"}
	f.Fuzz(func(t *testing.T, kind byte, edits []byte) {
		m := kinds()[names[kind%3]](t)
		preallocated(t, m, newFiles(map[string]int64{"D/E/A long name": 5000, "F": 20000}, "D/E/A long name", "F"))
		_, g, err := readBoot(m)
		must(t, err)
		// An edit is 4 bytes: region, place in it, value.
		regions := []int64{0, g.FatOff(0), g.RootOff(), g.DataOff(), g.FatOff(g.Fats - 1)}
		for ; len(edits) >= 4; edits = edits[4:] {
			off := regions[int(edits[0])%len(regions)] + int64(binary.LittleEndian.Uint16(edits[1:]))%4096
			write(t, m, off, edits[3])
		}
		start := time.Now()
		useAll(t, m)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func useAll(t *testing.T, m *dev.Mem) {
	ctx := context.Background()
	probe(m)
	_, _ = describe(m)
	_, _ = mountScan(ctx, m, vol.ScanOptions{})
	for _, force := range []bool{false, true} {
		tx := dev.Begin(m)
		v, err := open(ctx, tx, vol.OpenOptions{Force: force, Raw: m})
		if err != nil {
			continue
		}
		_, _ = v.FreeRanges(ctx, true, func(r dev.Range) error {
			return dev.CheckRange("free", r, m.Size())
		})
		_, _ = v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "F", Offset: 100, Length: 30000}}})
		tx.Rollback()
		v, err = open(ctx, tx, vol.OpenOptions{Force: force, Raw: m})
		if err != nil {
			t.Fatalf("opened once, then: %v", err)
		}
		r := newFiles(map[string]int64{"D/E/A long name": 15000, "D/new directory/file": 1000, "F": 1000}, "D/E/A long name", "D/new directory/file", "F")
		if res, err := v.Preallocate(ctx, r); err == nil && len(res.Files) != 3 {
			t.Errorf("%+v", res)
		}
	}
}
