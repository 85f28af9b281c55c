package lfs

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Extended attributes, [Linux] fs/f2fs/xattr.h as layout: a header, then
// entries up to a zero word. The list begins in the inode, if that has room for
// it, and goes on in a node.
const (
	xattrMagic     = 0xF2F52011
	xattrHeaderLen = 24
	// The magic number and a count of references; zeros follow.
	xattrHeaderReserved = 8
	xattrEntryLen       = 4 // index, length of the name, length of the value
)

// xattrState is how far a list was read: how many bytes of the next part belong
// to an entry that began before, or one of these.
type xattrState int32

const (
	xattrNew   xattrState = -1 - iota // the header comes next
	xattrEnded                        // what is left must be zeros
	xattrBad                          // a fault was noted, and the rest is not looked at
)

// xattrPart is a part of a list: whose, and where it starts in its block.
type xattrPart struct {
	inode int32
	blk   uint32
	base  int64
	b     []byte
}

// checkXattrs walks through a part of a list of attributes. The last part must
// end the list, or be full.
func (h *harvest) checkXattrs(p xattrPart, s xattrState, last bool) xattrState {
	part, start := p.b, -1 // where the last entry that begins here does
	bad := func(slug string, off int) xattrState {
		h.note(note{slug: slug, inode: p.inode, blk: p.blk, from: uint32(p.base) + uint32(max(start, 0)), word: int32(p.base) + int32(len(part)), detail: textf("at byte %d of the attributes there", off)})
		return xattrBad
	}
	at := int(s)
	switch {
	case s == xattrBad:
		return s
	case s == xattrEnded:
		if !dev.AllZero(part) {
			return bad("xattr-list", 0)
		}
		return s
	case s == xattrNew && (len(part) < xattrHeaderLen || dev.AllZero(part)):
		return s
	case s == xattrNew && binary.LittleEndian.Uint32(part) != xattrMagic:
		return bad("xattr-magic", 0)
	case s == xattrNew:
		at = xattrHeaderLen
	}
	for at+xattrEntryLen <= len(part) {
		if binary.LittleEndian.Uint32(part[at:]) == 0 {
			if !dev.AllZero(part[at:]) {
				start = at
				return bad("xattr-list", at)
			}
			return xattrEnded
		}
		start = at
		at += (xattrEntryLen + int(part[at+1]) + int(binary.LittleEndian.Uint16(part[at+2:])) + 3) &^ 3
	}
	if last && at > len(part) {
		if start < 0 { // it begins in the part before, see cutXattrs
			p.base, part = 0, nil
		}
		return bad("xattr-list", len(part))
	}
	return xattrState(at - len(part))
}

// lastXattr is where the last entry begins of a part that begins a list.
func lastXattr(part []byte) int {
	last := xattrHeaderLen
	for at := last; at+xattrEntryLen <= len(part) && !isZero32(part[at:]); {
		last = at
		at += (xattrEntryLen + int(part[at+1]) + int(binary.LittleEndian.Uint16(part[at+2:])) + 3) &^ 3
	}
	return min(last, len(part))
}

// cutXattrs ends the list of an inode before its last entry in it, which goes beyond
// the node that the list goes on in. What else is in that is behind no whole entry,
// and so it is cleared, too.
func (c *checker) cutXattrs(n *note) vol.Fix {
	// When no node may be found again that the list goes on in.
	return c.fix(gradeCount, c.always(func() error {
		if err := c.editInode(n.inode, func(b nodeBlock) {
			part := b[inodeAddrs+4*(b.words()-c.g.xattrWords(b)) : inodeAddrs+4*b.words()]
			clear(part[lastXattr(part):])
		}); err != nil {
			return err
		}
		return c.editNode(n.blk, func(b nodeBlock) { clear(b[:len(b)-footerLen]) })
	}))
}
