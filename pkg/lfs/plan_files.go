package lfs

const (
	rootMode  = modeDir | 0o755
	lostMode  = modeDir | 0o700
	quotaMode = modeFile | 0o600
	lostName  = "lost+found"
	// firstCPVer is the version that the nodes of a new volume carry. It is
	// no version of a checkpoint, so that none of them can be part of a log.
	firstCPVer = 1
)

// newFile is a file or directory of a new volume. Its inode is number ino, and
// lies in the order of numbers in the log of hot nodes; its blocks lie in that
// of hot data.
type newFile struct {
	ino, parent uint32
	name        string
	mode        uint16
	links       uint32
	size        uint64
	flags       uint32
	data        [][]byte // blocks
}

// newFiles are all that a new volume has, by number: the root directory, files
// for quotas, and lost+found.
func (r *formatRequest) newFiles(l *layout) []*newFile {
	root := &newFile{ino: rootIno, mode: rootMode, links: 2, size: uint64(l.BlockSize)}
	files := []*newFile{root}
	for i := range r.quotas() {
		files = append(files, &newFile{ino: firstNid + uint32(i), mode: quotaMode, links: 1, size: newQuotaBytes, flags: flagImmutable | flagNoAtime})
	}
	dirs := []*newFile{root}
	if l.Has(featLostFound) {
		// mkfs.f2fs has a newer version that lets its ".." be itself.
		lost := &newFile{ino: rootIno + uint32(len(files)), parent: rootIno, name: lostName, mode: lostMode, links: 2, size: uint64(l.BlockSize)}
		lost.data = [][]byte{newDirectory(l.BlockSize, lost.ino, rootIno)}
		root.links++
		files = append(files, lost)
		dirs = append(dirs, lost)
	}
	root.data = [][]byte{newDirectory(l.BlockSize, rootIno, rootIno, dirs[1:]...)}
	for i, kind := range r.quotas() {
		id := [quotaKinds]uint32{userQuota: r.uid, groupQuota: r.gid}[kind]
		files[1+i].data = blocksOf(newQuotaFile(kind, id, len(dirs), uint64(len(dirs))*uint64(l.BlockSize)), l.BlockSize)
	}
	return files
}

// blocksOf cuts b into blocks, the last of which zeros fill up.
func blocksOf(b []byte, size int64) (blocks [][]byte) {
	for at := int64(0); at < int64(len(b)); at += size {
		block := make([]byte, size)
		copy(block, b[at:])
		blocks = append(blocks, block)
	}
	return blocks
}

// newDirectory is the block of a directory that has sub-directories.
func newDirectory(size int64, ino, parent uint32, subs ...*newFile) []byte {
	d := newDentryBlock(make([]byte, size))
	at := 0
	add := func(ino uint32, name string) {
		d.entry(at).put(nameHash([]byte(name)), ino, len(name), typeDir)
		copy(d.name(at, len(name)), name)
		for range nameSlots(len(name)) {
			d.setUsed(at)
			at++
		}
	}
	add(ino, ".")
	add(parent, "..")
	for _, s := range subs {
		add(s.ino, s.name)
	}
	return d.b
}

// extraLen is how long the extra attributes of inodes are: [f2fs-tools]
// behaviour, up to the last field that a feature of the volume needs. Kernels
// refuse one that is longer than they know.
func extraLen(features uint32) int {
	end := 0
	for _, f := range []struct {
		feature uint32
		end     int
	}{
		{featExtraAttr, inodeProject}, {featProjectQuota, inodeChecksum}, {featInodeChecksum, inodeCrtime},
		{featInodeCrtime, inodeComprBlocks}, {featCompression, inodeAddrs + maxExtraLen},
	} {
		if features&f.feature != 0 {
			end = f.end - inodeAddrs
		}
	}
	return end
}

// inode makes the inode of f, which is to be at block at, and whose data is in
// the blocks from data on.
func (r *formatRequest) inode(l *layout, f *newFile, at, data uint32) nodeBlock {
	n := make(nodeBlock, l.BlockSize)
	n.put16(inodeMode, f.mode)
	n.put32(inodeUID, r.uid)
	n.put32(inodeGID, r.gid)
	n.put32(inodeLinks, f.links)
	n.put64(inodeSize, f.size)
	n.put64(inodeBlocks, uint64(1+len(f.data))) // the inode counts
	for _, off := range []int{inodeAtime, inodeCtime, inodeMtime} {
		n.put64(off, uint64(r.o.Time))
	}
	if n.isDir() {
		n.put32(inodeDepth, 1)
	}
	n.put32(inodeFlags, f.flags)
	n.put32(inodeParent, f.parent)
	n.put32(inodeNameLen, uint32(len(f.name)))
	copy(n[inodeName:], f.name)
	n.putFooter(f.ino, f.ino, 0, firstCPVer, at+1)
	if l.Has(featExtraAttr) {
		n[inodeInline] = inlineExtra
		n.put16(inodeExtraLen, uint16(extraLen(l.Features)))
		if l.Has(featInodeCrtime) {
			n.put64(inodeCrtime, uint64(r.o.Time))
		}
	}
	for i := range f.data {
		n.putWord(n.extraLen()/4+i, data+uint32(i))
	}
	if l.Has(featInodeChecksum) {
		n.put32(inodeChecksum, inodeSum(inodeSeed(r.uuid[:]), n))
	}
	return n
}

// contents is what a new volume has in its main area: nodes in the order in
// which they lie in the log of hot nodes, data in that of hot data.
type contents struct {
	files      []*newFile
	nodes      []byte
	data       []byte
	dataBlocks int
}

func (r *formatRequest) contents(l *layout) *contents {
	c := &contents{files: r.newFiles(l)}
	node, data := l.SegmentBlock(l.logs[hotNode]), l.SegmentBlock(l.logs[hotData])
	for _, f := range c.files {
		c.nodes = append(c.nodes, r.inode(l, f, node, data)...)
		node++
		for _, b := range f.data {
			c.data = append(c.data, b...)
			data++
			c.dataBlocks++
		}
	}
	return c
}

// blocks is how many blocks are in use.
func (c *contents) blocks() int { return len(c.files) + c.dataBlocks }
