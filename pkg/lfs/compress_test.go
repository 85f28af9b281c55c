package lfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fatkit/fatkit/pkg/vol"
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
