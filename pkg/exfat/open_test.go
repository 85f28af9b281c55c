package exfat

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

func hasReason(s *vol.Scan, slug string) bool {
	code := vol.Find(Problems(), slug).Code
	for _, r := range s.Reasons {
		if r.Code == code {
			return true
		}
	}
	return false
}

// rootEdit changes the first entry of a kind in the root directory.
func rootEdit(t testing.TB, d dev.Device, g *Geometry, kind byte, change func(e entry)) {
	t.Helper()
	found := false
	eachRootEntry(d, g, 1<<20, func(e entry, off int64) bool {
		if e.kind() != kind {
			return true
		}
		found = true
		change(e)
		_, err := d.WriteAt(e, off)
		must(t, err)
		return false
	})
	if !found {
		t.Fatalf("no entry %#x", kind)
	}
}

// fault is one way in which a volume is not as it should be, and what open and
// mountScan say to it.
type openCase struct {
	spoil     func(m *dev.Mem, g *Geometry)
	open      error // of a plain open, nil for none
	forced    error
	mountable string
	slug      string
}

func openCases(t testing.TB) map[string]openCase {
	boot := func(off int64, b ...byte) func(*dev.Mem, *Geometry) {
		return func(m *dev.Mem, _ *Geometry) {
			for _, at := range []int64{0, backupSector * 512} {
				patched(t, m, at+off, int64(len(b)), func(p []byte) { copy(p, b) })
			}
			resealed(t, m, 512)
		}
	}
	raw := func(off int64, b ...byte) func(*dev.Mem, *Geometry) {
		return func(m *dev.Mem, _ *Geometry) { patched(t, m, off, int64(len(b)), func(p []byte) { copy(p, b) }) }
	}
	root := func(kind byte, change func(e entry)) func(*dev.Mem, *Geometry) {
		return func(m *dev.Mem, g *Geometry) { rootEdit(t, m, g, kind, change) }
	}
	fat := func(c func(g *Geometry) uint32, v uint32) func(*dev.Mem, *Geometry) {
		return func(m *dev.Mem, g *Geometry) { must(t, newTable(m, g).set(c(g), v)) }
	}
	rootCluster := func(g *Geometry) uint32 { return g.RootCluster }
	rootLoop := func(m *dev.Mem, g *Geometry) {
		must(t, newTable(m, g).set(g.RootCluster, g.RootCluster))
	}
	return map[string]openCase{
		"dirty":             {raw(offVolumeFlags, flagDirty), vol.ErrDirty, nil, "rw", "dirty"},
		"media failure":     {raw(offVolumeFlags, flagMediaFailure), vol.ErrDirty, nil, "rw", "media-failure"},
		"active FAT":        {raw(offVolumeFlags, flagActiveFat), vol.ErrDirty, nil, "rw", "active-fat"},
		"percent":           {raw(offPercentInUse, 77), nil, nil, "rw", "percent-in-use"},
		"percent 150":       {raw(offPercentInUse, 150), nil, nil, "rw", "percent-in-use"},
		"main sum":          {raw(offBootCode, 1), vol.ErrDamaged, vol.ErrDamaged, "no", "boot-region-lost"},
		"disk signature":    {raw(440, 1, 2, 3, 4), vol.ErrDamaged, vol.ErrDamaged, "no", "boot-region-lost"},
		"name":              {raw(offFileSystemName, 'x'), vol.ErrDamaged, vol.ErrDamaged, "no", "boot-region-lost"},
		"sector zeroed":     {raw(0, make([]byte, 512)...), vol.ErrDamaged, vol.ErrDamaged, "no", "boot-region-lost"},
		"backup":            {raw(backupSector*512+offSerial, 9), nil, nil, "rw", "boot-backup-bad"},
		"backup name":       {raw(backupSector*512+offFileSystemName, 9), nil, nil, "rw", "boot-backup-bad"},
		"signature":         {boot(offBootSignature, 1), nil, nil, "no", "boot-signature"},
		"jump":              {boot(0, 0), nil, nil, "rw", "boot-jump"},
		"must be zero":      {boot(offMustBeZero+5, 9), nil, nil, "no", "boot-must-be-zero"},
		"FAT head":          {fat(func(*Geometry) uint32 { return 0 }, 0xFFFFFFF0), nil, nil, "rw", "fat-head"},
		"root chain":        {fat(rootCluster, 0), vol.ErrDamaged, vol.ErrDamaged, "no", "root-unreadable"},
		"root loop":         {rootLoop, vol.ErrDamaged, vol.ErrDamaged, "no", "root-unreadable"},
		"root in bitmap":    {fat(rootCluster, 5), vol.ErrDirty, vol.ErrDirty, "rw", "cross-linked"},
		"bitmap chain":      {fat(func(*Geometry) uint32 { return 2 }, 0), vol.ErrDirty, vol.ErrDirty, "rw", "bitmap-chain"},
		"bitmap far":        {root(typeBitmap, func(e entry) { e.put32(offFirstCluster, 1<<30) }), vol.ErrDirty, vol.ErrDirty, "no", "bitmap-chain"},
		"no bitmap":         {root(typeBitmap, func(e entry) { e[0] &^= typeInUse }), vol.ErrDirty, vol.ErrDirty, "no", "bitmap-none"},
		"second bitmap":     {root(typeBitmap, func(e entry) { e[offBitmapFlags] = 1 }), vol.ErrDirty, vol.ErrDirty, "no", "bitmap-none"},
		"bitmap short":      {root(typeBitmap, func(e entry) { e.put64(offDataLength, e.length()-1) }), vol.ErrDirty, vol.ErrDirty, "no", "bitmap-length"},
		"bitmap huge":       {root(typeBitmap, func(e entry) { e.put64(offDataLength, 1<<62) }), vol.ErrDirty, vol.ErrDirty, "rw", "bitmap-chain"},
		"bitmap longer":     {root(typeBitmap, func(e entry) { e.put64(offDataLength, e.length()+1) }), nil, nil, "rw", ""},
		"no table":          {root(typeUpcase, func(e entry) { e[0] &^= typeInUse }), vol.ErrDirty, vol.ErrDirty, "rw", "upcase-none"},
		"table sum":         {root(typeUpcase, func(e entry) { e[offTableChecksum]++ }), vol.ErrDirty, nil, "rw", "upcase-table"},
		"table length":      {root(typeUpcase, func(e entry) { e.put64(offDataLength, 0) }), vol.ErrDirty, vol.ErrDirty, "rw", "upcase-table"},
		"table odd":         {root(typeUpcase, func(e entry) { e.put64(offDataLength, 4097) }), vol.ErrDirty, vol.ErrDirty, "rw", "upcase-chain"},
		"table huge":        {root(typeUpcase, func(e entry) { e.put64(offDataLength, 1<<63) }), vol.ErrDirty, vol.ErrDirty, "rw", "upcase-table"},
		"table far":         {root(typeUpcase, func(e entry) { e.put32(offFirstCluster, 1) }), vol.ErrDirty, vol.ErrDirty, "rw", "upcase-chain"},
		"two tables":        {root(typeLabel, func(e entry) { e[0] = typeUpcase; e.put(0, 0) }), vol.ErrDirty, vol.ErrDirty, "rw", "upcase-twice"},
		"unknown critical":  {root(typeLabel, func(e entry) { e[0] = 0x8A; e[1] = 0 }), vol.ErrDirty, nil, "rw", "unknown-critical"},
		"own clusters free": {func(m *dev.Mem, g *Geometry) { patched(t, m, g.HeapOff(), 1, func(b []byte) { b[0] = 0 }) }, vol.ErrDirty, vol.ErrDirty, "rw", "bitmap-free"},
		"two FATs":          {boot(offNumberOfFats, 2), vol.ErrDamaged, vol.ErrDamaged, "no", "fat-count"},
		"revision 2":        {boot(offRevision, 0, 2), vol.ErrDamaged, vol.ErrDamaged, "no", "revision"},
		"FAT offset":        {boot(offFatOffset, 0, 0, 0, 0), vol.ErrDamaged, vol.ErrDamaged, "no", "fat-offset"},
		"length 2^63":       {boot(offVolumeLength, 0, 0, 0, 0, 0, 0, 0, 0x80), vol.ErrDamaged, vol.ErrDamaged, "no", "volume-length"},
		"length 2^50":       {boot(offVolumeLength, 0, 0, 0, 0, 0, 0, 4, 0), vol.ErrDamaged, vol.ErrDamaged, "rw", "volume-beyond-device"},
		"shift":             {boot(offSectorShift, 200), vol.ErrDamaged, vol.ErrDamaged, "no", "sector-size"},
		"sound":             {func(*dev.Mem, *Geometry) {}, nil, nil, "rw", ""},
	}
}

func TestOpenAndMountScan(t *testing.T) {
	for what, c := range openCases(t) {
		t.Run(what, func(t *testing.T) {
			m := formatted(t, 61<<20+8704, 512, func(o *vol.FormatOptions) { o.Label = "LABEL" })
			g, err := soundRegion(m)
			must(t, err)
			c.spoil(m, g)
			if _, err := open(context.Background(), m, vol.OpenOptions{}); !errors.Is(err, c.open) || c.open != nil && err == nil {
				t.Errorf("open: %v, want %v", err, c.open)
			}
			v, err := open(context.Background(), m, vol.OpenOptions{Force: true})
			if !errors.Is(err, c.forced) || c.forced != nil && err == nil {
				t.Errorf("forced: %v, want %v", err, c.forced)
			}
			if err == nil && c.slug != "unknown-critical" {
				if _, err := v.Preallocate(context.Background(), one("D/F", 100_000)); err != nil {
					t.Errorf("forced: %v", err)
				}
				m = formatted(t, 61<<20+8704, 512)
				c.spoil2(t, m, g)
			}
			s, err := mountScan(context.Background(), m, vol.ScanOptions{})
			must(t, err)
			if s.Mountable != c.mountable || c.slug != "" && !hasReason(s, c.slug) || c.slug == "" && len(s.Reasons) > 0 {
				t.Errorf("%+v", s)
			}
			if s.Dirty != (c.slug == "dirty" || c.slug == "media-failure") || s.Type != "exfat" {
				t.Errorf("%+v", s)
			}
			for _, r := range s.Reasons {
				if r.Code == "" {
					t.Errorf("no code: %+v", r)
				}
			}
		})
	}
}

// spoil2 spoils another volume the same way.
func (c openCase) spoil2(t testing.TB, m *dev.Mem, g *Geometry) {
	t.Helper()
	if c.slug == "unknown-critical" || c.slug == "upcase-twice" {
		t.Fatal("needs a label")
	}
	c.spoil(m, g)
}

// A volume that is longer than what is there is not changed, forced or not.
func TestOpenCutShort(t *testing.T) {
	m := formatted(t, 64<<20, 4096)
	cut, err := dev.Section(m, dev.Range{Len: m.Size() - 1<<20})
	must(t, err)
	for _, force := range []bool{false, true} {
		if _, err := open(context.Background(), cut, vol.OpenOptions{Force: force}); !errors.Is(err, vol.ErrDamaged) {
			t.Errorf("%v", err)
		}
	}
	s, err := mountScan(context.Background(), cut, vol.ScanOptions{})
	must(t, err)
	if !hasReason(s, "volume-beyond-device") || !s.Counted {
		t.Errorf("%+v", s)
	}
	for _, n := range []int64{0, 100, 512, 6144, 20000, 1 << 20, 2 << 20} {
		cut, err := dev.Section(m, dev.Range{Len: n})
		must(t, err)
		if _, err := open(context.Background(), cut, vol.OpenOptions{Force: true}); err == nil {
			t.Errorf("%d bytes can be opened", n)
		}
		if s, err := mountScan(context.Background(), cut, vol.ScanOptions{}); err == nil && len(s.Reasons) == 0 {
			t.Errorf("%d bytes mount: %+v", n, s)
		}
	}
}

func TestOpenNothing(t *testing.T) {
	m := dev.NewMem(1 << 20)
	if _, err := open(context.Background(), m, vol.OpenOptions{}); !errors.Is(err, vol.ErrNotVolume) {
		t.Errorf("zeros: %v", err)
	}
	if _, err := mountScan(context.Background(), m, vol.ScanOptions{}); !errors.Is(err, vol.ErrNotVolume) {
		t.Errorf("zeros: %v", err)
	}
}

func TestMountScan(t *testing.T) {
	m := formatted(t, 64<<20, 512, func(o *vol.FormatOptions) { o.Label = "Ünïcode 日本" })
	spoiled(t, m, 100)
	_, v := begun(t, m)
	for _, window := range []int64{0, 4096, 64 << 10} {
		s, err := mountScan(context.Background(), m, vol.ScanOptions{Readahead: window})
		must(t, err)
		if s.FreeClusters != v.alloc.Free() || s.LargestFreeExtent != 99 || s.FreeExtents < 600 || !s.Counted || s.Load.Bytes == 0 || len(s.Reasons) > 0 {
			t.Errorf("%+v", s)
		}
		if window != 0 && s.Load.Readahead != window || s.Label != "Ünïcode 日本" || s.ID != "1234-ABCD" || s.Clusters != uint64(v.g.Clusters) {
			t.Errorf("window %d: %+v", window, s)
		}
	}
	s, err := mountScan(context.Background(), m, vol.ScanOptions{Quick: true})
	must(t, err)
	if s.Counted || s.Load.Bytes != 0 || len(s.Reasons) > 0 || s.Mountable != "rw" {
		t.Errorf("%+v", s)
	}
}

// bigSectors is a device with sectors of 4096 bytes.
type bigSectors struct{ dev.Device }

func (b bigSectors) Limits() dev.Limits {
	l := b.Device.Limits()
	l.LogicalSector = 4096
	return l
}

func TestMountScanSectorSize(t *testing.T) {
	m := formatted(t, 64<<20, 4096)
	s, err := mountScan(context.Background(), bigSectors{m}, vol.ScanOptions{})
	must(t, err)
	if s.Mountable != "no" || !hasReason(s, "sector-size") {
		t.Errorf("%+v", s)
	}
}

// The percentage is right after every change, in the main boot sector alone.
func TestPercentInUse(t *testing.T) {
	m := formatted(t, 64<<20, 4096)
	for i := range 10 {
		preallocated(t, m, one(strings.Repeat("x", i+1), 5<<20))
		sound(t, m)
		s, err := mountScan(context.Background(), m, vol.ScanOptions{})
		must(t, err)
		if len(s.Reasons) > 0 {
			t.Errorf("%+v", s)
		}
	}
	patched(t, m, offPercentInUse, 1, func(b []byte) { b[0] = percentUnknown })
	preallocated(t, m, one("y", 5000))
	g, err := soundRegion(m)
	must(t, err)
	b := make([]byte, 1)
	_, err = m.ReadAt(b, offPercentInUse)
	must(t, err)
	_, v := begun(t, m)
	if b[0] != g.percent(v.alloc.Free()) || b[0] < 78 {
		t.Errorf("%d%%", b[0])
	}
	fsckClean(t, m)
}

func TestVolumeInfo(t *testing.T) {
	m := formatted(t, 64<<20, 4096, func(o *vol.FormatOptions) { o.Label = "L" })
	_, v := begun(t, m)
	if i := v.Info(); i.Type != "exfat" || i.Label != "L" || i.ClusterSize != 4096 || len(i.Fields) == 0 {
		t.Errorf("%+v", i)
	}
	if n := space.Units(v.tables.root); n != 1 {
		t.Errorf("the root has %d clusters", n)
	}
}
