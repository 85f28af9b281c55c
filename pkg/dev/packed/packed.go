// Package packed reads files that are compressed with gzip, zstd or xz, in memory
// that does not grow with what they claim.
package packed

import (
	"bufio"
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Marks of compressed files: RFC 1952, RFC 8878, 3.1.1, and "The .xz File Format" 2.1.1.
const (
	magicGzip = "\x1f\x8b\x08"
	magicZstd = "\x28\xb5\x2f\xfd"
	magicXZ   = "\xfd7zXZ\x00"
)

// maxWindow is how much memory a stream may ask for, in bytes: what xz -9 and
// zstd --ultra --long=27 need.
const maxWindow = 128 << 20

// Kind says what a file that begins with head is compressed with: "gzip", "zstd",
// "xz", or "" for none of them. Six bytes are enough.
func Kind(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte(magicGzip)):
		return "gzip"
	case bytes.HasPrefix(head, []byte(magicZstd)), skippable(head):
		return "zstd"
	case bytes.HasPrefix(head, []byte(magicXZ)):
		return "xz"
	}
	return ""
}

// skippable reports whether head begins with a frame of zstd that is passed over, RFC
// 8878, 3.1.2: so does what pzstd writes.
func skippable(head []byte) bool {
	return len(head) >= 4 && head[0]&0xF0 == 0x50 && bytes.HasPrefix(head[1:], []byte("\x2a\x4d\x18"))
}

// NewReader reads what r holds compressed with kind, which is one that Kind
// says. It must be closed.
func NewReader(kind string, r *bufio.Reader) (io.ReadCloser, error) {
	switch kind {
	case "gzip":
		return newMembers(r)
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(1<<62)) // how long the stream is: whoever reads has a bound
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	x, err := xz.NewReader(newXZGuard(r))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(x), nil
}
