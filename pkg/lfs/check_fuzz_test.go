package lfs

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// fuzzLab is a volume that a fuzzer looks at many times a second.
func fuzzLab(t testing.TB, features string) *lab {
	t.Helper()
	m := newBuilder(t, 64<<20, vol.FormatOptions{Features: features, Label: "FUZZ"})
	m.few = true
	return fillLab(m)
}

// with looks at l with some blocks changed.
func (l *lab) with(t *testing.T, change func(d dev.Device)) {
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	change(txn)
	looks(t, txn)
}

// replace writes a block, cut or filled up to its length.
func (l *lab) replace(t *testing.T, d dev.Device, blk uint32, b []byte) {
	whole := make([]byte, l.g.BlockSize)
	copy(whole, b)
	if _, err := d.WriteAt(whole, l.g.BlockOff(blk)); err != nil {
		t.Fatal(err)
	}
}

// FuzzCheckpoint has any block begin and end the pack that counts, with a right
// checksum: of a volume that has files, or of those that TestWideTables has, with
// a payload.
func FuzzCheckpoint(f *testing.F) {
	labs := []*lab{fuzzLab(f, "")}
	heads := []checkpoint{labs[0].read(labs[0].g.PackBlock(0))}
	for payload := range uint32(3) {
		l, head := wideTables(f, payload+1)
		labs, heads = append(labs, l), append(heads, head)
	}
	for i, head := range heads {
		f.Add(byte(i), []byte(head[:cpBitmaps+128]))
		for _, edit := range []func(c checkpoint){
			func(c checkpoint) { c.put32(cpFlags, 0xFFFF) },
			func(c checkpoint) { c.put32(cpFlags, cpOrphans|cpCompact); c.put32(cpStartSum, 3) },
			func(c checkpoint) { c.put32(cpFlags, cpLargeNat); c.put32(cpChecksumOffset, cpBitmaps) },
			func(c checkpoint) { c[cpAllocTypes] = allocSSR; c.put32(cpFlags, cpCompact|cpUmount) },
		} {
			c := slices.Clone(head)
			edit(c)
			f.Add(byte(i), []byte(c[:cpBitmaps+128]))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		l := labs[int(which)%len(labs)]
		c := make(checkpoint, l.g.BlockSize)
		copy(c, b)
		if off, ok := c.checksumPlace(); ok {
			c.put32(off, checkpointSum(c, off))
		}
		l.with(t, func(d dev.Device) {
			l.replace(t, d, l.g.PackBlock(0), c)
			if n := c.blocks(); n > 1 && n <= segmentBlocks {
				l.replace(t, d, l.g.PackBlock(0)+n-1, c)
			}
		})
	})
}

// FuzzNode has any block be an inode or another node of a file, with its own
// footer and a right checksum, or as it is.
func FuzzNode(f *testing.F) {
	labs := [2]*lab{fuzzLab(f, ""), fuzzLab(f, labFeatures)}
	for kind := range byte(6) {
		for _, l := range labs {
			f.Add(kind, l.read(l.at["direct"].addr))
			f.Add(kind, l.read(l.at["more attributes"].addr))
			f.Add(kind, l.read(l.at["small"].addr))
			f.Add(kind, l.read(l.at["double"].someNode().addr))
		}
		f.Add(kind, labs[1].read(labs[1].at["compressed"].addr))
	}
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		l := labs[kind%2]
		x := l.at[[]string{"direct", "small", "more attributes"}[kind/2%3]]
		blk, n := x.addr, make(nodeBlock, l.g.BlockSize)
		copy(n, b)
		switch kind / 6 % 3 {
		case 0:
			n.putFooter(x.ino, x.ino, 0, 1, 0)
			l.seal(n)
		case 1:
			if node := x.someNode(); node != nil {
				blk = node.addr
				n.putFooter(node.nid, x.ino, node.place<<footerShift, 1, 0)
			}
		}
		l.with(t, func(d dev.Device) { l.replace(t, d, blk, n) })
	})
}

// someNode is the first node of a file behind its inode, nil for none.
func (x *built) someNode() *builtNode {
	for _, place := range slices.Sorted(maps.Keys(x.nodes)) {
		return x.nodes[place]
	}
	return nil
}

// FuzzDentryBlock has any block be one of a directory.
func FuzzDentryBlock(f *testing.F) {
	l := fuzzLab(f, "")
	blocks := []uint32{l.root.pages[0], l.at["dir"].pages[0], l.at["many"].pages[0]}
	for i, blk := range blocks {
		f.Add(byte(i), l.read(blk))
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		l.with(t, func(d dev.Device) { l.replace(t, d, blocks[int(which)%len(blocks)], b) })
	})
}

// fuzzEdit is how many bytes of a fuzzer's input make one edit: which block,
// where in it, how, and what.
const fuzzEdit = 2 + 2 + 1 + 8

// FuzzCheck edits a volume: an input is a list of edits of metadata.
func FuzzCheck(f *testing.F) {
	labs := [2]*lab{fuzzLab(f, ""), fuzzLab(f, labFeatures)}
	var scribblers [2]*scribbler
	for i, l := range labs {
		scribblers[i] = newScribbler(l, 1)
	}
	edit := func(block, at uint16, how byte, v uint64) []byte {
		b := binary.LittleEndian.AppendUint16(nil, block)
		b = append(binary.LittleEndian.AppendUint16(b, at), how)
		return binary.LittleEndian.AppendUint64(b, v)
	}
	for i := range uint16(len(scribblers[0].blocks)) {
		f.Add(i%2 == 0, append(edit(i, 8, 2, 0xFFFFFFFF), edit(i+1, 132, 0x82, 1)...))
	}
	f.Fuzz(func(t *testing.T, features bool, b []byte) {
		s := scribblers[0]
		if features {
			s = scribblers[1]
		}
		s.with(t, func(d dev.Device) {
			for ; len(b) >= fuzzEdit; b = b[fuzzEdit:] {
				s.apply(t, d, b[:fuzzEdit])
			}
		})
	})
}

// apply carries out an edit.
func (s *scribbler) apply(t *testing.T, d dev.Device, e []byte) {
	blk := s.blocks[int(binary.LittleEndian.Uint16(e))%len(s.blocks)]
	at, how := int(binary.LittleEndian.Uint16(e[2:])), e[4]
	b := make([]byte, s.g.BlockSize)
	if _, err := d.ReadAt(b, s.g.BlockOff(blk)); err != nil {
		t.Fatal(err)
	}
	n := 1 << (how % 4)
	copy(b[at%(len(b)-n):][:n], e[5:])
	if how&0x80 != 0 {
		s.sealAny(blk, b)
	}
	s.replace(t, d, blk, b)
}
