package lfs

// free gives back all blocks and nodes of a file, as deleting it does.
func (h *handle) free() (uint64, error) {
	w := h.w
	before := w.validBlocks
	f := newFreer(w, h.b)
	switch t := h.b.fileType(); {
	case h.b.inline()&(inlineData|inlineDentry) != 0:
	case t == modeFile, t == modeDir, t == modeSymlink:
		first, n := h.slots()
		if err := f.contents(h.b, h.b[inodeAddrs+4*first:][:4*n]); err != nil {
			return 0, pathError(h.path, err)
		}
	}
	if err := f.inode(h.b); err != nil {
		return 0, pathError(h.path, err)
	}
	freed := before - w.validBlocks
	if freed != h.b.blocks() {
		return 0, damagedf("%s: it has %d blocks, and says %d; run check -y", h.path, freed, h.b.blocks())
	}
	w.charge(h.b, -int64(freed-1)*w.g.BlockSize, -1)
	return freed, nil
}

// freer frees what a file has.
type freer struct {
	w   *writer
	ino uint32
	// What compression saved was given back, and counts no more; the marks of clusters
	// with it: [Linux] behaviour release_compress_blocks(),
	// f2fs_truncate_data_blocks_range().
	released bool
}

func newFreer(w *writer, b nodeBlock) freer {
	return freer{w: w, ino: b.nid(), released: b.inline()&inlineReleased != 0}
}

// contents frees what an inode leads to, words being its pointers to blocks.
func (f *freer) contents(b, words nodeBlock) error {
	if err := f.blocks(words); err != nil {
		return err
	}
	for k, depth := range [inodeNids]int{1, 1, 2, 2, 3} {
		if err := f.node(b.child(k), depth); err != nil {
			return err
		}
	}
	return nil
}

// inode frees an inode that leads to nothing any more, and its attributes.
func (f *freer) inode(b nodeBlock) error {
	if err := f.node(b.xattrNid(), 0); err != nil {
		return err
	}
	if err := f.drop(f.ino); err != nil {
		return err
	}
	f.w.validInodes--
	return nil
}

// blocks frees what pointers lead to; neighbours at once.
func (f *freer) blocks(words nodeBlock) error {
	var start, n uint32
	flush := func() error {
		if n == 0 {
			return nil
		}
		err := f.w.sit.release(start, n)
		n = 0
		return err
	}
	for i := 0; i < len(words); i += 4 {
		a := words.u32(i)
		switch {
		case a == nullAddr, a == compressAddr && f.released:
			continue
		case a == newAddr || a == compressAddr:
			f.w.validBlocks--
			continue
		case !f.w.g.ValidMain(a):
			continue
		}
		f.w.validBlocks--
		if n > 0 && a == start+n {
			n++
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		start, n = a, 1
	}
	return flush()
}

// node frees a node and what it leads to, depth nodes deep.
func (f *freer) node(nid uint32, depth int) error {
	if nid == 0 {
		return nil
	}
	b, err := f.w.part(nid, f.ino)
	if err != nil {
		return err
	}
	words := b[:4*f.w.g.per().nodeSlots()]
	switch {
	case depth == 1:
		err = f.blocks(words)
	case depth > 1:
		for i := 0; i < len(words) && err == nil; i += 4 {
			err = f.node(words.u32(i), depth-1)
		}
	}
	if err != nil {
		return err
	}
	return f.drop(nid)
}

// drop frees the block of a node, and its number. [Linux] behaviour
// set_node_addr(): the version of a number that is free goes on.
func (f *freer) drop(nid uint32) error {
	e, err := f.w.nat.get(nid)
	if err != nil {
		return err
	}
	if err := f.w.sit.release(e.addr(), 1); err != nil {
		return err
	}
	f.w.validBlocks--
	f.w.validNodes--
	version := e.version() + 1
	if err := f.w.nat.set(nid, 0, nullAddr); err != nil {
		return err
	}
	e.put(version, 0, nullAddr)
	return nil
}
