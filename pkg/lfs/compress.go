package lfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Compressed files, [Linux] fs/f2fs/f2fs.h struct compress_data as layout: a
// cluster is compressed whole, and its blocks begin with a header.
const (
	clusterHeadLen = 24 // the length of what follows, a checksum, and nothing
	minClusterLog  = 2  // blocks of a cluster
	maxClusterLog  = 8
	comprLZO       = 0 // i_compress_algorithm
	comprLZ4       = 1
	comprZstd      = 2
	comprLZORLE    = 3
	comprAlgos     = 4 // how many there are
	// unknownCluster stands for clusters of a size that an inode does not say.
	unknownCluster = 1<<8 - 1
)

// clusterLog is how many blocks a cluster of a compressed file has, as a power of
// two; 0 for all else: a directory has the mark for what is made in it, as links
// that were made in one have, and [Linux] behaviour addrs_per_page() has clusters
// for regular files alone.
func (g *Geometry) clusterLog(b nodeBlock) byte {
	if b.flags()&flagCompressed == 0 || !g.Has(featCompression) || b.fileType() != modeFile || !b.hasExtraField(inodeLogCluster+1) {
		return 0
	}
	if c := b.logCluster(); c >= minClusterLog && c <= maxClusterLog {
		return c
	}
	return 0
}

// compressionOK tells whether what an inode says of its compression can be, whatever
// it is of: [Linux] behaviour sanity_check_compress_inode().
func (g *Geometry) compressionOK(b nodeBlock) bool {
	if b.flags()&flagCompressed == 0 || !g.Has(featCompression) || !b.hasExtraField(inodeComprFlag+2) {
		return true
	}
	c := b.logCluster()
	return c >= minClusterLog && c <= maxClusterLog && b[inodeComprAlgo] < comprAlgos
}

// compressed reads a compressed file. It keeps the cluster that was read last.
type compressed struct {
	path     string
	d        dev.Device
	g        *Geometry
	plain    *vol.SectionReader // what is not compressed
	clusters map[uint64][]uint32
	log      byte
	expand   func(dst, src []byte) error
	last     uint64 // cluster, and 1
	b        []byte
}

// expander is how the clusters of a file are read, or why they are not.
func (h *handle) expander() (func(dst, src []byte) error, error) {
	switch algo := h.b[inodeComprAlgo]; algo {
	case comprLZ4:
		return expandLZ4, nil
	case comprZstd:
		return expandZstd, nil
	case comprLZO, comprLZORLE:
		return expandLZO, nil
	default:
		return nil, vol.Refusef("%s: it is compressed by algorithm %d, which this version does not read", h.path, algo)
	}
}

// ReadAt is io.ReaderAt.
func (c *compressed) ReadAt(p []byte, off int64) (n int, err error) {
	switch {
	case off < 0:
		return 0, fmt.Errorf("read at %d: %w", off, fs.ErrInvalid)
	case off >= c.plain.Size:
		return 0, io.EOF
	}
	size := c.g.BlockSize << c.log
	for n < len(p) && off < c.plain.Size {
		at := off / size
		part := p[n:min(int64(len(p)), int64(n)+min((at+1)*size, c.plain.Size)-off)]
		if _, ok := c.clusters[uint64(at)]; ok {
			if err := c.load(uint64(at)); err != nil {
				return n, err
			}
			copy(part, c.b[off-at*size:])
		} else if _, err := c.plain.ReadAt(part, off); err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		n, off = n+len(part), off+int64(len(part))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// load expands a cluster.
func (c *compressed) load(at uint64) error {
	if c.last == at+1 {
		return nil
	}
	c.last = 0
	addrs := c.clusters[at]
	src := make([]byte, int64(len(addrs))*c.g.BlockSize)
	for i, a := range addrs {
		if _, err := c.d.ReadAt(src[int64(i)*c.g.BlockSize:][:c.g.BlockSize], c.g.BlockOff(a)); err != nil {
			return pathError(c.path, err)
		}
	}
	damaged := func(why any) error {
		return damagedf("%s: its cluster %d cannot be expanded: %v", c.path, at, why)
	}
	if len(src) < clusterHeadLen {
		return damaged("it has no blocks")
	}
	n := binary.LittleEndian.Uint32(src)
	if src = src[clusterHeadLen:]; uint64(n) > uint64(len(src)) {
		return damaged(fmt.Sprintf("it is said to have %d bytes, and has room for %d", n, len(src)))
	}
	if c.b == nil {
		c.b = make([]byte, c.g.BlockSize<<c.log)
	}
	if err := c.expand(c.b, src[:n]); err != nil {
		return damaged(err)
	}
	c.last = at + 1
	return nil
}

// expandZstd fills dst from a frame of Zstandard.
func expandZstd(dst, src []byte) error {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(len(dst), 1<<20))))
	if err != nil {
		return err
	}
	defer r.Close()
	out, err := r.DecodeAll(src, dst[:0:len(dst)])
	if err == nil && len(out) != len(dst) {
		err = fmt.Errorf("it comes to %d bytes, not %d", len(out), len(dst))
	}
	return err
}

// expandLZ4 fills dst from a block as the format description of LZ4 has it:
// sequences of a token, literals, and a match that lies so many bytes back.
func expandLZ4(dst, src []byte) error {
	at := 0
	length := func(n int) (int, bool) {
		for more := n == 15; more; {
			if len(src) == 0 || n > len(dst) {
				return 0, false
			}
			more = src[0] == 255
			n += int(src[0])
			src = src[1:]
		}
		return n, true
	}
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		n, ok := length(int(token >> 4))
		if !ok || n > len(src) || n > len(dst)-at {
			return notLZ4()
		}
		at += copy(dst[at:], src[:n])
		if src = src[n:]; len(src) == 0 {
			break // the last one has no match
		}
		if len(src) < 2 {
			return notLZ4()
		}
		back := int(binary.LittleEndian.Uint16(src))
		src = src[2:]
		const shortest = 4
		if n, ok = length(int(token & 15)); !ok || back == 0 || back > at || n+shortest > len(dst)-at {
			return notLZ4()
		}
		for range n + shortest { // it may go on into what it makes
			dst[at] = dst[at-back]
			at++
		}
	}
	if at != len(dst) {
		return fmt.Errorf("it comes to %d bytes, not %d", at, len(dst))
	}
	return nil
}

func notLZ4() error { return errors.New("it is no block of LZ4") }
