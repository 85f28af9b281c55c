package lfs

import (
	"cmp"
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// unlink takes a name from a file, and frees it if that was the last; it returns
// how many blocks that gave. The entry is the caller's.
func (c *batch) unlink(h *handle) (blocks uint64, err error) {
	if f := h.b.flags(); f&(flagImmutable|flagAppend) != 0 {
		return 0, vol.Refusef("%s: it is marked as one that stays", h.path)
	}
	if h.b.flags()&flagDeviceAlias != 0 {
		return 0, vol.Refusef("%s: it stands for a device", h.path)
	}
	if links := h.b.links(); links > 1 && !h.b.isDir() {
		// [Linux] behaviour: the name that it has noted of itself may be this one.
		h.b[inodeAdvise] |= adviseLostParent
		h.b.put32(inodeLinks, links-1)
		h.b.put64(inodeCtime, uint64(h.w.now))
		h.b.put32(inodeCtimeNsec, 0)
		return 0, h.store()
	}
	return h.free()
}

// removal is a change that takes entries away.
type removal struct {
	*filling
	recursive bool
	gone      map[uint32]bool // directories that were freed
	in        map[uint32]bool // those that are being emptied
	res       vol.RemoveResult
}

// Remove stages that files and directories are taken away: one checkpoint, or
// none.
//
// After an error nothing that was staged may be committed.
func (v *volume) Remove(ctx context.Context, r vol.RemoveRequest) (*vol.RemoveResult, error) {
	p, err := v.fill(ctx, v.begin, &vol.PutRequest{}, nil)
	if err != nil {
		return nil, err
	}
	rm := &removal{filling: p, recursive: r.Recursive, gone: map[uint32]bool{}, in: map[uint32]bool{}}
	done := map[string]bool{}
	for _, name := range r.Paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := rm.path(ctx, name, done); err != nil {
			return nil, err
		}
	}
	if err := p.closeAll(func(*folder) bool { return true }); err != nil {
		return nil, err
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return &rm.res, nil
}

// path takes one path away. One that went with a directory before is done.
func (rm *removal) path(ctx context.Context, name string, done map[string]bool) error {
	parts, err := vol.SplitPath(name)
	if err != nil {
		return err
	}
	at, nid := "/", uint32(rootIno)
	for i, part := range parts {
		dir, err := rm.enter(at, nid)
		if err != nil {
			return err
		}
		if !dir.h.b.isDir() {
			return vol.Refusef("%s: %s is no directory", name, at)
		}
		n, err := dir.h.nameIn(part)
		if err != nil {
			return err
		}
		there, err := dir.lookup(&n)
		if err != nil {
			return err
		}
		at = vol.JoinPath(at, part)
		switch {
		case there.ino == 0 && done[at]:
			return nil
		case there.ino == 0:
			return vol.NoSuch(name, dir.h.path, part, vol.NoNames)
		case i == len(parts)-1:
			done[at] = true
			return rm.entry(ctx, dir, there, at)
		}
		nid = there.ino
	}
	return nil
}

// entry takes an entry of a directory away, and what it leads to.
func (rm *removal) entry(ctx context.Context, dir *folder, there entryPlace, at string) error {
	h, err := rm.inodeOf(at, there.ino)
	if err != nil {
		return err
	}
	if !h.b.isDir() {
		err = rm.drop(h)
	} else if err = rm.directory(ctx, h, at, 0); err == nil {
		dir.h.b.put32(inodeLinks, dir.h.b.links()-1)
	}
	if err != nil {
		return err
	}
	if err := dir.drop(there); err != nil {
		return err
	}
	return rm.touched(dir)
}

// drop takes a name from a file.
func (rm *removal) drop(h *handle) error {
	n, err := rm.unlink(h)
	rm.res.Files++
	rm.res.ClustersFreed += n
	return err
}

// maxRemoveDepth is how deep directories can be: Linux takes paths of 4096 bytes.
const maxRemoveDepth = 2048

// directory frees a directory, and all that is in it.
func (rm *removal) directory(ctx context.Context, h *handle, at string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case rm.in[h.nid] || rm.gone[h.nid]:
		return damagedf("%s: the directory is in another place, too; run check -y", at)
	case depth > maxRemoveDepth:
		return damagedf("%s: directories are more than %d deep; run check -y", at, maxRemoveDepth)
	case h.nid == rootIno:
		return damagedf("%s leads to the root; run check -y", at)
	}
	rm.in[h.nid] = true
	if f := rm.open[h.nid]; f != nil { // what it had in memory counts
		if err := f.store(); err != nil {
			return err
		}
		delete(rm.open, h.nid)
		h = f.h
	}
	if err := rm.inside(ctx, h, at, depth); err != nil {
		return err
	}
	delete(rm.in, h.nid)
	rm.gone[h.nid] = true
	n, err := rm.unlink(h)
	rm.res.Directories++
	rm.res.ClustersFreed += n
	delete(rm.files, h.nid)
	return err
}

// inside frees what is in a directory. Its entries go with its blocks.
func (rm *removal) inside(ctx context.Context, h *handle, at string, depth int) error {
	type kid struct {
		name string
		ino  uint32
	}
	var kids []kid
	var bad error
	h.strict = true
	t := &tree{l: &loaded{d: rm.w.d, g: rm.w.g}, w: rm.w}
	err := t.entries(ctx, h, &bad, func(name string, ino uint32) error {
		if !rm.recursive {
			return vol.Refusef("%s is a directory that is not empty; -r removes it with all that is in it", at)
		}
		kids = append(kids, kid{name, ino})
		return nil
	})
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	for _, k := range kids {
		path := vol.JoinPath(at, k.name)
		c, err := rm.inodeOf(path, k.ino)
		switch {
		case err != nil:
			return err
		case c.b.isDir():
			err = rm.directory(ctx, c, path, depth+1)
		default:
			err = rm.drop(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
