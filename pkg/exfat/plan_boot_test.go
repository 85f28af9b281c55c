package exfat

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// withOEM is a volume whose maker left parameters in both boot regions, and
// what they are.
func withOEM(t *testing.T, sector int64) (dev.Device, []byte) {
	t.Helper()
	d, _ := plannedVolume(t, vol.Target{Size: 8 * mib}, vol.FormatOptions{SectorSize: sector})
	oem := append([]byte("\x46\x7E\x0C\x0A\x99\x33\x21\x40\x90\xC8\xFA\x6D\x38\x9C\x4B\xA2"), bytes.Repeat([]byte{7}, 32)...)
	oem = append(oem, make([]byte, 464)...)
	for _, region := range []int64{0, 12} {
		put(t, d, (region+9)*sector, oem...)
		resum(t, d, region*sector, sector)
	}
	return d, oem
}

// TestPlanOEM: a format keeps the OEM parameters of the volume that was there,
// whatever sectors the two have.
func TestPlanOEM(t *testing.T) {
	for _, from := range []int64{512, 2048, 4096} {
		for _, to := range []int64{512, 4096} {
			old, oem := withOEM(t, from)
			p, _ := mustPlan(t, vol.Target{Size: 8 * mib, Old: old}, vol.FormatOptions{SectorSize: to})
			for _, sector := range []int64{9, 21} {
				if got := voltest.Planned(p, sector*to, 512); !bytes.Equal(got, oem) {
					t.Errorf("from sectors of %d to %d: OEM parameters in sector %d are % x", from, to, sector, got[:64])
				}
			}
		}
	}
}

// TestPlanOEMBelieved: only from a region that is whole, be it the backup; and
// nothing else of what was there is kept.
func TestPlanOEMBelieved(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(d dev.Device)
		kept bool
	}{
		{"whole", func(dev.Device) {}, true},
		{"main region lost", func(d dev.Device) { put(t, d, 0, make([]byte, 12*512)...) }, true},
		{"main region with another checksum", func(d dev.Device) { put(t, d, 9*512+100, 1) }, true},
		{"backup region lost", func(d dev.Device) { put(t, d, 12*512, make([]byte, 12*512)...) }, true},
		{"both with another checksum", func(d dev.Device) { put(t, d, 9*512+100, 1); put(t, d, 21*512+100, 1) }, false},
		{"wiped", func(d dev.Device) { put(t, d, 0, make([]byte, 24*512)...) }, false},
	} {
		old, oem := withOEM(t, 512)
		put(t, old, 440, 9)
		resum(t, old, 0, 512)
		c.do(old)
		p, _ := mustPlan(t, vol.Target{Size: 8 * mib, Old: old}, vol.FormatOptions{})
		if got := bytes.Equal(voltest.Planned(p, 9*512, 512), oem); got != c.kept {
			t.Errorf("%s: kept is %v", c.name, got)
		}
		if b := planBoot(p); b[440] != hlt {
			t.Errorf("%s: byte 440 is %#x", c.name, b[440])
		}
	}
	for _, d := range []dev.Device{nil, dev.NewMem(0), dev.NewMem(100), dev.NewMem(mib), unreadable{dev.NewMem(mib)}} {
		mustPlan(t, vol.Target{Size: 8 * mib, Old: d}, vol.FormatOptions{})
	}
}

// unreadable is a device that cannot be read.
type unreadable struct{ dev.Device }

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errors.New("unreadable") }

// FuzzBoot: no boot sector makes parseGeometry panic or wrap, and what it lets
// through lies inside the volume.
func FuzzBoot(f *testing.F) {
	for _, size := range []int64{mib, 8 * mib, 4 * tib, 128 * pib} {
		p, _ := mustPlan(f, vol.Target{Size: size}, vol.FormatOptions{})
		f.Add([]byte(planBoot(p)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < bootSectorLen {
			b = append(b, make([]byte, bootSectorLen-len(b))...)
		}
		copy(b[offFileSystemName:], fileSystemName)
		g, fault := parseGeometry(bootSector(b[:bootSectorLen]))
		if (g == nil) == (fault == nil) {
			t.Fatalf("%+v, %v", g, fault)
		}
		if fault != nil {
			if fault.Error() == "" || fault.off < 0 || fault.off+fault.len > bootSectorLen {
				t.Fatalf("%+v", fault)
			}
			return
		}
		inside := []int64{0, 24 * g.SectorSize, g.FatOff(), g.FatOff() + g.EntryBytes(), g.FatOff() + g.FatBytes(), g.HeapOff(), g.ClusterOff(g.Last()), g.ClusterRange(firstCluster, g.Clusters).End(), g.VolumeBytes()}
		for i := range inside[1:] {
			// The FAT may have sectors to spare.
			if inside[i+1] < inside[i] {
				t.Fatalf("%d comes before %d: %+v", inside[i+1], inside[i], g)
			}
		}
		if g.VolumeBytes() < mib || g.Clusters > maxClusters || !g.Valid(g.RootCluster) || g.BitmapBytes() > 1<<29 {
			t.Fatalf("%+v", g)
		}
	})
}
