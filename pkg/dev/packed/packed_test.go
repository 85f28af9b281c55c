package packed

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// Several streams behind each other are one, as for the tools of each format, and
// no length of a stream gives another one's bytes.
func TestUnpack(t *testing.T) {
	b := devtest.Sample(700_000)
	for _, p := range devtest.Packings() {
		two := append(devtest.Pack(t, p, b[:300_000]), devtest.Pack(t, p, b[300_000:])...)
		if p == "xz" {
			two = append(append(devtest.Pack(t, p, b[:300_000]), 0, 0, 0, 0), devtest.Pack(t, p, b[300_000:])...) // padding
		}
		r, err := NewReader(p, bufio.NewReader(bytes.NewReader(two)))
		if err != nil {
			t.Fatal(p, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes, %v", p, len(got), err)
		}
		whole := devtest.Pack(t, p, b)
		for n := 0; n < len(whole); n += 1 + n/3 {
			if got, err := unpackAll(t, p, whole[:n]); err == nil {
				t.Errorf("%s, %d of %d bytes: %d bytes and no error", p, n, len(whole), len(got))
			}
		}
	}
}

// TestTrailing: zeros behind a gzip file are padding; what else there may be is told
// from a file that is cut short.
func TestTrailing(t *testing.T) {
	b := devtest.Sample(100_000)
	one := devtest.Pack(t, "gzip", b)
	for _, tail := range []string{"\x00", string(make([]byte, 70_000))} {
		if got, err := unpackAll(t, "gzip", append(bytes.Clone(one), tail...)); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d zeros: %d bytes, %v", len(tail), len(got), err)
		}
	}
	for _, tail := range []string{"x", "\x1f\x8b", "\x1f\x8b\x07", "\x00\x00x", "\x00" + string(one), "a text behind it"} {
		if _, err := unpackAll(t, "gzip", append(bytes.Clone(one), tail...)); !errors.Is(err, errTrailing) {
			t.Errorf("%.20q: %v", tail, err)
		}
	}
	for n := range 30 {
		if _, err := unpackAll(t, "gzip", append(bytes.Clone(one), one[:len(one)-1-n]...)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the second one without %d bytes: %v", n+1, err)
		}
	}
}

// A zstd file may begin and end with frames that are passed over: pzstd writes such
// ones.
func TestSkippable(t *testing.T) {
	b := devtest.Sample(1000)
	skip := []byte("\x5e\x2a\x4d\x18\x03\x00\x00\x00abc")
	whole := append(append(bytes.Clone(skip), devtest.Pack(t, "zstd", b)...), skip...)
	if kind := Kind(whole[:6]); kind != "zstd" {
		t.Errorf("it is %q", kind)
	}
	if got, err := unpackAll(t, "zstd", whole); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, head := range []string{"", "\x5e\x2a\x4d", "\x4f\x2a\x4d\x18", "\x60\x2a\x4d\x18", "\x5e\x2a\x4d\x19"} {
		if kind := Kind([]byte(head)); kind != "" {
			t.Errorf("%q is %q", head, kind)
		}
	}
}

func unpackAll(t *testing.T, packing string, b []byte) ([]byte, error) {
	t.Helper()
	r, err := NewReader(packing, bufio.NewReader(bytes.NewReader(b)))
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
	b := devtest.Pack(t, "xz", devtest.Sample(400_000))
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
	f.Add(devtest.Pack(f, "xz", devtest.Sample(1000)))
	f.Add(append(devtest.Pack(f, "xz", devtest.Sample(250_000)), make([]byte, 8)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := io.ReadAll(newXZGuard(bufio.NewReaderSize(bytes.NewReader(b), 1<<11)))
		if err == nil && !bytes.Equal(got, b) {
			t.Errorf("%d bytes became %d", len(b), len(got))
		}
	})
}
