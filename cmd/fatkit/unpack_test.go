package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/fatkit/fatkit/pkg/dev"
)

// pack compresses b.
func pack(t testing.TB, packing string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch packing {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	case "xz":
		w, err = xz.WriterConfig{BlockSize: 100_000, CheckSum: xz.SHA256}.NewWriter(&out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packings are all that images may be compressed with.
func packings() []string { return []string{"gzip", "zstd", "xz"} }

// sample is bytes of which some compress and some do not.
func sample(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		if x = x*1664525 + 1013904223; i%3000 < 1000 {
			b[i] = byte(x >> 24)
		}
	}
	return b
}

// Several streams behind each other are one, as for the tools of each format, and
// no length of a stream gives another one's bytes.
func TestUnpack(t *testing.T) {
	b := sample(700_000)
	for _, p := range packings() {
		two := append(pack(t, p, b[:300_000]), pack(t, p, b[300_000:])...)
		if p == "xz" {
			two = append(append(pack(t, p, b[:300_000]), 0, 0, 0, 0), pack(t, p, b[300_000:])...) // padding
		}
		r, err := unpacker(p, bufio.NewReader(bytes.NewReader(two)))
		if err != nil {
			t.Fatal(p, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes, %v", p, len(got), err)
		}
		whole := pack(t, p, b)
		for n := 0; n < len(whole); n += 1 + n/3 {
			if got, err := unpackAll(t, p, whole[:n]); err == nil {
				t.Errorf("%s, %d of %d bytes: %d bytes and no error", p, n, len(whole), len(got))
			}
		}
	}
}

func unpackAll(t *testing.T, packing string, b []byte) ([]byte, error) {
	t.Helper()
	r, err := unpacker(packing, bufio.NewReader(bytes.NewReader(b)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := dev.Unpack(t.Context(), "x", t.TempDir(), r, 10<<20)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	got := make([]byte, f.Size())
	_, err = f.ReadAt(got, 0)
	return got, err
}

// TestXZGuard: a block that asks for more memory than anybody needs is refused
// before the library sees its header, in the first block and in a later one.
func TestXZGuard(t *testing.T) {
	b := pack(t, "xz", sample(400_000))
	var blocks []int
	g := newXZGuard(bufio.NewReader(bytes.NewReader(b)))
	at := 0
	for {
		for g.left == 0 {
			if err := g.next(g); err != nil {
				t.Fatal(err)
			}
			if at >= 12 && at < len(b) && g.data == 0 && g.left == (int64(b[at])+1)*4 {
				blocks = append(blocks, at)
			}
		}
		n, err := g.Read(make([]byte, min(g.left, 1<<20)))
		if at += n; errors.Is(err, io.EOF) {
			break
		}
	}
	if len(blocks) < 4 || at != len(b) {
		t.Fatalf("blocks at %v, %d bytes of %d", blocks, at, len(b))
	}
	for _, block := range blocks[:4] {
		evil := bytes.Clone(b)
		head := evil[block:][:(int(evil[block])+1)*4]
		i := bytes.Index(head, []byte{0x21, 1}) // LZMA2, one byte of properties
		if i < 0 {
			t.Fatalf("% x is no header of a block", head)
		}
		head[i+2] = 40 // 4 GiB
		binary.LittleEndian.PutUint32(head[len(head)-4:], crc32.ChecksumIEEE(head[:len(head)-4]))
		if _, err := unpackAll(t, "xz", evil); err == nil || !bytes.Contains([]byte(err.Error()), []byte("it needs a dictionary of 4294967295 bytes")) {
			t.Errorf("block at %d: %v", block, err)
		}
	}
}

// FuzzXZGuard: whatever the bytes are, all of them are passed on as they are, or
// there is an error, and it ends.
func FuzzXZGuard(f *testing.F) {
	f.Add(pack(f, "xz", sample(1000)))
	f.Add(append(pack(f, "xz", sample(250_000)), make([]byte, 8)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := io.ReadAll(newXZGuard(bufio.NewReaderSize(bytes.NewReader(b), 1<<11)))
		if err == nil && !bytes.Equal(got, b) {
			t.Errorf("%d bytes became %d", len(b), len(got))
		}
	})
}

// A bomb ends at the bound, takes no room for its zeros, and leaves nothing behind.
func TestBomb(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, p := range packings() {
		path := filepath.Join(t.TempDir(), "bomb.img")
		n := 64 << 20
		if p == "xz" {
			n = 8 << 20 // it is slow
		}
		if err := os.WriteFile(path, pack(t, p, make([]byte, n)), 0o644); err != nil {
			t.Fatal(err)
		}
		realRun(t, "check", "--max-size", "1M", path).want(t, exitFailed, "too large unpacked")
		realRun(t, "check", path).want(t, exitFailed, "neither a file system")
		a := newApp(drivers(), nil, io.Discard, io.Discard)
		im, err := a.open(t.Context(), path, dev.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if im.packed != p || im.file.Size() != int64(n) || im.file.Path() != path {
			t.Errorf("%s: %q, %d bytes, %s", p, im.packed, im.file.Size(), im.file.Path())
		}
		if took := im.file.Allocated(); took > 1<<20 && took != int64(n) { // or the system does not tell
			t.Errorf("%s: %d bytes on disk", p, took)
		}
		if _, err := im.file.WriteAt([]byte("x"), 0); !errors.Is(err, dev.ErrReadOnly) {
			t.Errorf("%s: %v", p, err)
		}
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Unpacking that is cancelled ends, with the code for that.
func TestUnpackCancelled(t *testing.T) {
	f := newFake(t)
	f.write(f.image, pack(t, "gzip", make([]byte, 8<<20)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.runWith(ctx, "check", "IMAGE").want(t, exitCancelled)
}
