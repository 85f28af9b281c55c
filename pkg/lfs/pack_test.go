package lfs

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestBitmapRoom: each of the three layouts of the version bitmaps takes what
// fits, and no more: 64 bytes for two segments of SIT or NAT.
func TestBitmapRoom(t *testing.T) {
	const room = (minBlock - cpBitmaps - 4) / 64 * 2 // segments, in the first block
	const block = minBlock / 64 * 2                  // segments, in one of the payload
	for _, c := range []struct {
		name     string
		flags    uint32
		sum      uint32 // where the checksum is
		payload  uint32
		sit, nat uint32 // segments that fit, and with two more of either do not
	}{
		{name: "one block", sit: room / 2, nat: room / 2},
		{name: "payload", payload: 1, sit: block, nat: room},
		{name: "payload of three", payload: 3, sit: 3 * block, nat: room},
		{name: "large NAT", flags: cpLargeNat, sum: cpBitmaps, payload: 2, sit: 2, nat: room + 2*block - 2},
		{name: "large NAT of old", flags: cpLargeNat, sum: minBlock - 4, payload: 2, sit: 100, nat: room + 2*block - 100},
		{name: "large NAT in one block", flags: cpLargeNat, sum: cpBitmaps, sit: room / 2, nat: room / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := func(sit, nat uint32) *state {
				g := &Geometry{BlockSize: minBlock, SITSegments: sit, NATSegments: nat, CPPayload: c.payload}
				cp := make(checkpoint, minBlock)
				cp.put32(cpFlags, c.flags)
				cp.put32(cpChecksumOffset, c.sum)
				cp.put32(cpSitBitmap, uint32(g.SITBitmapBytes()))
				cp.put32(cpNatBitmap, uint32(g.NATBitmapBytes()))
				cp.put32(cpStartSum, 1+c.payload)
				cp.put32(cpBlocks, segmentBlocks)
				s := &state{g: g, p: &pack{}, cp: cp, payload: c.payload}
				if s.checkSizes() != nil {
					return nil
				}
				if err := s.readVersions(dev.NewMem(minBlock * segmentBlocks)); err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := read(c.sit, c.nat)
			if s == nil {
				t.Fatal("what fits is refused")
			}
			if int64(len(s.sitVersions)) != s.g.SITBitmapBytes() || int64(len(s.natVersions)) != s.g.NATBitmapBytes() {
				t.Errorf("the bitmaps have %d and %d bytes", len(s.sitVersions), len(s.natVersions))
			}
			if read(c.sit+2, c.nat) != nil || read(c.sit, c.nat+2) != nil {
				t.Error("what does not fit is taken")
			}
		})
	}
}

// wideTables is a volume of whose SIT the bitmap takes almost two blocks, and
// that has nothing but its superblocks and a checkpoint.
func wideTables(t testing.TB, payload uint32) (*lab, checkpoint) {
	t.Helper()
	const sit, nat, ssa, main = 240, 2, 1, 100
	const segments = packCount + sit + nat + ssa + main
	b := make(superblock, superLen)
	for off, v := range map[int]uint32{
		sbMagic: superMagic, sbLogSector: minLogSector, sbLogSectorsBlock: minLogBlock - minLogSector, sbLogBlock: minLogBlock, sbLogSegment: logSegmentBlocks,
		sbSegsPerSec: 1, sbSecsPerZone: 1, sbSections: main, sbSegments: segments,
		sbSegmentsCP: packCount, sbSegmentsSIT: sit, sbSegmentsNAT: nat, sbSegmentsSSA: ssa, sbSegmentsMain: main,
		sbRootIno: rootIno, sbNodeIno: nodeIno, sbMetaIno: metaIno, sbCPPayload: payload,
	} {
		b.put32(off, v)
	}
	at := uint32(segmentBlocks)
	b.put32(sbSegment0, at)
	for _, a := range []struct{ off, segments int }{{sbCP, packCount}, {sbSIT, sit}, {sbNAT, nat}, {sbSSA, ssa}, {sbMain, main}} {
		b.put32(a.off, at)
		at += uint32(a.segments) * segmentBlocks
	}
	b.put64(sbBlocks, uint64(at))
	m := &builder{t: t, d: dev.NewMem(int64(at) * minBlock), sb: b}
	for _, off := range []int64{superOffset, superOffset + minBlock} {
		if _, err := m.d.WriteAt(b, off); err != nil {
			t.Fatal(err)
		}
	}
	g, f := parseSuperblock(b)
	if f != nil {
		t.Fatal(f)
	}
	m.g = g
	cp := make(checkpoint, minBlock)
	cp.put64(cpVersion, 1)
	cp.put32(cpFlags, cpUmount)
	cp.put32(cpBlocks, 1+payload+logCount+1)
	cp.put32(cpStartSum, 1+payload)
	cp.put32(cpSitBitmap, uint32(g.SITBitmapBytes()))
	cp.put32(cpNatBitmap, uint32(g.NATBitmapBytes()))
	cp.put32(cpChecksumOffset, minBlock-4)
	cp.putSum()
	m.write(g.PackBlock(0), cp)
	m.write(g.PackBlock(0)+cp.blocks()-1, cp)
	return &lab{builder: m}, cp
}

// TestWideTables: bitmaps that do not fit the pack are found, and a check and a
// mount scan go on to say so.
func TestWideTables(t *testing.T) {
	for payload, fits := range []bool{false, false, true} {
		l, _ := wideTables(t, uint32(payload))
		found := func(slug string, got []string) {
			for _, s := range got {
				if s == slug {
					if fits {
						t.Errorf("payload %d: found %q", payload, got)
					}
					return
				}
			}
			if !fits {
				t.Errorf("payload %d: found %q", payload, got)
			}
		}
		found("cp-layout", slugs(l.check()))
		s, err := mountScan(t.Context(), l.d, vol.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, r := range s.Reasons {
			codes = append(codes, r.Code)
		}
		found(vol.Find(Problems(), "cp-layout").Code, codes)
	}
}
