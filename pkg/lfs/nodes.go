package lfs

import (
	"sort"

	"github.com/fatkit/fatkit/pkg/dev"
)

// role is what a node is in its file.
type role uint8

const (
	roleNone role = iota // nothing leads to it yet
	roleInode
	roleDirect
	roleIndirect
	roleDouble
	roleXattr
)

// nodeIndex is all nodes that NAT has, by nid.
type nodeIndex struct{ nodes []node }

// find is the position of nid, or -1. Numbers are given out one after the
// other, so it mostly is where it would be if none was missing, or before.
func (x *nodeIndex) find(nid uint32) int {
	n := len(x.nodes)
	if n == 0 || nid < x.nodes[0].nid {
		return -1
	}
	if guess := nid - x.nodes[0].nid; guess < uint32(n) {
		if x.nodes[guess].nid == nid {
			return int(guess)
		}
		n = int(guess)
	}
	i := sort.Search(n, func(i int) bool { return x.nodes[i].nid >= nid })
	if i < n && x.nodes[i].nid == nid {
		return i
	}
	return -1
}

// inodeOf is the inode with a number, as it was read.
func (w *walk) inodeOf(nid uint32) (int32, bool) {
	i := w.index.find(nid)
	if i < 0 || w.index.nodes[i].inode < 0 {
		return -1, false
	}
	return w.index.nodes[i].inode, true
}

// lead is one node to be read: what leads to it, and what it should be.
type lead struct {
	node  int32 // in the index
	inode int32 // of the file, in walk.inodes
	role  role
	place uint32 // of the node in its file
	page  uint64 // first block of the file that it leads to; of attributes their xattrState
}

// blockRef is a block to be read, and the number that its reader knows it by.
type blockRef struct {
	blk uint32
	at  int32
}

// readLeads reads the nodes and calls fn with each.
func (w *walk) readLeads(leads []lead, fn func(l *lead, b nodeBlock) error) error {
	refs := make([]blockRef, len(leads))
	for i := range leads {
		refs[i] = blockRef{w.index.nodes[leads[i].node].addr, int32(i)}
	}
	return w.readBlocks(refs, func(at int32, b []byte) error { return fn(&leads[at], nodeBlock(b)) })
}

// nodeGap is how many bytes between two blocks are read with them: fewer and
// larger reads cost less than the bytes that nobody asked for.
const nodeGap = 32 << 10

// readBlocks reads blocks of the main area in order of address, neighbours
// together, and calls fn with each. An address may come several times.
func (w *walk) readBlocks(refs []blockRef, fn func(at int32, b []byte) error) error {
	g := w.g
	sortByKey(refs, func(r *blockRef) uint32 { return r.blk })
	plug := dev.NewPlug(w.d, g.window(w.d, 0))
	plug.Gap = nodeGap
	for i := 0; i < len(refs); {
		first, end := refs[i].blk, refs[i].blk+1
		for i++; i < len(refs) && refs[i].blk <= end; i++ {
			end = refs[i].blk + 1
		}
		plug.Add(g.BlockRange(first, end-first))
	}
	stats, err := plug.Read(w.ctx, dev.ReadOptions{}, func(p dev.Range, b []byte) error {
		done := len(refs)
		for len(refs) > 0 && g.BlockOff(refs[0].blk) < p.End() {
			off := g.BlockOff(refs[0].blk) - p.Off
			if err := fn(refs[0].at, b[off:off+g.BlockSize]); err != nil {
				return err
			}
			refs = refs[1:]
		}
		w.advance(done - len(refs))
		return nil
	})
	w.bytesRead += stats.Bytes
	return err
}

// advance tells of n more nodes or blocks of directories that were read.
func (w *walk) advance(n int) {
	w.done += int64(n)
	if w.progress != nil {
		w.progress(min(w.done, w.total), w.total)
	}
}
