package lfs

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Where names of extended attributes belong, [Linux] fs/f2fs/xattr.h
// F2FS_XATTR_INDEX_…: the entry has the number, and the name without the prefix.
const (
	xattrUser       = 1
	xattrACLAccess  = 2
	xattrACLDefault = 3
	xattrTrusted    = 4
	xattrSecurity   = 6
)

// xattrPrefixes are the prefixes that a user sees, by number. What has none of
// these, as the context of an encryption, is the kernel's own.
func xattrPrefixes() map[byte]string {
	return map[byte]string{xattrUser: "user.", xattrTrusted: "trusted.", xattrSecurity: "security."}
}

// xattrList is the whole list of attributes of a file: what is in the inode, and
// behind it what is in a node.
func (h *handle) xattrList() ([]byte, error) {
	var list []byte
	if h.b.inline()&inlineXattr != 0 {
		list = append(list, h.xattrArea()...)
	}
	if nid := h.b.xattrNid(); nid != 0 {
		n, err := h.w.part(nid, h.nid)
		if err != nil {
			return nil, pathError(h.path, err)
		}
		list = append(list, n[:len(n)-footerLen]...)
	}
	return list, nil
}

// xattrArea is the part of the inode for attributes.
func (h *handle) xattrArea() []byte {
	words := h.b.words()
	return h.b[inodeAddrs+4*(words-h.w.g.xattrWords(h.b)) : inodeAddrs+4*words]
}

// xattrs are the attributes of a file, in order of name.
func (h *handle) xattrs() ([]vol.Xattr, error) {
	if h.b.xattrNid() == 0 && (h.b.inline()&inlineXattr == 0 || isZero32(h.xattrArea())) {
		return nil, nil
	}
	list, err := h.xattrList()
	if err != nil || len(list) < xattrHeaderLen || isZero32(list) {
		return nil, err
	}
	if binary.LittleEndian.Uint32(list) != xattrMagic {
		// [Linux] behaviour read_all_xattrs(): a list that was never made. sload.f2fs
		// leaves other bytes there, and check tells of it.
		return nil, nil
	}
	var xs []vol.Xattr
	for at := xattrHeaderLen; at+xattrEntryLen <= len(list) && !isZero32(list[at:]); {
		index, n, size := list[at], int(list[at+1]), int(binary.LittleEndian.Uint16(list[at+2:]))
		end := at + xattrEntryLen + n + size
		if end > len(list) {
			return nil, damagedf("%s: the attribute at byte %d of its list goes beyond the end; run check -y", h.path, at)
		}
		name := string(list[at+xattrEntryLen:][:n])
		value := slices.Clone(list[end-size : end])
		x, known, err := xattrOf(index, name, value)
		if err != nil {
			return nil, pathError(h.path, err)
		}
		if known {
			xs = append(xs, x)
		}
		at = (end + 3) &^ 3
	}
	slices.SortStableFunc(xs, func(a, b vol.Xattr) int { return strings.Compare(a.Name, b.Name) })
	return xs, nil
}

// isZero32 tells whether b starts with a word of zeros, or is shorter.
func isZero32(b []byte) bool { return len(b) < 4 || binary.LittleEndian.Uint32(b) == 0 }

// xattrOf is an attribute as getxattr(2) gives it; known is false for those that
// are none of the user's.
func xattrOf(index byte, name string, value []byte) (x vol.Xattr, known bool, err error) {
	switch index {
	case xattrACLAccess, xattrACLDefault:
		x.Name = vol.ACLAccessName
		if index == xattrACLDefault {
			x.Name = vol.ACLDefaultName
		}
		x.Value, err = aclFromDisk(value)
		return x, true, err
	}
	prefix, known := xattrPrefixes()[index]
	return vol.Xattr{Name: prefix + name, Value: value}, known, nil
}

// Access control lists on the disk, [Linux] fs/f2fs/acl.h struct f2fs_acl_header:
// another version than outside, and two kinds of entries, of which only those for a
// named user or group have an id.
const (
	aclDiskVersion = 1
	aclShortLen    = 4
)

// aclFromDisk makes the value that a user sees of the one on the disk.
func aclFromDisk(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	if len(b) < vol.ACLHeaderLen || le.Uint32(b) != aclDiskVersion {
		return nil, damagedf("an access control list is of no known version; run check -y")
	}
	out := le.AppendUint32(nil, vol.ACLVersion)
	for b = b[vol.ACLHeaderLen:]; len(b) > 0; {
		if len(b) < aclShortLen {
			return nil, damagedf("an access control list ends within an entry; run check -y")
		}
		tag, n, id := le.Uint16(b), aclShortLen, uint32(vol.ACLNoID)
		switch tag {
		case vol.ACLUserObj, vol.ACLGroupObj, vol.ACLMask, vol.ACLOther:
		case vol.ACLUser, vol.ACLGroup:
			if n = vol.ACLEntryLen; len(b) < n {
				return nil, damagedf("an access control list ends within an entry; run check -y")
			}
			id = le.Uint32(b[aclShortLen:])
		default:
			return nil, damagedf("an access control list has an entry for %#x; run check -y", tag)
		}
		out = append(out, b[:aclShortLen]...)
		out = le.AppendUint32(out, id)
		b = b[n:]
	}
	return out, nil
}

// aclToDisk is the way back. A value that setxattr(2) would not take is refused.
func aclToDisk(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	if len(b) < vol.ACLHeaderLen || le.Uint32(b) != vol.ACLVersion || (len(b)-vol.ACLHeaderLen)%vol.ACLEntryLen != 0 {
		return nil, vol.Refusef("%d bytes are no access control list of version %d", len(b), vol.ACLVersion)
	}
	out := le.AppendUint32(nil, aclDiskVersion)
	seen := uint16(0)
	for b = b[vol.ACLHeaderLen:]; len(b) > 0; b = b[vol.ACLEntryLen:] {
		tag, perm := le.Uint16(b), le.Uint16(b[2:])
		n := aclShortLen
		switch tag {
		case vol.ACLUserObj, vol.ACLGroupObj, vol.ACLMask, vol.ACLOther:
			if seen&tag != 0 {
				return nil, vol.Refusef("an access control list has two entries for %#x", tag)
			}
		case vol.ACLUser, vol.ACLGroup:
			n = vol.ACLEntryLen
		default:
			return nil, vol.Refusef("an access control list has an entry for %#x", tag)
		}
		if perm > 7 {
			return nil, vol.Refusef("an access control list grants %#o", perm)
		}
		seen |= tag
		out = append(out, b[:n]...)
	}
	const whole = vol.ACLUserObj | vol.ACLGroupObj | vol.ACLOther
	if seen&whole != whole || seen&(vol.ACLUser|vol.ACLGroup) != 0 && seen&vol.ACLMask == 0 {
		return nil, vol.Refusef("an access control list lacks entries that it must have")
	}
	return out, nil
}
