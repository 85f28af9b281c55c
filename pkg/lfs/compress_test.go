package lfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestExpandLZ4 expands a block that is made by hand: literals, a match that
// repeats itself, a long one, and literals at the end.
func TestExpandLZ4(t *testing.T) {
	src := []byte{0x32, 'a', 'b', 'c', 3, 0, 0x1F, 'x', 1, 0, 255, 10, 0x50, 'h', 'e', 'l', 'l', 'o'}
	want := "abc" + "abcabc" + "x" + strings.Repeat("x", 4+15+255+10) + "hello"
	dst := make([]byte, len(want))
	if err := expandLZ4(dst, src); err != nil || string(dst) != want {
		t.Errorf("%q, %v", dst, err)
	}
	for n := range src {
		if err := expandLZ4(make([]byte, len(want)), src[:n]); err == nil {
			t.Errorf("%d of %d bytes are enough", n, len(src))
		}
	}
	if err := expandLZ4(make([]byte, len(want)-1), src); err == nil {
		t.Error("it goes beyond the end")
	}
}

func FuzzExpandLZ4(f *testing.F) {
	f.Add([]byte{0x32, 'a', 'b', 'c', 3, 0, 0x50, 'h', 'e', 'l', 'l', 'o'})
	f.Fuzz(func(_ *testing.T, src []byte) { _ = expandLZ4(make([]byte, 16384), src) })
}

// TestCompressed reads a file of a compressed cluster and a plain one.
func TestCompressed(t *testing.T) {
	l := newLab(t, labFeatures)
	x := l.at["compressed"]
	want := bytes.Repeat(noise(1000), 17)[:16384]
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := e.EncodeAll(want, nil)
	cluster := binary.LittleEndian.AppendUint32(nil, uint32(len(packed)))
	cluster = append(append(cluster, make([]byte, clusterHeadLen-4)...), packed...)
	cluster = append(cluster, make([]byte, 8192-len(cluster))...)
	for i := range 2 {
		l.edit(x.pages[uint32(i+1)], func(b []byte) { copy(b, cluster[i*4096:]) })
	}
	for i := range uint32(4) {
		l.edit(x.pages[4+i], func(b []byte) { copy(b, noise(4096)); want = append(want, b...) })
	}
	x.editInode(func(n nodeBlock) { n[inodeComprAlgo] = comprZstd; n.put64(inodeSize, 32768-5) })
	want = want[:32768-5]
	tr, all := nodesOf(t, l.d)
	r, err := tr.Contents(all["compressed"])
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want)+1)
	if n, err := r.ReadAt(got, 0); n != len(want) || !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], want) {
		t.Errorf("read %d: %v", n, err)
	}
	for range 50 {
		off := rand.IntN(len(want))
		n := rand.IntN(len(want) - off)
		if _, err := r.ReadAt(got[:n], int64(off)); err != nil || !bytes.Equal(got[:n], want[off:off+n]) {
			t.Errorf("%d at %d: %v", n, off, err)
		}
	}
	l.edit(x.pages[1], func(b []byte) { b[30]++ })
	if r, err = tr.Contents(all["compressed"]); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAt(got[:10], 0); !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("a damaged cluster: %v", err)
	}
}

// TestCompressedDirectory: a directory that is marked as compressed, which is for
// what is made in it, has no clusters: all pointers of its inode and of its nodes
// count.
func TestCompressedDirectory(t *testing.T) {
	m := newBuilder(t, 64<<20, vol.FormatOptions{Features: labFeatures})
	dir := m.inode(m.root, "packed", modeDir, 0)
	dir.node.put32(inodeFlags, flagCompressed)
	dir.node[inodeLogCluster], dir.node[inodeDirLevel] = maxClusterLog, 10 // 1024 buckets
	dir.node.put32(inodeDepth, 1)
	m.newDir(dir)
	for i := range 400 {
		m.file(dir, textf("file %d", i), file{})
	}
	link := m.file(dir, "link", file{mode: modeSymlink, inline: []byte("/there"), change: func(n nodeBlock) {
		n.put32(inodeFlags, flagCompressed)
		n[inodeLogCluster] = maxClusterLog
	}})
	l := &lab{builder: m.finish()}
	last := uint32(0)
	for page := range dir.pages {
		last = max(last, page)
	}
	if last < m.slots(dir)+uint32(m.g.per().nodeSlots()) || m.g.clusterLog(link.node) != 0 {
		t.Fatalf("its last block is number %d", last)
	}
	if res := l.check(); len(res.Outcomes) > 0 {
		t.Errorf("found %q", found(res))
	}
	if n := readTree(t.Context(), t, l.d); n < 401 {
		t.Errorf("%d can be read", n)
	}
}

// TestCompression: what an inode says of its compression and cannot be is found, and
// mended by what its clusters show; where that does not tell nothing is lost.
func TestCompression(t *testing.T) {
	const pattern = "0123456789abcdef"
	packed := func(algo byte, size int) []byte {
		z := packedLZO(algo, pattern, size)
		if algo == comprZstd {
			e, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			z = e.EncodeAll(bytes.Repeat([]byte(pattern), size/len(pattern)), nil)
		}
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(z)))
		return append(append(b, make([]byte, clusterHeadLen-4)...), z...)
	}
	for name, c := range map[string]struct {
		do   func(l *lab, n nodeBlock)
		file string
		left bool
	}{
		"cluster":               {func(_ *lab, n nodeBlock) { n[inodeLogCluster] = 9 }, "compressed", false},
		"cluster, many":         {func(_ *lab, n nodeBlock) { n[inodeLogCluster] = 0 }, "eights", false},
		"algorithm":             {func(_ *lab, n nodeBlock) { n[inodeComprAlgo] = 77 }, "compressed", false},
		"algorithm, lzo":        {func(_ *lab, n nodeBlock) { n[inodeComprAlgo] = 4 }, "compressed", false},
		"algorithm, lzo-rle":    {func(_ *lab, n nodeBlock) { n[inodeComprAlgo] = 255 }, "compressed", false},
		"both":                  {func(_ *lab, n nodeBlock) { n[inodeComprAlgo], n[inodeLogCluster] = 4, 255 }, "compressed", false},
		"nothing is compressed": {func(_ *lab, n nodeBlock) { n.put32(inodeFlags, flagCompressed); n[inodeLogCluster] = 1 }, "plain", false},
		"directory":             {func(_ *lab, n nodeBlock) { n.put32(inodeFlags, flagCompressed); n[inodeLogCluster] = 1 }, "many", false},
		"nothing fits":          {func(_ *lab, n nodeBlock) { n[inodeLogCluster] = 1; n.put64(inodeComprBlocks, 77) }, "compressed", true},
		"no algorithm": {func(l *lab, n nodeBlock) {
			n[inodeComprAlgo] = 4
			l.edit(l.at["compressed"].pages[1], func(b []byte) { b[30]++ })
		}, "compressed", true},
	} {
		l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: labFeatures}))
		algo := byte(comprZstd)
		switch name {
		case "algorithm, lzo":
			algo = comprLZO
		case "algorithm, lzo-rle":
			algo = comprLZORLE
		}
		for _, name := range []string{"compressed", "eights"} {
			log := byte(2)
			if name == "eights" { // two clusters of eight blocks
				log = 3
				l.at[name] = l.file(l.root, name, file{pages: []uint32{1, 9, 10}, reserved: []uint32{2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15}, change: func(n nodeBlock) {
					n.put32(inodeFlags, flagCompressed)
					n[inodeLogCluster] = 3
					n.put64(inodeComprBlocks, 13)
				}})
				l.at[name].point(0, compressAddr)
				l.at[name].point(8, compressAddr)
			}
			l.at[name].node[inodeComprAlgo] = algo
			first := packed(algo, 4096<<log)
			l.edit(l.at[name].pages[1], func(b []byte) { copy(b, first) })
		}
		l.finish()
		x := l.at[c.file]
		before, was := holdings(t, l.d), append([]byte{}, l.read(x.addr)[inodeComprAlgo:inodeComprFlag]...)
		x.editInode(func(n nodeBlock) { c.do(l, n) })
		if got := slugs(l.check()); len(got) != 1 || got[0] != "inode-compress" {
			t.Errorf("%s: found %q", name, got)
		}
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Left(vol.SevWarning) != c.left {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		if !c.left && x.node.flags()&flagCompressed != 0 {
			b, err := readBlock(txn, l.g, x.addr)
			if err != nil || !bytes.Equal(b[inodeComprAlgo:inodeComprFlag], was) {
				t.Errorf("%s: it has %x, had %x: %v", name, b[inodeComprAlgo:inodeComprFlag], was, err)
			}
		}
		if name != "no algorithm" && !maps.Equal(holdings(t, txn), before) {
			t.Errorf("%s: files hold something else", name)
		}
		txn.Rollback()
	}
}

// TestClustersByPages: the size of clusters decides which page each pointer is for. A
// file of which nothing is compressed keeps its pages when that is not known: where it
// has no clusters it loses the mark, and where nothing tells it is left.
func TestClustersByPages(t *testing.T) {
	for _, c := range []struct {
		name  string
		log   byte // of its clusters; 0: it is not compressed
		pages []uint32
		size  uint64
		left  bool
	}{
		{"dense, no clusters", 0, upTo(2500), 0, false},
		{"dense, and more is reserved", 0, upTo(2500), 4096, false},
		{"dense, clusters of 4", 2, upTo(2500), 0, false},
		{"dense, clusters of 16", 4, upTo(2500), 0, false},
		{"dense, clusters of 64", 6, upTo(2500), 0, false},
		{"holes, no clusters", 0, []uint32{0, 1000, 2400}, 0, false},
		{"holes, clusters of 16", 4, []uint32{0, 1000, 2400}, 0, false},
		{"holes, and it ends elsewhere", 4, []uint32{0, 1000, 2400}, 2500 * 4096, true},
		{"pages in the inode alone", 2, []uint32{0, 5, 900}, 1000 * 4096, false},
	} {
		l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: labFeatures}))
		x := l.file(l.root, "pages", file{pages: c.pages, size: c.size, change: func(n nodeBlock) {
			if n[inodeLogCluster] = c.log; c.log > 0 {
				n.put32(inodeFlags, flagCompressed)
			}
			if c.size > 0 {
				n[inodeAdvise] |= adviseKeepSize
			}
		}})
		for page, blk := range x.pages {
			l.edit(blk, func(b []byte) { copy(b, textf("page %d", page)) })
		}
		l.finish()
		if res := l.check(); res.Left(vol.SevWarning) {
			t.Fatalf("%s: found %q", c.name, found(res))
		}
		before := holdings(t, l.d)
		x.editInode(func(n nodeBlock) {
			n.put32(inodeFlags, flagCompressed)
			n[inodeLogCluster] = 0
		})
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Lossless, nil)
		if err != nil || res.Left(vol.SevWarning) != c.left || !slices.Contains(slugs(res), "inode-compress") {
			t.Errorf("%s: found %q, %v", c.name, found(res), err)
		}
		if c.left {
			x.editInode(func(n nodeBlock) { n[inodeLogCluster] = c.log })
		}
		if !maps.Equal(holdings(t, txn), before) {
			t.Errorf("%s: the file holds something else", c.name)
		}
		txn.Rollback()
	}
}

func upTo(n uint32) (pages []uint32) {
	for i := range n {
		pages = append(pages, i)
	}
	return pages
}
