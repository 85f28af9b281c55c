package fat

import (
	"context"
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// marks are what asks for a check, on volumes that can have them.
func marks(t testing.TB) map[string]func(m *dev.Mem, b bootSector, g *Geometry) bool {
	clear := func(m *dev.Mem, g *Geometry, bit16, bit32 uint32) bool {
		bits := map[Type]uint32{FAT16: bit16, FAT32: bit32}[g.Type]
		ones, _ := headBits(g.Type)
		must(t, newTable(m, g, 0).set(1, ones&^bits))
		return bits != 0
	}
	return map[string]func(*dev.Mem, bootSector, *Geometry) bool{
		"dirty-boot": func(m *dev.Mem, b bootSector, g *Geometry) bool {
			write(t, m, int64(b.off(offFlags16, offFlags32)), stateDirty)
			return true
		},
		"dirty-fat": func(m *dev.Mem, _ bootSector, g *Geometry) bool {
			return clear(m, g, cleanShutdown16, cleanShutdown32)
		},
		"hard-error": func(m *dev.Mem, _ bootSector, g *Geometry) bool {
			return clear(m, g, noHardError16, noHardError32)
		},
	}
}

func TestOpenDirty(t *testing.T) {
	for name, make := range kinds() {
		for slug, mark := range marks(t) {
			m := make(t)
			b, g, err := readBoot(m)
			must(t, err)
			can := mark(m, b, g)
			_, err = open(context.Background(), m, vol.OpenOptions{})
			if can != errors.Is(err, vol.ErrDirty) {
				t.Errorf("%s, %s: %v", name, slug, err)
			}
			if _, err := open(context.Background(), m, vol.OpenOptions{Force: true}); err != nil {
				t.Errorf("%s, %s, forced: %v", name, slug, err)
			}
			s, err := mountScan(context.Background(), m, vol.ScanOptions{})
			must(t, err)
			if s.Dirty != can || s.Mountable != "rw" || can && (len(s.Reasons) != 1 || s.Reasons[0].Code != vol.Find(Problems(), slug).Code) {
				t.Errorf("%s, %s: %+v", name, slug, s)
			}
		}
	}
}

// A volume that is longer than what is there is not changed, forced or not.
func TestOpenCutShort(t *testing.T) {
	for name, make := range kinds() {
		m := make(t)
		cut, err := dev.Section(m, dev.Range{Len: m.Size() - 1<<20})
		must(t, err)
		for _, force := range []bool{false, true} {
			if _, err := open(context.Background(), cut, vol.OpenOptions{Force: force}); !errors.Is(err, vol.ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		}
		s, err := mountScan(context.Background(), cut, vol.ScanOptions{})
		must(t, err)
		if !hasReason(s, "volume-beyond-device") || !s.Counted {
			t.Errorf("%s: %+v", name, s)
		}
		if _, err := describe(cut); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func hasReason(s *vol.Scan, slug string) bool {
	code := vol.Find(Problems(), slug).Code
	for _, r := range s.Reasons {
		if r.Code == code {
			return true
		}
	}
	return false
}

// An FSInfo field that points elsewhere is not written through.
func TestFSInfoElsewhere(t *testing.T) {
	for what, sector := range map[string]uint16{"backup": 6, "boot": 0, "data": 5000, "beyond": 0xFFFF, "no signature": 9} {
		m := kinds()["fat32"](t)
		write(t, m, offFSInfo, byte(sector), byte(sector>>8))
		pattern := []byte("file data, not FSInfo")
		write(t, m, int64(9)*512, pattern...)
		tx, v := begun(t, m)
		_, err := v.Preallocate(context.Background(), one("F", 1000))
		must(t, err)
		if v.fsinfo != 0 {
			t.Errorf("%s: FSInfo at byte %d", what, v.fsinfo)
		}
		for _, r := range tx.DirtyRanges() {
			if off := int64(sector) * 512; r.Off <= off && off < r.End() && sector != 0xFFFF && sector != 5000 {
				t.Errorf("%s: sector %d is written", what, sector)
			}
		}
		tx.Rollback()
		s, err := mountScan(context.Background(), m, vol.ScanOptions{Quick: true})
		must(t, err)
		if len(s.Reasons) == 0 || s.Counted {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

// The count becomes right whatever it was.
func TestFSInfoCount(t *testing.T) {
	for _, free := range []uint32{fsiUnknown, 0, 17} {
		m := kinds()["fat32"](t)
		_, g, err := readBoot(m)
		must(t, err)
		f := newFSInfo(512, free, 2)
		write(t, m, g.FSInfoSector*512, f...)
		s, err := mountScan(context.Background(), m, vol.ScanOptions{})
		must(t, err)
		if hasReason(s, "fsinfo-free-wrong") != (free != fsiUnknown) {
			t.Errorf("count %d: %+v", free, s.Reasons)
		}
		res := preallocated(t, m, one("F", 100_000))
		after, err := readFSInfo(m, g)
		must(t, err)
		s, err = mountScan(context.Background(), m, vol.ScanOptions{})
		must(t, err)
		if uint64(after.free()) != s.FreeClusters || s.FreeClusters != uint64(g.Clusters)-1-res.ClustersAllocated || len(s.Reasons) != 0 {
			t.Errorf("count %d, then %d; %+v", free, after.free(), s)
		}
		if e := res.Files[0].Extents[0]; uint64(after.next()) != e.End()-1 {
			t.Errorf("hint %d after %v", after.next(), e)
		}
		sound(t, m)
	}
}

func TestMountScan(t *testing.T) {
	m := kinds()["fat32"](t)
	spoiled(t, m, 100)
	for _, window := range []int64{0, 4096, 64 << 10} {
		s, err := mountScan(context.Background(), m, vol.ScanOptions{Readahead: window})
		must(t, err)
		_, v := begun(t, m)
		if s.FreeClusters != v.alloc.Free() || s.LargestFreeExtent != 99 || s.FreeExtents < 600 || !s.Counted || s.Load.Bytes == 0 {
			t.Errorf("%+v", s)
		}
		if window != 0 && s.Load.Readahead != window {
			t.Errorf("window %d: %+v", window, s.Load)
		}
	}
	for slug, breakIt := range map[string]func(m *dev.Mem){
		"no-signature":         func(m *dev.Mem) { write(t, m, offSignature, 0) },
		"jump":                 func(m *dev.Mem) { write(t, m, 0, 0) },
		"media-mismatch":       func(m *dev.Mem) { write(t, m, offMedia, 0xFA) },
		"mirror-off":           func(m *dev.Mem) { write(t, m, offExtFlags, 0x81) },
		"active-fat":           func(m *dev.Mem) { write(t, m, offExtFlags, 0x83) },
		"backup-boot-differs":  func(m *dev.Mem) { write(t, m, 6*512+offVolID32, 9) },
		"backup-boot-location": func(m *dev.Mem) { write(t, m, offBkBootSec, 99) },
		"fsinfo-bad-signature": func(m *dev.Mem) { write(t, m, 512, 0) },
		"fsinfo-location":      func(m *dev.Mem) { write(t, m, offFSInfo, 6) },
		"fsinfo-none":          func(m *dev.Mem) { write(t, m, offFSInfo, 0) },
		"fsinfo-next":          func(m *dev.Mem) { write(t, m, 512+offFSINext, 0, 0, 0, 0x0F) },
		"media-byte":           func(m *dev.Mem) { write(t, m, offMedia, 1) },
		"root-entries":         func(m *dev.Mem) { write(t, m, offRootEntCnt, 1) },
		"root-unreadable":      func(m *dev.Mem) { _, g, _ := readBoot(m); must(t, newTable(m, g, 0).set(2, entryFree)) },
		"sector-size":          func(m *dev.Mem) { write(t, m, offBytsPerSec, 7) },
	} {
		m := kinds()["fat32"](t)
		breakIt(m)
		s, err := mountScan(context.Background(), m, vol.ScanOptions{})
		must(t, err)
		refused := slug == "media-byte" || slug == "root-entries" || slug == "root-unreadable" || slug == "sector-size"
		if !hasReason(s, slug) || (s.Mountable == "no") != refused {
			t.Errorf("%s: %+v", slug, s)
		}
	}
	if _, err := mountScan(context.Background(), dev.NewMem(1<<20), vol.ScanOptions{}); !errors.Is(err, vol.ErrNotVolume) {
		t.Errorf("zeros: %v", err)
	}
}
