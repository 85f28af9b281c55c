package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// noteFix is the repair of what the walk noted, nil where there is none, and
// which of the row's repairs it is.
func (c *checker) noteFix(n *note) (vol.Fix, []string) {
	switch n.slug {
	case "node-footer":
		return c.footerFix(n)
	case "node-pointer", "node-twice":
		return c.pointerFix(n)
	case "addr-twice":
		return c.twiceFix(n)
	case "addr-range", "addr-compress":
		return c.blockFix(n)
	case "symlink-empty":
		return c.symlinkFix(n)
	case "dentry-ino":
		return c.danglingFix(n)
	case "dentry-name-length":
		if n.word == 0 {
			return c.dentryNoteFix(n), []string{fixRemove}
		}
		return c.dentryNoteFix(n), []string{fixSet, fixRemove}
	case "node-lost":
		return c.lostNodeFix(n)
	case "inode-unreachable":
		return c.unreachableFix(n.inode), nil
	}
	if fix := c.tableNoteFix(n); fix != nil {
		return fix, nil
	}
	if fix := c.dentryNoteFix(n); fix != nil {
		return fix, nil
	}
	return c.inodeNoteFix(n), nil
}

// tableNoteFix is for pointers, and for what SIT and SSA say.
func (c *checker) tableNoteFix(n *note) vol.Fix {
	switch n.slug {
	case "sit-free":
		return c.useFix(n)
	case "ssa-entry":
		return c.summaryFix(n)
	case "ssa-type":
		return c.summaryKindFix(n)
	case "node-place":
		return c.nodeFix(n, func(b nodeBlock) {
			b.put32(len(b)-footerFlag, b.nodeFlag()&(1<<footerShift-1)|n.from<<footerShift)
		})
	case "xattr-list":
		if n.word == 0 {
			return c.cutXattrs(n)
		}
		// When no node may be found again that the list goes on in.
		return c.fix(gradeCount, c.always(func() error {
			return c.editNode(n.blk, func(b nodeBlock) { clear(b[n.from:n.word]) })
		}))
	case "orphan-linked":
		return c.dropOrphan(n.from)
	}
	return nil
}

// nodeFix changes the node that a note is about.
func (c *checker) nodeFix(n *note, fn func(b nodeBlock)) vol.Fix {
	return c.fix(gradeShape, c.always(func() error { return c.editNode(n.blk, fn) }))
}

// inodeNoteFix is for the fields of inodes.
func (c *checker) inodeNoteFix(n *note) vol.Fix {
	shape := func(fn func(b nodeBlock)) vol.Fix { return c.inodeFix(gradeShape, n.inode, fn) }
	count := func(fn func(b nodeBlock)) vol.Fix { return c.inodeFix(gradeCount, n.inode, fn) }
	want32, _ := n.want.(uint32)
	want64, _ := n.want.(uint64)
	switch n.slug {
	case "inode-mode":
		want := c.modeOf(n.inode)
		return shape(func(b nodeBlock) { b.put16(inodeMode, b.mode()&^modeType|want) })
	case "inode-links":
		return count(func(b nodeBlock) { b.put32(inodeLinks, want32) })
	case "inode-blocks":
		return count(func(b nodeBlock) { b.put64(inodeBlocks, want64) })
	case "inode-saved":
		return count(func(b nodeBlock) { b.put64(inodeComprBlocks, want64) })
	case "inode-size-short":
		return c.fix(gradeCount, func(_ context.Context, r vol.Repair) error {
			return c.editInode(n.inode, func(b nodeBlock) {
				if r.Name == fixKeep {
					b[inodeAdvise] |= adviseKeepSize
				} else {
					b.put64(inodeSize, want64)
				}
			})
		})
	case "inode-size", "inode-dir-size":
		return count(func(b nodeBlock) { b.put64(inodeSize, want64) })
	case "inode-extent", "inode-extent-range":
		return count(func(b nodeBlock) { clear(b[inodeExtent:inodeAddrs]) })
	case "inode-dir-level":
		level, _ := n.want.(byte)
		return shape(func(b nodeBlock) { b[inodeDirLevel] = level })
	case "inode-depth":
		return count(func(b nodeBlock) { b.put32(inodeDepth, max(1, want32)) })
	case "inode-parent":
		return count(func(b nodeBlock) { b.put32(inodeParent, want32) })
	case "inode-name", "inode-name-length":
		return c.nameFix(n.inode)
	case "inode-checksum":
		return shape(func(b nodeBlock) { b.put32(inodeChecksum, inodeSum(inodeSeed(c.sb.uuid()), b)) })
	case "inode-extra":
		return shape(c.g.mendExtra)
	case "inode-inline-xattr":
		return shape(func(b nodeBlock) { b.put16(inodeXattrWords, uint16(c.g.xattrWords(b))) })
	case "inode-inline":
		return c.fix(gradeShape, c.always(func() error {
			var bad error
			if err := c.editInode(n.inode, func(b nodeBlock) { bad = c.mendInline(b) }); err != nil {
				return err
			}
			return bad
		}))
	case "inline-exist":
		return shape(func(b nodeBlock) { b[inodeInline] |= inlineExist })
	case "inode-compress":
		return c.compressFix(n.inode)
	case "inode-casefold":
		return shape(func(b nodeBlock) { b.put32(inodeFlags, b.flags()&^flagCasefold) })
	case "inode-compression":
		return shape(func(b nodeBlock) { b.put32(inodeFlags, b.flags()&^flagCompressed) })
	}
	return nil
}

// mendExtra sets the length of the extra attributes, or says that there are none
// where the volume has no such.
func (g *Geometry) mendExtra(b nodeBlock) {
	if !g.Has(featExtraAttr) {
		b[inodeInline] &^= inlineExtra
		return
	}
	b.put16(inodeExtraLen, uint16(4*g.extraWords(b)))
}

// mendInline clears the flags of what is kept in the inode that do not fit its
// type, or its block pointers, and bounds the size.
//
// The reserved word before the contents may be the address of a block because the
// flag is wrong, or because the word is. If the flag is, all words are addresses, and
// the summary of that block names the inode; with another answer the contents, and
// the blocks of other files to which they would lead, were lost.
func (c *checker) mendInline(b nodeBlock) error {
	dir, first := b.isDir(), c.g.extraWords(b)
	inlineable := b.fileType() == modeFile || b.fileType() == modeSymlink
	if b.inline()&inlineDentry != 0 && !dir {
		b[inodeInline] &^= inlineDentry
	}
	if b.inline()&inlineData != 0 && !inlineable {
		b[inodeInline] &^= inlineData | inlineExist
	}
	if b.inline()&(inlineData|inlineDentry) == 0 {
		return nil
	}
	if a := b.word(first); a != 0 {
		owns, err := c.ownsFirst(b, a)
		if err != nil {
			return err
		}
		if !owns {
			b.putWord(first, 0)
			return nil
		}
		b[inodeInline] &^= inlineData | inlineDentry | inlineExist
		return nil
	}
	if room := uint64(len(c.g.inlineArea(b))); b.inline()&inlineData != 0 && b.size() > room {
		b.put64(inodeSize, room)
	}
	return nil
}

// ownsFirst reports whether the first word of an inode leads to a block of its own:
// the other words can be addresses, too, and the summary names the inode and the word.
func (c *checker) ownsFirst(b nodeBlock, a uint32) (bool, error) {
	if !c.g.ValidMain(a) {
		return false, nil
	}
	for i := c.g.extraWords(b); i < b.words()-c.g.xattrWords(b); i++ {
		if x := b.word(i); x != nullAddr && x != newAddr && x != compressAddr && !c.g.ValidMain(x) {
			return false, nil
		}
	}
	if c.sit.kind[c.g.SegmentOf(a)] >= hotNode {
		return false, nil // the summary of a node has its number, too
	}
	sum, err := c.summaryOf(c.g.SegmentOf(a))
	if err != nil {
		return false, err
	}
	e := sum.entry(int(c.g.IndexOf(a)))
	return e.nid() == b.nid() && e.offset() == 0, nil
}

// modeOfKind is kindOf, the other way round.
func modeOfKind(kind byte) uint16 {
	for _, m := range []uint16{modeFile, modeDir, modeChar, modeBlock, modeFIFO, modeSocket, modeSymlink} {
		if kindOf(m) == kind {
			return m
		}
	}
	return 0
}
