package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Marks of compressed files: RFC 1952, RFC 8878, and "The .xz File Format" 2.1.1.
const (
	magicGzip = "\x1f\x8b\x08"
	magicZstd = "\x28\xb5\x2f\xfd"
	magicXZ   = "\xfd7zXZ\x00"
)

const (
	// defaultUnpacked is how large an image may be unpacked, in bytes, unless
	// --max-size says otherwise: as the largest cards and sticks.
	defaultUnpacked = 1 << 40
	// maxWindow is how much memory a stream may ask for, in bytes: what xz -9 and
	// zstd --ultra --long=27 need.
	maxWindow = 128 << 20
)

// packing says what the file f is compressed with; "" if it is not. Only the
// bytes count, not the name.
func packing(f *dev.File) string {
	if f.IsBlock() {
		return ""
	}
	what := recognise(f)
	switch what.kind {
	case "gzip", "zstd", "xz":
		return what.kind
	}
	return ""
}

// unpack is the image that im holds compressed, read into a file without a name.
// Nothing can be written back to it, so it is only for reading. im.file is closed.
func (a *app) unpack(ctx context.Context, im *image, o dev.OpenOptions) (_ *dev.File, err error) {
	packed := im.file
	defer func() { err = errors.Join(err, packed.Close()) }()
	if o.Write {
		return nil, requestf("it is compressed with %s, and nothing can be changed in it; unpack it first", im.packed)
	}
	m := a.aside("unpacking")
	defer m.clear()
	src := &countedReader{r: io.NewSectionReader(packed, 0, packed.Size())}
	r, err := unpacker(im.packed, bufio.NewReaderSize(src, 1<<20))
	if err != nil {
		return nil, broken(im.packed, err)
	}
	defer func() { _ = r.Close() }() // it says again what reading said
	start := time.Now()
	out := &countedReader{r: r}
	out.tell = func() { m.update(src.done, packed.Size()) }
	m.read = func() int64 { return out.done }
	f, err := dev.Unpack(ctx, im.path, "", out, a.maxUnpacked())
	if errors.Is(err, dev.ErrTooLarge) {
		return nil, fmt.Errorf("%w; --max-size allows more, TMPDIR says where to", err)
	}
	if err != nil {
		return nil, broken(im.packed, err)
	}
	a.detail("%s: unpacked with %s to %d bytes in %.2f s", im.arg, im.packed, f.Size(), time.Since(start).Seconds())
	return f, nil
}

// maxUnpacked is what --max-size says.
func (a *app) maxUnpacked() int64 {
	if a.maxSize > 0 {
		return a.maxSize
	}
	return defaultUnpacked
}

// broken says that a stream cannot be read to its end. Whoever cancelled that
// knows better.
func broken(packing string, err error) error {
	var fault *dev.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the %s stream is cut short: %w", vol.ErrDamaged, packing, err)
	case errors.As(err, &fault) && fault.Op == "read":
		return err
	}
	return fmt.Errorf("%w: the %s stream cannot be unpacked: %w", vol.ErrDamaged, packing, err)
}

// unpacker reads what r holds compressed.
func unpacker(packing string, r *bufio.Reader) (io.ReadCloser, error) {
	switch packing {
	case "gzip":
		return gzip.NewReader(r)
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(1<<62)) // how long the stream is; dev.Unpack has a bound of its own
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

// countedReader counts what is read from it.
type countedReader struct {
	r    io.Reader
	done int64
	tell func() // called after each piece; nil: nothing is
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.done += int64(n)
	if r.tell != nil {
		r.tell()
	}
	return n, err
}
