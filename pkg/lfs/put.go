package lfs

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// filling is a change that makes entries.
type filling struct {
	*batch
	r     *vol.PutRequest
	res   *vol.PutResult
	out   *outbox
	dirs  map[string]uint32  // directories by path, as the request has it
	open  map[uint32]*folder // those that are in memory
	nids  []uint32           // by entry; 0 for none
	made  map[uint32]int32   // entries by inode
	more  map[int]uint32     // further names of entries
	freed uint64             // blocks
	// Memory for the inode of the file at hand, and for the node after it.
	scratch, leaf nodeBlock
}

// Put stages all entries of r, or fails: one checkpoint makes all of it count.
// Contents that fit into an inode are read and staged; blocks for all others are
// given out file by file in the order of the entries, and have what free blocks
// have until vol.Pour fills them.
//
// New nodes and directories go to the device below the transaction, and are
// durable there when Put returns. After an error nothing that was staged may be
// committed, and what was a hole of that device is one again.
func (v *volume) Put(ctx context.Context, r *vol.PutRequest) (*vol.PutResult, error) {
	p, err := v.fill(ctx, v.start, r, v.raw)
	if err != nil {
		return nil, err
	}
	if err := p.put(ctx, r); err != nil {
		p.out.giveUp()
		return nil, err
	}
	p.res.Holes = p.out.holes
	return p.res, nil
}

// put makes all entries, and the checkpoint that makes them count.
func (p *filling) put(ctx context.Context, r *vol.PutRequest) error {
	before := p.w.validBlocks
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Same >= 0 && e.Same < i {
			p.more[e.Same]++
		}
	}
	for i := range r.Entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.entry(i); err != nil {
			return err
		}
	}
	if err := p.closeAll(func(*folder) bool { return true }); err != nil {
		return err
	}
	p.res.ClustersAllocated = p.w.validBlocks + p.freed - before
	if err := p.finish(); err != nil {
		return err
	}
	if err := p.proveMade(ctx); err != nil {
		return err
	}
	return p.out.settle()
}

// fill begins a change of entries with start. New blocks go to raw, or are staged if that is
// nil.
func (v *volume) fill(ctx context.Context, start func(context.Context) (*batch, error), r *vol.PutRequest, raw dev.Device) (*filling, error) {
	if v.l == nil {
		// What an earlier change has staged may be where this one writes.
		raw = nil
	}
	c, err := start(ctx)
	if err != nil {
		return nil, err
	}
	p := &filling{batch: c, r: r, res: &vol.PutResult{Files: make([][]vol.Place, len(r.Entries))}, out: newOutbox(c.w.d, raw, c.w.g),
		dirs: map[string]uint32{"": rootIno}, open: map[uint32]*folder{}, nids: make([]uint32, len(r.Entries)),
		made: make(map[uint32]int32, len(r.Entries)), more: map[int]uint32{}}
	c.w.d = p.out
	return p, nil
}

// entry puts one entry into the change.
func (p *filling) entry(i int) error {
	e := &p.r.Entries[i]
	if e.Path == "" {
		return p.root(i)
	}
	if err := vol.TooDeep(e.Path); err != nil {
		return vol.EntryError(e, "%w", err)
	}
	dir, err := p.folderOf(path.Dir(e.Path), e)
	if err != nil {
		return err
	}
	own := path.Base(e.Path)
	if own == "." || own == ".." {
		return vol.EntryError(e, "%q is not a name", own)
	}
	n, err := dir.h.nameIn(own)
	there := entryPlace{}
	if err == nil {
		there, err = dir.lookup(&n)
	} else if p.r.Rename && len(own) > 0 {
		n, err = p.rename(dir, e, own)
	}
	if err != nil {
		return p.blame(e, err)
	}
	if _, twice := p.made[there.ino]; twice && there.ino != 0 {
		if !p.r.Rename {
			return vol.EntryError(e, "%s has the same name there", p.r.Entries[p.made[there.ino]].Name())
		}
		if n, err = p.rename(dir, e, own); err != nil {
			return p.blame(e, err)
		}
		there = entryPlace{}
	}
	if string(n.name) != own {
		p.res.Renamed = append(p.res.Renamed, vol.Renamed{Entry: i, Path: vol.JoinPath(dir.h.path, string(n.name))})
	}
	if there.ino != 0 {
		return p.meet(dir, &n, there, i)
	}
	return p.make(dir, &n, i)
}

// make makes what an entry says under a name that is free.
func (p *filling) make(dir *folder, n *dirName, i int) error {
	nid, kind, err := p.target(dir, n, i)
	if err != nil {
		return err
	}
	if err := dir.add(n, nid, kind); err != nil {
		return p.blame(&p.r.Entries[i], err)
	}
	return p.touched(dir)
}

// touched notes that a directory has other names than before. The times of one
// that is made are those that the request says.
func (p *filling) touched(dir *folder) error {
	if !dir.made {
		dir.h.touch()
	}
	return p.marked(dir)
}

// marked notes that a directory changed.
func (p *filling) marked(dir *folder) error {
	if dir.h.b.flags()&flagImmutable != 0 {
		return vol.Refusef("%s: it is marked as immutable", dir.h.path)
	}
	dir.changed = true
	p.files[dir.h.nid] = dir.h.path
	return nil
}

// target is the inode that the entry leads to: a new one, or that of an earlier
// entry.
func (p *filling) target(dir *folder, n *dirName, i int) (nid uint32, kind byte, err error) {
	e := &p.r.Entries[i]
	if e.Same < 0 {
		nid, err = p.inode(dir, n, i)
		if err != nil {
			return 0, 0, p.blame(e, err)
		}
		p.nids[i] = nid
		p.made[nid] = int32(i)
		return nid, kindOf(kindMode(e.Kind)), nil
	}
	if e.Same >= i || p.nids[e.Same] == 0 || p.r.Entries[e.Same].Kind == vol.KindDir {
		return 0, 0, vol.EntryError(e, "it is another name of entry %d, which is no file before it", e.Same)
	}
	return p.nids[e.Same], kindOf(kindMode(p.r.Entries[e.Same].Kind)), nil
}

// blame says which entry an error is about.
func (p *filling) blame(e *vol.Entry, err error) error {
	if errors.Is(err, vol.ErrRequest) {
		return vol.EntryError(e, "%w", err)
	}
	return fmt.Errorf("%s: %w", e.Name(), err)
}

// meet is for an entry whose name is there from before.
func (p *filling) meet(dir *folder, n *dirName, there entryPlace, i int) error {
	e := &p.r.Entries[i]
	at := vol.JoinPath(dir.h.path, string(n.name))
	old, err := p.inodeOf(at, there.ino)
	if err != nil {
		return err
	}
	wantsDir := e.Same < 0 && e.Kind == vol.KindDir
	switch {
	case wantsDir && old.b.isDir() && p.r.New:
		return vol.EntryError(e, "%w", vol.Existsf("it is there already"))
	case wantsDir && old.b.isDir():
		p.dirs[e.Path], p.nids[i] = there.ino, there.ino
		return nil
	case wantsDir:
		return vol.EntryError(e, "%s is there, and is no directory", at)
	case old.b.isDir():
		return vol.EntryError(e, "%s is a directory that is there", at)
	case !p.r.Replace:
		return vol.EntryError(e, "%w", vol.Existsf("%s is there already; --replace puts a file in its place", at))
	}
	nid, kind, err := p.target(dir, n, i)
	if err != nil {
		return err
	}
	if err := dir.repoint(there, nid, kind); err != nil {
		return err
	}
	blocks, err := p.unlink(old)
	p.freed += blocks
	if err != nil {
		return err
	}
	return p.marked(dir)
}

// folderOf is the directory of an entry, name as the request has it.
func (p *filling) folderOf(name string, e *vol.Entry) (*folder, error) {
	if name == "." {
		name = ""
	}
	if nid, ok := p.dirs[name]; ok {
		return p.enter("/"+name, nid)
	}
	parent, err := p.folderOf(path.Dir(name), e)
	if err != nil {
		return nil, err
	}
	own := path.Base(name)
	at := vol.JoinPath(parent.h.path, own)
	n, err := parent.h.nameIn(own)
	there := entryPlace{}
	if err == nil {
		there, err = parent.lookup(&n)
	}
	switch {
	case err != nil:
		return nil, p.blame(e, err)
	case there.ino == 0 && !p.r.Parents:
		return nil, vol.NoSuch(e.Path, parent.h.path, own, vol.NoNames)
	case there.ino == 0:
		nid, err := p.makeParent(parent, &n)
		if err != nil {
			return nil, p.blame(e, err)
		}
		p.dirs[name] = nid
		return p.enter(at, nid)
	}
	h, err := p.inodeOf(at, there.ino)
	if err != nil {
		return nil, err
	}
	if !h.b.isDir() {
		return nil, vol.EntryError(e, "%s is no directory", at)
	}
	p.dirs[name] = there.ino
	return p.enter(at, there.ino)
}

// makeParent makes a directory on the way to an entry.
func (p *filling) makeParent(dir *folder, n *dirName) (uint32, error) {
	h, err := p.newInode(dir, n, newDirMode)
	if err != nil {
		return 0, err
	}
	p.w.charge(h.b, 0, 1)
	if err := p.newFolder(dir, h); err != nil {
		return 0, err
	}
	if err := dir.add(n, h.nid, typeDir); err != nil {
		return 0, err
	}
	return h.nid, p.touched(dir)
}

// inodeOf opens what an entry leads to. A directory that is in memory counts as
// it is there.
func (p *filling) inodeOf(at string, ino uint32) (*handle, error) {
	if ino < rootIno || p.w.g.isQuota(ino) {
		return nil, damagedf("%s leads to inode %d, which is no file's; run check -y", at, ino)
	}
	if f := p.open[ino]; f != nil {
		return f.h, nil
	}
	h, err := p.w.open(at, ino)
	if err != nil {
		return nil, pathError(at, err)
	}
	return h, nil
}

// rename is a name that can be and is not taken: own, cut to what there is room
// for, and with a number before its extension where it needs one.
func (p *filling) rename(dir *folder, e *vol.Entry, own string) (dirName, error) {
	ext := path.Ext(own)
	if len(ext) > 16 || ext == own {
		ext = ""
	}
	stem := own[:len(own)-len(ext)]
	const tries = 1 << 16
	for k := range tries {
		tail := ext
		if k > 0 {
			tail = fmt.Sprintf("~%d%s", k, ext)
		}
		n, err := dir.h.nameIn(cutName(stem, maxNameLen-len(tail)) + tail)
		if err != nil {
			return n, err
		}
		there, err := dir.lookup(&n)
		if err != nil || there.ino == 0 {
			return n, err
		}
	}
	return dirName{}, vol.Refusef("no name is left for %s", e.Name())
}

// proveMade reads back every inode that was made, as a mount would: see
// batch.verify.
func (p *filling) proveMade(ctx context.Context) error {
	l := &loaded{d: p.v.d}
	if err := l.loadSuper(loadOptions{force: true, fresh: true}); err != nil {
		return err
	}
	if err := l.newestPack(); err != nil {
		return err
	}
	w := reader(l)
	refs := make([]blockRef, 0, len(p.made))
	for i, nid := range p.nids {
		if nid == 0 {
			continue
		}
		e, err := w.nat.get(nid)
		if err != nil {
			return err
		}
		if e.ino() != nid || !l.g.ValidMain(e.addr()) {
			return mistakef("%s: NAT has its inode %d as one of %d at block %#x", p.r.Entries[i].Path, nid, e.ino(), e.addr())
		}
		refs = append(refs, blockRef{e.addr(), int32(i)})
	}
	var bad error
	var buf []byte
	err := l.eachBlock(ctx, refs, &buf, func(at int32, blk uint32, b []byte, err error) {
		if err == nil {
			err = w.proveNode(blk, p.nids[at], p.nids[at], b)
		}
		if err != nil && bad == nil {
			bad = pathError(p.r.Entries[at].Path, err)
		}
	})
	return errors.Join(err, bad)
}
