package lfs

import (
	"context"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Bounds for looking at a volume of 64 MiB, whatever is in it.
const (
	looksTime  = 20 * time.Second
	looksAlloc = 512 << 20 // bytes, of all that was ever in use
)

// looks runs everything that reads a volume, and expects no more than that it
// comes back, soon, and does not take all memory.
func looks(t testing.TB, d dev.Device) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithTimeout(t.Context(), looksTime)
	defer cancel()
	probe(d)
	_, _ = describe(d)
	_, _ = mountScan(ctx, d, vol.ScanOptions{})
	readTree(ctx, t, d)
	readSettled(ctx, t, d)
	tryChanges(ctx, d)
	res, err := vol.Fsck(ctx, d, Driver(), vol.CheckOptions{}, nil, nil)
	if ctx.Err() != nil {
		t.Error("it takes too long")
	}
	if err == nil {
		for _, o := range res.Outcomes {
			if o.Message() == "" || o.Repaired != nil {
				t.Errorf("outcome %+v", o)
			}
		}
	}
	tryRepairs(ctx, t, d)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > looksAlloc {
		t.Errorf("it allocates %d bytes", n)
	}
}

// scribbler breaks a lab at random where it matters.
type scribbler struct {
	*lab
	rnd    *rand.Rand
	blocks []uint32 // that hold metadata
}

func newScribbler(l *lab, seed uint64) *scribbler {
	s := &scribbler{lab: l, rnd: rand.New(rand.NewPCG(seed, 7))}
	for i := range uint32(2) {
		s.blocks = append(s.blocks, i) // superblocks
		for k := range uint32(10) {
			s.blocks = append(s.blocks, l.g.PackBlock(int(i))+k)
		}
		for k := range uint32(2) {
			s.blocks = append(s.blocks, l.g.SITAddr(k, i == 1), l.g.NATAddr(k, i == 1))
		}
	}
	for _, segno := range slices.Sorted(maps.Keys(l.full)) {
		if !l.g.ReadOnly() {
			s.blocks = append(s.blocks, l.g.SSABlock(segno))
		}
	}
	for _, x := range l.all {
		if len(x.path()) > 40 && s.rnd.IntN(50) > 0 {
			continue // one of many alike
		}
		s.blocks = append(s.blocks, x.addr)
		for _, n := range x.nodes {
			s.blocks = append(s.blocks, n.addr)
		}
		if x.node.isDir() || x.kept() {
			for _, a := range x.pages {
				s.blocks = append(s.blocks, a)
			}
		}
	}
	return s
}

// scribble changes a few numbers of one block, and with luck makes its checksum
// right again, so that what comes after that is met.
func (s *scribbler) scribble() {
	blk := s.blocks[s.rnd.IntN(len(s.blocks))]
	s.edit(blk, func(b []byte) {
		for range 1 + s.rnd.IntN(4) {
			s.number(b)
		}
		if s.rnd.IntN(4) > 0 {
			s.sealAny(blk, b)
		}
	})
}

// number overwrites one number, with one that is random or at an edge.
func (s *scribbler) number(b []byte) {
	at := s.rnd.IntN(len(b)) &^ (1<<s.rnd.IntN(3) - 1)
	at = min(at, len(b)-8)
	edges := []uint64{0, 1, 2, 3, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 62, uint64(s.g.Main), s.g.MainEnd(), uint64(s.nid), s.rnd.Uint64()}
	v := edges[s.rnd.IntN(len(edges))]
	switch s.rnd.IntN(4) {
	case 0:
		b[at] ^= 1 << s.rnd.IntN(8)
	case 1:
		binary.LittleEndian.PutUint16(b[at:], uint16(v))
	case 2:
		binary.LittleEndian.PutUint32(b[at:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(b[at:], v)
	}
}

// sealAny makes the checksum right of what b is taken for.
func (s *scribbler) sealAny(blk uint32, b []byte) {
	switch {
	case blk < superBlocks:
		if sb := superblock(b[superOffset : superOffset+superLen]); sb.has(featSuperChecksum) {
			sb.put32(sbChecksum, superSum(sb))
		}
	case blk < s.g.SIT:
		if c := checkpoint(b); c.blocks() > 0 {
			if _, ok := c.checksumPlace(); ok {
				c.putSum()
			}
		}
	case blk >= s.g.Main:
		if n := nodeBlock(b); n.isInode() {
			s.seal(n)
		}
	}
}

// TestRandomDamage: whatever numbers the metadata holds, everything that reads
// a volume comes back.
func TestRandomDamage(t *testing.T) {
	rounds := 600
	if testing.Short() {
		rounds = 60
	}
	for _, features := range []string{"", labFeatures} {
		good := newLab(t, features)
		for seed := range rounds / 2 {
			l := *good
			b := *good.builder
			l.builder, b.d = &b, dev.NewMem(good.d.Size())
			copyDevice(t, b.d, good.d)
			s := newScribbler(&l, uint64(seed))
			for range 1 + s.rnd.IntN(5) {
				s.scribble()
			}
			if looks(t, b.d); t.Failed() {
				t.Fatalf("features %q, seed %d", features, seed)
			}
		}
	}
}
