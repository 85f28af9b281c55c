package lfs

// dir makes a directory.
func (m *builder) dir(parent *built, name string) *built {
	m.t.Helper()
	x := m.inode(parent, name, modeDir, 0)
	x.node.put32(inodeDepth, 1)
	return m.newDir(x)
}

// inlineDir makes one whose entries are in its inode.
func (m *builder) inlineDir(parent *built, name string) *built {
	m.t.Helper()
	x := m.inode(parent, name, modeDir, inlineDentry|inlineXattr)
	x.node.put64(inodeSize, uint64(len(m.g.inlineArea(x.node))))
	return m.newDir(x)
}

func (m *builder) newDir(x *built) *built {
	x.node.put32(inodeLinks, 2)
	x.enter(".", x.ino, typeDir)
	x.enter("..", x.parent.ino, typeDir)
	x.parent.enter(x.name, x.ino, typeDir)
	x.parent.node.put32(inodeLinks, x.parent.node.links()+1)
	return x
}

// enter adds an entry to a directory, in the first bucket that has room.
func (x *built) enter(name string, ino uint32, kind byte) {
	if x.node.inline()&inlineDentry != 0 {
		d := newDentryBlock(x.m.g.inlineArea(x.node))
		slot := d.add(name, x.hash(name), ino, kind)
		if slot < 0 {
			x.m.t.Fatalf("no room for %s in its inode", name)
		}
		x.entries = append(x.entries, builtEntry{name: name, slot: slot})
		return
	}
	h := uint64(x.hash(name))
	start := uint64(0)
	for level := 0; ; level++ {
		buckets, blocks := dirBuckets(level, int(x.node.dirLevel())), blocksPerBucket(level)
		for i := range blocks {
			page := uint32(start + h%buckets*blocks + i)
			addr := x.pages[page]
			if addr == 0 {
				addr = x.data(page)
				x.node.put64(inodeSize, max(x.node.size(), (uint64(page)+1)*uint64(x.m.g.BlockSize)))
			}
			b := x.m.read(addr)
			if slot := newDentryBlock(b).add(name, x.hash(name), ino, kind); slot >= 0 {
				x.m.write(addr, b)
				x.entries = append(x.entries, builtEntry{name: name, blk: addr, slot: slot})
				x.node.put32(inodeDepth, max(x.node.depth(), uint32(level)+1))
				return
			}
		}
		start += buckets * blocks
	}
}

// hash is that of a name in x.
func (x *built) hash(name string) uint32 {
	if x.node.flags()&flagCasefold != 0 {
		if folded, ok := foldName(nil, []byte(name)); ok { // TestCheckStock has it from Linux
			return nameHash(folded)
		}
	}
	return nameHash([]byte(name))
}

// add enters a name in free slots that follow one another, and returns the
// first; -1 for no room.
func (d dentryBlock) add(name string, hash, ino uint32, kind byte) int {
	n := nameSlots(len(name))
	for at, free := 0, 0; at < d.slots; at++ {
		if free++; d.used(at) {
			free = 0
		}
		if free < n {
			continue
		}
		first := at - n + 1
		d.entry(first).put(hash, ino, len(name), kind)
		copy(d.b[d.names+nameSlotLen*first:], name)
		for i := range n {
			d.setUsed(first + i)
		}
		return first
	}
	return -1
}

// entry is where an entry of x is.
func (x *built) entry(name string) builtEntry {
	x.m.t.Helper()
	for _, e := range x.entries {
		if e.name == name {
			return e
		}
	}
	x.m.t.Fatalf("there is no %s", name)
	return builtEntry{}
}

// editEntry changes an entry on the volume, and gives the place of it in bytes.
func (x *built) editEntry(name string, fn func(d dentryBlock, slot int)) (off int64) {
	e := x.entry(name)
	if e.blk == 0 {
		x.editInode(func(n nodeBlock) {
			d := newDentryBlock(x.m.g.inlineArea(n))
			fn(d, e.slot)
			off = x.m.g.BlockOff(x.addr) + x.m.g.inlineOff(n) + int64(d.entries+dentryLen*e.slot)
		})
		return off
	}
	x.m.edit(e.blk, func(b []byte) {
		d := newDentryBlock(b)
		fn(d, e.slot)
		off = x.m.g.BlockOff(e.blk) + int64(d.entries+dentryLen*e.slot)
	})
	return off
}

// editInode changes the inode of x on the volume, and makes its checksum right.
func (x *built) editInode(fn func(n nodeBlock)) {
	x.m.edit(x.addr, func(b []byte) {
		fn(nodeBlock(b))
		x.m.seal(nodeBlock(b))
	})
}
