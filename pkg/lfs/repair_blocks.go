package lfs

import (
	"bytes"
	"cmp"
	"context"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// blockSlot is a pointer: of which node, and which one.
type blockSlot struct {
	nid  uint32
	slot uint16
}

// ownBlock is the block that a pointer led to before it was damaged: SIT has it
// as valid, nothing leads to it, and its summary names the pointer.
func (c *checker) ownBlock(nid uint32, slot uint16) (uint32, error) {
	if c.lostBlocks == nil {
		c.lostBlocks = map[blockSlot]uint32{}
		var failed error
		err := c.leaks(c.walk.ctx, func(e space.Extent) {
			for u := e.Start; uint64(u) < e.End() && failed == nil; u++ {
				failed = c.noteLost(u)
			}
		})
		if err := cmp.Or(failed, err); err != nil {
			return 0, err
		}
	}
	return c.lostBlocks[blockSlot{nid, slot}], nil
}

// noteLost notes whose a block is by its summary.
func (c *checker) noteLost(unit uint32) error {
	segno, at := unit/segmentBlocks, unit%segmentBlocks
	if c.sit.kind[segno] >= hotNode {
		return nil
	}
	if c.lostSum == nil || c.lostSegment != segno {
		sum, err := c.summaryOf(segno)
		if err != nil {
			return err
		}
		c.lostSum, c.lostSegment = sum, segno
	}
	e := c.lostSum.entry(int(at))
	i := c.walk.index.find(e.nid())
	if i < 0 { // of an inode that is gone, or of nothing
		if c.goneBlocks == nil {
			c.goneBlocks = map[uint32][]goneBlock{}
		}
		c.goneBlocks[e.nid()] = append(c.goneBlocks[e.nid()], goneBlock{e.offset(), c.g.Main + unit})
		return nil
	}
	if c.walk.index.nodes[i].version != e.version() {
		return nil
	}
	c.lostBlocks[blockSlot{e.nid(), e.offset()}] = c.g.Main + unit
	return nil
}

// blockFix mends a pointer to a block: by the block that belongs there, if there
// is one, or by clearing it.
func (c *checker) blockFix(n *note) (vol.Fix, []string) {
	i := c.walk.index.find(n.from)
	if i < 0 {
		return nil, nil
	}
	first := int32(0)
	if x := &c.walk.index.nodes[i]; x.role == roleInode {
		b, err := readBlock(c.d, c.g, x.addr)
		if err != nil {
			return nil, nil
		}
		first = int32(inodeAddrs + 4*c.g.extraWords(b))
	}
	own, err := c.ownBlock(n.from, uint16((n.word-first)/4))
	if err != nil {
		return nil, nil // what cannot be read may be it
	}
	if own == 0 {
		return c.wordFix(n, nullAddr), []string{fixClear}
	}
	return c.wordFix(n, own), []string{fixRestore}
}

// symlinkFix gives a symbolic link the length of what it has, or removes one
// that has nothing.
func (c *checker) symlinkFix(n *note) (vol.Fix, []string) {
	b, err := readBlock(c.d, c.g, n.blk)
	if err != nil {
		return nil, nil
	}
	x := nodeBlock(b)
	text := c.g.inlineArea(x)
	if x.inline()&inlineData == 0 {
		a := x.word(c.g.extraWords(x))
		if text = nil; c.g.ValidMain(a) {
			if text, err = readBlock(c.d, c.g, a); err != nil {
				return nil, nil
			}
		}
	}
	if i := bytes.IndexByte(text, 0); i > 0 {
		return c.inodeFix(gradeCount, n.inode, func(b nodeBlock) { b.put64(inodeSize, uint64(i)) }), []string{fixSet}
	}
	in := &c.walk.inodes[n.inode]
	if in.names != 1 || in.entry < 0 {
		return nil, nil
	}
	return c.fix(gradeLost, func(ctx context.Context, _ vol.Repair) error {
		if err := c.placeable(); err != nil {
			return err
		}
		if err := c.freeInode(ctx, in.nid); err != nil {
			return err
		}
		return c.dropEntry(&c.walk.entries[in.entry])
	}), []string{fixRemove}
}
