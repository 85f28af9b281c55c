package lfs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// scanned is a mount-scan; it changes nothing, as the suite holds.
func scanned(t testing.TB, d dev.Device, o vol.ScanOptions) *vol.Scan {
	t.Helper()
	s, err := mountScan(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reasons are the slugs of why a volume does not mount cleanly, each once, in
// order of name.
func reasons(t testing.TB, s *vol.Scan) string {
	t.Helper()
	var out []string
	for _, r := range s.Reasons {
		p := vol.Find(Problems(), r.Code)
		if p == nil || r.Message == "" {
			t.Errorf("reason %+v is none of the catalogue", r)
			continue
		}
		out = append(out, p.Slug)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// scanCase is a damage and what a mount makes of it, as Linux 6.1 does.
type scanCase struct {
	name      string
	do        func(l *lab)
	mountable string
	dirty     bool
	reasons   string
}

func scanCases() []scanCase {
	set := func(off int64, v uint32) func(l *lab) { return func(l *lab) { l.put32(off, v) } }
	flag := func(bit uint32) func(l *lab) { return func(l *lab) { l.put32(cpFlags, cpUmount|bit) } }
	root := func(fn func(n nodeBlock)) func(l *lab) { return func(l *lab) { l.root.editInode(fn) } }
	super := func(fn func(b superblock)) func(l *lab) { return func(l *lab) { l.editSupers(fn) } }
	return []scanCase{
		{"clean", func(*lab) {}, "rw", false, ""},
		{"first superblock", func(l *lab) { l.editSuper(0, func(b superblock) { clear(b) }) }, "rw", false, "sb-copy"},
		{"second superblock", func(l *lab) { l.editSuper(1, func(b superblock) { clear(b) }) }, "rw", false, "sb-copy"},
		{"superblocks differ", func(l *lab) { l.editSuper(1, func(b superblock) { b[sbVersion] ^= 1 }) }, "rw", false, "sb-differ"},
		{"both superblocks", super(func(b superblock) { b.put32(sbLogSegment, 10) }), "no", false, "sb-segment-size"},
		{"unknown feature", super(func(b superblock) { b.put32(sbFeatures, 1<<30) }), "rw", false, "sb-features"},
		{"stopped", super(func(b superblock) { b[sbStopReasons] = 1 }), "rw", true, "sb-stop-reason"},
		{"errors", super(func(b superblock) { b[sbErrors] = 1 }), "rw", true, "sb-errors"},
		{"segments", super(func(b superblock) { b.put32(sbSegments, b.u32(sbSegments)+1) }), "rw", false, "sb-segment-end"},
		{"payload", super(func(b superblock) { b.put32(sbCPPayload, 2) }), "no", false, "sb-payload-pack"},
		{"large payload", super(func(b superblock) { b.put32(sbCPPayload, linuxPayload) }), "no", false, "sb-payload sb-payload-pack"},
		{"read-only", super(func(b superblock) { b.put32(sbFeatures, featReadOnly) }), "ro", false, ""},
		{"zoned", super(func(b superblock) { b.put32(sbFeatures, featZoned) }), "no", false, "multi-device"},
		{"short", func(l *lab) { l.cut(l.d.Size() - l.g.SegmentBytes()) }, "rw", false, "volume-beyond-device"},
		{"very short", func(l *lab) { l.cut(l.g.BlockOff(l.g.SSA)) }, "no", false, "volume-beyond-device"},
		{"root cut off", func(l *lab) { l.cut(l.g.BlockOff(l.g.Main)) }, "no", false, "root-lost volume-beyond-device"},
		{"empty pack", func(l *lab) { l.edit(l.g.PackBlock(1), func(b []byte) { clear(b) }) }, "rw", false, "cp-blank"},
		{"one pack", func(l *lab) { l.edit(l.g.PackBlock(1), func(b []byte) { b[0] ^= 1 }) }, "rw", false, "cp-checksum"},
		{"no pack", func(l *lab) {
			for i := range packCount {
				l.edit(l.g.PackBlock(i), func(b []byte) { b[0] ^= 1 })
			}
		}, "no", false, "cp-checksum cp-none"},
		{"layout", set(cpNatBitmap, 128), "no", false, "cp-layout"},
		{"check wanted", flag(cpFsck), "rw", true, "cp-fsck"},
		{"error", flag(cpError), "no", true, "cp-error"},
		{"quota", flag(cpQuotaFsck), "rw", true, "cp-quota"},
		{"disabled", flag(cpDisabled), "rw", true, "cp-disabled"},
		{"resize", flag(cpResize), "rw", true, "cp-resize"},
		{"unknown flag", flag(1 << 25), "rw", false, "cp-flags"},
		{"old bitmap", func(l *lab) {
			l.editPack(func(c checkpoint) { c.put32(cpFlags, cpUmount|cpLargeNat) }, 0, 0)
		}, "no", false, "cp-layout"},
		{"journal", func(l *lab) { l.editSummary(hotData, func(b summaryBlock) { b.journal().putCount(999) }) }, "no", false, "journal"},
		{"journal segment", func(l *lab) {
			l.editSummary(coldData, func(b summaryBlock) { b.journal().putSegment(0, 1<<20) })
		}, "no", false, "journal-entry"},
		{"bits of NAT", (*lab).crowd, "no", false, "cp-layout"},
		{"late summaries", set(cpStartSum, maxStartSum+1), "no", false, "cp-layout"},
		{"no reserve", set(cpReserved, 0), "no", false, "cp-reserve"},
		{"nothing but reserve", set(cpReserved, 0xFFFFFFFF), "no", false, "cp-reserve"},
		{"users", func(l *lab) { l.editPack(func(c checkpoint) { c.put64(cpUserBlocks, 3) }, 0, 0) }, "no", false, "cp-user-blocks"},
		{"allocation", func(l *lab) { l.editPack(func(c checkpoint) { c[cpAllocTypes] = 2 }, 0, 0) }, "no", false, "log-alloc"},
		{"log", set(cpNodeSegments, 1<<30), "no", false, "log-place"},
		{"log twice", func(l *lab) { l.put32(cpDataSegments+8, l.logSegment(hotNode)) }, "no", false, "log-place"},
		{"log used", func(l *lab) { l.editPack(func(c checkpoint) { c.putLog(warmData, l.logSegment(warmData), 0) }, 0, 0) }, "no", false, "log-place"},
		{"nodes", set(cpValidNodes, 5), "no", false, "cp-counts"},
		{"too many nodes", set(cpValidNodes, 0xFFFFFFFF), "no", false, "cp-counts"},
		{"blocks", func(l *lab) { l.editPack(func(c checkpoint) { c.put64(cpValidBlocks, 5) }, 0, 0) }, "no", false, "cp-counts"},
		{"segment count", func(l *lab) { l.editSIT(l.logSegment(warmData), func(e sitEntry) { e.put(warmData, 99) }) }, "no", false, "cp-counts sit-count"},
		{"segment type", func(l *lab) { l.editSIT(l.freeSegment(), func(e sitEntry) { e.put(7, 0) }) }, "no", false, "sit-type"},
		{"segment of nodes", func(l *lab) { l.editSIT(l.logSegment(warmData), func(e sitEntry) { e.put(warmNode, e.count()) }) }, "no", false, "cp-counts"},
		{"unwritten node", func(l *lab) { l.editNAT(l.at["empty"].ino, func(e natEntry) { e.put(0, e.ino(), newAddr) }) }, "no", false, "nat-address"},
		{"root type", root(func(n nodeBlock) { n.put16(inodeMode, modeFile) }), "no", false, "root-lost"},
		{"root links", root(func(n nodeBlock) { n.put32(inodeLinks, 0) }), "no", false, "root-lost"},
		{"root footer", root(func(n nodeBlock) { n.put32(len(n)-footerNid, 9) }), "no", false, "root-lost"},
		{"root in the journal", func(l *lab) {
			l.editSummary(hotData, func(b summaryBlock) {
				_, e := b.journal().nat(0)
				e.put(0, rootIno, 1<<31)
			})
		}, "no", false, "root-lost"},
		{"left mounted", func(l *lab) { l.leave(cpCRCRecovery) }, "rw", true, "not-unmounted"},
		{"log to replay", func(l *lab) { l.sync(newAddr, 4) }, "rw", true, "replay"},
		{"bad log", func(l *lab) { l.sync(77, 4) }, "rw", true, "replay replay-address"},
		{"orphans", func(l *lab) { l.list() }, "rw", true, "orphans"},
		{"bad orphan", func(l *lab) { l.list(0x7FFFFFFF) }, "no", true, "orphan-invalid orphans"},
		{"orphan count", func(l *lab) {
			where := l.list()
			_, err := l.d.WriteAt([]byte{0xFF, 0xFF}, where.Range.End()-orphanCount)
			l.must(err)
		}, "no", true, "orphan-count orphans"},
	}
}

// TestMountScan: what mounts, what does not, and why.
func TestMountScan(t *testing.T) {
	for _, c := range scanCases() {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "")
			c.do(l)
			s := scanned(t, l.d, vol.ScanOptions{})
			if got := reasons(t, s); s.Mountable != c.mountable || s.Dirty != c.dirty || got != c.reasons {
				t.Errorf("mountable %s, dirty %v, reasons %q; should be %s, %v, %q: %+v", s.Mountable, s.Dirty, got, c.mountable, c.dirty, c.reasons, s.Reasons)
			}
		})
	}
}

// TestMountScanEncoding: Linux knows one encoding of names.
func TestMountScanEncoding(t *testing.T) {
	l := newLab(t, "casefold")
	l.editSupers(func(b superblock) { b.put16(sbEncoding, 0) })
	if s := scanned(t, l.d, vol.ScanOptions{}); s.Mountable != "no" || reasons(t, s) != "sb-encoding" {
		t.Errorf("says %+v", s)
	}
	if _, err := open(t.Context(), l.d, vol.OpenOptions{}); !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("open: %v", err)
	}
}

// TestMountScanChecksums: of a volume that has such.
func TestMountScanChecksums(t *testing.T) {
	l := newLab(t, labFeatures)
	l.edit(l.root.addr, func(b []byte) { b[inodeUID] ^= 1 })
	if s := scanned(t, l.d, vol.ScanOptions{}); s.Mountable != "no" || reasons(t, s) != "inode-checksum" {
		t.Errorf("says %+v", s)
	}
}

// TestMountScanSpace: what is free, what reading took, and what is left out
// with Quick.
func TestMountScanSpace(t *testing.T) {
	l := newLab(t, "")
	field := func(s *vol.Scan, name string) any {
		for _, f := range s.Fields {
			if f.Name == name {
				return f.Value
			}
		}
		return nil
	}
	s := scanned(t, l.d, vol.ScanOptions{Readahead: 32 << 10})
	free := uint64(l.cp.freeSegments())
	if !s.Counted || s.FreeClusters != free*segmentBlocks || s.FreeExtents == 0 || s.LargestFreeExtent == 0 || s.LargestFreeExtent > s.FreeClusters {
		t.Errorf("free are %+v, of %d segments", s, free)
	}
	if s.Clusters != l.g.MainBlocks() || s.ClusterSize != 4096 || s.Label != "LAB" || s.Size != l.d.Size() || s.Load.Readahead != 32<<10 || s.Load.Bytes == 0 {
		t.Errorf("says %+v", s)
	}
	if field(s, "superblock") != int64(1) || field(s, "checkpoint_pack") != uint32(1) || field(s, "checkpoint_version") != l.cp.version() ||
		field(s, "free_segments") != l.cp.freeSegments() || field(s, "replay_nodes") != uint32(0) || field(s, "orphans") != 0 {
		t.Errorf("fields are %+v", s.Fields)
	}
	if s := scanned(t, l.d, vol.ScanOptions{Quick: true}); s.Counted || s.Load.Bytes > 0 || s.FreeClusters > 0 {
		t.Errorf("quick says %+v", s)
	}
	// Segments that a log to be replayed is in are not free.
	l.sync(l.g.SegmentBlock(l.freeSegment())+5, 3)
	if s := scanned(t, l.d, vol.ScanOptions{}); s.FreeClusters != (free-1)*segmentBlocks || field(s, "replay_nodes") != uint32(3) {
		t.Errorf("with a log %d are free, should be %d", s.FreeClusters, (free-1)*segmentBlocks)
	}
	// The second pack counts where the first is lost.
	l = newLab(t, "")
	l.edit(l.g.PackBlock(0), func(b []byte) { b[0] ^= 1 })
	l.editSuper(0, func(b superblock) { clear(b) })
	if s := scanned(t, l.d, vol.ScanOptions{Quick: true}); field(s, "superblock") != int64(2) || field(s, "checkpoint_pack") != uint32(2) {
		t.Errorf("fields are %+v", s.Fields)
	}
}

// TestMountScanDevices: of a volume on several devices the geometry is told, and
// no more is read.
func TestMountScanDevices(t *testing.T) {
	l := newLab(t, "")
	l.editSupers(func(b superblock) {
		copy(b[sbDevices:], "/dev/sdb1")
		b.put32(sbDevices+devicePathLen, l.g.Segments)
	})
	s := scanned(t, l.d, vol.ScanOptions{})
	if s.Mountable != "no" || s.Counted || s.Clusters != l.g.MainBlocks() || len(s.Reasons) != 1 || !strings.Contains(s.Reasons[0].Message, "/dev/sdb1 has 31 segments") {
		t.Errorf("says %+v", s)
	}
}

// TestMountScanBlocks: large blocks are for machines with large pages.
func TestMountScanBlocks(t *testing.T) {
	l := fillLab(newBuilder(t, 512<<20, vol.FormatOptions{ClusterSize: 16384, Features: labFeatures}))
	s := scanned(t, l.d, vol.ScanOptions{Readahead: 4096})
	if s.Mountable != "no" || s.Dirty || reasons(t, s) != "sb-page-size" || !s.Counted || s.Load.Readahead != 16384 {
		t.Errorf("says %+v", s)
	}
}

// TestMountScanOthers: what is no F2FS, and what fails.
func TestMountScanOthers(t *testing.T) {
	for _, size := range []int64{1, 4096, 1 << 20} {
		if _, err := mountScan(t.Context(), dev.NewMem(size), vol.ScanOptions{}); !errors.Is(err, vol.ErrNotVolume) {
			t.Errorf("%d zeros: %v", size, err)
		}
		if _, err := open(t.Context(), dev.NewMem(size), vol.OpenOptions{}); !errors.Is(err, vol.ErrNotVolume) {
			t.Errorf("open %d zeros: %v", size, err)
		}
	}
	l := newLab(t, "")
	l.editSupers(func(b superblock) { b.put32(sbLogBlock, 99) })
	if _, err := open(t.Context(), l.d, vol.OpenOptions{}); !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("open a damaged one: %v", err)
	}
}
