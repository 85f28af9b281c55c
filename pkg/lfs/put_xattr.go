package lfs

import (
	"encoding/binary"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// putXattrs sets all extended attributes of a file, and stores a node for what
// does not fit into its inode; the inode is changed and not stored. [Linux]
// behaviour write_all_xattrs().
func (h *handle) putXattrs(kind vol.Kind, xs []vol.Xattr) error {
	if len(xs) == 0 {
		return nil
	}
	list, err := xattrBytes(kind, xs)
	if err != nil {
		return err
	}
	var area []byte
	if h.b.inline()&inlineXattr != 0 {
		area = h.xattrArea()
	}
	if most := len(area) + int(h.w.g.BlockSize) - footerLen; len(list) > most {
		return vol.Refusef("its extended attributes take %d bytes; F2FS has room for %d", len(list), most)
	}
	clear(area)
	rest := list[copy(area, list):]
	nid := h.b.xattrNid()
	if len(rest) == 0 && nid == 0 {
		return nil
	}
	n, err := h.xattrNode(nid)
	if err != nil {
		return err
	}
	words := n[:len(n)-footerLen]
	clear(words)
	copy(words, rest)
	return h.w.putNode(n)
}

// xattrNode is the node for attributes, which is made if there is none.
func (h *handle) xattrNode(nid uint32) (nodeBlock, error) {
	if nid != 0 {
		return h.w.part(nid, h.nid)
	}
	if err := h.w.room(h.path, 1); err != nil {
		return nil, err
	}
	n, err := h.w.newNode(h.nid, xattrPlace, h.b.isDir())
	if err != nil {
		return nil, err
	}
	h.addBlocks(1)
	h.b.put32(inodeXattrNid, n.nid())
	return n, nil
}

// xattrBytes is the list of attributes as it is stored, [Linux] fs/f2fs/xattr.h
// struct f2fs_xattr_header, struct f2fs_xattr_entry.
func xattrBytes(kind vol.Kind, xs []vol.Xattr) ([]byte, error) {
	le := binary.LittleEndian
	list := make([]byte, xattrHeaderLen, xattrHeaderLen+256)
	le.PutUint32(list, xattrMagic)
	le.PutUint32(list[4:], 1) // references
	for _, x := range xs {
		index, name, value, err := xattrToDisk(kind, x)
		if err != nil {
			return nil, err
		}
		list = append(list, index, byte(len(name)))
		list = le.AppendUint16(list, uint16(len(value)))
		list = append(append(list, name...), value...)
		for len(list)%4 != 0 {
			list = append(list, 0)
		}
	}
	return list, nil
}

// xattrToDisk is what is stored of an attribute, or why it cannot be. [Linux]
// behaviour xattr_permission(): user attributes are those of files and
// directories alone.
func xattrToDisk(kind vol.Kind, x vol.Xattr) (index byte, name string, value []byte, err error) {
	const mostValue = 1<<16 - 1
	switch x.Name {
	case vol.ACLAccessName, vol.ACLDefaultName:
		if value, err = aclToDisk(x.Value); err != nil {
			return 0, "", nil, vol.Refusef("the attribute %s: %v", x.Name, err)
		}
		if x.Name == vol.ACLAccessName {
			return xattrACLAccess, "", value, nil
		}
		if kind != vol.KindDir {
			return 0, "", nil, vol.Refusef("only directories have the attribute %s", x.Name)
		}
		return xattrACLDefault, "", value, nil
	}
	for i, prefix := range xattrPrefixes() {
		if rest, ok := strings.CutPrefix(x.Name, prefix); ok {
			index, name = i, rest
		}
	}
	switch {
	case index == 0:
		return 0, "", nil, vol.Refusef("F2FS has no place for the attribute %q", x.Name)
	case name == "" || len(name) > maxNameLen:
		return 0, "", nil, vol.Refusef("the name of the attribute %q has %d bytes; it can have 1 to %d", x.Name, len(name), maxNameLen)
	case len(x.Value) > mostValue:
		return 0, "", nil, vol.Refusef("the attribute %q has %d bytes", x.Name, len(x.Value))
	case index == xattrUser && kind != vol.KindFile && kind != vol.KindDir:
		return 0, "", nil, vol.Refusef("a %s has no attributes of users, as %q is", kind, x.Name)
	}
	return index, name, x.Value, nil
}
