package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// slot is a pointer to a block of the file.
type slot struct {
	node node
	off  int    // in the node's block
	nr   uint16 // of the pointer, as SSA has it
	addr uint32
}

// shuffler changes which block of a file is where. What is in the blocks stays
// as it is, so the file's contents change; all that a check looks at stays right.
type shuffler struct {
	*volume
	blocks map[uint32][]byte // that were read, by address
	slots  []slot
}

// shuffle scatters the blocks of the largest file of an image, as far as they are
// in segments that no log writes to: the summaries of those are elsewhere.
func shuffle(path string) error {
	v, err := open(path)
	if err != nil {
		return err
	}
	s := &shuffler{volume: v, blocks: map[uint32][]byte{}}
	inode, err := s.largest()
	if err == nil {
		err = s.inode(inode)
	}
	if err == nil {
		err = s.scatter(rand.New(rand.NewPCG(7, 7)))
	}
	for addr, b := range s.blocks {
		if err == nil {
			_, err = v.f.WriteAt(b, int64(addr)*block)
		}
	}
	if err = errors.Join(err, v.f.Close()); err == nil {
		fmt.Printf("%s: %d blocks are scattered\n", path, len(s.slots))
	}
	return err
}

// block is one that is changed.
func (s *shuffler) block(addr uint32) ([]byte, error) {
	if b, ok := s.blocks[addr]; ok {
		return b, nil
	}
	b, err := s.read(addr)
	s.blocks[addr] = b
	return b, err
}

// inode takes the pointers of a file. The extent that it remembers is forgotten.
func (s *shuffler) inode(n node) error {
	b, err := s.block(n.addr)
	if err != nil {
		return err
	}
	words := inodeSlots
	if b[3]&1 != 0 {
		words -= xattrSlots
	}
	clear(b[348:360])
	s.words(n, b, 360, words)
	for i, depth := range []int{0, 0, 1, 1, 2} {
		if err := s.children(u32(b[360+4*(inodeSlots+i):]), depth); err != nil {
			return err
		}
	}
	return nil
}

// children takes the pointers of a node, and of those below it.
func (s *shuffler) children(nid uint32, depth int) error {
	if nid == 0 {
		return nil
	}
	n, err := s.find(nid)
	if err != nil {
		return err
	}
	if depth == 0 {
		b, err := s.block(n.addr)
		if err == nil {
			s.words(n, b, 0, nodeSlots)
		}
		return err
	}
	b, err := s.read(n.addr)
	for i := 0; i < nodeSlots && err == nil; i++ {
		err = s.children(u32(b[4*i:]), depth-1)
	}
	return err
}

func (s *shuffler) words(n node, b []byte, off, words int) {
	for i := range words {
		addr := u32(b[off+4*i:])
		if addr >= s.main && addr < 0xFFFFFFFE && !s.segments[(addr-s.main)/perSegment] {
			s.slots = append(s.slots, slot{n, off + 4*i, uint16(i), addr})
		}
	}
}

// scatter gives each pointer the block of another one.
func (s *shuffler) scatter(rnd *rand.Rand) error {
	addrs := make([]uint32, len(s.slots))
	for i := range s.slots {
		addrs[i] = s.slots[i].addr
	}
	rnd.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	for i, addr := range addrs {
		x := &s.slots[i]
		binary.LittleEndian.PutUint32(s.blocks[x.node.addr][x.off:], addr)
		sum, err := s.block(s.ssa + (addr-s.main)/perSegment)
		if err != nil {
			return err
		}
		e := sum[(addr-s.main)%perSegment*sumEntry:]
		binary.LittleEndian.PutUint32(e, x.node.nid)
		e[4] = x.node.version
		binary.LittleEndian.PutUint16(e[5:], x.nr)
	}
	return nil
}
