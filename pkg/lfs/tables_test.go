package lfs

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// odd is a device whose holes are in units of its own, as those of a host that
// knows nothing of our blocks.
type odd struct {
	dev.Device
	unit int64
}

func (o odd) NextData(off int64) dev.Range {
	b := make([]byte, o.unit)
	data := func(at int64) bool {
		part := b[:min(o.unit, o.Size()-at)]
		_, err := o.ReadAt(part, at)
		return err != nil || !dev.AllZero(part)
	}
	from := o.Device.NextData(off).Off / o.unit * o.unit
	for from < o.Size() && !data(from) {
		from = max(from+o.unit, o.Device.NextData(from+o.unit).Off/o.unit*o.unit)
	}
	end := from
	for end < o.Size() && data(end) {
		end += o.unit
	}
	return dev.Range{Off: off, Len: 1 << 62}.Intersect(dev.Range{Off: from, Len: min(end, o.Size()) - from})
}

// TestWholeBlocks: data around holes is whole blocks, wherever the volume and
// the holes begin, and none of it is left out.
func TestWholeBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		block := int64(4096) << rnd.IntN(3)
		start := rnd.Int64N(100000)
		mem := dev.NewMem(start + block*40)
		d, err := dev.Section(odd{mem, []int64{512, 1000, 4096, 5000}[rnd.IntN(4)]}, dev.Range{Off: start, Len: block * 40})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			change(t, d, rnd.Int64N(block*40), 1)
		}
		w := dev.WholeUnits{Device: d, Unit: block}
		for off := int64(0); off < d.Size(); off += block {
			r, plain := w.NextData(off), d.NextData(off)
			if r.Empty() != plain.Empty() {
				t.Fatalf("at %d: %v, and %v without blocks", off, r, plain)
			}
			if r.Empty() {
				continue
			}
			if r.Off%block != 0 || r.End()%block != 0 || r.Off < off || r.Off > plain.Off || r.End() < plain.End() {
				t.Fatalf("at %d: %v in blocks of %d, and %v without", off, r, block, plain)
			}
		}
	}
}

// TestLoadTables: what is loaded is what one entry after the other says, with
// copies of both kinds, journals, blocks of every size and small windows, on a
// volume that begins at an odd place of a file with holes.
func TestLoadTables(t *testing.T) {
	for block, size := range map[int64]int64{4096: 64 << 20, 8192: 200 << 20, 16384: 400 << 20} {
		l := fillLab(newBuilder(t, size, vol.FormatOptions{ClusterSize: block}))
		// Blocks that have an entry at their end, and nothing before it.
		per := uint32(l.g.per().natEntries())
		for k := uint32(3); k < 90; k += 3 {
			l.editNAT(k*per+per-1, func(e natEntry) { e.put(0, k*per+per-1, l.g.Main+k) })
		}
		l.scatter()
		mem := dev.NewMem(size + 12345)
		d, err := dev.Section(odd{mem, 1000}, dev.Range{Off: 12345, Len: size})
		if err != nil {
			t.Fatal(err)
		}
		copyDevice(t, d, l.d)
		for _, window := range []int64{0, -1, 4096, 12 << 10, 1 << 20} {
			s := stateOf(t, d)
			got, stats, err := s.loadTables(t.Context(), d, window)
			if err != nil || stats.Bytes == 0 {
				t.Fatalf("%+v, %v", stats, err)
			}
			l.sameTables(s, d, got)
		}
	}
}

// scatter moves every other block of SIT and NAT to the second copy, and leaves
// nonsense in the first.
func (m *builder) scatter() {
	sit, nat := m.g.SITBitmapBytes(), m.g.NATBitmapBytes()
	move := func(first, second uint32) {
		b := m.read(first)
		m.write(second, b)
		for i := range b {
			b[i] = 0xA5
		}
		m.write(first, b)
	}
	var sitBits, natBits []uint32
	for i := uint32(1); i < min(m.g.SITBlocks(), 8); i += 2 {
		move(m.g.SITAddr(i, false), m.g.SITAddr(i, true))
		sitBits = append(sitBits, i)
	}
	for i := uint32(0); i < 8; i += 2 {
		move(m.g.NATAddr(i, false), m.g.NATAddr(i, true))
		natBits = append(natBits, i)
	}
	m.editPack(func(c checkpoint) {
		for _, i := range sitBits {
			setMSB(c[cpBitmaps:cpBitmaps+sit], i)
		}
		for _, i := range natBits {
			setMSB(c[cpBitmaps+sit:cpBitmaps+sit+nat], i)
		}
	}, 0, 0)
}

// copyDevice copies what is not zeros, in small pieces.
func copyDevice(t testing.TB, to, from dev.Device) {
	t.Helper()
	_, err := dev.ReadRuns(t.Context(), from, []dev.Range{{Len: from.Size()}}, dev.ReadOptions{Holes: true}, func(r dev.Range, b []byte) error {
		const piece = 512
		for ; len(b) >= piece; b, r.Off = b[piece:], r.Off+piece {
			if dev.AllZero(b[:piece]) {
				continue
			}
			if _, err := to.WriteAt(b[:piece], r.Off); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stateOf reads what a checkpoint says.
func stateOf(t testing.TB, d dev.Device) *state {
	t.Helper()
	first, _, err := readSupers(d)
	if err != nil || first.g == nil {
		t.Fatal(err)
	}
	packs, err := readPacks(d, first.g)
	if err != nil {
		t.Fatal(err)
	}
	s, f, err := readState(d, first.g, choosePack(packs))
	if err != nil || f != nil {
		t.Fatal(f, err)
	}
	return s
}

func (m *builder) sameTables(s *state, d dev.Device, got *tables) {
	m.t.Helper()
	x := nodeIndex{got.nodes}
	for nid := range uint32(90 * m.g.per().natEntries()) {
		e, err := s.readNAT(d, nid)
		m.must(err)
		i := x.find(nid)
		if e.addr() == 0 && e.ino() == 0 {
			if i >= 0 {
				m.t.Errorf("node %d is free, and %+v", nid, x.nodes[i])
			}
			continue
		}
		if i < 0 || x.nodes[i].addr != e.addr() || x.nodes[i].ino != e.ino() {
			m.t.Errorf("node %d: %d in the index, should be of inode %d at %d", nid, i, e.ino(), e.addr())
		}
	}
	for segno := range m.g.MainSegments {
		used := m.used[segno]
		if int(got.sit.count[segno]) != len(used) || len(used) > 0 && int(got.sit.kind[segno]) != m.kind[segno] {
			m.t.Errorf("segment %d: %d blocks of type %d, should be %d of %d", segno, got.sit.count[segno], got.sit.kind[segno], len(used), m.kind[segno])
		}
		for i := range uint32(segmentBlocks) {
			if got.sit.valid.Used(segno*segmentBlocks+i) != used[i] {
				m.t.Fatalf("block %d of segment %d: in use is not %v", i, segno, used[i])
			}
		}
	}
	if len(got.sit.bad) > 0 {
		m.t.Errorf("found %+v", got.sit.bad)
	}
}

// TestScatteredIsClean: the check reads the copies that count.
func TestScatteredIsClean(t *testing.T) {
	l := newLab(t, "")
	l.scatter()
	if res := l.check(); len(res.Outcomes) > 0 {
		t.Errorf("found %q", found(res))
	}
}

// TestPluggedReads: SIT and NAT are read in large pieces, in order, and what is
// a hole is not read.
func TestPluggedReads(t *testing.T) {
	l := newLab(t, "")
	trace := devtest.NewTrace(l.d)
	s := stateOf(t, l.d)
	_, stats, err := s.loadTables(context.Background(), trace, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Readahead != 64<<10 || stats.Reads > 8 || stats.Bytes > 512<<10 {
		t.Errorf("it took %+v", stats)
	}
	end := int64(0)
	for _, o := range trace.Ops() {
		if o.Kind != devtest.Read {
			continue
		}
		if o.Range.Off < end {
			t.Errorf("%v is behind byte %d", o.Range, end)
		}
		end = o.Range.End()
	}
}

// TestJournalFirst: of two entries of the journal of NAT for the same node the
// first one counts.
func TestJournalFirst(t *testing.T) {
	l := newLab(t, "")
	l.editSummary(hotData, func(b summaryBlock) {
		j := b.journal()
		j.putCount(2)
		j.putNid(1, rootIno)
		_, e := j.nat(1)
		e.put(9, 7, 7)
	})
	if res := l.check(); len(res.Outcomes) > 0 {
		t.Errorf("found %q", found(res))
	}
}

// TestFreeSegments holds the count against one segment after the other.
func TestFreeSegments(t *testing.T) {
	l := fillLab(newBuilder(t, 256<<20, vol.FormatOptions{SegmentsPerSection: ptr(2)}))
	s := stateOf(t, l.d)
	tabs, _, err := s.loadTables(t.Context(), l.d, 0)
	if err != nil {
		t.Fatal(err)
	}
	taken := space.NewMap(l.g.MainSegments)
	taken.Set(l.freeSegment())
	got := s.freeSegments(tabs.sit, taken)
	var want freeSpace
	run := uint32(0)
	for segno := range l.g.MainSegments {
		if l.full[segno] || taken.Used(segno) {
			run = 0
			continue
		}
		want.segments++
		if run++; run == 1 {
			want.runs++
		}
		want.largest = max(want.largest, run)
		if segno%2 == 1 && run > 1 {
			want.sections++
		}
	}
	if got != want {
		t.Errorf("free are %+v, should be %+v", got, want)
	}
}

// TestNATBeyond: NAT may have room for more entries than numbers of 32 bits; what
// is behind the last one is nobody's.
func TestNATBeyond(t *testing.T) {
	l := newLab(t, "")
	s := *stateOf(t, l.d)
	g := *s.g
	g.NATSegments = 2 * (1<<32/455/segmentBlocks + 2)
	s.g = &g
	load := newTableLoader(&s)
	b := bytes.Repeat([]byte{1}, int(g.BlockSize))
	last := uint32((1<<32 - 1) / 455)
	load.natBlock(last+1, b)
	if n := len(load.t.nodes); n != 0 {
		t.Errorf("%d nodes are beyond the last one, the first is %d", n, load.t.nodes[0].nid)
	}
	load.natBlock(last, b)
	if n := load.t.nodes; uint32(len(n)) != g.NIDs()-last*455 || n[len(n)-1].nid != g.NIDs()-1 {
		t.Errorf("%d nodes are in the last block, up to %d", len(n), n[len(n)-1].nid)
	}
}
