package source

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Bounds of what finding the holes of one file takes.
const (
	holeBuffer = 256 << 10 // bytes that are read at once, at least one unit
	maxPieces  = 1 << 16   // between holes; where there are more, only longer runs of zeros are holes
)

// FindHoles makes holes of what is zeros in files, whatever their source knows of
// holes: each whole unit, from the start of a file, that has no other byte.
//
// A plain archive has the holes of a file as zeros, and cannot tell these from
// zeros that were written. So the same volume can come from a directory and from
// its archive only if both are the same, and holes are kept only if both are
// holes. All contents are read for that once more, but of files of up to inside
// bytes, in which the format has no use for holes.
//
// open opens the contents of es[i]. The order of es and all but Data stays.
func FindHoles(ctx context.Context, es []vol.Entry, open func(i int) (vol.Contents, error), unit, inside int64) error {
	eg, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		eg.Go(func() error {
			s := &holeScan{ctx: ctx, unit: unit, buf: make([]byte, max(holeBuffer/unit, 1)*unit)}
			for i := int(next.Add(1)) - 1; i < len(es); i = int(next.Add(1)) - 1 {
				e := &es[i]
				if e.Kind != vol.KindFile || e.Same >= 0 {
					continue
				}
				if e.Size <= inside {
					e.Data = nil
					continue
				}
				if err := s.file(e, func() (vol.Contents, error) { return open(i) }); err != nil {
					return fmt.Errorf("%s: %w", e.Name(), err)
				}
			}
			return ctx.Err()
		})
	}
	return eg.Wait()
}

// holeScan reads files and keeps what is no hole of the one at hand.
type holeScan struct {
	ctx   context.Context
	unit  int64
	buf   []byte
	data  []dev.Range
	least int64 // bytes of zeros that are a hole
}

// file finds the holes of one file.
func (s *holeScan) file(e *vol.Entry, open func() (vol.Contents, error)) (err error) {
	s.data, s.least = s.data[:0], s.unit
	src, err := open()
	if err != nil {
		return err
	}
	defer func() {
		if cerr := src.Close(); err == nil {
			err = cerr
		}
	}()
	known := e.Data
	if known == nil {
		known = []dev.Range{{Len: e.Size}}
	}
	for _, r := range known {
		if err := s.read(src, r.Intersect(dev.Range{Len: e.Size}), e.Size); err != nil {
			return err
		}
	}
	if len(s.data) == 1 && s.data[0] == (dev.Range{Len: e.Size}) {
		e.Data = nil
		return nil
	}
	e.Data = append([]dev.Range{}, s.data...)
	return nil
}

// read looks at a part of a file that is no hole to its source.
func (s *holeScan) read(src io.ReaderAt, r dev.Range, size int64) error {
	for r.Len > 0 {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		b := s.buf[:min(int64(len(s.buf))-r.Off%s.unit, r.Len)] // to the end of a unit
		if err := vol.ReadFull(src, b, r.Off); err != nil {
			return err
		}
		for len(b) > 0 {
			n := min(s.unit-r.Off%s.unit, int64(len(b)))
			if !dev.AllZero(b[:n]) {
				first := r.Off - r.Off%s.unit
				s.add(dev.Range{Off: first, Len: min(s.unit, size-first)})
			}
			b, r = b[n:], dev.Range{Off: r.Off + n, Len: r.Len - n}
		}
	}
	return nil
}

// add notes data. What is closer to what came before than the shortest hole goes
// on with it. That depends on nothing but what is in the file, as the number of
// pieces does not fall while it is read.
func (s *holeScan) add(r dev.Range) {
	if n := len(s.data); n > 0 && r.Off-s.data[n-1].End() < s.least {
		s.data[n-1].Len = r.End() - s.data[n-1].Off
		return
	}
	s.data = append(s.data, r)
	if len(s.data) <= maxPieces {
		return
	}
	s.least *= 2
	all := s.data
	s.data = all[:0] // no piece is noted before it is read
	for _, r := range all {
		s.add(r)
	}
}
