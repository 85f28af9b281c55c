package vol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/fatkit/fatkit/pkg/dev"
)

// pourBlock is how much is written at once: files that lie one behind the
// other are one write, however small they are.
const pourBlock = 1 << 20

// Pour copies the contents of all files of a staged request to their places,
// in the order of these, and calls done with how many bytes more were copied.
// The places are clusters that were free: they are no part of the volume's
// state, so they go to raw, the device below the transaction d, and all is
// durable when Pour returns, before the metadata that leads there can be.
//
// A file that became shorter, or cannot be read, ends it with the file's name.
// What was a hole of raw before the request was staged is one again then.
func Pour(ctx context.Context, d, raw dev.Device, r *PutRequest, res *PutResult, done func(n int64)) error {
	p := &pour{d: d, raw: raw, r: r, res: res, done: done, full: make(chan *block, 2), empty: make(chan *block, 3)}
	for range cap(p.empty) {
		p.empty <- &block{}
	}
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error {
		defer close(p.full)
		return p.read(ctx)
	})
	eg.Go(func() error { return p.write(ctx) })
	err := eg.Wait()
	if err == nil {
		err = raw.Sync()
	}
	if err != nil {
		p.res.Holes.GiveBack(raw)
	}
	return err
}

// pour is one call of Pour: one goroutine reads the sources into blocks, one
// writes them.
type pour struct {
	d, raw      dev.Device
	r           *PutRequest
	res         *PutResult
	done        func(int64)
	full, empty chan *block
	cur         *block
}

// block is what is written at once: bytes, or zeros where data is empty.
type block struct {
	off  int64
	data []byte
	zero int64
}

// read goes through the files in the order of their places.
func (p *pour) read(ctx context.Context) error {
	for _, i := range p.order() {
		if err := p.file(ctx, i); err != nil {
			return fmt.Errorf("%s: %w", p.r.Entries[i].Name(), err)
		}
	}
	return p.flush(ctx)
}

// order is the files that have contents to be copied, by where they begin.
func (p *pour) order() []int {
	var is []int
	for i, pieces := range p.res.Files {
		if len(pieces) > 0 {
			is = append(is, i)
		}
	}
	sort.SliceStable(is, func(a, b int) bool {
		return p.res.Files[is[a]][0].At.Off < p.res.Files[is[b]][0].At.Off
	})
	return is
}

// file copies one file.
func (p *pour) file(ctx context.Context, i int) (err error) {
	e := &p.r.Entries[i]
	src, err := p.r.Open(i)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for _, piece := range p.res.Files[i] {
		if err := p.piece(ctx, e, src, piece); err != nil {
			return err
		}
	}
	return nil
}

// piece copies a piece of a file: data as it is, holes and what is behind the
// end as zeros.
func (p *pour) piece(ctx context.Context, e *Entry, src io.ReaderAt, piece Place) error {
	pos, end := piece.Pos, piece.Pos+piece.At.Len
	for pos < end {
		data := nextData(e, pos)
		hole := min(data.Off, end) - pos
		if hole > 0 {
			if err := p.zeros(ctx, piece.At.Off+pos-piece.Pos, hole); err != nil {
				return err
			}
			pos += hole
			continue
		}
		n := min(data.End(), end) - pos
		if err := p.data(ctx, src, pos, piece.At.Off+pos-piece.Pos, n); err != nil {
			return err
		}
		pos += n
	}
	return nil
}

// nextData is the data of a file at or behind pos; where there is none it is
// empty, and as far away as can be.
func nextData(e *Entry, pos int64) dev.Range {
	const far = 1<<63 - 1
	if e.Data == nil {
		if pos < e.Size {
			return dev.Range{Off: pos, Len: e.Size - pos}
		}
		return dev.Range{Off: far}
	}
	i := sort.Search(len(e.Data), func(i int) bool { return e.Data[i].End() > pos })
	if i == len(e.Data) {
		return dev.Range{Off: far}
	}
	d := e.Data[i]
	if d.Off < pos {
		d = dev.Range{Off: pos, Len: d.End() - pos}
	}
	return d
}

// data reads n bytes of src from pos on, for the place at.
func (p *pour) data(ctx context.Context, src io.ReaderAt, pos, at, n int64) error {
	for n > 0 {
		room, err := p.room(ctx, at)
		if err != nil {
			return err
		}
		room = room[:min(int64(len(room)), n)]
		if err := ReadFull(src, room, pos); err != nil {
			return err
		}
		p.cur.data = p.cur.data[:len(p.cur.data)+len(room)]
		p.done(int64(len(room)))
		pos, at, n = pos+int64(len(room)), at+int64(len(room)), n-int64(len(room))
	}
	return nil
}

// ReadFull fills b with what a file has from byte off on. One that ends before it
// is full is an error.
func ReadFull(src io.ReaderAt, b []byte, off int64) error {
	n, err := src.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("it became shorter while it was read: it ends at byte %d: %w", off+int64(n), io.ErrUnexpectedEOF)
	}
	return err
}

// room is memory for what belongs at byte at of the volume: behind what is
// collected where that goes on, and in a new block otherwise.
func (p *pour) room(ctx context.Context, at int64) ([]byte, error) {
	if b := p.cur; b != nil && (b.off+int64(len(b.data)) != at || len(b.data) == cap(b.data)) {
		if err := p.flush(ctx); err != nil {
			return nil, err
		}
	}
	if p.cur == nil {
		b, err := p.fresh(ctx)
		if err != nil {
			return nil, err
		}
		if b.data == nil {
			b.data = make([]byte, 0, pourBlock)
		}
		b.off, b.data, b.zero = at, b.data[:0], 0
		p.cur = b
	}
	return p.cur.data[len(p.cur.data):cap(p.cur.data)], nil
}

// fewZeros are written with what is around them; more are a range of their own,
// which costs nothing where it is a hole already.
const fewZeros = 8 << 10

// zeros makes n bytes at byte at of the volume read as zeros.
func (p *pour) zeros(ctx context.Context, at, n int64) error {
	if n <= fewZeros {
		for n > 0 {
			room, err := p.room(ctx, at)
			if err != nil {
				return err
			}
			k := min(int64(len(room)), n)
			clear(room[:k])
			p.cur.data = p.cur.data[:int64(len(p.cur.data))+k]
			at, n = at+k, n-k
		}
		return nil
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	b, err := p.fresh(ctx)
	if err != nil {
		return err
	}
	b.off, b.data, b.zero = at, b.data[:0], n
	return p.send(ctx, b)
}

func (p *pour) fresh(ctx context.Context) (*block, error) {
	select {
	case b := <-p.empty:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// flush hands what is collected to the writer.
func (p *pour) flush(ctx context.Context) error {
	b := p.cur
	if b == nil {
		return ctx.Err()
	}
	p.cur = nil
	return p.send(ctx, b)
}

func (p *pour) send(ctx context.Context, b *block) error {
	select {
	case p.full <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write writes the blocks.
func (p *pour) write(ctx context.Context) error {
	for b := range p.full {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.store(b); err != nil {
			return err
		}
		p.empty <- b // has room for all there are
	}
	return nil
}

// store writes a block. Zeros of a source that does not know its holes become
// holes here.
func (p *pour) store(b *block) error {
	if b.zero > 0 {
		return zeroFresh(p.d, p.raw, dev.Range{Off: b.off, Len: b.zero})
	}
	if !dev.AllZero(b.data) {
		p.res.Holes.Note(p.raw, dev.Range{Off: b.off, Len: int64(len(b.data))})
	}
	return WriteFresh(p.d, p.raw, b.data, b.off)
}
