package lfs

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestIntactFiles holds check -y to losing no file that no damage met. Superblocks
// and checkpoints, on which all files rest, are not hit.
func TestIntactFiles(t *testing.T) {
	voltest.Intact{
		Driver: Driver(),
		Format: func(rnd *rand.Rand) (int64, vol.FormatOptions) {
			o := vol.FormatOptions{Type: "f2fs", Label: "INTACT", Seed: 1, Time: 1700000000}
			o.Features = []string{"", "", "extra_attr,inode_checksum,sb_checksum"}[rnd.IntN(3)]
			return 64 << 20, o
		},
		Hits:  func(h *voltest.Hitter) func() string { return newHitter(h).hit },
		Files: treeFiles,
		Rests: restsOf,
		// Two entries of one name are alike, and a directory has one parent.
		Ambiguous: []string{"dentry-twice", "dir-twice"},
		Once:      []uint64{41, 53, 130, 157, 287, 460, 578, 763, 3926, 8042},
	}.Run(t, 60)
}

// treeFiles are the files of a volume, by the reader of the package.
func treeFiles(d dev.Device) (map[string]string, error) {
	tr, err := read(context.Background(), d, vol.ReadOptions{})
	if err != nil {
		return nil, err
	}
	root, err := tr.Root()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	err = vol.Walk(context.Background(), tr, root, func(n *vol.Node, err error) error {
		switch {
		case err != nil:
			return nil // the rest can be read
		case n.IsDir():
			out[vol.JoinPath(n.Path, "")] = ""
			return nil
		case n.Size > 1<<20:
			return nil // damaged: none is as long
		}
		r, err := tr.Contents(n)
		if err != nil {
			return nil
		}
		b := make([]byte, n.Size)
		if _, err := r.ReadAt(b, 0); err == nil || err == io.EOF {
			out[n.Path] = string(b)
		}
		return nil
	})
	return out, err
}

// placed is where things of a sound volume are.
type placed struct {
	*tree
	t     testing.TB
	nats  []int64  // entries of NAT, those in the journal left out
	nodes []uint32 // blocks of inodes
	dirs  []uint32 // blocks of entries
	data  []uint32
	rests map[string][]dev.Range
}

func newPlaced(t testing.TB, d dev.Device) *placed {
	t.Helper()
	tr, err := read(context.Background(), d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &placed{tree: tr.(*tree), t: t, rests: map[string][]dev.Range{}}
	p.down("/", rootIno, nil)
	return p
}

func (p *placed) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *placed) block(addr uint32) dev.Range {
	return dev.Range{Off: p.l.g.BlockOff(addr), Len: p.l.g.BlockSize}
}

// down goes through an inode and all below it; above is what the way to it rests
// upon.
func (p *placed) down(at string, nid uint32, above []dev.Range) {
	g := p.l.g
	on := append([]dev.Range(nil), above...)
	if _, inJournal := p.l.s.natOverrides()[nid]; !inJournal {
		index, slot := g.NATIndex(nid)
		off := g.BlockOff(g.NATAddr(index, testMSB(p.l.s.natVersions, index))) + int64(slot)*natLen
		p.nats = append(p.nats, off)
		on = append(on, dev.Range{Off: off, Len: natLen})
	}
	e, err := p.w.nat.get(nid)
	p.must(err)
	p.nodes = append(p.nodes, e.addr())
	on = append(on, p.block(e.addr()))
	h, err := p.inode(at, nid)
	p.must(err)
	if h.b.inline()&inlineDentry != 0 {
		p.entries(at, newDentryBlock(g.inlineArea(h.b)), func(int) []dev.Range { return on })
		return
	}
	m, err := h.mappings()
	p.must(err)
	for _, x := range m.ms {
		for i := range x.Extent.Len {
			addr := x.Extent.Start + i
			if !h.b.isDir() {
				if h.b.inline()&inlineData == 0 {
					p.data = append(p.data, addr)
				}
				on = append(on, p.block(addr))
				continue
			}
			p.dirs = append(p.dirs, addr)
			b, err := readBlock(p.l.d, g, addr)
			p.must(err)
			d := newDentryBlock(b)
			p.entries(at, d, func(slot int) []dev.Range {
				n := d.entry(slot).nameLen()
				off := g.BlockOff(addr)
				return append(append([]dev.Range(nil), on...),
					dev.Range{Off: off + int64(slot/8), Len: int64((slot+nameSlots(n)-1)/8-slot/8) + 1},
					dev.Range{Off: off + int64(d.dentryShape.entries+dentryLen*slot), Len: dentryLen},
					dev.Range{Off: off + int64(d.names+nameSlotLen*slot), Len: int64(n)})
			})
		}
	}
	if !h.b.isDir() {
		p.rests[at] = on
	}
}

func (p *placed) entries(at string, d dentryBlock, on func(slot int) []dev.Range) {
	for slot, name := range d.all() {
		if !isDots(name) {
			p.down(path.Join(at, string(name)), d.entry(slot).ino(), on(slot))
		}
	}
}

func restsOf(t testing.TB, d dev.Device) map[string][]dev.Range { return newPlaced(t, d).rests }

// hitter damages a volume: it knows from the state before where things are.
type hitter struct {
	*voltest.Hitter
	*placed
	g    *Geometry
	meta []int64 // blocks of inodes, entries and tables
}

func newHitter(v *voltest.Hitter) *hitter {
	h := &hitter{Hitter: v, placed: newPlaced(v.T, v.Good)}
	h.g = h.l.g
	for _, addr := range append(append([]uint32(nil), h.nodes...), h.dirs...) {
		h.meta = append(h.meta, h.g.BlockOff(addr))
	}
	for _, addr := range append(append([]uint32(nil), h.nodes...), h.data...) {
		h.meta = append(h.meta, h.g.BlockOff(h.g.SSABlock(h.g.SegmentOf(addr))))
	}
	for i := range uint32(2) {
		h.meta = append(h.meta, h.g.BlockOff(h.g.SITAddr(i, false)), h.g.BlockOff(h.g.SITAddr(i, true)))
	}
	return h
}

func (h *hitter) hit() string {
	kinds := []func() string{h.hitByte, h.hitByte, h.hitByte, h.hitFill, h.hitFill, h.hitNAT, h.hitNAT, h.hitPointer, h.hitPointer, h.hitEntry, h.hitEntry, h.hitPair, h.hitField}
	return kinds[h.Rnd.IntN(len(kinds))]()
}

// hitByte changes a byte of metadata: more often at the start and the end of a
// block, where the most important fields are.
func (h *hitter) hitByte() string {
	off, _ := voltest.Pick(h.Rnd, h.meta)
	switch h.Rnd.IntN(4) {
	case 0:
		return h.Byte(off, 400)
	case 1:
		return h.Byte(off+h.g.BlockSize-24, 24)
	}
	return h.Byte(off, h.g.BlockSize)
}

func (h *hitter) hitFill() string {
	off, _ := voltest.Pick(h.Rnd, h.meta)
	n := []int64{32, 512, h.g.BlockSize}[h.Rnd.IntN(3)]
	return h.Fill(off+h.Rnd.Int64N(h.g.BlockSize/n)*n, n, h.meta)
}

// someAddr is where a wrong pointer may lead.
func (h *hitter) someAddr() uint32 {
	switch h.Rnd.IntN(5) {
	case 0:
		return []uint32{0, 1, 0xFFFFFFFF, h.g.Main}[h.Rnd.IntN(4)]
	case 1:
		return h.g.Main + h.Rnd.Uint32N(uint32(h.g.MainEnd())-h.g.Main)
	case 2:
		if addr, ok := voltest.Pick(h.Rnd, h.data); ok {
			return addr
		}
	}
	addr, _ := voltest.Pick(h.Rnd, h.nodes)
	return addr
}

func (h *hitter) put32(off int64, v uint32) { h.Put(off, binary.LittleEndian.AppendUint32(nil, v)...) }

// hitNAT has an entry lead to another block.
func (h *hitter) hitNAT() string {
	off, ok := voltest.Pick(h.Rnd, h.nats)
	if !ok {
		return ""
	}
	v := h.someAddr()
	h.put32(off+5, v)
	return fmt.Sprintf("the NAT entry at %d leads to block %#x", off, v)
}

// hitPointer has a word of an inode lead to another block.
func (h *hitter) hitPointer() string {
	addr, _ := voltest.Pick(h.Rnd, h.nodes)
	v := h.someAddr()
	off := h.g.BlockOff(addr) + inodeAddrs + 4*h.Rnd.Int64N(20)
	h.put32(off, v)
	return fmt.Sprintf("the word at %d leads to block %#x", off, v)
}

// hitField changes a number of an inode.
func (h *hitter) hitField() string {
	addr, _ := voltest.Pick(h.Rnd, h.nodes)
	at := []int64{0, 12, 16, 20, 24, inodeAddrs - 4}[h.Rnd.IntN(6)]
	h.Put(h.g.BlockOff(addr)+at, byte(h.Rnd.Uint32()), byte(h.Rnd.Uint32N(2)))
	return fmt.Sprintf("field %d of the inode in block %#x", at, addr)
}

// hitEntry has an entry of a directory lead to another inode, or be longer.
func (h *hitter) hitEntry() string {
	addr, ok := voltest.Pick(h.Rnd, h.dirs)
	if !ok {
		return ""
	}
	off := h.g.BlockOff(addr)
	d := newDentryBlock(h.Read(off, h.g.BlockSize))
	i := h.Rnd.IntN(40)
	at := off + int64(d.dentryShape.entries+dentryLen*i)
	if h.Rnd.IntN(3) == 0 {
		v := byte(h.Rnd.Uint32())
		h.Put(at+dentryNameLen, v)
		return fmt.Sprintf("the entry at %d has a name of %d bytes", at, v)
	}
	v := uint32(3 + h.Rnd.IntN(len(h.nodes)+3))
	h.put32(at+dentryIno, v)
	return fmt.Sprintf("the entry at %d leads to inode %d", at, v)
}

// hitPair writes a block of metadata to the place of another, or has two change
// places.
func (h *hitter) hitPair() string {
	a, _ := voltest.Pick(h.Rnd, h.meta)
	b, _ := voltest.Pick(h.Rnd, h.meta)
	if a == b {
		return ""
	}
	if h.Rnd.IntN(2) == 0 {
		h.Swap([]int64{a}, []int64{b}, h.g.BlockSize)
		return fmt.Sprintf("the blocks at %d and %d change places", a, b)
	}
	h.Copy([]int64{a}, []int64{b}, h.g.BlockSize)
	return fmt.Sprintf("the block at %d stands at %d, too", a, b)
}
