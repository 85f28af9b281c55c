package lfs

import (
	"maps"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// folder is a directory that a change has in memory: its inode, and of its blocks
// those that it has looked at.
type folder struct {
	h       *handle
	pages   map[uint64]*folderPage
	made    bool // by this change
	changed bool
	// The hashes of all names of a directory that was made and has been in
	// memory ever since: one that is not there need not be looked for.
	hashes map[uint32]struct{}
	used   uint64 // when
}

// folderPage is a block of a directory. One that has no room for a name never has
// any again, as nothing is taken away.
type folderPage struct {
	b     []byte // nil where there is none
	full  int    // names of so many slots do not fit; 0: nothing is known
	dirty bool
}

// entryPlace is where an entry is; ino is 0 where there is none.
type entryPlace struct {
	ino  uint32
	kind byte
	page uint64
	slot int
}

// maxFolders is how many directories are in memory: few are worked on at a time,
// as what is in a directory follows it.
const maxFolders = 1024

// enter is the directory with an inode.
func (p *filling) enter(at string, nid uint32) (*folder, error) {
	f := p.open[nid]
	if f == nil {
		h, err := p.inodeOf(at, nid)
		if err != nil {
			return nil, err
		}
		if h.b.links() == 0 {
			return nil, damagedf("%s: the directory was deleted", at)
		}
		f = &folder{h: h, pages: map[uint64]*folderPage{}}
		_, f.made = p.made[nid]
		if err := p.hold(f); err != nil {
			return nil, err
		}
	}
	f.used = p.tick()
	return f, nil
}

// tick counts uses of directories.
func (p *filling) tick() uint64 {
	p.out.clock++
	return p.out.clock
}

// hold keeps a directory in memory. Where there are many those that rested
// longest are written.
func (p *filling) hold(f *folder) error {
	if len(p.open) >= maxFolders {
		uses := make([]uint64, 0, len(p.open))
		for _, f := range p.open {
			uses = append(uses, f.used)
		}
		slices.Sort(uses)
		old := uses[len(uses)/2]
		if err := p.closeAll(func(f *folder) bool { return f.used < old }); err != nil {
			return err
		}
	}
	f.used = p.tick()
	p.open[f.h.nid] = f
	return nil
}

// closeAll writes directories, and forgets them.
func (p *filling) closeAll(which func(f *folder) bool) error {
	for _, nid := range slices.Sorted(maps.Keys(p.open)) {
		f := p.open[nid]
		if !which(f) {
			continue
		}
		if err := f.store(); err != nil {
			return err
		}
		delete(p.open, nid)
	}
	return nil
}

// newFolder makes the inode h, in the directory dir, an empty directory.
func (p *filling) newFolder(dir *folder, h *handle) error {
	h.emptyDir(dir.h.nid)
	dir.h.b.put32(inodeLinks, dir.h.b.links()+1)
	p.files[h.nid] = h.path
	return p.hold(&folder{h: h, pages: map[uint64]*folderPage{}, made: true, changed: true, hashes: map[uint32]struct{}{}})
}

// inline is the entries in the inode; ok is false where they are in blocks.
func (f *folder) inline() (d dentryBlock, ok bool) {
	if f.h.b.inline()&inlineDentry == 0 {
		return d, false
	}
	return newDentryBlock(f.h.w.g.inlineArea(f.h.b)), true
}

// page is a block of the directory.
func (f *folder) page(n uint64) (*folderPage, error) {
	if pg := f.pages[n]; pg != nil {
		return pg, nil
	}
	b, err := f.h.readPage(n)
	if err != nil {
		return nil, err
	}
	pg := &folderPage{b: b}
	f.pages[n] = pg
	return pg, nil
}

// lookup finds a name.
func (f *folder) lookup(n *dirName) (entryPlace, error) {
	if f.hashes != nil {
		if _, there := f.hashes[n.hash]; !there {
			return entryPlace{}, nil
		}
	}
	if d, ok := f.inline(); ok {
		return d.foundAt(n, 0), nil
	}
	for _, page := range f.h.pagesFor(n.hash) {
		pg, err := f.page(page)
		if err != nil {
			return entryPlace{}, err
		}
		if pg.b == nil {
			continue
		}
		if x := newDentryBlock(pg.b).foundAt(n, page); x.ino != 0 {
			return x, nil
		}
	}
	return entryPlace{}, nil
}

// foundAt is find with all there is to know.
func (d dentryBlock) foundAt(n *dirName, page uint64) entryPlace {
	i := d.find(n)
	if i < 0 {
		return entryPlace{}
	}
	return entryPlace{d.entry(i).ino(), d.entry(i).fileType(), page, i}
}

// add makes an entry.
func (f *folder) add(n *dirName, ino uint32, kind byte) error {
	f.changed = true
	if f.hashes != nil {
		f.hashes[n.hash] = struct{}{}
	}
	if d, ok := f.inline(); ok {
		if i := d.room(nameSlots(len(n.name))); i >= 0 {
			d.put(i, n, ino, kind)
			return nil
		}
		if err := f.h.moveEntries(d); err != nil {
			return err
		}
	}
	slots := nameSlots(len(n.name))
	for level, page := range bucketPages(maxDirDepth, int(f.h.b.dirLevel()), n.hash) {
		pg, err := f.page(page)
		if err != nil {
			return err
		}
		if i := pg.room(slots, f.h.w.g.BlockSize); i >= 0 {
			newDentryBlock(pg.b).put(i, n, ino, kind)
			pg.dirty = true
			f.h.b.put32(inodeDepth, max(f.h.b.depth(), uint32(level)+1))
			f.h.b.put64(inodeSize, max(f.h.b.size(), (page+1)*uint64(f.h.w.g.BlockSize)))
			return nil
		}
	}
	return vol.Refusef("%s: the directory is full", f.h.path)
}

// room is where a name of so many slots fits, or -1.
func (pg *folderPage) room(slots int, size int64) int {
	if pg.full > 0 && slots >= pg.full {
		return -1
	}
	if pg.b == nil {
		pg.b = make([]byte, size)
	}
	i := newDentryBlock(pg.b).room(slots)
	if i < 0 {
		pg.full = slots
	}
	return i
}

// repoint has an entry lead to another inode.
func (f *folder) repoint(at entryPlace, ino uint32, kind byte) error {
	return f.edit(at, func(d dentryBlock) {
		e := d.entry(at.slot)
		e.put(e.hash(), ino, e.nameLen(), kind)
	})
}

// drop takes an entry away.
func (f *folder) drop(at entryPlace) error {
	return f.edit(at, func(d dentryBlock) { d.drop(at.slot) })
}

// edit changes the block that an entry is in.
func (f *folder) edit(at entryPlace, fn func(d dentryBlock)) error {
	f.changed = true
	d, ok := f.inline()
	if !ok {
		pg, err := f.page(at.page)
		if err != nil {
			return err
		}
		d, pg.dirty = newDentryBlock(pg.b), true
	}
	fn(d)
	return nil
}

// store writes the blocks of the directory that changed, in their order, and its
// inode.
func (f *folder) store() error {
	for _, n := range slices.Sorted(maps.Keys(f.pages)) {
		pg := f.pages[n]
		if !pg.dirty {
			continue
		}
		if err := f.h.roomFor(n); err != nil {
			return err
		}
		if err := f.h.writePage(n, pg.b); err != nil {
			return err
		}
		pg.dirty = false
	}
	if !f.changed {
		return nil
	}
	return f.h.store()
}

// cutName is at most n bytes of a name, and no part of a character of UTF-8.
func cutName(name string, n int) string {
	if len(name) <= n {
		return name
	}
	for n > 0 && name[n]&0xC0 == 0x80 && strings.ToValidUTF8(name[:n], "") != name[:n] {
		n--
	}
	return name[:n]
}
