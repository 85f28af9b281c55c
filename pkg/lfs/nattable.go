package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// natTable is NAT as a change sees it. Blocks are read as they are needed, with
// what the journal of the checkpoint says put in.
type natTable struct {
	d      dev.Device
	g      *Geometry
	s      *state
	over   map[uint32]natEntry // the journal
	blocks map[uint32]*natBlock
	next   uint32 // where the search for a free number goes on
}

// natBlock is a block of NAT.
type natBlock struct {
	b     []byte
	dirty bool
}

func newNATTable(l *loaded) *natTable {
	next := l.s.cp.nextNid()
	if next < firstNid || next >= l.g.NIDs() {
		next = firstNid // it is a hint
	}
	return &natTable{d: l.d, g: l.g, s: l.s, over: l.s.natOverrides(), blocks: map[uint32]*natBlock{}, next: next}
}

// maxCleanNAT bounds how many blocks are kept that did not change.
const maxCleanNAT = 4096

// block is block index of NAT.
func (t *natTable) block(index uint32) (*natBlock, error) {
	if n := t.blocks[index]; n != nil {
		return n, nil
	}
	if len(t.blocks) > maxCleanNAT {
		for i, n := range t.blocks {
			if !n.dirty {
				delete(t.blocks, i)
			}
		}
	}
	b, err := readBlock(t.d, t.g, t.g.NATAddr(index, testMSB(t.s.natVersions, index)))
	if err != nil {
		return nil, err
	}
	n := &natBlock{b: b}
	for nid, e := range t.over {
		if i, slot := t.g.NATIndex(nid); i == index && nid != 0 {
			copy(b[slot*natLen:], e[:natLen])
		}
	}
	t.blocks[index] = n
	return n, nil
}

// get is the entry of nid. It is a view: set changes it.
func (t *natTable) get(nid uint32) (natEntry, error) {
	if nid >= t.g.NIDs() {
		return nil, damagedf("there is no node %d; run check -y", nid)
	}
	index, slot := t.g.NATIndex(nid)
	n, err := t.block(index)
	if err != nil {
		return nil, err
	}
	return natEntry(n.b[slot*natLen:][:natLen]), nil
}

// set says where a node is and whose. The version stays: it is part of the
// summaries of what the node leads to.
func (t *natTable) set(nid, ino, addr uint32) error {
	e, err := t.get(nid)
	if err != nil {
		return err
	}
	e.put(e.version(), ino, addr)
	index, _ := t.g.NATIndex(nid)
	t.blocks[index].dirty = true
	return nil
}

// alloc gives out the number of a node. Until it is set it counts as reserved,
// as in the kernel.
func (t *natTable) alloc(ino uint32) (uint32, error) {
	nids := t.g.NIDs()
	for range nids {
		nid := t.next
		if t.next++; t.next >= nids {
			t.next = firstNid
		}
		e, err := t.get(nid)
		if err != nil {
			return 0, err
		}
		if e.addr() != nullAddr {
			continue
		}
		if ino == 0 { // an inode is its own
			ino = nid
		}
		return nid, t.set(nid, ino, newAddr)
	}
	return 0, vol.Refusef("NAT has no number left for another node; %d are in use", nids)
}
