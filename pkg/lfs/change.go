package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// volume is an open F2FS volume.
type volume struct {
	d      dev.Device
	raw    dev.Device // below the transaction, or nil
	opened loadOptions
	now    int64
	l      *loaded // what the next change builds on; nil: to be read again
	info   vol.Info
	// Segments of which changes that are staged gave blocks back: until they are
	// committed, what is there counts. Nil: none.
	stale *space.Map
}

// batch is a set of files that are made, grow, or are zeroed in part, as one:
// one new checkpoint, or none.
type batch struct {
	v   *volume
	w   *writer
	ctx context.Context
	// Blocks that become part of a file as they are, and must be zeroed.
	fresh []dev.Range
	// The changes that were made, to compare with what is read back.
	files map[uint32]string
}

// begin starts a change that is not the one which fills a new volume.
func (v *volume) begin(ctx context.Context) (*batch, error) {
	c, err := v.start(ctx)
	if err == nil && c.w.g.ReadOnly() {
		return nil, errReadOnly()
	}
	return c, err
}

// start starts a change.
func (v *volume) start(ctx context.Context) (*batch, error) {
	l := v.l
	v.l = nil
	if l == nil {
		var err error
		if l, err = load(ctx, v.d, v.opened); err != nil {
			return nil, err
		}
		l.avoid = v.stale
	}
	w, err := newWriter(l, v.now)
	return &batch{v: v, w: w, ctx: ctx, files: map[uint32]string{}}, err
}

// finish counts for the owners, zeroes below the transaction what comes to be
// readable, writes the checkpoint, and reads back what it says. When it fails, what is staged must
// not be committed.
func (c *batch) finish() error {
	if len(c.files) == 0 {
		return nil
	}
	if err := c.w.putQuotas(); err != nil { // it may refuse the change
		return err
	}
	if err := vol.ZeroFresh(c.ctx, c.v.d, c.v.raw, c.fresh); err != nil {
		return err
	}
	if err := c.w.commit(c.ctx); err != nil {
		return err
	}
	c.v.leave(c.w.sit)
	return c.verify()
}

// leave notes which segments a change gave blocks back of.
func (v *volume) leave(t *ledger) {
	for segno, s := range t.changed {
		for i := range s.was {
			if s.was[i]&^s.now[i] == 0 {
				continue
			}
			if v.stale == nil {
				v.stale = space.NewMap(t.g.MainSegments)
			}
			v.stale.Set(segno)
			break
		}
	}
}

// verify reads the new checkpoint as a mount would. A difference is a mistake in
// this package, and must not reach the disk.
func (c *batch) verify() error {
	l := &loaded{d: c.v.d}
	o := loadOptions{force: true, fresh: true}
	if err := l.loadSuper(o); err != nil {
		return err
	}
	o.fresh = false // not any more
	if err := l.loadPack(c.ctx, o); err != nil {
		return err
	}
	if got, want := l.s.cp.version(), c.w.s.cp.version()+1; got != want {
		return mistakef("checkpoint %d counts, not %d", got, want)
	}
	nat, b := newNATTable(l), make(nodeBlock, l.g.BlockSize)
	for nid, path := range c.files {
		e, err := nat.get(nid)
		if err != nil {
			return err
		}
		want, err := c.w.nat.get(nid)
		if err != nil {
			return err
		}
		if string(e) != string(want) || !l.g.ValidMain(e.addr()) {
			return mistakef("%s: NAT has its inode %d at block %#x, not %#x", path, nid, e.addr(), want.addr())
		}
		if _, err := c.v.d.ReadAt(b, l.g.BlockOff(e.addr())); err != nil {
			return err
		}
		if b.nid() != nid || b.ino() != nid {
			return mistakef("%s: block %d is not its inode", path, e.addr())
		}
	}
	return nil
}

func mistakef(format string, args ...any) error {
	return damagedf("the change does not read back as planned, nothing is written: %s", textf(format, args...))
}

// file opens the file at path, which is made if it is not there and create says
// so, as are the directories on the way.
func (c *batch) file(path string, create bool) (*handle, error) {
	parts, err := vol.SplitPath(path)
	if err != nil {
		return nil, err
	}
	dir, err := c.w.open("/", rootIno)
	if err != nil {
		return nil, err
	}
	for i, part := range parts {
		last := i == len(parts)-1
		if !dir.b.isDir() {
			return nil, vol.Refusef("%s: %s is no directory", path, dir.path)
		}
		next, err := c.child(dir, part, create, last)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return nil, vol.NoSuch(path, dir.path, part, dir.names)
		}
		dir = next
	}
	if dir.b.fileType() != modeFile {
		return nil, vol.Refusef("%s is no regular file", path)
	}
	return dir, nil
}

// child opens what a directory has under a name, or makes it. Without create it is
// nil where there is nothing.
func (c *batch) child(dir *handle, name string, create, last bool) (*handle, error) {
	n, err := dir.nameIn(name)
	if err != nil {
		return nil, err
	}
	ino, _, err := dir.lookup(&n)
	if err != nil {
		return nil, err
	}
	path := vol.JoinPath(dir.path, name)
	switch {
	case ino != 0:
		if ino < rootIno || c.w.g.isQuota(ino) {
			return nil, damagedf("%s leads to inode %d, which is no file's; run check -y", path, ino)
		}
		h, err := c.w.open(path, ino)
		if err != nil {
			return nil, pathError(path, err)
		}
		if h.b.fileType() == modeSymlink {
			return nil, vol.Refusef("%s is a symbolic link, and those are not followed", path)
		}
		return h, nil
	case !create:
		return nil, nil
	}
	mode := uint16(newDirMode)
	if last {
		mode = newFileMode
	}
	h, err := dir.create(&n, mode)
	if err != nil {
		return nil, err
	}
	c.files[dir.nid], c.files[h.nid] = dir.path, h.path
	return h, nil
}

// writable refuses files that are not changed by who does not know what is in
// them.
func (h *handle) writable() error {
	switch f := h.b.flags(); {
	case f&flagImmutable != 0:
		return vol.Refusef("%s: it is marked as immutable", h.path)
	case f&flagDeviceAlias != 0:
		return vol.Refusef("%s: it stands for a device", h.path)
	case f&flagCompressed != 0:
		return vol.Refusef("%s: it is compressed, and its clusters are not for this version to change", h.path)
	case h.has(adviseVerity):
		return vol.Refusef("%s: it is sealed by fs-verity", h.path)
	}
	return nil
}

// reaches refuses a file that ends beyond what pointers reach, [Linux] behaviour
// max_file_blocks().
func (h *handle) reaches(end int64) error {
	if end == 0 {
		return nil
	}
	if _, ok := h.wayTo(h.w.g.pages(end) - 1); !ok {
		return vol.Refusef("%s: a file cannot have %d bytes", h.path, end)
	}
	return nil
}

// grow sets the size of a file to end, if that is more, or with keepSize notes
// that there are blocks beyond it.
func (h *handle) grow(end int64, keepSize bool) error {
	switch {
	case uint64(end) <= h.b.size():
		return nil
	case keepSize:
		h.b[inodeAdvise] |= adviseKeepSize
		return nil
	}
	if err := h.cutTail(); err != nil {
		return err
	}
	h.b.put64(inodeSize, uint64(end))
	return nil
}
