package fat

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// loadStats is what loading the allocation map took.
type loadStats struct {
	bytes  int64 // read; holes do not count
	reads  int
	window int64 // bytes of readahead, 0 for none
	bad    uint32
}

// loadMap reads FAT number fat into a map: bit i is set where the entry of
// cluster i+2 is not free. window is that of dev.ReadRuns.
//
// It is the allocator lesson on loading: exfat_allocate_bitmap() took 41.7 s
// for the bitmap of a 4 TB card while it read sector by sector, each waiting
// for the one before, and 2.5 s with plugged readahead in the window that the
// device states. The FAT is FAT's bitmap, 32 times as long, so here it matters
// more: one run, a window read ahead, decoded by all cores in pieces as they
// come. What the image file says is a hole is free without being read, so
// the FAT of a fresh sparse image costs next to nothing.
func loadMap(ctx context.Context, d dev.Device, g *Geometry, fat int, window int64) (*space.Map, loadStats, error) {
	l := &mapLoader{d: d, g: g, m: space.NewMap(g.Clusters), fat: fat, workers: runtime.GOMAXPROCS(0)}
	stats, err := l.load(ctx, window)
	return l.m, stats, err
}

// loadCompared is loadMap with so many workers that also compares the other FATs
// with the one it loads, and tells whether they say the same: the reserved bits of
// FAT32 do not count.
func loadCompared(ctx context.Context, d dev.Device, g *Geometry, fat, workers int) (*space.Map, loadStats, bool, error) {
	l := &mapLoader{d: d, g: g, m: space.NewMap(g.Clusters), fat: fat, compare: true, workers: workers}
	stats, err := l.load(ctx, 0)
	return l.m, stats, !l.differ.Load(), err
}

// mapLoader decodes a FAT into a map.
type mapLoader struct {
	d       dev.Device
	g       *Geometry
	m       *space.Map
	fat     int // which FAT
	compare bool
	workers int

	bad    atomic.Uint32 // clusters marked so
	differ atomic.Bool   // other FATs do, where compare is set
}

func (l *mapLoader) load(ctx context.Context, window int64) (loadStats, error) {
	// Entries 0 and 1, and all of a FAT12, whose entries cross bytes, and which
	// are 6 KiB: these are read at once.
	entry := int64(l.g.Type) / 8
	head := dev.Range{Off: l.g.FatOff(l.fat), Len: firstCluster * entry}
	if l.g.Type == FAT12 {
		head.Len = l.g.entryBytes()
	}
	b := make([]byte, head.Len)
	if _, err := l.d.ReadAt(b, head.Off); err != nil {
		return loadStats{}, err
	}
	if err := l.compareWith(head, b, make([]byte, head.Len)); err != nil {
		return loadStats{}, err
	}
	if l.g.Type == FAT12 {
		l.load12(b)
		return loadStats{bytes: head.Len, reads: 1, bad: l.bad.Load()}, nil
	}
	run := dev.Range{Off: head.End(), Len: int64(l.g.Clusters) * entry}
	workers := l.workers
	if l.g.Type != FAT32 { // it is small
		workers = 1
	}
	rs, err := dev.ReadRunsWide(ctx, wholeHoles(l.d), []dev.Range{run}, dev.ReadOptions{Window: window, Holes: true}, workers, l.worker)
	return loadStats{bytes: rs.Bytes, reads: rs.Reads, window: rs.Readahead, bad: l.bad.Load()}, err
}

// worker is one of those that share the FAT.
func (l *mapLoader) worker() func(dev.Range, []byte) error {
	var other []byte
	return func(r dev.Range, b []byte) error {
		if l.compare && int64(len(other)) < min(r.Len, comparePiece) {
			other = make([]byte, min(r.Len, comparePiece))
		}
		if err := l.compareWith(r, b, other); err != nil {
			return err
		}
		switch {
		case b == nil: // a hole: the map starts out free
		case l.g.Type == FAT32:
			l.load32(uint32((r.Off-l.g.FatOff(l.fat))/4)-firstCluster, b)
		default:
			l.load16(uint32((r.Off-l.g.FatOff(l.fat))/2)-firstCluster, b)
		}
		return nil
	}
}

// comparePiece is how much is read of another FAT at a time, in bytes.
const comparePiece = 256 << 10

// compareWith compares the other FATs with b, which is r of the one that is loaded,
// or with a hole, if that is asked for. It reads into buf.
func (l *mapLoader) compareWith(r dev.Range, b, buf []byte) error {
	if !l.compare || l.differ.Load() {
		return nil
	}
	for k := range l.g.Fats {
		if k == l.fat {
			continue
		}
		same, err := l.same(dev.Range{Off: r.Off + l.g.FatOff(k) - l.g.FatOff(l.fat), Len: r.Len}, b, buf)
		if err != nil {
			return err
		}
		if !same {
			l.differ.Store(true)
		}
	}
	return nil
}

// same tells whether the bytes r of the device are b, or zeros where b is nil.
func (l *mapLoader) same(r dev.Range, b, buf []byte) (bool, error) {
	if b == nil {
		at, err := dataIn(l.d, r, l.g.Type)
		return at < 0, err
	}
	for len(b) > 0 {
		n := min(len(b), len(buf))
		if _, err := l.d.ReadAt(buf[:n], r.Off); err != nil {
			return false, err
		}
		if entriesDiffer(l.g.Type, buf[:n], b[:n]) >= 0 {
			return false, nil
		}
		b, r.Off = b[n:], r.Off+int64(n)
	}
	return true, nil
}

// wholeHoles is d with holes that begin and end at sectors, so that none begins
// within an entry. Those of a volume at an odd offset in its file might.
func wholeHoles(d dev.Device) dev.Device { return dev.WholeUnits{Device: d, Unit: minSector} }

// Two entries of a FAT32 in a word.
const (
	pairMask = entryMask | entryMask<<32
	pairBad  = entryBad | entryBad<<32
	pairTop  = 1<<28 | 1<<60
	pairLow  = 1 | 1<<32
)

// load32 decodes FAT32 entries from unit u on, 64 at a time where they fill a
// word of the map. Words that are begun or ended by another piece are shared with
// whoever has that.
func (l *mapLoader) load32(u uint32, b []byte) {
	if u%64 != 0 {
		n := min(len(b)/4, int(64-u%64))
		l.part32(u, b[:4*n])
		u, b = u+uint32(n), b[4*n:]
	}
	words := l.m.Words()
	for len(b) >= freePiece {
		p := b[:freePiece]
		if !dev.AllZero(p) {
			for i := 0; i < freePiece; i += 256 {
				words[u/64+uint32(i/256)] = l.word32((*[256]byte)(p[i:]))
			}
		}
		u, b = u+freePiece/4, b[freePiece:]
	}
	for ; len(b) >= 256; u, b = u+64, b[256:] {
		words[u/64] = l.word32((*[256]byte)(b))
	}
	if len(b) >= 4 {
		l.part32(u, b)
	}
}

// freePiece is how many bytes of a FAT32 are looked at together, to see whether
// all of it is free; a multiple of 256.
const freePiece = 4096

// part32 decodes entries of one word.
func (l *mapLoader) part32(u uint32, b []byte) {
	var word uint64
	bad := uint32(0)
	for i := uint32(0); len(b) >= 4; i, b = i+1, b[4:] {
		switch binary.LittleEndian.Uint32(b) & entryMask {
		case entryFree:
			continue
		case entryBad:
			bad++
		}
		word |= 1 << ((u + i) % 64)
	}
	atomic.OrUint64(&l.m.Words()[u/64], word)
	l.bad.Add(bad)
}

func (l *mapLoader) entry(u, v uint32) {
	if v != entryFree {
		l.m.Set(u)
	}
	if v == entryBad {
		l.bad.Add(1)
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
				l.bad.Add(1)
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
// something else than FAT number fat, and returns the byte of the device
// where it is, or -1. The reserved bits of FAT32 do not count.
func fatsDiffer(ctx context.Context, d dev.Device, g *Geometry, fat int) (int64, error) {
	from := int64(firstCluster) * int64(g.Type) / 8
	n := g.entryBytes() - from
	var mine []byte
	at := int64(-1)
	for k := range g.Fats {
		if k == fat {
			continue
		}
		shift := g.FatOff(fat) - g.FatOff(k)
		run := dev.Range{Off: g.FatOff(k) + from, Len: n}
		_, err := dev.ReadRuns(ctx, wholeHoles(d), []dev.Range{run}, dev.ReadOptions{Holes: true}, func(r dev.Range, b []byte) (err error) {
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
	d = wholeHoles(d)
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
