package lfs

import "encoding/binary"

// file is what a file is to be.
type file struct {
	mode     uint16 // modeFile by default
	pages    []uint32
	reserved []uint32 // pages that have no block
	inline   []byte
	xattrs   []byte // list without its header, in the inode
	more     []byte // the same, in a node
	links    uint32
	size     uint64 // by default to the end of the last page
	change   func(n nodeBlock)
}

// slots is how many pointers the inode of x has.
func (m *builder) slots(x *built) uint32 {
	if x.node.inline()&(inlineData|inlineDentry) != 0 {
		return 0
	}
	n := x.node.words() - m.g.extraWords(x.node) - m.g.xattrWords(x.node)
	if c := m.cluster(x); c > 0 {
		n = n >> c << c
	}
	return uint32(n)
}

func (m *builder) cluster(x *built) byte {
	if x.node.flags()&flagCompressed == 0 || !m.g.Has(featCompression) || x.node.fileType() != modeFile {
		return 0
	}
	return x.node.logCluster()
}

// inode begins a file or directory.
func (m *builder) inode(dir *built, name string, mode uint16, inline byte) *built {
	x := &built{m: m, ino: m.newNid(), parent: dir, name: name, node: make(nodeBlock, m.g.BlockSize), nodes: map[uint32]*builtNode{}, pages: map[uint32]uint32{}}
	n := x.node
	n.put16(inodeMode, mode)
	if n.fileType() == mode {
		n.put16(inodeMode, mode|0o644)
	}
	n[inodeInline] = inline
	n.put32(inodeLinks, 1)
	n.put32(inodeParent, dir.ino)
	n.put32(inodeNameLen, uint32(len(name)))
	copy(n[inodeName:], name)
	if m.g.Has(featExtraAttr) {
		n[inodeInline] |= inlineExtra
		n.put16(inodeExtraLen, uint16(extraLen(m.g.Features)))
		if m.g.Has(featFlexXattr) && inline&inlineXattr != 0 {
			n.put16(inodeXattrWords, 40)
		}
	}
	m.all = append(m.all, x)
	return x
}

// file makes one.
func (m *builder) file(dir *built, name string, f file) *built {
	m.t.Helper()
	inline := byte(0)
	if f.inline != nil {
		inline |= inlineData | inlineExist
	}
	if f.xattrs != nil {
		inline |= inlineXattr
	}
	if f.mode == 0 {
		f.mode = modeFile
	}
	x := m.inode(dir, name, f.mode, inline)
	if f.change != nil {
		f.change(x.node)
	}
	if f.links > 0 {
		x.node.put32(inodeLinks, f.links)
	}
	end := uint64(0)
	for _, page := range f.pages {
		x.data(page)
		end = max(end, uint64(page)+1)
	}
	for _, page := range f.reserved {
		x.point(page, newAddr)
		end = max(end, uint64(page)+1)
	}
	switch {
	case f.size > 0:
	case f.inline != nil:
		f.size = uint64(len(f.inline))
		from := inodeAddrs + 4*(m.g.extraWords(x.node)+inlineReserved)
		copy(x.node[from:], f.inline)
	default:
		f.size = end * uint64(m.g.BlockSize)
	}
	x.node.put64(inodeSize, f.size)
	x.putXattrs(f)
	if dir != nil && name != "" {
		dir.enter(name, x.ino, kindOf(x.node.fileType()))
	}
	return x
}

// putXattrs writes the list of attributes: in the inode, and on in a node.
func (x *built) putXattrs(f file) {
	if f.xattrs == nil && f.more == nil {
		return
	}
	list := make([]byte, xattrHeaderLen)
	binary.LittleEndian.PutUint32(list, xattrMagic)
	list = append(append(list, f.xattrs...), f.more...)
	if f.xattrs != nil {
		n := x.m.g.xattrWords(x.node)
		area := x.node[inodeAddrs+4*(x.node.words()-n) : inodeAddrs+4*x.node.words()]
		list = list[copy(area, list):]
	}
	if f.more != nil {
		n := x.newNode(xattrPlace)
		copy(n.b, list)
		x.node.put32(inodeXattrNid, n.nid)
	}
}

// xattr is an entry of the list.
func xattr(index byte, name string, value []byte) []byte {
	b := []byte{index, byte(len(name)), byte(len(value)), byte(len(value) >> 8)}
	b = append(append(b, name...), value...)
	return append(b, make([]byte, -len(b)&3)...)
}

// data allocates a block for a page, and returns its address.
func (x *built) data(page uint32) uint32 {
	log := warmData
	if x.node.isDir() {
		log = hotData
	}
	addr := x.m.take(log)
	x.point(page, addr)
	return addr
}

// point sets the pointer of a page.
func (x *built) point(page, addr uint32) {
	nid, slot, put := x.place(page)
	put(addr)
	if x.m.g.ValidMain(addr) {
		x.m.owner(addr, nid, slot)
	}
	x.pages[page] = addr
}

// place finds the pointer of a page: the node that has it, and which one it is.
// Nodes on the way there are made.
func (x *built) place(page uint32) (nid uint32, slot int, put func(uint32)) {
	n, per := x.m.slots(x), uint32(x.m.g.per().nodeSlots())
	step := per
	if c := x.m.cluster(x); c > 0 {
		step = per >> c << c
	}
	if page < n {
		at := x.m.g.extraWords(x.node) + int(page)
		return x.ino, int(page), func(a uint32) { x.node.putWord(at, a) }
	}
	words := x.node.words()
	in := func(k *builtNode, i uint32) (uint32, int, func(uint32)) {
		return k.nid, int(i), func(a uint32) { k.b.put32(4*int(i), a) }
	}
	if page -= n; page < 2*step {
		i := page / step
		return in(x.child(x.node, inodeAddrs+4*(words+int(i)), 1+i), page%step)
	}
	if page -= 2 * step; page < 2*step*per {
		i, rest := page/(step*per), page%(step*per)
		ind := x.child(x.node, inodeAddrs+4*(words+2+int(i)), 3+i*(per+1))
		return in(x.child(ind.b, int(4*(rest/step)), ind.place+1+rest/step), rest%step)
	}
	page -= 2 * step * per
	double := x.child(x.node, inodeAddrs+4*(words+4), 3+2*(per+1))
	i, rest := page/(step*per), page%(step*per)
	ind := x.child(double.b, int(4*i), double.place+1+i*(per+1))
	return in(x.child(ind.b, int(4*(rest/step)), ind.place+1+rest/step), rest%step)
}

// child is the node at a place of the file, which the word at off of b leads
// to.
func (x *built) child(b nodeBlock, off int, place uint32) *builtNode {
	if n := x.nodes[place]; n != nil {
		return n
	}
	n := x.newNode(place)
	b.put32(off, n.nid)
	return n
}

func (x *built) newNode(place uint32) *builtNode {
	n := &builtNode{nid: x.m.newNid(), place: place, b: make(nodeBlock, x.m.g.BlockSize)}
	x.nodes[place] = n
	return n
}

// finish gives all nodes their places and writes them.
func (x *built) finish() {
	m := x.m
	log := warmNode
	if x.node.isDir() {
		log = hotNode
	}
	blocks := uint64(1 + len(x.nodes))
	for _, a := range x.pages {
		if a != nullAddr && (a != compressAddr || x.node.inline()&inlineReleased == 0) {
			blocks++
		}
	}
	x.node.put64(inodeBlocks, blocks)
	for _, n := range x.nodes {
		n.addr = m.put(log, n.nid, x.ino, n.place, n.b)
	}
	if !x.old {
		x.addr = m.take(log)
		m.owner(x.addr, x.ino, 0)
		m.setNAT(x.ino, x.ino, x.addr)
	}
	x.node.putFooter(x.ino, x.ino, 0, 1, x.addr+1)
	m.seal(x.node)
	m.write(x.addr, x.node)
}

// put writes a node that is no inode.
func (m *builder) put(log int, nid, ino, place uint32, b nodeBlock) uint32 {
	addr := m.take(log)
	m.owner(addr, nid, 0)
	m.setNAT(nid, ino, addr)
	b.putFooter(nid, ino, place<<footerShift, 1, addr+1)
	m.write(addr, b)
	return addr
}

// seal sets the checksum of an inode, where there is one.
func (m *builder) seal(n nodeBlock) {
	if m.g.Has(featInodeChecksum) && n.hasSum() {
		n.put32(inodeChecksum, inodeSum(inodeSeed(m.sb.uuid()), n))
	}
}
