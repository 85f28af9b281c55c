package source

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/fatkit/fatkit/pkg/dev"
)

// spool is a temporary file that has no name any more, or goes with its name
// when it is closed, where the system does not allow the former.
type spool struct {
	*os.File
	name string // "" once it is removed
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "fatkit-*")
	if err != nil {
		return nil, err
	}
	s := &spool{File: f, name: f.Name()}
	if os.Remove(s.name) == nil {
		s.name = ""
	}
	return s, nil
}

// Close gives the file up.
func (s *spool) Close() error {
	err := s.File.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}

// spooled copies r into a temporary file, and leaves out what is zeros. r is
// one that ends; how much room it may take is a matter of the temporary
// directory's file system, whose error is passed on.
func spooled(ctx context.Context, r io.Reader) (*spool, error) {
	s, err := newSpool()
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx, r); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *spool) take(ctx context.Context, r io.Reader) error {
	b := make([]byte, 1<<20)
	at := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := fill(r, b)
		if n > 0 && !dev.AllZero(b[:n]) {
			if _, err := s.WriteAt(b[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		if err == io.EOF { //nolint:errorlint // io.Reader: the end is io.EOF itself
			return s.Truncate(at)
		}
		if err != nil {
			return err
		}
	}
}

// fill reads until b is full. Unlike io.ReadFull it keeps apart an end that r
// reports from one that r did not expect.
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	return n, err
}
