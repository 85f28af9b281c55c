package lfs

import (
	"errors"
	"slices"
)

// link enters a file under its name, [Linux] behaviour recover_dentry(). A file
// that had that name loses it.
func (r *replay) link(h *handle, n nodeBlock) error {
	parent := n.parent()
	e, err := r.w.nat.get(min(parent, r.c.g.NIDs()-1))
	if err != nil || parent < rootIno || parent >= r.c.g.NIDs() || !r.c.g.ValidMain(e.addr()) || n.nameLen() == 0 {
		return err // it has no name then, and is found by the check
	}
	dir, err := r.c.handle(r.ctx, parent)
	if err != nil {
		return err
	}
	if !dir.b.isDir() {
		return nil
	}
	name, ok := dir.recovered(n)
	if !ok {
		return nil // such a name cannot be
	}
	old, _, err := dir.lookup(&name)
	if err != nil || old == h.nid {
		return err
	}
	if old != 0 {
		if err := r.unlink(dir, &name, old); err != nil {
			return err
		}
	}
	h.b.put32(inodeParent, parent)
	copy(h.b[inodeNameLen:inodeDirLevel], n[inodeNameLen:inodeDirLevel])
	return dir.add(&name, h.nid, kindOf(h.b.fileType()))
}

// recovered is the name that an inode notes of itself, for its directory. [Linux]
// behaviour init_recovered_filename(): where names are encrypted and folded their
// hash needs the key, and stands behind the name.
func (h *handle) recovered(n nodeBlock) (name dirName, ok bool) {
	if !h.has(adviseEncrypted) {
		name, err := h.nameIn(string(n.name()))
		return name, err == nil
	}
	name = dirName{name: slices.Clone(n.name()), hash: nameHash(n.name())}
	if h.b.flags()&flagCasefold == 0 || !h.w.g.Has(featCasefold) {
		return name, true
	}
	const hashLen = 4
	end := inodeName + len(name.name)
	name.hash = n.u32(end)
	return name, end+hashLen <= inodeName+maxNameLen
}

// unlink takes a name from a file, and frees it if that was the last.
func (r *replay) unlink(dir *handle, name *dirName, ino uint32) error {
	if err := dir.remove(name); err != nil {
		return err
	}
	x, err := r.c.handle(r.ctx, ino)
	if err != nil {
		return err
	}
	if x.b.isDir() {
		return r.unlinkDir(dir, x)
	}
	if links := x.b.links(); links > 1 {
		x.b.put32(inodeLinks, links-1)
		return nil
	}
	if err := x.store(); err != nil {
		return err
	}
	delete(r.c.m.handles, ino)
	return r.c.freeInode(r.ctx, ino)
}

// unlinkDir is for a directory that was removed after the checkpoint. What it had
// then may have been removed, too, or moved: of one that was not empty that is not
// known, and so it is left without a name, for the check to find.
func (r *replay) unlinkDir(dir, x *handle) error {
	if x == dir { // a damaged entry, and no directory that was removed
		return nil
	}
	dir.b.put32(inodeLinks, dir.b.links()-1)
	full := errors.New("it has entries")
	t := &tree{l: &loaded{d: r.w.d, g: r.c.g}, w: r.w}
	var bad error
	err := t.entries(r.ctx, x, &bad, func(string, uint32) error { return full })
	switch {
	case errors.Is(err, full) || bad != nil:
		return nil
	case err != nil:
		return err
	}
	delete(r.c.m.handles, x.nid)
	return r.c.freeInode(r.ctx, x.nid)
}
