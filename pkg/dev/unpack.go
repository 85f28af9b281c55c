package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge: what is unpacked has more bytes than it may.
var ErrTooLarge = errors.New("too large unpacked")

const (
	unpackPiece = 1 << 20  // bytes read at once
	unpackSpare = 64 << 20 // bytes of the file system that are left to others
	unpackLook  = 32 << 20 // bytes written between two looks at how much is left
)

// Unpack reads r to its end into a file that has no name, or loses it when it is
// closed, in dir ("": where the system keeps temporary files), and opens that
// for reading. Zeros are left as holes. path is what messages call it. Errors are
// *Error with Op "unpack" around: ErrTooLarge as soon as there are more than most
// bytes, or as they do not fit on the file system of dir; ErrEmpty where there is
// none; what r says; and what ctx says when it is cancelled.
func Unpack(ctx context.Context, path, dir string, r io.Reader, most int64) (*File, error) {
	f, err := os.CreateTemp(dir, "fatkit-unpacked-*")
	if err != nil {
		return nil, wrap("unpack", path, Range{}, err)
	}
	temp := f.Name()
	if os.Remove(temp) == nil {
		temp = ""
	}
	d, err := unpackTo(ctx, f, path, r, most)
	if err != nil {
		_ = f.Close() // nobody will miss it
		if temp != "" {
			_ = os.Remove(temp)
		}
		return nil, wrap("unpack", path, Range{}, err)
	}
	d.temp = temp
	return d, nil
}

// unpackTo reads r into f.
func unpackTo(ctx context.Context, f *os.File, path string, r io.Reader, most int64) (*File, error) {
	markSparse(f)
	w := NewSparseWriter(&roomy{f: f})
	b := make([]byte, unpackPiece)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := fill(r, b)
		if int64(n) > most-w.off {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
		}
		if _, werr := w.Write(b[:n]); werr != nil {
			return nil, werr
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("after %d bytes: %w", w.off, err)
		}
	}
	if err := f.Truncate(w.off); err != nil {
		return nil, err
	}
	return adopt(f, path, OpenOptions{})
}

// fill is io.ReadFull, but tells the end of r, io.EOF, from a stream that breaks
// off, which has io.ErrUnexpectedEOF for an error.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// roomy is a file that is not written to beyond the room of its file system.
type roomy struct {
	f    *os.File
	room int64 // bytes that may be written before the next look at what is free
}

// WriteAt refuses to fill the file system to its brim: others need it, too. It looks
// only now and then, as that is a call of the system.
func (w *roomy) WriteAt(p []byte, off int64) (int, error) {
	if w.room -= int64(len(p)); w.room < 0 {
		w.room = unpackLook
		if free, ok := freeBytes(w.f); ok && free < unpackSpare+unpackLook {
			return 0, fmt.Errorf("%w: %d bytes are free where it is unpacked to, after %d", ErrTooLarge, free, off)
		}
	}
	return w.f.WriteAt(p, off)
}
