package exfat

import (
	"encoding/binary"
	"math/bits"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// bitmap is the allocation bitmap where it lies: in clusters of the heap, a
// chain that need not be in one piece ([exFAT] §7.1.3). Bit i stands for
// cluster i+2 ([exFAT] §7.1.5).
type bitmap struct {
	d     dev.Device
	g     *Geometry
	parts []bitmapPart
	win   *dev.Windows // of the part that was read last
	in    int
	words []byte // of win, from byte from of the bitmap on: see word
	from  int64
}

// bitmapPart is a run of the bitmap's clusters: bytes from … of the bitmap lie
// in r of the volume.
type bitmapPart struct {
	from int64
	r    dev.Range
}

// newBitmap is the bitmap in these clusters, as far as they go.
func newBitmap(d dev.Device, g *Geometry, es []space.Extent) *bitmap {
	b := &bitmap{d: d, g: g, in: -1}
	var pos int64
	for _, e := range es {
		r := g.ClusterRange(e.Start, e.Len)
		if r.Len = min(r.Len, g.BitmapBytes()-pos); r.Len <= 0 {
			break
		}
		b.parts = append(b.parts, bitmapPart{from: pos, r: r})
		pos += r.Len
	}
	return b
}

// runs are the bytes of the volume that the bitmap takes, in its order.
func (b *bitmap) runs() []dev.Range {
	rs := make([]dev.Range, len(b.parts))
	for i, p := range b.parts {
		rs[i] = p.r
	}
	return rs
}

// part is which part holds byte pos of the bitmap.
func (b *bitmap) part(pos int64) int {
	if b.in >= 0 {
		if p := b.parts[b.in]; pos >= p.from && pos < p.from+p.r.Len {
			return b.in
		}
	}
	for i, p := range b.parts {
		if pos < p.from+p.r.Len {
			return i
		}
	}
	return len(b.parts) - 1
}

// bytesAt is the bytes of the bitmap from pos on, at most n and at least one,
// good until the next call.
func (b *bitmap) bytesAt(pos, n int64) ([]byte, error) {
	b.words = nil // it may lie where this is read to
	i := b.part(pos)
	if i < 0 {
		return nil, dev.CheckRange("read", dev.Range{Off: pos, Len: 1}, 0)
	}
	p := b.parts[i]
	if i != b.in {
		b.win, b.in = dev.NewWindows(b.d, p.r), i
	}
	off := pos - p.from
	return b.win.At(off, int(max(1, min(n, p.r.Len-off, dev.WindowLen-off%dev.WindowLen))))
}

// peek is used for those who may ask at the same time: it keeps nothing.
func (b *bitmap) peek(c uint32) (bool, error) {
	one := bitmap{d: b.d, g: b.g, parts: b.parts, in: -1}
	return one.used(c)
}

// forget drops what is kept of the bitmap: it was written to.
func (b *bitmap) forget() { b.in, b.words = -1, nil }

// word is what the bitmap says of 64 units from unit u on, a multiple of 64.
func (b *bitmap) word(u uint32) (uint64, error) {
	pos := int64(u / 8)
	if i := pos - b.from; i >= 0 && i+8 <= int64(len(b.words)) {
		return binary.LittleEndian.Uint64(b.words[i:]), nil
	}
	p, err := b.bytesAt(pos, dev.WindowLen)
	if err != nil {
		return 0, err
	}
	if b.words, b.from = p, pos; len(p) >= 8 {
		return binary.LittleEndian.Uint64(p), nil
	}
	var last [8]byte // the end of the bitmap, or of one of its pieces
	copy(last[:], p)
	for n := len(p); n < 8 && pos+int64(n) < b.g.BitmapBytes(); n++ {
		if last[n], err = b.byteAt(pos + int64(n)); err != nil {
			return 0, err
		}
	}
	return binary.LittleEndian.Uint64(last[:]), nil
}

// byteAt is byte pos of the bitmap.
func (b *bitmap) byteAt(pos int64) (byte, error) {
	p, err := b.bytesAt(pos, 1)
	if err != nil {
		return 0, err
	}
	return p[0], nil
}

// used reports whether cluster c is marked as used.
func (b *bitmap) used(c uint32) (bool, error) {
	v, err := b.byteAt(int64(c-firstCluster) / 8)
	return v>>((c-firstCluster)%8)&1 != 0, err
}

// countUsed is how many clusters of e are marked as used.
func (b *bitmap) countUsed(e space.Extent) (uint32, error) {
	n := uint32(0)
	for u, end := uint64(e.Start-firstCluster), e.End()-firstCluster; u < end; {
		if u%8 == 0 && end-u >= 8 {
			p, err := b.bytesAt(int64(u/8), int64((end-u)/8))
			if err != nil {
				return n, err
			}
			n += countOnes(p)
			u += uint64(len(p)) * 8
			continue
		}
		v, err := b.byteAt(int64(u / 8))
		if err != nil {
			return n, err
		}
		k := min(8-u%8, end-u)
		n += uint32(bits.OnesCount8(v >> (u % 8) << (8 - k)))
		u += k
	}
	return n, nil
}

func countOnes(p []byte) uint32 {
	n := 0
	for ; len(p) >= 8; p = p[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(p))
	}
	for _, v := range p {
		n += bits.OnesCount8(v)
	}
	return uint32(n)
}

// mark sets or clears the bits of the clusters in e, in pieces.
func (b *bitmap) mark(e space.Extent, used bool) error {
	first, end := int64(e.Start-firstCluster), int64(e.End()-firstCluster)
	for pos := first / 8; pos*8 < end; {
		i := b.part(pos)
		if i < 0 {
			return dev.CheckRange("write", dev.Range{Off: pos, Len: 1}, 0)
		}
		p := b.parts[i]
		n := min((end+7)/8-pos, p.from+p.r.Len-pos, 1<<20)
		if n <= 0 {
			return dev.CheckRange("write", dev.Range{Off: pos, Len: 1}, 0)
		}
		buf := make([]byte, n)
		off := p.r.Off + pos - p.from
		if _, err := b.d.ReadAt(buf, off); err != nil {
			return err
		}
		setBits(buf, max(0, first-pos*8), min(n*8, end-pos*8), used)
		if _, err := b.d.WriteAt(buf, off); err != nil {
			return err
		}
		pos += n
	}
	b.forget()
	return nil
}

// setBits sets or clears bits from … end-1 of buf.
func setBits(buf []byte, from, end int64, used bool) {
	for from < end {
		if from%8 == 0 && end-from >= 8 {
			v := byte(0)
			if used {
				v = 0xFF
			}
			buf[from/8] = v
			from += 8
			continue
		}
		if used {
			buf[from/8] |= 1 << (from % 8)
		} else {
			buf[from/8] &^= 1 << (from % 8)
		}
		from++
	}
}
