package lfs

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// compressFix sets what an inode says of its compression: what can be told from its
// clusters and from where its pages are, and else what Linux does where nothing is
// compressed. It is nil where that cannot be told: the size of clusters decides which
// page each pointer is for.
func (c *checker) compressFix(i int32) vol.Fix {
	x := &c.walk.inodes[i]
	b, err := readBlock(c.d, c.g, c.walk.index.nodes[x.node].addr)
	if err != nil {
		return nil
	}
	n, ok := nodeBlock(b), false
	log, algo := n.logCluster(), n[inodeComprAlgo]
	f := &pointerNodes{}
	if n.fileType() == modeFile {
		if f, err = c.readPointers(x.nid); err != nil {
			return nil
		}
	}
	if log < minClusterLog || log > maxClusterLog {
		if log, ok = f.clusterLog(n); !ok {
			return nil
		}
	}
	if log == 0 { // the mark is wrong
		return c.inodeFix(gradeShape, i, func(b nodeBlock) { b.put32(inodeFlags, b.flags()&^flagCompressed) })
	}
	if algo >= comprAlgos {
		if algo = comprLZ4; f.marks {
			if algo, ok = c.algorithmOf(f.nodes, log); !ok {
				return nil
			}
		}
	}
	return c.inodeFix(gradeShape, i, func(b nodeBlock) { b[inodeComprAlgo], b[inodeLogCluster] = algo, log })
}

// pointerNodes are the pointers of a file, node by node in the order of its pages, but
// for nodes that have none.
type pointerNodes struct {
	nodes [][]uint32
	last  uint64 // which node that is the last one: 0 is the inode
	marks bool   // a compressed cluster is marked among the pointers
	slots int    // how many the inode has room for
	per   int    // and each of the other nodes
	pages uint64 // how many blocks the size of the file says
}

// readPointers reads all pointers of a file, whatever the size of its clusters is.
func (c *checker) readPointers(nid uint32) (*pointerNodes, error) {
	w, f := reader(&loaded{d: c.d, sb: c.sb, g: c.g, s: c.s}), &pointerNodes{}
	b := make(nodeBlock, c.g.BlockSize)
	e, err := w.nat.get(nid)
	if err == nil {
		_, err = c.d.ReadAt(b, c.g.BlockOff(e.addr()))
	}
	if err != nil || b.inline()&inlineData != 0 {
		return f, err
	}
	h := &handle{w: w, path: textf("<inode %d>", nid), nid: nid, b: b, strict: true}
	b[inodeLogCluster] = 0 // not known, so that all of them are seen
	_, f.slots = h.slots()
	f.per, f.pages = h.leafSlots(), c.g.pages(int64(min(b.size(), math.MaxInt64)))
	last, err := h.lastPage()
	if err != nil {
		return nil, err
	}
	return f, h.eachNode(0, last, false, func(p *pointers, page uint64, first, end int) error {
		if err := c.walk.ctx.Err(); err != nil {
			return err
		}
		if a, ok := p.same(first, end); ok && a == nullAddr {
			return nil
		}
		words := make([]uint32, end-first)
		for k := range words {
			words[k] = p.get(first + k)
			f.marks = f.marks || words[k] == compressAddr
		}
		f.nodes = append(f.nodes, words)
		if page >= uint64(f.slots) {
			f.last = 1 + (page-uint64(f.slots))/uint64(f.per)
		}
		return nil
	})
}

// clusterLog is how many blocks the clusters of a file have, as a power of two, 0 for no
// clusters; ok is false where its pointers do not tell.
func (f *pointerNodes) clusterLog(n nodeBlock) (log byte, ok bool) {
	if f.marks {
		log = clusterOf(f.nodes, n.u64(inodeComprBlocks), n.inline()&inlineReleased != 0)
		return log, log > 0
	}
	return f.plainCluster()
}

// plainCluster is clusterLog of a file of which nothing is compressed. Of the pointers
// in the inode and in each node whole clusters have pages, [Linux] behaviour
// addrs_per_page(). So a size does not fit where another pointer leads to a block, and
// of those that do the right one is that with which the file ends where it says.
func (f *pointerNodes) plainCluster() (log byte, ok bool) {
	var able []byte
	for c := byte(minClusterLog); c <= maxClusterLog; c++ {
		if f.fits(c) {
			able = append(able, c)
		}
	}
	able = append(able, 0) // without clusters all pointers have pages
	if slices.ContainsFunc(able, func(c byte) bool { return f.end(c) != f.end(0) }) {
		able = slices.DeleteFunc(able, func(c byte) bool { return f.end(c) != f.pages })
	}
	if len(able) == 0 {
		return 0, false
	}
	return able[0], true
}

// fits tells whether all blocks are in whole clusters.
func (f *pointerNodes) fits(log byte) bool {
	for _, words := range f.nodes {
		if _, ok := savedIn(words, 1<<log, false); !ok {
			return false
		}
	}
	return true
}

// end is how many pages there are up to the last block.
func (f *pointerNodes) end(log byte) (pages uint64) {
	if len(f.nodes) == 0 {
		return 0
	}
	whole := func(n int) uint64 { return uint64(n >> log << log) }
	if f.last > 0 {
		pages = whole(f.slots) + (f.last-1)*whole(f.per)
	}
	words := f.nodes[len(f.nodes)-1]
	n := len(words)
	for n > 0 && words[n-1] == nullAddr {
		n--
	}
	return pages + uint64(n)
}

// clusterOf is how many blocks the clusters of a file have, as a power of two, by
// where the marks of compressed ones are, and how many blocks were saved. 0 stands
// for none that fits, or several.
func clusterOf(nodes [][]uint32, saved uint64, released bool) (log byte) {
	for c := byte(minClusterLog); c <= maxClusterLog; c++ {
		sum, ok := uint64(0), true
		for _, words := range nodes {
			n := 0
			if n, ok = savedIn(words, 1<<c, released); !ok {
				break
			}
			sum += uint64(n)
		}
		switch {
		case !ok || sum != saved && !released:
		case log > 0:
			return 0
		default:
			log = c
		}
	}
	return log
}

// savedIn is how many blocks compression saved in one node, if its clusters have
// size blocks; ok is false where they cannot have. A cluster that is compressed has
// its mark, blocks, and what was saved: reserved, or holes where that was given
// back. None goes on in another node.
func savedIn(words []uint32, size int, released bool) (saved int, ok bool) {
	spare := uint32(newAddr)
	if released {
		spare = nullAddr
	}
	packed, rest := false, false // the cluster is compressed, and this is what it saved
	for i, a := range words {
		at, whole := i%size, i-i%size+size <= len(words)
		switch {
		case a == compressAddr && at == 0 && whole:
			packed, rest = true, false
			saved++
			continue
		case a == compressAddr, !whole && a != nullAddr:
			return 0, false
		case at == 0:
			packed = false
		}
		switch {
		case !packed:
		case a == spare:
			rest = true
			saved++
		case rest || a == newAddr || a == nullAddr:
			return 0, false
		}
	}
	return saved, true
}

// algorithmOf tells how the first compressed cluster was made, by expanding it.
func (c *checker) algorithmOf(nodes [][]uint32, log byte) (algo byte, ok bool) {
	src := c.firstCluster(nodes, 1<<log)
	if len(src) < clusterHeadLen {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(src)
	if src = src[clusterHeadLen:]; uint64(n) > uint64(len(src)) {
		return 0, false
	}
	dst := make([]byte, c.g.BlockSize<<log)
	for _, x := range []struct {
		algo   byte
		expand func(dst, src []byte) error
	}{{comprZstd, expandZstd}, {comprLZ4, expandLZ4}, {lzoAlgorithm(src), expandLZO}} {
		if x.expand(dst, src[:n]) == nil {
			return x.algo, true
		}
	}
	return 0, false
}

// firstCluster reads the blocks of the first compressed cluster of size blocks;
// nil where they cannot be read.
func (c *checker) firstCluster(nodes [][]uint32, size int) (src []byte) {
	for _, words := range nodes {
		for i, a := range words {
			if a != compressAddr {
				continue
			}
			for _, a := range words[i+1 : min(i+size, len(words))] {
				if !c.g.ValidMain(a) {
					break
				}
				b, err := readBlock(c.d, c.g, a)
				if err != nil {
					return nil
				}
				src = append(src, b...)
			}
			return src
		}
	}
	return nil
}
