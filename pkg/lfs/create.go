package lfs

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	newFileMode = modeFile | 0o644
	newDirMode  = modeDir | 0o755
	modeSetGID  = 0o2000
)

// create makes a file or directory in the directory h, and stores both. It
// belongs to root, as what format makes does, and to the group of its directory
// where that hands it on. [Linux] behaviour f2fs_new_inode(), with the mount
// options that it has by default.
func (h *handle) create(n *dirName, mode uint16) (*handle, error) {
	if h.b.links() == 0 {
		return nil, damagedf("%s: the directory was deleted", h.path)
	}
	w := h.w
	if err := w.room(vol.JoinPath(h.path, string(n.name)), 1); err != nil {
		return nil, err
	}
	nid, err := w.allocInode()
	if err != nil {
		return nil, err
	}
	c := &handle{w: w, path: vol.JoinPath(h.path, string(n.name)), nid: nid, b: h.newInode(nid, n.name, mode)}
	kind := byte(typeFile)
	if c.b.isDir() {
		kind = typeDir
		c.emptyDir(h.nid)
		h.b.put32(inodeLinks, h.b.links()+1)
	}
	w.charge(c.b, 0, 1)
	if err := h.add(n, nid, kind); err != nil {
		return nil, err
	}
	h.touch()
	if err := h.store(); err != nil {
		return nil, err
	}
	return c, c.store()
}

// newInode is an inode without anything in it.
func (h *handle) newInode(nid uint32, name []byte, mode uint16) nodeBlock {
	n := make(nodeBlock, h.w.g.BlockSize)
	h.initInode(n, nid, name, mode)
	return n
}

// initInode is newInode in memory that is there.
func (h *handle) initInode(n nodeBlock, nid uint32, name []byte, mode uint16) {
	clear(n)
	dir := mode&modeType == modeDir
	if h.b.mode()&modeSetGID != 0 {
		n.put32(inodeGID, h.b.gid())
		if dir {
			mode |= modeSetGID
		}
	}
	n.put16(inodeMode, mode)
	n.put32(inodeLinks, 1)
	n.put64(inodeBlocks, 1)
	for _, off := range []int{inodeAtime, inodeCtime, inodeMtime} {
		n.put64(off, uint64(h.w.now))
	}
	n.put32(inodeGen, uint32(h.w.s.cp.version())+nid)
	n.put32(inodeFlags, h.inherited(dir))
	n.put32(inodeParent, h.nid)
	n.put32(inodeNameLen, uint32(len(name)))
	copy(n[inodeName:], name)
	n[inodeInline] = inlineXattr
	h.putExtra(n)
	flag := uint32(0)
	if !dir {
		flag = footerCold
		n[inodeAdvise] = h.w.temperature(name)
	}
	n.putFooter(nid, nid, flag, firstCPVer, 0)
}

// putExtra sets the extra attributes, as far as the features of the volume have
// them.
func (h *handle) putExtra(n nodeBlock) {
	g := h.w.g
	if !g.Has(featExtraAttr) {
		return
	}
	n[inodeInline] |= inlineExtra
	n.put16(inodeExtraLen, uint16(extraLen(g.Features)))
	if g.Has(featFlexXattr) && n.hasExtraField(inodeXattrWords+2) {
		n.put16(inodeXattrWords, defaultXattrWords)
	}
	if g.Has(featProjectQuota) && h.b.flags()&flagProjInherit != 0 && n.hasExtraField(inodeProject+4) {
		n.put32(inodeProject, h.b.project())
	}
	if g.Has(featInodeCrtime) && n.hasExtraField(inodeCrtimeNsec+4) {
		n.put64(inodeCrtime, uint64(h.w.now))
	}
}

// inherited are the flags that a directory hands on, [Linux] behaviour
// F2FS_FL_INHERITED and f2fs_mask_flags().
func (h *handle) inherited(dir bool) uint32 {
	f := h.b.flags() & (flagSync | flagNoDump | flagNoAtime | flagDirSync | flagProjInherit | flagCasefold)
	if !dir {
		f &^= flagDirSync | flagProjInherit | flagCasefold
	}
	return f
}

// temperature is the mark of a file whose extension says how often it will be
// written, [Linux] behaviour set_file_temperature(): an extension of the lists
// in the superblock that begins what follows a dot, whatever its case.
func (w *writer) temperature(name []byte) byte {
	cold, hot := int(w.sb.u32(sbColdExtensions)), int(w.sb[sbHotExtensions])
	for i := range min(cold+hot, maxExtensions) {
		ext := w.sb.extension(i)
		if ext == "" || !hasExtension(name, []byte(ext)) {
			continue
		}
		if i < cold {
			return adviseCold
		}
		return adviseHot
	}
	return 0
}

func hasExtension(name, ext []byte) bool {
	for i := 1; i+1+len(ext) <= len(name); i++ {
		if name[i] == '.' && bytes.EqualFold(name[i+1:i+1+len(ext)], ext) {
			return true
		}
	}
	return false
}

// emptyDir makes the entries . and .. in the inode of a new directory, [Linux]
// behaviour f2fs_make_empty_inline_dir().
func (h *handle) emptyDir(parent uint32) {
	h.b[inodeInline] |= inlineDentry
	area := h.w.g.inlineArea(h.b)
	d := newDentryBlock(area)
	d.put(0, &dirName{name: []byte(".")}, h.nid, typeDir)
	d.put(1, &dirName{name: []byte("..")}, parent, typeDir)
	h.b.put32(inodeLinks, 2)
	h.b.put32(inodeDepth, 1)
	h.b.put64(inodeSize, uint64(len(area)))
}
