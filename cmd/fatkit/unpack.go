package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/packed"
	"github.com/fatkit/fatkit/pkg/vol"
)

// defaultUnpacked is how large an image may be unpacked, in bytes, unless
// --max-size says otherwise: as the largest cards and sticks.
const defaultUnpacked = 1 << 40

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
	file := im.file
	defer func() { err = errors.Join(err, file.Close()) }()
	if o.Write {
		return nil, requestf("it is compressed with %s, and nothing can be changed in it; unpack it first", im.packed)
	}
	m := a.aside("unpacking")
	defer m.clear()
	src := &countedReader{r: io.NewSectionReader(file, 0, file.Size())}
	r, err := packed.NewReader(im.packed, bufio.NewReaderSize(src, 1<<20))
	if err != nil {
		return nil, broken(im.packed, err)
	}
	defer func() { _ = r.Close() }() // it says again what reading said
	start := time.Now()
	out := &countedReader{r: r}
	out.tell = func() { m.update(src.done, file.Size()) }
	m.read = func() int64 { return out.done }
	f, err := dev.Unpack(ctx, im.path, "", out, a.maxUnpacked())
	switch {
	case errors.Is(err, dev.ErrTooLarge) && a.bounded:
		return nil, fmt.Errorf("%w; --max-size allows more, TMPDIR says where to", err)
	case errors.Is(err, dev.ErrTooLarge):
		return nil, fmt.Errorf("%w; TMPDIR says where to", err)
	case err != nil:
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
