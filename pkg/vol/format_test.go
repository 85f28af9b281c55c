package vol

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// TestSignatures: the ranges are in order, apart, inside the device, and cover
// where well-known formats are recognised.
func TestSignatures(t *testing.T) {
	covered := func(size, off, n int64) bool {
		for _, r := range Signatures(size) {
			if r.Intersect(dev.Range{Off: off, Len: n}).Len == n {
				return true
			}
		}
		return false
	}
	for _, size := range []int64{-1, 0, 1, 512, 1 << 20, 1280 << 10, 1280<<10 + 512, 2 << 20, 1<<40 + 12345} {
		end := int64(0)
		for _, r := range Signatures(size) {
			if r.Off < end || r.Empty() || r.End() > size {
				t.Errorf("%d bytes: range %v behind byte %d", size, r, end)
			}
			end = r.End()
		}
		if size <= 0 {
			continue
		}
		if !covered(size, 0, 1) || !covered(size, size-1, 1) {
			t.Errorf("%d bytes: first or last byte is left", size)
		}
		if size < 2<<20 {
			continue
		}
		lastLabel := size&^(256<<10-1) - 512<<10 // ZFS, label 2
		for name, off := range map[string]int64{
			"ext": 1080, "Btrfs": 64<<10 + 64, "ISO 9660": 32 << 10, "ZFS label 0": 128 << 10, "UFS2": 256<<10 + 1372, "ZFS label 1": 384 << 10,
			"ZFS label 2": lastLabel + 128<<10, "ZFS label 3": lastLabel + 384<<10, "MD 0.90": size&^(64<<10-1) - 64<<10, "GPT": size - 512,
		} {
			if !covered(size, off, 8) {
				t.Errorf("%d bytes: %s at %d is left", size, name, off)
			}
		}
	}
}

// TestForeign: every option of a format is named, and foreign where it is not
// known.
func TestForeign(t *testing.T) {
	n, n64, f := 1, int64(1), 1.0
	all := FormatOptions{
		Type: "x", Label: "x", ID: "x", ClusterSize: 1, SectorSize: 1, Align: 1, Features: "x", VolumeGUID: "x",
		Fats: &n, ReservedSectors: &n64, RootEntries: &n, HiddenSectors: &n64, MediaType: &n,
		Overprovision: &f, SegmentsPerSection: &n, SectionsPerZone: &n, ColdExtensions: []string{"x"}, HotExtensions: []string{"x"},
		RootOwner: &[2]uint32{}, Encoding: "x",
	}
	given := all.Given()
	if len(given) != 15 {
		t.Errorf("given are %q", given)
	}
	for i, name := range given {
		if got := all.Foreign(append(given[:i:i], given[i+1:]...)...); got != name {
			t.Errorf("without %s, %q is foreign", name, got)
		}
	}
	if got := all.Foreign(given...); got != "" {
		t.Errorf("%q is foreign", got)
	}
	if none := (&FormatOptions{Type: "x", Label: "x", ClusterSize: 1}); len(none.Given()) != 0 || none.Foreign() != "" {
		t.Errorf("given are %q", none.Given())
	}
}
