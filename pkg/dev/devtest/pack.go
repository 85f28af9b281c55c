package devtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Pack compresses b with gzip, zstd or xz.
func Pack(t testing.TB, packing string, b []byte) []byte {
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

// Packings are all that images may be compressed with.
func Packings() []string { return []string{"gzip", "zstd", "xz"} }

// Sample is bytes of which some compress and some do not.
func Sample(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		if x = x*1664525 + 1013904223; i%3000 < 1000 {
			b[i] = byte(x >> 24)
		}
	}
	return b
}
