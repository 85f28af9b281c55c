package lfs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestPlanRefuses: what cannot be is refused, of the right kind, and with the
// reason.
func TestPlanRefuses(t *testing.T) {
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("x%d", i))
		}
		return list
	}
	for _, c := range []struct {
		at   vol.Target
		o    vol.FormatOptions
		kind error
		says string
	}{
		{o: vol.FormatOptions{Type: "fat"}, kind: vol.ErrUsage, says: "must be f2fs"},
		{o: vol.FormatOptions{Fats: ptr(1)}, kind: vol.ErrUsage, says: "--fats is not for f2fs"},
		{o: vol.FormatOptions{Align: 4096}, kind: vol.ErrUsage, says: "--secs-per-zone"},
		{o: vol.FormatOptions{VolumeGUID: "x"}, kind: vol.ErrUsage, says: "given with -i"},
		{o: vol.FormatOptions{HiddenSectors: ptr(int64(1))}, kind: vol.ErrUsage, says: "--hidden-sectors is not for f2fs"},
		{o: vol.FormatOptions{ClusterSize: 512}, kind: vol.ErrUsage, says: "4096, 8192 or 16384"},
		{o: vol.FormatOptions{ClusterSize: 32768}, kind: vol.ErrUsage, says: "4096, 8192 or 16384"},
		{o: vol.FormatOptions{ClusterSize: 5000}, kind: vol.ErrUsage, says: "4096, 8192 or 16384"},
		{o: vol.FormatOptions{SectorSize: 8192}, kind: vol.ErrUsage, says: "sector size 8192"},
		{at: vol.Target{SectorSize: 4096}, o: vol.FormatOptions{SectorSize: 512}, kind: vol.ErrRequest, says: "sectors of 4096"},
		{at: vol.Target{SectorSize: 520}, kind: vol.ErrRequest, says: "sectors of 520"},
		{at: vol.Target{Size: -1}, kind: vol.ErrRequest, says: "a size of -1"},
		{at: vol.Target{Size: 1}, kind: vol.ErrRequest, says: "use at least 46 MiB"},
		{at: vol.Target{Size: 1 << 50}, kind: vol.ErrRequest, says: "use at most 16 TiB"},
		{at: vol.Target{Size: 40 * tib}, kind: vol.ErrRequest, says: "use at most 16 TiB, or -c 16K"},
		{at: vol.Target{Size: 40 * tib}, o: vol.FormatOptions{ClusterSize: 8192}, kind: vol.ErrRequest, says: "use at most 32 TiB, or -c 16K"},
		{o: vol.FormatOptions{SegmentsPerSection: ptr(0)}, kind: vol.ErrUsage, says: "--segs-per-sec 0"},
		{o: vol.FormatOptions{SectionsPerZone: ptr(-1)}, kind: vol.ErrUsage, says: "--secs-per-zone -1"},
		{o: vol.FormatOptions{SegmentsPerSection: ptr(1 << 20), SectionsPerZone: ptr(1 << 20)}, kind: vol.ErrRequest, says: "larger than any volume"},
		{o: vol.FormatOptions{SegmentsPerSection: ptr(100)}, kind: vol.ErrRequest, says: "or --segs-per-sec 1"},
		{o: vol.FormatOptions{SegmentsPerSection: ptr(10), SectionsPerZone: ptr(10)}, kind: vol.ErrRequest, says: "or --segs-per-sec 1 --secs-per-zone 1"},
		{o: vol.FormatOptions{Overprovision: ptr(0.0)}, kind: vol.ErrUsage, says: "from 0.01 to 99"},
		{o: vol.FormatOptions{Overprovision: ptr(100.0)}, kind: vol.ErrUsage, says: "from 0.01 to 99"},
		{o: vol.FormatOptions{Overprovision: ptr(math.NaN())}, kind: vol.ErrUsage, says: "from 0.01 to 99"},
		{o: vol.FormatOptions{Overprovision: ptr(math.Inf(1))}, kind: vol.ErrUsage, says: "from 0.01 to 99"},
		{o: vol.FormatOptions{Overprovision: ptr(0.01)}, kind: vol.ErrRequest, says: "with an over-provision of 0.01 % takes all of them: use at least 20"},
		{o: vol.FormatOptions{Overprovision: ptr(0.01)}, kind: vol.ErrRequest, says: "or no --overprovision"},
		{o: vol.FormatOptions{Overprovision: ptr(5.0), Features: "ro"}, kind: vol.ErrUsage, says: "feature ro"},
		{o: vol.FormatOptions{Features: "nonsense"}, kind: vol.ErrUsage, says: `feature "nonsense": it can be encrypt, extra_attr, project_quota`},
		{o: vol.FormatOptions{Features: "quota,"}, kind: vol.ErrUsage, says: `feature ""`},
		{o: vol.FormatOptions{Features: "blkzoned"}, kind: vol.ErrUsage, says: "devices with zones"},
		{o: vol.FormatOptions{Features: "device_alias"}, kind: vol.ErrUsage, says: "several devices"},
		{o: vol.FormatOptions{Features: "packed_ssa"}, kind: vol.ErrUsage, says: "few kernels"},
		{o: vol.FormatOptions{Features: "compression"}, kind: vol.ErrUsage, says: "use -O extra_attr,compression"},
		{o: vol.FormatOptions{Features: "quota,project_quota"}, kind: vol.ErrUsage, says: "project_quota needs extra_attr"},
		{o: vol.FormatOptions{Features: "prjquota"}, kind: vol.ErrUsage, says: "project_quota needs extra_attr"},
		{o: vol.FormatOptions{Features: "inode_checksum"}, kind: vol.ErrUsage, says: "needs extra_attr"},
		{o: vol.FormatOptions{Features: "inode_crtime"}, kind: vol.ErrUsage, says: "needs extra_attr"},
		{o: vol.FormatOptions{Features: "flexible_inline_xattr"}, kind: vol.ErrUsage, says: "needs extra_attr"},
		{o: vol.FormatOptions{Encoding: "utf8"}, kind: vol.ErrUsage, says: "with -O casefold"},
		{o: vol.FormatOptions{Encoding: "latin1", Features: "casefold"}, kind: vol.ErrUsage, says: "must be utf8"},
		{o: vol.FormatOptions{Encoding: "utf8:loose", Features: "casefold"}, kind: vol.ErrUsage, says: "strict or hashonly"},
		{o: vol.FormatOptions{Encoding: "utf8:", Features: "casefold"}, kind: vol.ErrUsage, says: "strict or hashonly"},
		{o: vol.FormatOptions{ColdExtensions: []string{".raw"}}, kind: vol.ErrUsage, says: "without the dot"},
		{o: vol.FormatOptions{ColdExtensions: []string{"12345678"}}, kind: vol.ErrUsage, says: "1 to 7 bytes"},
		{o: vol.FormatOptions{HotExtensions: []string{""}}, kind: vol.ErrUsage, says: "1 to 7 bytes"},
		{o: vol.FormatOptions{HotExtensions: []string{"a/b"}}, kind: vol.ErrUsage, says: "part of a file's name"},
		{o: vol.FormatOptions{HotExtensions: []string{"jp"}}, kind: vol.ErrUsage, says: "both hot and cold"},
		{o: vol.FormatOptions{ColdExtensions: many(25)}, kind: vol.ErrRequest, says: "there is room for 64, and 40 are the usual ones"},
		{o: vol.FormatOptions{Label: strings.Repeat("x", 513)}, kind: vol.ErrUsage, says: "513 units"},
		{o: vol.FormatOptions{Label: strings.Repeat("😀", 257)}, kind: vol.ErrUsage, says: "514 units"},
		{o: vol.FormatOptions{Label: "a\nb"}, kind: vol.ErrUsage, says: "must not be in it"},
		{o: vol.FormatOptions{Label: "\xFF"}, kind: vol.ErrUsage, says: "no UTF-8"},
		{o: vol.FormatOptions{ID: "1234-ABCD"}, kind: vol.ErrUsage, says: "must be a UUID"},
		{o: vol.FormatOptions{ID: "{12345678-9abc-4def-8123-456789abcdef}"}, kind: vol.ErrUsage, says: "must be a UUID"},
		{o: vol.FormatOptions{ID: uuid.Nil.String()}, kind: vol.ErrUsage, says: "all zeros"},
	} {
		if c.o.Type == "" {
			c.o.Type = "f2fs"
		}
		if c.at.Size == 0 {
			c.at.Size = 100 * mib
		}
		p, err := planFormat(c.at, c.o)
		if p != nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d bytes, %s: %v, should say %s", c.at.Size, showOptions(c.o), err, c.says)
		}
	}
}

// TestPlanSuper: what is asked for stands in the superblock.
func TestPlanSuper(t *testing.T) {
	p, g := mustPlan(t, vol.Target{Size: gib, SectorSize: 4096}, vol.FormatOptions{
		Label: "😀é", ID: "12345678-9ABC-4def-8123-456789abcdef", Features: "casefold, lost_found,sb_checksum,extra_attr,project_quota", Encoding: "utf8:hashonly,strict,nohashonly",
		ColdExtensions: []string{"raw", "jp", "raw"}, HotExtensions: []string{"sqlite"}, Seed: 1,
	})
	b := superblock((&planned{Plan: p, g: g}).read(superOffset, superLen))
	version, initVersion := cString(b[sbVersion:][:versionLen]), cString(b[sbInitVersion:][:versionLen])
	if b.label() != "😀é" || uuidText(b.uuid()) != "12345678-9abc-4def-8123-456789abcdef" || version != "fatkit 0.1" || initVersion != version {
		t.Errorf("label %q, UUID %s, versions %q and %q", b.label(), uuidText(b.uuid()), version, initVersion)
	}
	cold, hot := int(b.u32(sbColdExtensions)), int(b[sbHotExtensions])
	if cold != 37 || hot != 5 || b.extension(36) != "raw" || b.extension(37) != "db" || b.extension(41) != "sqlite" || b.extension(42) != "" {
		t.Errorf("%d cold and %d hot extensions, %q", cold, hot, extensionList(b, 35, 43))
	}
	if b.u16(sbEncoding) != 1 || b.u16(sbEncodingFlags) != encodingStrict {
		t.Errorf("encoding %d, flags %d", b.u16(sbEncoding), b.u16(sbEncodingFlags))
	}
	if want := uint32(featCasefold | featLostFound | featSuperChecksum | featExtraAttr | featProjectQuota | featQuota); g.Features != want {
		t.Errorf("features %s", featureList(g.Features))
	}
	if g.SectorSize != 4096 || b.u32(sbLogSectorsBlock) != 0 || g.QuotaInos != [3]uint32{0, 0, 4} {
		t.Errorf("sectors of %d, quota files %v", g.SectorSize, g.QuotaInos)
	}
}

// TestPlanQuota: the record of the owner of the root is found by its id, byte
// by byte through the tree.
func TestPlanQuota(t *testing.T) {
	for _, id := range []uint32{0, 1, 255, 256, 1000, 0xFFFFFFFE} {
		f := newQuotaFile(groupQuota, id, 2, 8192)
		u32 := func(off int) uint32 { return superblock(f).u32(off) }
		at := 1
		for level := range 4 {
			used := 0
			for i := range 256 {
				if u32(at*1024+4*i) != 0 {
					used++
				}
			}
			next := u32(at*1024 + 4*int(id>>(24-8*level)&0xFF))
			if used != 1 || next == 0 || next >= u32(20) {
				t.Fatalf("id %d: block %d of the tree has %d entries, %d for it", id, at, used, next)
			}
			at = int(next)
		}
		if u32(at*1024+16) != id || u32(at*1024+16+24) != 2 || u32(at*1024+16+48) != 8192 || u32(28) != uint32(at) {
			t.Errorf("id %d: the record is %x", id, f[at*1024:at*1024+88])
		}
		blocks := func(n uint32) ([]byte, error) { return f[quotaBlock*int(n):][:quotaBlock], nil }
		if usage, why, err := parseQuota(blocks, groupQuota); err != nil || why != "" || usage[id] != (quotaUse{8192, 2}) || len(usage) != 1 {
			t.Errorf("id %d: read as %v, %s", id, usage, why)
		}
	}
}

// TestPlanWarnings: what is laid out all the same.
func TestPlanWarnings(t *testing.T) {
	for _, c := range []struct {
		o    vol.FormatOptions
		says []string
	}{
		{vol.FormatOptions{}, nil},
		{vol.FormatOptions{Features: "sb_checksum"}, nil},
		{vol.FormatOptions{Features: "extra_attr"}, []string{"GRUB"}},
		{vol.FormatOptions{ClusterSize: 8192, Features: "extra_attr"}, []string{"pages", "GRUB"}},
	} {
		p, _ := mustPlan(t, vol.Target{Size: gib}, c.o)
		ok := slices.EqualFunc(p.Warnings, c.says, strings.Contains)
		if !ok {
			t.Errorf("%s: warns %q", showOptions(c.o), p.Warnings)
		}
	}
}

// TestPlanSeeds: UUIDs and versions of seeds that are close differ, and are of
// the right form.
func TestPlanSeeds(t *testing.T) {
	ids, versions := map[uuid.UUID]bool{}, map[uint64]bool{}
	for seed := range uint64(10_000) {
		id, v := uuidFrom(seed), versionFrom(seed)
		if id.Version() != 4 || id.Variant() != uuid.RFC4122 || ids[id] {
			t.Fatalf("seed %d gives UUID %s", seed, id)
		}
		if v == 0 || v >= 1<<31 || v%2 == 0 {
			t.Fatalf("seed %d gives version %d", seed, v)
		}
		ids[id], versions[v] = true, true
	}
	if len(versions) < 9_990 {
		t.Errorf("%d versions of 10000 seeds", len(versions))
	}
}

// TestPlanOverOld: what is there does not change the plan, nor is it read.
func TestPlanOverOld(t *testing.T) {
	old := dev.NewMem(64 * mib)
	a, _ := mustPlan(t, vol.Target{Size: 64 * mib}, vol.FormatOptions{})
	b, _ := mustPlan(t, vol.Target{Size: 64 * mib, Old: old}, vol.FormatOptions{})
	if a.ID != b.ID || len(a.Steps) != len(b.Steps) {
		t.Error("the plan depends on what is there")
	}
}
