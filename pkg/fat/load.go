package fat

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// loadStats is what loading the allocation map took.
type loadStats struct {
	bytes  int64 // read; holes do not count
	reads  int
	window int64 // bytes of readahead, 0 for none
	bad    uint32
}

// loadMap reads FAT number copy into a map: bit i is set where the entry of
// cluster i+2 is not free. window is that of dev.ReadRuns.
//
// It is the allocator lesson on loading: exfat_allocate_bitmap() took 41.7 s
// for the bitmap of a 4 TB card while it read sector by sector, each waiting
// for the one before, and 2.5 s with plugged readahead in the window that the
// device states. The FAT is FAT's bitmap, 32 times as long, so here it matters
// more: one run, read in windows, the next one under way while this one is
// decoded. What the image file says is a hole is free without being read, so
// the FAT of a fresh sparse image costs next to nothing.
func loadMap(ctx context.Context, d dev.Device, g *Geometry, copy int, window int64) (*space.Map, loadStats, error) {
	l := mapLoader{g: g, m: space.NewMap(g.Clusters), base: g.FatOff(copy)}
	var stats loadStats
	if g.Type == FAT12 {
		// Its entries cross bytes, and all of them are 6 KiB.
		b := make([]byte, g.entryBytes())
		if _, err := d.ReadAt(b, l.base); err != nil {
			return nil, stats, err
		}
		l.load12(b)
		return l.m, loadStats{bytes: int64(len(b)), reads: 1, bad: l.bad}, nil
	}
	entry := int64(g.Type) / 8
	run := dev.Range{Off: l.base + firstCluster*entry, Len: int64(g.Clusters) * entry}
	rs, err := dev.ReadRuns(ctx, wholeHoles{d}, []dev.Range{run}, dev.ReadOptions{Window: window, Holes: true}, l.piece)
	stats = loadStats{bytes: rs.Bytes, reads: rs.Reads, window: rs.Readahead, bad: l.bad}
	if err != nil {
		return nil, stats, err
	}
	return l.m, stats, nil
}

// wholeHoles is a device whose holes begin and end at sectors, so that none
// begins within an entry. Those of a volume at an odd offset in its file might.
type wholeHoles struct{ dev.Device }

func (w wholeHoles) NextData(off int64) dev.Range {
	r := w.Device.NextData(off)
	if r.Empty() {
		return r
	}
	const sector = 512
	start := max(off, r.Off/sector*sector)
	return dev.Range{Off: start, Len: min(vol.RoundUp(r.End(), sector), w.Size()) - start}
}

// mapLoader decodes pieces of a FAT into a map.
type mapLoader struct {
	g    *Geometry
	m    *space.Map
	base int64 // where the FAT starts
	bad  uint32
}

// piece takes the bytes r of the device; nil is a hole.
func (l *mapLoader) piece(r dev.Range, b []byte) error {
	if b == nil {
		return nil // the map starts out free
	}
	if l.g.Type == FAT32 {
		l.load32(uint32((r.Off-l.base)/4)-firstCluster, b)
	} else {
		l.load16(uint32((r.Off-l.base)/2)-firstCluster, b)
	}
	return nil
}

// Two entries of a FAT32 in a word.
const (
	pairMask = entryMask | entryMask<<32
	pairBad  = entryBad | entryBad<<32
	pairTop  = 1<<28 | 1<<60
	pairLow  = 1 | 1<<32
)

// load32 decodes FAT32 entries from unit u on, 64 at a time where they fill a
// word of the map.
func (l *mapLoader) load32(u uint32, b []byte) {
	words := l.m.Words()
	for ; u%64 != 0 && len(b) >= 4; u, b = u+1, b[4:] {
		l.entry(u, binary.LittleEndian.Uint32(b)&entryMask)
	}
	for ; len(b) >= 256; u, b = u+64, b[256:] {
		words[u/64] = l.word32((*[256]byte)(b))
	}
	for ; len(b) >= 4; u, b = u+1, b[4:] {
		l.entry(u, binary.LittleEndian.Uint32(b)&entryMask)
	}
}

func (l *mapLoader) entry(u, v uint32) {
	if v != entryFree {
		l.m.Set(u)
	}
	if v == entryBad {
		l.bad++
	}
}

// word32 is the word of the map for 64 entries. An entry plus the mask carries
// into bit 28 unless the entry is 0, which makes a bit of it without a branch;
// the difference from the mark of a bad cluster likewise. The bits of even and
// odd entries are collected in one half of a word each.
func (l *mapLoader) word32(b *[256]byte) uint64 {
	var halves uint64
	good := uint64(pairTop)
	for i := 31; i >= 0; i-- {
		v := binary.LittleEndian.Uint64(b[8*i:8*i+8]) & pairMask
		good &= (v ^ pairBad) + pairMask
		halves = halves<<1 | (v+pairMask)>>28&pairLow
	}
	if good != pairTop {
		for i := 0; i < 256; i += 4 {
			if binary.LittleEndian.Uint32(b[i:])&entryMask == entryBad {
				l.bad++
			}
		}
	}
	return spread(halves) | spread(halves>>32)<<1
}

// spread puts the low 32 bits of x into the even bits of a word.
func spread(x uint64) uint64 {
	x &= 1<<32 - 1
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// load16 decodes FAT16 entries from unit u on: there are 65524 at most.
func (l *mapLoader) load16(u uint32, b []byte) {
	for ; len(b) >= 2; u, b = u+1, b[2:] {
		l.entry(u, widen(FAT16, uint32(binary.LittleEndian.Uint16(b))))
	}
}

// load12 decodes a whole FAT12.
func (l *mapLoader) load12(b []byte) {
	for u := range l.g.Clusters {
		c := u + firstCluster
		v := uint32(binary.LittleEndian.Uint16(b[c*3/2:]))
		if c&1 == 1 {
			v >>= 4
		}
		l.entry(u, widen(FAT12, v))
	}
}

// fatsDiffer looks for an entry of a data cluster in which another FAT says
// something else than FAT number copy, and returns the byte of the device
// where it is, or -1. The reserved bits of FAT32 do not count.
func fatsDiffer(ctx context.Context, d dev.Device, g *Geometry, copy int) (int64, error) {
	from := int64(firstCluster) * int64(g.Type) / 8
	n := g.entryBytes() - from
	var mine []byte
	at := int64(-1)
	for k := range g.Fats {
		if k == copy {
			continue
		}
		shift := g.FatOff(copy) - g.FatOff(k)
		run := dev.Range{Off: g.FatOff(k) + from, Len: n}
		_, err := dev.ReadRuns(ctx, wholeHoles{d}, []dev.Range{run}, dev.ReadOptions{Holes: true}, func(r dev.Range, b []byte) (err error) {
			if at >= 0 {
				return nil
			}
			if b == nil {
				at, err = dataIn(d, dev.Range{Off: r.Off + shift, Len: r.Len}, g.Type)
				return err
			}
			if int64(cap(mine)) < r.Len {
				mine = make([]byte, r.Len)
			}
			mine = mine[:r.Len]
			if _, err := d.ReadAt(mine, r.Off+shift); err != nil {
				return err
			}
			if i := entriesDiffer(g.Type, mine, b); i >= 0 {
				at = r.Off + int64(i)
			}
			return nil
		})
		if err != nil || at >= 0 {
			return at, err
		}
	}
	return -1, nil
}

// entriesDiffer is the first byte in which two pieces of a FAT differ, or -1.
func entriesDiffer(t Type, a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		mask := byte(0xFF)
		if t == FAT32 && i%4 == 3 {
			mask = entryMask >> 24
		}
		if (a[i]^b[i])&mask != 0 {
			return i
		}
	}
	return -1
}

// dataIn looks for a byte other than zero in r, a range of a FAT, and returns
// where it is, or -1.
func dataIn(d dev.Device, r dev.Range, t Type) (int64, error) {
	var b, zeros []byte
	for !r.Empty() {
		data := d.NextData(r.Off).Intersect(r)
		if data.Empty() {
			return -1, nil
		}
		data.Len = min(data.Len, 1<<20)
		if b == nil {
			b, zeros = make([]byte, 1<<20), make([]byte, 1<<20)
		}
		p := b[:data.Len]
		if _, err := d.ReadAt(p, data.Off); err != nil {
			return -1, err
		}
		if i := entriesDiffer(t, p, zeros[:len(p)]); i >= 0 {
			return data.Off + int64(i), nil
		}
		r = dev.Range{Off: data.End(), Len: r.End() - data.End()}
	}
	return -1, nil
}
