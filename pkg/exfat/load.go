package exfat

import (
	"context"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// load reads the bitmap in its order and calls fn with it piece by piece, from
// byte pos of the bitmap on; b is nil for n bytes of a hole, which are zeros
// and were not read. window is that of dev.ReadRuns.
//
// It is the allocator lesson on loading: Linux' exfat_allocate_bitmap() took
// 41.7 s for the bitmap of a 4 TB card while it read sector by sector, each
// waiting for the one before, and 2.5 s with plugged readahead in the window
// that the device states, min(read_ahead_kb, max_sectors_kb). So the runs of the
// bitmap, which is mostly one, are read in windows, the next one under way
// while this one is decoded. Linux takes the bitmap for one piece; here it may
// be in several, as [exFAT] §7.1.3 allows, and the plug goes on across them.
func (b *bitmap) load(ctx context.Context, window int64, fn func(pos, n int64, p []byte)) (dev.ReadStats, error) {
	pos := int64(0)
	return dev.ReadRuns(ctx, b.d, b.runs(), dev.ReadOptions{Window: window, Holes: true}, func(r dev.Range, p []byte) error {
		fn(pos, r.Len, p)
		pos += r.Len
		return nil
	})
}

// wholeHoles is d with holes that begin and end at sectors, so that none begins
// within a word of the bitmap or an entry of the FAT. Those of a volume at an odd
// offset in its file might.
func wholeHoles(d dev.Device) dev.Device { return dev.WholeUnits{Device: d, Unit: minSector} }

// loadMap reads the bitmap into a map for the allocator: unit i is cluster i+2.
func (b *bitmap) loadMap(ctx context.Context, window int64) (*space.Map, dev.ReadStats, error) {
	m := space.NewMap(b.g.Clusters)
	stats, err := b.load(ctx, window, func(pos, _ int64, p []byte) { putWords(m.Words(), pos, p) })
	return m, stats, err
}

// putWords stores p, bytes of a bitmap from byte pos on, in the words of a map
// that is all free. [exFAT] §7.1.5: the lowest bit of the first byte comes
// first, which is the order of a map read as little-endian words.
func putWords(words []uint64, pos int64, p []byte) {
	for ; pos%8 != 0 && len(p) > 0; pos, p = pos+1, p[1:] {
		words[pos/8] |= uint64(p[0]) << (pos % 8 * 8)
	}
	w := words[pos/8:]
	for ; len(p) >= 8; w, p = w[1:], p[8:] {
		w[0] = binary.LittleEndian.Uint64(p)
	}
	for i, v := range p {
		w[0] |= uint64(v) << (i * 8)
	}
}

// put writes the bytes of the bitmap that hold the bits of the units in
// es from m, in which they have been changed: each stretch of it once, however
// many runs lie there. es is sorted.
func (b *bitmap) put(m *space.Map, es []space.Extent) error {
	for i := 0; i < len(es); {
		from, to := int64(es[i].Start)/8, (int64(es[i].End())+7)/8
		for i++; i < len(es) && int64(es[i].Start)/8 <= to+putGap; i++ {
			to = (int64(es[i].End()) + 7) / 8
		}
		if err := b.putBytes(m.Words(), from, to); err != nil {
			return err
		}
	}
	return nil
}

const (
	putGap   = 4 << 10 // bytes between two changes that one write may hold
	putPiece = 1 << 20 // bytes that are written at a time
)

// putBytes writes bytes from … to-1 of the bitmap from words.
func (b *bitmap) putBytes(words []uint64, from, to int64) error {
	buf := make([]byte, 0, min(to-from, putPiece)+8)
	for from < to {
		p := b.parts[b.part(from)]
		end := min(to, p.from+p.r.Len, from+putPiece)
		if end <= from {
			return dev.CheckRange("write", dev.Range{Off: from, Len: to - from}, p.from+p.r.Len)
		}
		buf = buf[:0]
		for w := from / 8; w*8 < end; w++ {
			buf = binary.LittleEndian.AppendUint64(buf, words[w])
		}
		if _, err := b.d.WriteAt(buf[from%8:][:end-from], p.r.Off+from-p.from); err != nil {
			return err
		}
		from = end
	}
	b.forget()
	return nil
}
