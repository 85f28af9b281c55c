package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// Enough of F2FS to find one file on a fresh volume of sload.f2fs, [Linux]
// include/linux/f2fs_fs.h as layout. It is written apart from pkg/lfs, so that
// what that one gets wrong does not come out right here.
const (
	block       = 4096
	perSegment  = 512
	natEntry    = 9
	natPerBlock = block / natEntry
	sumEntry    = 7
	nodeSlots   = 1018
	inodeSlots  = 923
	xattrSlots  = 50 // of an inode with inline attributes
)

// volume is an image.
type volume struct {
	f                  *os.File
	cp, nat, ssa, main uint32
	natBlocks, payload uint32
	pack               []byte // its first block
	journal            map[uint32][]byte
	segments           map[uint32]bool // that logs write to
}

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func open(path string) (*volume, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	v := &volume{f: f}
	sb, err := v.read(0)
	if err != nil {
		return nil, err
	}
	sb = sb[1024:]
	if u32(sb) != 0xF2F52010 || u32(sb[16:]) != 12 || u32(sb[2180:]) != 0 {
		return nil, errors.New("no F2FS of 4 KiB blocks and without features")
	}
	v.cp, v.nat, v.ssa, v.main = u32(sb[76:]), u32(sb[84:]), u32(sb[88:]), u32(sb[92:])
	v.natBlocks, v.payload = u32(sb[60:])/2*perSegment, u32(sb[1664:])
	return v, v.readPack()
}

func (v *volume) read(blk uint32) ([]byte, error) {
	b := make([]byte, block)
	_, err := v.f.ReadAt(b, int64(blk)*block)
	return b, err
}

// readPack takes the checkpoint with the newer version, its journal of NAT and
// its logs.
func (v *volume) readPack() error {
	first, err := v.read(v.cp)
	if err != nil {
		return err
	}
	second, err := v.read(v.cp + perSegment)
	if err != nil {
		return err
	}
	start := v.cp
	if v.pack = first; u64(second) > u64(first) {
		v.pack, start = second, v.cp+perSegment
	}
	flags := u32(v.pack[132:])
	if flags&0x400 != 0 || v.payload != 0 {
		return errors.New("large bitmaps are not known")
	}
	sums := start + u32(v.pack[140:]) // compact, with the journal of NAT first
	off := 0
	if flags&4 == 0 { // normal: it is behind the entries of the hot data log
		back := uint32(4)
		if flags&1 != 0 {
			back = 7
		}
		sums, off = start+u32(v.pack[136:])-back, perSegment*sumEntry
	}
	b, err := v.read(sums)
	if err != nil {
		return err
	}
	v.journal, v.segments = map[uint32][]byte{}, map[uint32]bool{}
	for i := range int(min(u16(b[off:]), 38)) {
		e := b[off+2+13*i:]
		v.journal[u32(e)] = e[4:13]
	}
	for i := range 3 {
		v.segments[u32(v.pack[36+4*i:])] = true
		v.segments[u32(v.pack[84+4*i:])] = true
	}
	return nil
}

// natBlock is the block of NAT with some entries, of the copy that counts.
func (v *volume) natBlock(i uint32) ([]byte, error) {
	at := v.nat + i/perSegment*2*perSegment + i%perSegment
	bits := v.pack[192+u32(v.pack[156:]):] // behind those of SIT
	if bits[i/8]>>(7-i%8)&1 != 0 {
		at += perSegment
	}
	return v.read(at)
}

// node is one that NAT has.
type node struct {
	nid, ino, addr uint32
	version        byte
}

func (v *volume) node(nid uint32, e []byte) node {
	if j, ok := v.journal[nid]; ok {
		e = j
	}
	return node{nid: nid, ino: u32(e[1:]), addr: u32(e[5:]), version: e[0]}
}

func (v *volume) find(nid uint32) (node, error) {
	b, err := v.natBlock(nid / natPerBlock)
	if err != nil {
		return node{}, err
	}
	return v.node(nid, b[nid%natPerBlock*natEntry:]), nil
}

// largest is the inode of the largest file.
func (v *volume) largest() (best node, err error) {
	most := uint64(0)
	for i := range v.natBlocks {
		b, err := v.natBlock(i)
		if err != nil {
			return best, err
		}
		for k := range uint32(natPerBlock) {
			n := v.node(i*natPerBlock+k, b[k*natEntry:])
			if n.ino != n.nid || n.addr < v.main {
				continue
			}
			inode, err := v.read(n.addr)
			if err != nil {
				return best, err
			}
			if size := u64(inode[16:]); u16(inode)&0o170000 == 0o100000 && size > most {
				best, most = n, size
			}
		}
	}
	if most == 0 {
		err = fmt.Errorf("there is no file")
	}
	return best, err
}
