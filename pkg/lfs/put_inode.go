package lfs

import (
	"errors"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// newInode gives a new file its inode, in memory: it belongs to nobody yet, and
// is not charged.
func (p *filling) newInode(dir *folder, n *dirName, mode uint16) (*handle, error) {
	w := p.w
	at := vol.JoinPath(dir.h.path, string(n.name))
	if err := w.room(at, 1); err != nil {
		return nil, err
	}
	nid, err := w.allocInode()
	if err != nil {
		return nil, err
	}
	// A directory stays in memory; all else is written before the next one is made.
	b := p.scratch
	if b == nil || mode&modeType == modeDir {
		b = make(nodeBlock, w.g.BlockSize)
	}
	if mode&modeType != modeDir {
		p.scratch = b
	}
	dir.h.initInode(b, nid, n.name, mode)
	h := &handle{w: w, path: at, nid: nid, b: b}
	if mode&modeType != modeDir {
		h.leaf = p.leaf
	}
	return h, nil
}

// inode makes what entry i is, all but its name in its directory. Errors do not
// say which entry it is.
func (p *filling) inode(dir *folder, n *dirName, i int) (uint32, error) {
	e := &p.r.Entries[i]
	mode := kindMode(e.Kind)
	if mode == 0 {
		return 0, vol.Refusef("F2FS has no place for a %s", e.Kind)
	}
	h, err := p.newInode(dir, n, mode)
	if err != nil {
		return 0, err
	}
	if e.Kind != vol.KindFile {
		h.b[inodeAdvise] &^= adviseCold | adviseHot
	}
	h.describe(p.inherited(dir, e))
	if links := 1 + p.more[i]; links > 1 {
		// [Linux] behaviour f2fs_init_inode_metadata(): of a file with several
		// names it is not known any more which directory it is from.
		h.b.put32(inodeLinks, links)
		h.b[inodeAdvise] |= adviseLostParent
	}
	p.w.charge(h.b, 0, 1)
	if err := h.putXattrs(e.Kind, e.Xattrs); err != nil {
		return 0, err
	}
	switch e.Kind {
	case vol.KindDir:
		p.dirs[e.Path] = h.nid
		return h.nid, p.newFolder(dir, h)
	case vol.KindFile:
		err = p.contents(h, i)
	case vol.KindSymlink:
		err = p.putTarget(h, e.Link)
	case vol.KindChar, vol.KindBlock:
		if e.Major > maxMajor || e.Minor > maxMinor {
			return 0, vol.Refusef("the number of the device is %d, %d; it can be %d, %d", e.Major, e.Minor, maxMajor, maxMinor)
		}
		h.putDevice(e.Major, e.Minor)
	}
	if err != nil {
		return 0, err
	}
	p.leaf = h.leaf
	return h.nid, h.store()
}

// inherited is e as it is in a directory that hands its group on, if the request
// says so. [Linux] behaviour inode_init_owner().
func (p *filling) inherited(dir *folder, e *vol.Entry) *vol.Entry {
	if !p.r.Inherit || dir.h.b.mode()&modeSetGID == 0 {
		return e
	}
	b := *e
	b.GID = dir.h.b.gid()
	if b.Kind == vol.KindDir {
		b.Mode |= modeSetGID
	}
	return &b
}

// describe sets owners, mode and times. What the entry does not say of times is
// as that of its contents, and without that the time of the change.
func (h *handle) describe(a *vol.Entry) {
	h.b.put32(inodeUID, a.UID)
	h.b.put32(inodeGID, a.GID)
	mode := uint16(a.Mode & 0o7777)
	if a.Kind == vol.KindSymlink {
		mode = 0o777 // [Linux] behaviour: nothing else can be
	}
	h.b.put16(inodeMode, h.b.fileType()|mode)
	base := a.Modified
	if base.IsZero() {
		base = time.Unix(h.w.now, 0)
	}
	or := func(t time.Time) time.Time {
		if t.IsZero() {
			return base
		}
		return t
	}
	h.b.putTime(inodeMtime, inodeMtimeNsec, base)
	others := a.AllTimes()
	h.b.putTime(inodeAtime, inodeAtimeNsec, or(others.Accessed))
	h.b.putTime(inodeCtime, inodeCtimeNsec, or(others.Changed))
	if h.w.g.Has(featInodeCrtime) && h.b.hasExtraField(inodeCrtimeNsec+4) {
		h.b.putTime(inodeCrtime, inodeCrtimeNsec, or(others.Born))
	}
}

// root sets the attributes of the root directory.
func (p *filling) root(i int) error {
	e := &p.r.Entries[i]
	f, err := p.enter("/", rootIno)
	if err != nil {
		return err
	}
	h := f.h
	space := int64(h.b.blocks()-1) * p.w.g.BlockSize
	p.w.charge(h.b, -space, -1)
	h.describe(e)
	p.w.charge(h.b, space, 1)
	xs, err := h.xattrs()
	if err != nil {
		return err
	}
	if len(e.Xattrs) > 0 {
		for _, x := range e.Xattrs {
			xs = vol.SetXattr(xs, x.Name, x.Value)
		}
		if err := h.putXattrs(vol.KindDir, xs); err != nil {
			return p.blame(e, err)
		}
	}
	f.made, f.changed = true, true // its times are said
	p.made[rootIno] = int32(i)
	p.files[h.nid] = h.path
	return nil
}

// putTarget sets what a symbolic link leads to: in the inode, or, where there is
// no room, in a block. [Linux] behaviour f2fs_symlink().
func (p *filling) putTarget(h *handle, to string) error {
	b := []byte(to)
	most := int(p.w.g.BlockSize) - 1
	switch {
	case len(b) == 0:
		return vol.Refusef("a symbolic link leads nowhere")
	case len(b) > most:
		return vol.Refusef("a symbolic link has at most %d bytes, not %d", most, len(b))
	case dev.AllZero(b[:1]):
		return vol.Refusef("a symbolic link begins with a zero byte")
	}
	h.b.put64(inodeSize, uint64(len(b)))
	if area := p.w.g.inlineArea(h.b); len(b) <= len(area) {
		copy(area, b)
		h.b[inodeInline] |= inlineData | inlineExist
		return nil
	}
	if err := p.w.room(h.path, 1); err != nil {
		return err
	}
	page := make([]byte, p.w.g.BlockSize)
	copy(page, b)
	return h.writePage(0, page)
}

// contents gives a file its size and blocks, or reads it into its inode, where
// it is small enough.
func (p *filling) contents(h *handle, i int) error {
	e := &p.r.Entries[i]
	if e.Size < 0 {
		return vol.Refusef("its size is %d", e.Size)
	}
	h.b.put64(inodeSize, uint64(e.Size))
	if err := h.reaches(e.Size); err != nil {
		return err
	}
	data := e.Data
	if data == nil {
		data = []dev.Range{{Len: e.Size}}
	}
	if area := p.w.g.inlineArea(h.b); e.Size <= int64(len(area)) {
		return p.readInline(h, i, data, area)
	}
	bs := uint64(p.w.g.BlockSize)
	next := uint64(0)
	s := &strip{h: h, log: h.dataLog()}
	for _, r := range data {
		r = r.Intersect(dev.Range{Len: e.Size})
		if r.Empty() {
			continue
		}
		from, to := max(next, uint64(r.Off)/bs), p.w.g.pages(r.End())
		if from >= to {
			continue
		}
		if err := s.lay(from, to); err != nil {
			return err
		}
		next = to
	}
	h.remember(s.longest)
	p.res.Files[i] = s.places
	return nil
}

// readInline reads a small file into its inode, which has its holes as zeros.
func (p *filling) readInline(h *handle, i int, data []dev.Range, area []byte) (err error) {
	size := p.r.Entries[i].Size
	if size == 0 {
		return nil
	}
	h.b[inodeInline] |= inlineData | inlineExist
	if len(data) == 0 {
		return nil
	}
	src, err := p.r.Open(i)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for _, r := range data {
		r = r.Intersect(dev.Range{Len: size})
		if err := vol.ReadFull(src, area[r.Off:r.End()], r.Off); err != nil {
			return err
		}
	}
	return nil
}

// strip gives the pages of a new file blocks, one after the other.
type strip struct {
	h       *handle
	log     int
	places  []vol.Place
	longest pageExtent
	last    pageExtent
}

// pageExtent is pages of a file whose blocks lie one behind the other.
type pageExtent struct {
	page uint64
	addr uint32
	n    uint32
}

// lay gives pages from … to-1 blocks.
func (s *strip) lay(from, to uint64) error {
	h, w := s.h, s.h.w
	need := to - from
	if _, direct := h.slots(); to > uint64(direct) {
		_, nodes, err := h.missing(from, to)
		if err != nil {
			return err
		}
		need += nodes
	}
	if err := w.room(h.path, need); err != nil {
		return err
	}
	return h.eachNode(from, to, true, func(p *pointers, page uint64, first, end int) error {
		for word := first; word < end; word, page = word+1, page+1 {
			addr, err := w.logs.alloc(s.log, p.nid, p.version, p.slot(word))
			if err != nil {
				return err
			}
			p.set(word, addr)
			s.take(page, addr)
		}
		w.validBlocks += uint64(end - first)
		h.addBlocks(int64(end - first))
		return nil
	})
}

// take notes where a page is.
func (s *strip) take(page uint64, addr uint32) {
	bs := s.h.w.g.BlockSize
	if x := &s.last; x.n > 0 && x.page+uint64(x.n) == page && x.addr+x.n == addr {
		x.n++
		s.places[len(s.places)-1].At.Len += bs
	} else {
		s.last = pageExtent{page, addr, 1}
		s.places = append(s.places, vol.Place{Pos: int64(page) * bs, At: s.h.w.g.BlockRange(addr, 1)})
	}
	if s.last.n > s.longest.n {
		s.longest = s.last
	}
}

// remember has the inode remember the longest extent of a file, as it is worth
// that: [Linux] behaviour F2FS_MIN_EXTENT_LEN.
func (h *handle) remember(x pageExtent) {
	const least = 64
	if x.n < least || x.page > 1<<32-1 {
		return
	}
	h.b.put32(inodeExtent, uint32(x.page))
	h.b.put32(inodeExtent+4, x.addr)
	h.b.put32(inodeExtent+8, x.n)
}
