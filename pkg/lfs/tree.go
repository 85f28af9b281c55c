package lfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tree reads the files of a volume as its newest checkpoint has them. It is not
// safe for concurrent use, because of the blocks of NAT that it keeps.
type tree struct {
	l    *loaded
	w    *writer // see reader
	info vol.Info
	// Memory for what is read: blocks of directories, and inodes.
	dirBuf, buf []byte
}

// read is Driver.Read. It takes a volume that asks for a check; what was synced
// since the checkpoint, and is in the log that a mount replays, is there once
// that was settled, see settleLog.
func read(_ context.Context, d dev.Device, _ vol.ReadOptions) (vol.Tree, error) {
	l := &loaded{d: d}
	if err := l.eitherSuper(); err != nil {
		return nil, err
	}
	if err := l.unreadable(); err != nil {
		return nil, err
	}
	if err := l.newestPack(); err != nil {
		return nil, err
	}
	info, err := describe(d)
	return &tree{l: l, w: reader(l), info: info}, err
}

// unreadable is why files of a volume cannot be read at all, by its superblock.
func (l *loaded) unreadable() error {
	switch {
	case l.g.Features&^featKnown != 0:
		return vol.Refusef("features %s are not known: how files are to be read is not, either", hex(l.g.Features&^featKnown))
	case l.g.Devices > 0:
		return vol.Refusef("the volume is on %d devices, of which this is one", l.g.Devices)
	}
	return nil
}

// newestPack reads the checkpoint pack that a mount would take.
func (l *loaded) newestPack() error {
	packs, err := readPacks(l.d, l.g)
	if err != nil {
		return err
	}
	use := choosePack(packs)
	if use == nil {
		return damagedf("neither checkpoint pack can be used: %s; %s", packs[0].fault.detail, packs[1].fault.detail)
	}
	s, f, err := readState(l.d, l.g, use)
	if err == nil && f != nil {
		err = damagedf("checkpoint: %s", f.detail)
	}
	l.s = s
	return err
}

// reader is a writer that only reads: it knows nothing of SIT.
func reader(l *loaded) *writer {
	return &writer{d: l.d, g: l.g, s: l.s, sb: l.sb, seed: inodeSeed(l.sb.uuid()), nat: newNATTable(l)}
}

func (w *writer) reads() bool { return w.sit == nil }

// Info describes the volume.
func (t *tree) Info() vol.Info { return t.info }

// Fold is for the volume as a whole, which tells upper from lower case.
func (*tree) Fold(name string) string { return name }

// ref is how a node knows its inode.
type ref struct {
	nid   uint32
	whole bool // Details has nothing to add
}

// Root is the root directory.
func (t *tree) Root() (*vol.Node, error) {
	h, err := t.inode("/", rootIno)
	if err != nil {
		return nil, err
	}
	if !h.b.isDir() {
		return nil, damagedf("the root is no directory; run check -y")
	}
	return t.node("/", h.b)
}

// inode reads the inode of a path.
func (t *tree) inode(path string, nid uint32) (*handle, error) {
	h, err := t.w.open(path, nid)
	if err != nil {
		return nil, pathError(path, err)
	}
	h.strict = true
	return h, nil
}

// open reads the inode of a node.
func (t *tree) open(n *vol.Node) (*handle, error) {
	r, _ := n.Own.(ref)
	return t.inode(n.Path, r.nid)
}

// Lookup finds a name by its hash, as the kernel does. In a directory that is
// encrypted names are those that List gives.
func (t *tree) Lookup(dir *vol.Node, name string) (*vol.Node, error) {
	h, err := t.open(dir)
	if err != nil {
		return nil, err
	}
	if !h.b.isDir() {
		return nil, vol.Refusef("%s is not a directory", dir.Path)
	}
	if h.has(adviseEncrypted) {
		return t.lookupEncrypted(h, name)
	}
	if len(name) > maxNameLen || len(name) == 0 {
		return nil, fs.ErrNotExist
	}
	n, err := h.nameIn(name)
	if err != nil {
		return nil, err
	}
	ino, _, err := h.lookup(&n)
	if err != nil {
		return nil, pathError(dir.Path, err)
	}
	if ino == 0 {
		return nil, fs.ErrNotExist
	}
	return t.child(vol.JoinPath(dir.Path, name), ino)
}

// child is the node that an entry leads to.
func (t *tree) child(path string, ino uint32) (*vol.Node, error) {
	h, err := t.inode(path, ino)
	if err != nil {
		return nil, err
	}
	return t.node(path, h.b)
}

// Details reads the target of a symbolic link and the attributes.
func (t *tree) Details(n *vol.Node) error {
	r, _ := n.Own.(ref)
	if r.whole {
		return nil
	}
	h, err := t.open(n)
	if err != nil {
		return err
	}
	if n.Kind == vol.KindSymlink {
		if n.Link, err = h.target(); err != nil {
			return err
		}
	}
	if n.Xattrs, err = h.xattrs(); err != nil {
		return err
	}
	n.Own = ref{r.nid, true}
	return nil
}

// target is what a symbolic link leads to. Without its key that of one that is
// encrypted is only a name for it, as the kernel makes them.
func (h *handle) target() (string, error) {
	size := h.b.size()
	var b []byte
	if h.b.inline()&inlineData != 0 {
		b = h.w.g.inlineArea(h.b)
	} else if size > 0 && size <= uint64(h.w.g.BlockSize) {
		page, err := h.readPage(0)
		if err != nil {
			return "", err
		}
		b = page
	}
	if size > uint64(len(b)) {
		return "", damagedf("%s: the target of a symbolic link has %d bytes; run check -y", h.path, size)
	}
	if b = b[:size]; h.has(adviseEncrypted) {
		if len(b) < 2 {
			return "", damagedf("%s: the encrypted target of a symbolic link has %d bytes; run check -y", h.path, size)
		}
		return keylessName(0, b[2:]), nil // behind its length
	}
	return string(b), nil
}

// Mappings are the pieces of a file or directory. Holes have none.
func (t *tree) Mappings(n *vol.Node) ([]vol.Mapping, error) {
	h, err := t.open(n)
	if err != nil {
		return nil, err
	}
	m, err := h.mappings()
	return m.ms, err
}

// mapping is where a file is.
type mapping struct {
	ms []vol.Mapping
	// The blocks of the clusters that are compressed.
	clusters map[uint64][]uint32
}

// mappings are the blocks of a file.
func (h *handle) mappings() (m mapping, err error) {
	g := h.w.g
	switch h.b.fileType() {
	case modeFile, modeDir, modeSymlink:
	default:
		return m, nil // the words of a device are its number
	}
	if h.b.inline()&(inlineData|inlineDentry) != 0 {
		return h.inlineMapping()
	}
	last, err := h.lastPage()
	if err != nil {
		return m, err
	}
	log := g.clusterLog(h.b)
	err = h.eachNode(0, last, false, func(p *pointers, page uint64, first, end int) error {
		if a, ok := p.same(first, end); ok && a == nullAddr {
			return nil
		}
		for word := first; word < end; word, page = word+1, page+1 {
			switch a := p.get(word); {
			case a == nullAddr:
			case a == compressAddr && log > 0 && page&(1<<log-1) == 0:
				if m.clusters == nil {
					m.clusters = map[uint64][]uint32{}
				}
				m.clusters[page>>log] = nil
			case a == newAddr || g.ValidMain(a):
				if blocks, ok := m.clusters[page>>log]; ok {
					if a == newAddr {
						continue // what compression saved
					}
					m.clusters[page>>log] = append(blocks, a)
				}
				m.add(g, page, a)
			default:
				return damagedf("%s: it leads to block %#x, which is not in the main area; run check -y", h.path, a)
			}
		}
		return nil
	})
	return m, err
}

// add appends a page to the mapping, to what is there where it goes on.
func (m *mapping) add(g *Geometry, page uint64, addr uint32) {
	pos := int64(page) * g.BlockSize
	if k := len(m.ms) - 1; k >= 0 && m.ms[k].Pos+m.ms[k].Length == pos {
		last := &m.ms[k]
		if addr == newAddr && last.Unwritten {
			last.Length += g.BlockSize
			return
		}
		if addr != newAddr && !last.Unwritten && last.Extent.End() == uint64(addr) {
			last.Extent.Len++
			last.Length += g.BlockSize
			return
		}
	}
	x := vol.Mapping{Pos: pos, Unwritten: addr == newAddr}
	x.Length = g.BlockSize
	if addr != newAddr {
		x.Extent, x.Off = space.Extent{Start: addr, Len: 1}, g.BlockOff(addr)
	}
	m.ms = append(m.ms, x)
}

// inlineMapping is the part of the inode that holds data or entries.
func (h *handle) inlineMapping() (m mapping, err error) {
	g := h.w.g
	e, err := h.w.nat.get(h.nid)
	if err != nil {
		return m, err
	}
	size, room := h.b.size(), uint64(len(g.inlineArea(h.b)))
	if size > room {
		return m, damagedf("%s: %d bytes are said to be in the inode, which has room for %d; run check -y", h.path, size, room)
	}
	if size == 0 {
		return m, nil
	}
	x := vol.Mapping{Inline: true}
	x.Off, x.Length = g.BlockOff(e.addr())+g.inlineOff(h.b), int64(size)
	m.ms = []vol.Mapping{x}
	return m, nil
}

// Contents reads a file.
func (t *tree) Contents(n *vol.Node) (io.ReaderAt, error) {
	if n.Kind != vol.KindFile {
		return nil, fmt.Errorf("%w: %s is no regular file", vol.ErrRequest, n.Path)
	}
	h, err := t.open(n)
	if err != nil {
		return nil, err
	}
	switch {
	case h.has(adviseEncrypted):
		return nil, vol.Refusef("%s: it is encrypted, and cannot be read without its key", n.Path)
	case h.b.flags()&flagDeviceAlias != 0:
		return nil, vol.Refusef("%s: it stands for a device", n.Path)
	}
	m, err := h.mappings()
	switch {
	case err != nil:
		return nil, err
	case h.b.inline()&inlineData != 0:
		return bytes.NewReader(h.w.g.inlineArea(h.b)[:h.b.size()]), nil
	}
	plain := &vol.SectionReader{D: t.l.d, Mappings: m.ms, Size: n.Size, Valid: n.Size}
	if m.clusters == nil {
		return plain, nil
	}
	expand, err := h.expander()
	if err != nil {
		return nil, err
	}
	return &compressed{path: n.Path, d: t.l.d, g: h.w.g, plain: plain, clusters: m.clusters, log: h.w.g.clusterLog(h.b), expand: expand}, nil
}

// Uses goes over what is before the main area, that, and what is behind it. Of
// the main area the segments of nodes are metadata. What is kept back is no place
// of its own: it is part of what is free.
func (t *tree) Uses(ctx context.Context, fn func(vol.UseRange) error) error {
	g := t.l.g
	sit, err := t.l.s.loadSIT(ctx, t.l.d)
	if err != nil {
		return err
	}
	if err := fn(vol.UseRange{Range: dev.Range{Len: g.BlockOff(g.Main)}, Use: vol.UseMetadata}); err != nil {
		return err
	}
	u := &useRun{g: g, fn: fn, at: g.Main}
	sit.valid.Runs(space.Extent{Len: uint32(min(sit.valid.Len(), 1<<32-1))}, func(e space.Extent) bool {
		u.to(uint64(g.Main)+uint64(e.Start), vol.UseFree)
		for start := uint64(e.Start); start < e.End() && u.err == nil; {
			segno := start / segmentBlocks
			end := min((segno+1)*segmentBlocks, e.End())
			use := vol.UseData
			if k := sit.kind[segno]; k >= hotNode && k < logCount {
				use = vol.UseMetadata
			}
			u.to(uint64(g.Main)+end, use)
			start = end
		}
		return u.err == nil
	})
	u.to(g.MainEnd(), vol.UseFree)
	u.to(g.Blocks, vol.UseReserved)
	return u.err
}

// useRun tells of the blocks up to where it is.
type useRun struct {
	g   *Geometry
	fn  func(vol.UseRange) error
	at  uint32
	err error
}

func (u *useRun) to(end uint64, use vol.Use) {
	if u.err != nil || end <= uint64(u.at) {
		return
	}
	r := dev.Range{Off: u.g.BlockOff(u.at), Len: int64(end-uint64(u.at)) * u.g.BlockSize}
	u.at = uint32(min(end, 1<<32-1))
	u.err = u.fn(vol.UseRange{Range: r, Use: use})
}
