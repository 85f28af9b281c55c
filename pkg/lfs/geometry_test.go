package lfs

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// goodSuper is the superblock of a volume of 100 MiB with a checksum.
func goodSuper(t testing.TB, features string) superblock {
	t.Helper()
	p, g := mustPlan(t, vol.Target{Size: 100 * mib}, vol.FormatOptions{Features: features})
	return superblock((&planned{Plan: p, g: g}).read(superOffset, superLen))
}

// TestParseFaults: each field that cannot be is found, and named.
func TestParseFaults(t *testing.T) {
	good := goodSuper(t, "")
	for _, c := range []struct {
		slug string
		off  int64
		v    uint32
	}{
		{"sb-magic", sbMagic, 0xF2F52011}, {"sb-magic", sbMagic, 0},
		{"sb-block-size", sbLogBlock, 11}, {"sb-block-size", sbLogBlock, 15}, {"sb-block-size", sbLogBlock, 1 << 31},
		{"sb-segment-size", sbLogSegment, 8}, {"sb-segment-size", sbLogSegment, 41},
		{"sb-sector-size", sbLogSector, 8}, {"sb-sector-size", sbLogSector, 13}, {"sb-sector-size", sbLogSectorsBlock, 4},
		{"sb-block-count", sbBlocks + 4, 2}, {"sb-segment-count", sbBlocks, 100}, {"sb-segment-count", sbSegments, 8},
		{"sb-segment-count", sbSegments, 0xFFFFFFFF}, {"sb-segment-count", sbSegments, 51}, {"sb-segment-count", sbSegments, 48},
		{"sb-section-size", sbSegsPerSec, 0}, {"sb-section-size", sbSegsPerSec, 0x80000000},
		{"sb-section-count", sbSections, 0}, {"sb-section-count", sbSections, 41}, {"sb-section-count", sbSegmentsMain, 43}, {"sb-section-count", sbSegsPerSec, 2},
		{"sb-zone-size", sbSecsPerZone, 0}, {"sb-zone-size", sbSecsPerZone, 0xFFFFFFFF},
		{"sb-area-size", sbSegmentsCP, 0}, {"sb-area-size", sbSegmentsCP, 3}, {"sb-area-size", sbSegmentsSIT, 0}, {"sb-area-size", sbSegmentsSIT, 3},
		{"sb-area-size", sbSegmentsNAT, 0}, {"sb-area-size", sbSegmentsNAT, 0xFFFFFFFF}, {"sb-area-place", sbSegmentsNAT, 0xFFFFFFFE},
		{"sb-area-place", sbSegmentsSSA, 0x80000000}, {"sb-payload", sbCPPayload, 511},
		{"sb-area-place", sbSegment0, 0}, {"sb-area-place", sbSegment0, 1}, {"sb-area-place", sbSegment0, 511},
		{"sb-area-place", sbCP, 513}, {"sb-area-place", sbSIT, 0}, {"sb-area-place", sbNAT, 0xFFFFFFFF}, {"sb-area-place", sbSSA, 1}, {"sb-area-place", sbMain, 2},
		{"sb-inode-number", sbRootIno, 4}, {"sb-inode-number", sbNodeIno, 0}, {"sb-inode-number", sbMetaIno, 1},
		{"sb-extensions", sbColdExtensions, 61}, {"sb-extensions", sbColdExtensions, 0xFFFFFFFF},
	} {
		b := bytes.Clone(good)
		superblock(b).put32(int(c.off), c.v)
		g, f := parseSuperblock(b)
		if f == nil || g != nil || f.slug != c.slug {
			t.Errorf("byte %d set to %#x: %+v, should be %s", c.off, c.v, f, c.slug)
		}
		if f != nil && f.Error() == "" {
			t.Errorf("%s says nothing", c.slug)
		}
	}
}

// TestParseRoom: SIT and SSA that are too small for the main area.
func TestParseRoom(t *testing.T) {
	p, g := mustPlan(t, vol.Target{Size: 200 * gib}, vol.FormatOptions{})
	good := superblock((&planned{Plan: p, g: g}).read(superOffset, superLen))
	for _, c := range []struct{ from, to int }{{sbSegmentsSIT, sbSegmentsNAT}, {sbSegmentsSSA, sbSegmentsNAT}} {
		b := superblock(bytes.Clone(good))
		n := b.u32(c.from) - 2
		b.put32(c.to, b.u32(c.to)+n)
		b.put32(c.from, 2)
		b.put32(sbNAT, b.u32(sbSIT)+b.u32(sbSegmentsSIT)*512)
		b.put32(sbSSA, b.u32(sbNAT)+b.u32(sbSegmentsNAT)*512)
		if n%2 != 0 {
			t.Fatalf("%d segments cannot be moved", n)
		}
		if _, f := parseSuperblock(b); f == nil || f.slug != "sb-area-size" || f.off != int64(c.from) {
			t.Errorf("field %d: %v", c.from, f)
		}
	}
}

// TestParseChecksum: with the feature a wrong checksum is a fault, but a field
// that cannot be is named first.
func TestParseChecksum(t *testing.T) {
	b := goodSuper(t, "sb_checksum")
	if !b.sumOK() {
		t.Fatal("the checksum is wrong")
	}
	b[sbLabel] ^= 1
	if _, f := parseSuperblock(b); f == nil || f.slug != "sb-checksum" || f.off != sbChecksum {
		t.Errorf("wrong checksum: %v", f)
	}
	b[sbLabel] ^= 1
	b.put32(sbChecksumOffset, 0)
	if _, f := parseSuperblock(b); f == nil || f.slug != "sb-checksum" || f.off != sbChecksumOffset {
		t.Errorf("wrong place: %v", f)
	}
	b.put32(sbRootIno, 9)
	if _, f := parseSuperblock(b); f == nil || f.slug != "sb-inode-number" {
		t.Errorf("wrong twice: %v", f)
	}
}

// TestParseDevices: of several devices the segments add up.
func TestParseDevices(t *testing.T) {
	b := goodSuper(t, "")
	set := func(i int, path string, segments uint32) {
		copy(b[sbDevices+deviceLen*i:], path)
		b.put32(sbDevices+deviceLen*i+devicePathLen, segments)
	}
	set(0, "/dev/sda", 40)
	set(1, "/dev/sdb", b.u32(sbSegments)-40)
	if g, f := parseSuperblock(b); f != nil || g.Devices != 2 {
		t.Errorf("two devices: %v, %v", g, f)
	}
	set(2, "/dev/sdc", 1)
	if _, f := parseSuperblock(b); f == nil || f.slug != "sb-devices" {
		t.Errorf("a segment too many: %v", f)
	}
}

// TestGeometry: where entries and blocks are.
func TestGeometry(t *testing.T) {
	for _, c := range []peerCase{{100 * mib, vol.FormatOptions{}}, {33 * gib, vol.FormatOptions{SegmentsPerSection: ptr(3), SectionsPerZone: ptr(2)}}, {tib, vol.FormatOptions{ClusterSize: 16384}}, {16 * tib, vol.FormatOptions{}}} {
		_, g := mustPlan(t, vol.Target{Size: c.size}, c.o)
		for _, segno := range []uint32{0, 1, 54, 55, 220, 221, g.MainSegments / 2, g.MainSegments - 1} {
			segno = min(segno, g.MainSegments-1)
			blk := g.SegmentBlock(segno)
			if g.SegmentOf(blk) != segno || g.SegmentOf(blk+511) != segno || g.IndexOf(blk+511) != 511 || !g.ValidMain(blk) || !g.ValidMain(blk+511) {
				t.Errorf("%s: segment %d starts at block %d", c, segno, blk)
			}
			first, second := g.SITBlock(segno, false), g.SITBlock(segno, true)
			if first < g.SIT || second != first+g.SITBlocks() || second >= g.NAT {
				t.Errorf("%s: the entry of segment %d is in blocks %d and %d", c, segno, first, second)
			}
			if index, slot := g.SITIndex(segno); int(index)*g.per().sitEntries()+slot != int(segno) {
				t.Errorf("%s: the entry of segment %d is number %d in block %d", c, segno, slot, index)
			}
			if ssa := g.SSABlock(segno); ssa != g.SSA+segno || ssa >= g.Main || g.SummaryOff(segno) != g.BlockOff(ssa) {
				t.Errorf("%s: the summary of segment %d is in block %d", c, segno, ssa)
			}
			if s := segno / g.SegsPerSec; g.SectionOf(segno) != s || g.ZoneOf(segno) != s/g.SecsPerZone {
				t.Errorf("%s: segment %d is in section %d, zone %d", c, segno, g.SectionOf(segno), g.ZoneOf(segno))
			}
		}
		for _, nid := range []uint32{0, 1, 454, 455, 455 * 512, g.NIDs() / 2, g.NIDs() - 1} {
			nid = min(nid, g.NIDs()-1)
			first, second := g.NATBlock(nid, false), g.NATBlock(nid, true)
			if first < g.NAT || second != first+512 || second >= g.SSA {
				t.Errorf("%s: the entry of node %d is in blocks %d and %d", c, nid, first, second)
			}
		}
		if g.NATAddr(511, false) != g.NAT+511 || g.NATSegments > 2 && g.NATAddr(512, false) != g.NAT+1024 {
			t.Errorf("%s: NAT is at %d, its 513th block at %d", c, g.NAT, g.NATAddr(512, false))
		}
		for _, blk := range []uint32{0, 1, g.Segment0, g.Main - 1, newAddr, compressAddr, uint32(min(g.MainEnd(), newAddr))} {
			if g.ValidMain(blk) {
				t.Errorf("%s: block %#x is in the main area of %d to %d", c, blk, g.Main, g.MainEnd())
			}
		}
		if r := g.BlockRange(2, 3); r.Off != 2*g.BlockSize || r.Len != 3*g.BlockSize {
			t.Errorf("%s: three blocks from 2 on are %v", c, r)
		}
	}
}

// TestPackedSummaries: with the feature several summary blocks share a block.
func TestPackedSummaries(t *testing.T) {
	p, plain := mustPlan(t, vol.Target{Size: 10 * gib}, vol.FormatOptions{ClusterSize: 16384})
	b := superblock((&planned{Plan: p, g: plain}).read(superOffset, superLen))
	b.put32(sbFeatures, featPackedSSA)
	g, f := parseSuperblock(b)
	if f != nil {
		t.Fatal(f)
	}
	if g.SummaryBytes != 4096 || g.SSABlock(5) != g.SSA+1 || g.SummaryOff(5) != g.BlockOff(g.SSA)+5*4096 {
		t.Errorf("summary of segment 5 is at %d, block %d of %d", g.SummaryOff(5), g.SSABlock(5), g.SSA)
	}
}

// bitwiseCRC is the checksum as its definition has it: a bit at a time.
func bitwiseCRC(crc uint32, b []byte) uint32 {
	for _, c := range b {
		crc ^= uint32(c)
		for range 8 {
			crc = crc>>1 ^ 0xEDB88320*(crc&1)
		}
	}
	return crc
}

func TestCRC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		b := make([]byte, r.IntN(300))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		seed, cut := r.Uint32(), r.IntN(len(b)+1)
		want := bitwiseCRC(seed, b)
		if got := crcUpdate(crcUpdate(seed, b[:cut]), b[cut:]); got != want {
			t.Fatalf("%x from %#x: %#x, should be %#x", b, seed, got, want)
		}
	}
	if got := ^crcUpdate(0xFFFFFFFF, []byte("123456789")); got != crc32.ChecksumIEEE([]byte("123456789")) || got != 0xCBF43926 {
		t.Errorf("the check value is %#x", got)
	}
}

// TestCheckpointSum: a checksum in the middle of the block covers what is
// behind it, too, and one outside is none.
func TestCheckpointSum(t *testing.T) {
	c := make(checkpoint, 4096)
	for i := range c {
		c[i] = byte(i * 7)
	}
	for off, ok := range map[uint32]bool{192: true, 4092: true, 1000: true, 191: false, 0: false, 4093: false, 1 << 31: false, 0xFFFFFFFF: false} {
		c.put32(cpChecksumOffset, off)
		if _, got := c.checksumPlace(); got != ok {
			t.Errorf("offset %d: %v", off, got)
		}
		if !ok {
			if c.sumOK() || c.sum() != 0 {
				t.Errorf("offset %d has a checksum", off)
			}
			continue
		}
		c.putSum()
		if !c.sumOK() || c.sum() != bitwiseCRC(bitwiseCRC(superMagic, c[:off]), c[off+4:]) {
			t.Errorf("offset %d: the checksum is %#x", off, c.sum())
		}
		for _, at := range []int{0, 100, int(off), 4095} {
			c[at] ^= 1
			if c.sumOK() {
				t.Errorf("offset %d: byte %d is not covered", off, at)
			}
			c[at] ^= 1
		}
	}
}

// TestInodeSum: all of an inode is covered but the field itself.
func TestInodeSum(t *testing.T) {
	n := make(nodeBlock, 4096)
	for i := range n {
		n[i] = byte(i * 13)
	}
	seed := inodeSeed(make([]byte, 16))
	with := binary.LittleEndian.AppendUint32(nil, n.ino())
	with = binary.LittleEndian.AppendUint32(with, n.u32(inodeGen))
	with = append(with, n...)
	clear(with[8+inodeChecksum:][:4])
	sum := inodeSum(seed, n)
	if want := bitwiseCRC(bitwiseCRC(0xFFFFFFFF, make([]byte, 16)), with); sum != want {
		t.Errorf("%#x, should be %#x", sum, want)
	}
	for at := range n {
		n[at] ^= 0x10
		if covered := inodeSum(seed, n) != sum; covered == (at >= inodeChecksum && at < inodeChecksum+4) {
			t.Errorf("byte %d is covered: %v", at, covered)
		}
		n[at] ^= 0x10
	}
}

// FuzzSuperblock: whatever the bytes are, there is a fault or a geometry in
// which all that is computed stays in its area.
func FuzzSuperblock(f *testing.F) {
	for _, features := range []string{"", "sb_checksum", "ro"} {
		f.Add([]byte(goodSuper(f, features)), uint16(0), uint32(0))
		f.Add([]byte(goodSuper(f, features)), uint16(sbSegmentsNAT), uint32(0xFFFFFFFE))
	}
	f.Fuzz(func(t *testing.T, raw []byte, off uint16, v uint32) {
		b := make(superblock, superLen)
		copy(b, raw)
		if off <= superLen-4 {
			b.put32(int(off), v)
		}
		g, fault := parseSuperblock(b)
		if (g == nil) == (fault == nil) {
			t.Fatalf("%v and %v", g, fault)
		}
		if fault != nil {
			if fault.slug == "" || fault.detail == "" || fault.len <= 0 || fault.off < 0 || fault.off+fault.len > superLen {
				t.Fatalf("%+v", fault)
			}
			return
		}
		last := g.MainSegments - 1
		switch {
		case g.VolumeBytes() < 0 || g.MainEnd() > g.Blocks || g.MainEnd() > 1<<32:
			t.Fatalf("main ends at %d of %d", g.MainEnd(), g.Blocks)
		case g.SITBlock(last, true) >= g.NAT || g.NATBlock(g.NIDs()-1, true) >= g.SSA:
			t.Fatalf("SIT reaches to %d, NAT to %d", g.SITBlock(last, true), g.NATBlock(g.NIDs()-1, true))
		case !g.ReadOnly() && g.SSABlock(last) >= g.Main:
			t.Fatalf("SSA reaches to %d", g.SSABlock(last))
		case uint64(g.SegmentBlock(last))+511 != g.MainEnd()-1:
			t.Fatalf("the last segment starts at %d", g.SegmentBlock(last))
		case g.ZoneOf(last) > last:
			t.Fatalf("the last zone is %d", g.ZoneOf(last))
		}
		superFields(&superCopy{raw: b, g: g})
	})
}

// What follows is asked for by tests alone.

// ZoneOf is the zone of a segment.
func (g *Geometry) ZoneOf(segno uint32) uint32 { return segno / g.SegsPerSec / g.SecsPerZone }

// SITBlock is where the entry of a segment is, in copy 0 or 1.
func (g *Geometry) SITBlock(segno uint32, second bool) uint32 {
	index, _ := g.SITIndex(segno)
	return g.SITAddr(index, second)
}

// NATBlock is where the entry of a node is, in copy 0 or 1.
func (g *Geometry) NATBlock(nid uint32, second bool) uint32 {
	index, _ := g.NATIndex(nid)
	return g.NATAddr(index, second)
}

// SSABlock is the block that the summary block of a segment is in.
func (g *Geometry) SSABlock(segno uint32) uint32 {
	return uint32(g.SummaryOff(segno) / g.BlockSize)
}
