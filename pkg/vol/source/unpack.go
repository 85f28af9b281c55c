package source

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/fatkit/fatkit/pkg/vol"
)

// maxWindow bounds the memory that a compressed stream may ask for. It is what
// zstd -19 --long=27 and xz -9 use.
const maxWindow = 128 << 20

// Unpack is what is in r, unpacked if its first bytes say that it is
// compressed: gzip (RFC 1952), zstd (RFC 8878), xz or bzip2. how is "" where
// it is not. The reader must be closed.
func Unpack(r io.Reader) (out io.ReadCloser, how string, err error) {
	b := bufio.NewReaderSize(r, 1<<20)
	head, err := b.Peek(6)
	if err != nil && len(head) == 0 && err != io.EOF {
		return nil, "", err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		z, err := gzip.NewReader(b)
		return z, "gzip", badStream("gzip", err)
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, "", badStream("zstd", err)
		}
		return z.IOReadCloser(), "zstd", nil
	case bytes.HasPrefix(head, []byte{0xFD, '7', 'z', 'X', 'Z', 0}):
		z, err := xz.ReaderConfig{DictCap: maxWindow}.NewReader(b)
		return io.NopCloser(z), "xz", badStream("xz", err)
	case bytes.HasPrefix(head, []byte("BZh")):
		return io.NopCloser(bzip2.NewReader(b)), "bzip2", nil
	}
	return io.NopCloser(b), "", nil
}

func badStream(how string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the %s stream is damaged: %w", vol.ErrRequest, how, err)
}
