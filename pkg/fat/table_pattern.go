package fat

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
)

// chainPattern is a FAT32 that begins at byte off in which each entry names the
// cluster that follows its own, with the reserved bits 0: what long runs are, but
// for their last entries. In a transaction it takes no memory, and is made anew,
// faster than memory is read, whenever it is needed.
type chainPattern struct{ off int64 }

// Fill is for dev.Pattern.
func (p chainPattern) Fill(b []byte, off int64) {
	c := uint32((off - p.off) / 4)
	if at := (off - p.off) % 4; at != 0 {
		b = b[copy(b, chainEntry(c)[at:]):]
		c++
	}
	// Four pairs at a time: this is what a large preallocation is made of.
	for pair := uint64(c+1) | uint64(c+2)<<32; len(b) >= 32; b, c, pair = b[32:], c+8, pair+8*pairLow {
		binary.LittleEndian.PutUint64(b[0:8], pair)
		binary.LittleEndian.PutUint64(b[8:16], pair+2*pairLow)
		binary.LittleEndian.PutUint64(b[16:24], pair+4*pairLow)
		binary.LittleEndian.PutUint64(b[24:32], pair+6*pairLow)
	}
	for ; len(b) > 0; c++ {
		b = b[copy(b, chainEntry(c)):]
	}
}

// chainEntry is the entry of cluster c in a run.
func chainEntry(c uint32) []byte { return binary.LittleEndian.AppendUint32(nil, c+1) }

// patternPages is how many pages of a piece a run in it must have for a pattern
// to pay: the last entry of each takes one of its own.
const (
	patternPage  = 4 << 10
	patternPages = 2
)

// patterned tells whether a piece is nothing but long runs, one after the other,
// so that all of it but their last entries is a chainPattern.
func (p *tablePiece) patterned(t Type) bool {
	if t != FAT32 || p.to-p.from < int64(len(p.parts))*patternPages*patternPage {
		return false
	}
	at := p.from
	for _, q := range p.parts {
		if q.free || q.from(t) != at {
			return false
		}
		at = q.to(t)
	}
	return true
}

// writePattern writes a piece that is patterned to a FAT, and is false where
// that does not hold zeros there, as free entries do: then their reserved bits
// are to be kept ([FAT] "FAT Data Structure"), which a pattern cannot.
func (w *tableWriter) writePattern(p tablePiece, fat int64) (done bool, err error) {
	r := dev.Range{Off: fat + p.from, Len: p.to - p.from}
	if zero, err := w.zeros(r); err != nil || !zero {
		return false, err
	}
	if err := dev.WritePattern(w.t.d, r, chainPattern{off: fat}); err != nil {
		return false, err
	}
	var last [4]byte
	for _, q := range p.parts {
		if q.i+q.n != q.link.n {
			continue
		}
		binary.LittleEndian.PutUint32(last[:], q.next&entryMask)
		if _, err := w.t.d.WriteAt(last[:], fat+q.to(FAT32)-4); err != nil {
			return false, err
		}
	}
	return true, nil
}

// zeros tells whether r of the device is known to hold zeros, which is looked at
// up to the first that is none.
func (w *tableWriter) zeros(r dev.Range) (bool, error) {
	for !r.Empty() {
		if isHole(w.t.d, r.Off, r.Len) {
			return true, nil
		}
		b := w.compare(r.Len)
		if _, err := w.t.d.ReadAt(b, r.Off); err != nil {
			return false, err
		}
		if !dev.AllZero(b) {
			return false, nil
		}
		r = dev.Range{Off: r.Off + int64(len(b)), Len: r.Len - int64(len(b))}
	}
	return true, nil
}

// compare is memory for looking at n bytes piece by piece: as much as one takes.
func (w *tableWriter) compare(n int64) []byte {
	const most = 64 << 10
	if w.other == nil {
		w.other = make([]byte, most)
	}
	return w.other[:min(most, n)]
}
