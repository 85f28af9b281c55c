package lfs

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/vol"
)

// compressFix sets what an inode says of its compression: what Linux does where
// nothing is compressed, and else what can be told from the clusters that are.
// It is nil where that cannot be told.
func (c *checker) compressFix(i int32) vol.Fix {
	x := &c.walk.inodes[i]
	b, err := readBlock(c.d, c.g, c.walk.index.nodes[x.node].addr)
	if err != nil {
		return nil
	}
	n := nodeBlock(b)
	log, algo := n.logCluster(), n[inodeComprAlgo]
	nodes, marks := [][]uint32(nil), false
	if n.fileType() == modeFile {
		if nodes, marks, err = c.pointerNodes(x.nid); err != nil {
			return nil
		}
	}
	if log < minClusterLog || log > maxClusterLog {
		if log = minClusterLog; marks {
			if log = clusterOf(nodes, n.u64(inodeComprBlocks), n.inline()&inlineReleased != 0); log == 0 {
				return nil
			}
		}
	}
	if algo >= comprAlgos {
		if algo = comprLZ4; marks {
			var ok bool
			if algo, ok = c.algorithmOf(nodes, log); !ok {
				return nil
			}
		}
	}
	return c.inodeFix(gradeShape, i, func(b nodeBlock) { b[inodeComprAlgo], b[inodeLogCluster] = algo, log })
}

// pointerNodes are the pointers of a file, node by node, and whether a compressed
// cluster is marked among them.
func (c *checker) pointerNodes(nid uint32) (nodes [][]uint32, marks bool, err error) {
	w := reader(&loaded{d: c.d, sb: c.sb, g: c.g, s: c.s})
	b := make(nodeBlock, c.g.BlockSize)
	e, err := w.nat.get(nid)
	if err == nil {
		_, err = c.d.ReadAt(b, c.g.BlockOff(e.addr()))
	}
	if err != nil || b.inline()&inlineData != 0 {
		return nil, false, err
	}
	h := &handle{w: w, path: textf("<inode %d>", nid), nid: nid, b: b, strict: true}
	b[inodeLogCluster] = 0 // not known, so that all of them are seen
	last, err := h.lastPage()
	if err != nil {
		return nil, false, err
	}
	err = h.eachNode(0, last, false, func(p *pointers, _ uint64, first, end int) error {
		if err := c.walk.ctx.Err(); err != nil {
			return err
		}
		if a, ok := p.same(first, end); ok && a == nullAddr {
			return nil
		}
		words := make([]uint32, end-first)
		for k := range words {
			words[k] = p.get(first + k)
			marks = marks || words[k] == compressAddr
		}
		nodes = append(nodes, words)
		return nil
	})
	return nodes, marks, err
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
