package lfs

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

const (
	listChunk = 8192    // entries whose inodes are read together
	listPiece = 1 << 20 // bytes that are read at once
)

// List calls fn for what is in a directory. Inodes are read in order of address,
// neighbours together. Of a directory that is damaged fn gets what can be read,
// and the error is of what cannot.
func (t *tree) List(ctx context.Context, dir *vol.Node, fn func(*vol.Node) error) error {
	h, err := t.open(dir)
	if err != nil {
		return err
	}
	if !h.b.isDir() {
		return vol.Refusef("%s is not a directory", dir.Path)
	}
	l := &listing{t: t, ctx: ctx, fn: fn, prefix: vol.JoinPath(dir.Path, "")}
	err = t.entries(ctx, h, &l.bad, l.take)
	if err == nil {
		err = l.flush()
	}
	return cmp.Or(err, l.bad)
}

// lookupEncrypted finds a name among those that stand for encrypted ones.
func (t *tree) lookupEncrypted(h *handle, name string) (*vol.Node, error) {
	var ino uint32
	var bad error
	err := t.entries(context.Background(), h, &bad, func(n string, i uint32) error {
		if n == name && ino == 0 {
			ino = i
		}
		return nil
	})
	switch err = cmp.Or(err, bad); {
	case ino != 0:
		return t.child(vol.JoinPath(h.path, name), ino)
	case err == nil:
		err = fs.ErrNotExist
	}
	return nil, err
}

// entries calls fn with the entries of a directory, but . and .., in their
// order. What is damaged goes to bad.
func (t *tree) entries(ctx context.Context, h *handle, bad *error, fn func(name string, ino uint32) error) error {
	g := t.l.g
	scan := func(d dentryBlock) error { return h.eachEntry(d, bad, fn) }
	if h.b.inline()&inlineDentry != 0 {
		return scan(newDentryBlock(g.inlineArea(h.b)))
	}
	m, err := h.mappings()
	if err != nil {
		return err
	}
	// A block that is there twice would be read without end.
	seen := map[uint32]bool{}
	// Its entries may lead to directories that are listed meanwhile.
	buf := t.dirBuf
	t.dirBuf = nil
	defer func() { t.dirBuf = buf }()
	for _, x := range m.ms {
		for left := x.Extent; left.Len > 0 && !x.Unwritten; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(left.Len, uint32(listPiece/g.BlockSize))
			if int64(len(buf)) < int64(n)*g.BlockSize {
				buf = make([]byte, int64(n)*g.BlockSize)
			}
			b := buf[:int64(n)*g.BlockSize]
			if _, err := t.l.d.ReadAt(b, g.BlockOff(left.Start)); err != nil {
				return pathError(h.path, err)
			}
			for i := range n {
				if seen[left.Start+i] {
					return damagedf("%s: it has block %d twice; run check -y", h.path, left.Start+i)
				}
				seen[left.Start+i] = true
				if err := scan(newDentryBlock(b[int64(i)*g.BlockSize:][:g.BlockSize])); err != nil {
					return err
				}
			}
			left.Start, left.Len = left.Start+n, left.Len-n
		}
	}
	return nil
}

// eachEntry calls fn with the entries in a block of a directory.
func (h *handle) eachEntry(d dentryBlock, bad *error, fn func(name string, ino uint32) error) error {
	for i, raw := range d.all() {
		e := d.entry(i)
		name := string(raw)
		switch {
		case raw == nil:
			*bad = cmp.Or(*bad, damagedf("%s: an entry has a name of %d bytes; run check -y", h.path, e.nameLen()))
			continue
		case isDots(raw):
			continue
		case h.has(adviseEncrypted):
			name = keylessName(e.hash(), raw)
		case slices.Contains(raw, '/'):
			*bad = cmp.Or(*bad, damagedf("%s: the name %q has a slash in it; run check -y", h.path, name))
			continue
		}
		if err := fn(name, e.ino()); err != nil {
			return err
		}
	}
	return nil
}

// listing is one call of List.
type listing struct {
	t      *tree
	ctx    context.Context
	fn     func(*vol.Node) error
	prefix string
	names  []string
	inos   []uint32
	bad    error
}

func (l *listing) take(name string, ino uint32) error {
	l.names, l.inos = append(l.names, name), append(l.inos, ino)
	if len(l.inos) < listChunk {
		return nil
	}
	return l.flush()
}

// flush reads the inodes of the entries at hand, and hands the nodes on.
func (l *listing) flush() error {
	nodes := make([]vol.Node, len(l.inos))
	refs := make([]blockRef, 0, len(l.inos))
	for i, ino := range l.inos {
		e, err := l.t.w.nat.get(ino)
		if err == nil && (ino < rootIno || e.ino() != ino || !l.t.l.g.ValidMain(e.addr())) {
			err = damagedf("%s%s leads to inode %d, which NAT does not have; run check -y", l.prefix, l.names[i], ino)
		}
		if err != nil {
			l.bad = cmp.Or(l.bad, err)
			continue
		}
		refs = append(refs, blockRef{e.addr(), int32(i)})
	}
	err := l.t.l.eachBlock(l.ctx, refs, &l.t.buf, func(at int32, blk uint32, b []byte, err error) {
		path := l.prefix + l.names[at]
		if err == nil {
			err = l.t.w.proveNode(blk, l.inos[at], l.inos[at], b)
		}
		if err == nil {
			err = l.t.fillNode(&nodes[at], path, b)
		}
		if err != nil {
			l.bad = cmp.Or(l.bad, pathError(path, err))
		}
	})
	for i := range nodes {
		if err != nil {
			return err
		}
		if nodes[i].Own != nil {
			err = l.fn(&nodes[i])
		}
	}
	l.names, l.inos = l.names[:0], l.inos[:0]
	return err
}

// eachBlock reads blocks in order of address, neighbours together, and calls fn
// with each. What cannot be read is an error for those that were read together.
func (l *loaded) eachBlock(ctx context.Context, refs []blockRef, buf *[]byte, fn func(at int32, blk uint32, b []byte, err error)) error {
	bs := l.g.BlockSize
	sortByKey(refs, nil, func(r *blockRef) uint32 { return r.blk })
	for p, rest := l.g.cutPart(refs, listPiece); len(p.refs) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		next, left := l.g.cutPart(rest, listPiece)
		if len(next.refs) > 0 {
			l.d.Readahead(next.r)
		}
		if int64(len(*buf)) < p.r.Len {
			*buf = make([]byte, listPiece)
		}
		b := (*buf)[:p.r.Len]
		_, err := l.d.ReadAt(b, p.r.Off)
		for _, r := range p.refs {
			fn(r.at, r.blk, b[l.g.BlockOff(r.blk)-p.r.Off:][:bs], err)
		}
		p, rest = next, left
	}
	return nil
}
