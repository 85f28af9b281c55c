package lfs

import "encoding/binary"

// Extended attributes, [Linux] fs/f2fs/xattr.h as layout: a header, then
// entries up to a zero word.
const (
	xattrMagic     = 0xF2F52011
	xattrHeaderLen = 24
	xattrEntryLen  = 4 // index, length of the name, length of the value
)

// checkXattrs walks the list of attributes in area, the inline part followed by
// the node's.
func (w *walk) checkXattrs(ino int32, blk uint32, area []byte) {
	if len(area) < xattrHeaderLen || allZero(area) {
		return
	}
	bad := func(slug string, off int) {
		w.note(note{slug: slug, inode: ino, blk: blk, detail: textf("at byte %d of the attributes", off)})
	}
	if binary.LittleEndian.Uint32(area) != xattrMagic {
		bad("xattr-magic", 0)
		return
	}
	for at := xattrHeaderLen; ; {
		if at+xattrEntryLen > len(area) {
			return // the area is full
		}
		if binary.LittleEndian.Uint32(area[at:]) == 0 {
			if !allZero(area[at:]) {
				bad("xattr-list", at)
			}
			return
		}
		n := xattrEntryLen + int(area[at+1]) + int(binary.LittleEndian.Uint16(area[at+2:]))
		if n = (n + 3) &^ 3; at+n > len(area) {
			bad("xattr-list", at)
			return
		}
		at += n
	}
}
