package dev_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// ram is a device of plain bytes, whose holes are blocks of 512 zeros.
type ram struct {
	b        []byte
	readOnly bool
}

func (m *ram) Size() int64               { return int64(len(m.b)) }
func (m *ram) Limits() dev.Limits        { return dev.Limits{LogicalSector: 512, ReadOnly: m.readOnly} }
func (m *ram) Readahead(dev.Range)       {}
func (m *ram) Sync() error               { return nil }
func (m *ram) Close() error              { return nil }
func (m *ram) Discard(r dev.Range) error { return m.Zero(r) }
func (m *ram) check(op string, off int64, n int) error {
	return dev.CheckRange(op, dev.Range{Off: off, Len: int64(n)}, m.Size())
}

func (m *ram) ReadAt(p []byte, off int64) (int, error) {
	if err := m.check("read", off, len(p)); err != nil {
		return 0, err
	}
	return copy(p, m.b[off:]), nil
}

func (m *ram) WriteAt(p []byte, off int64) (int, error) {
	if err := m.check("write", off, len(p)); err != nil {
		return 0, err
	}
	return copy(m.b[off:], p), nil
}

func (m *ram) Zero(r dev.Range) error {
	if err := m.check("zero", r.Off, int(r.Len)); err != nil {
		return err
	}
	clear(m.b[r.Off:r.End()])
	return nil
}

func (m *ram) NextData(off int64) dev.Range {
	r := dev.Range{Off: m.Size()}
	for at := max(off, 0); at < m.Size(); at = at/512*512 + 512 {
		end := min(at/512*512+512, m.Size())
		if bytes.Count(m.b[at:end], []byte{0}) != int(end-at) {
			if r.Len == 0 {
				r.Off = at
			}
			r.Len = end - r.Off
		} else if r.Len > 0 {
			break
		}
	}
	return r
}

// speckled is size bytes of which some blocks are zeros and some are not.
func speckled(size int, seed uint64) *ram {
	rnd := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, size)
	for at := 0; at < size; {
		n := min(size-at, 512*(1+rnd.IntN(40)))
		if rnd.IntN(2) == 0 {
			fill(b[at:at+n], rnd)
		}
		at += n
	}
	return &ram{b: b}
}

func fill(p []byte, rnd *rand.Rand) {
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
}

func contents(t testing.TB, d dev.Device) []byte {
	t.Helper()
	p := make([]byte, d.Size())
	if _, err := d.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

var errHollow = errors.New("not here")

// hollow is a device of nothing but a hole.
type hollow struct{ size int64 }

func (h hollow) ReadAt(p []byte, off int64) (int, error)  { clear(p); return len(p), nil }
func (h hollow) WriteAt(p []byte, off int64) (int, error) { return 0, errHollow }
func (h hollow) Size() int64                              { return h.size }
func (h hollow) Limits() dev.Limits                       { return dev.Limits{} }
func (h hollow) NextData(off int64) dev.Range             { return dev.Range{Off: max(off, h.size)} }
func (h hollow) Readahead(dev.Range)                      {}
func (h hollow) Zero(dev.Range) error                     { return nil }
func (h hollow) Discard(dev.Range) error                  { return nil }
func (h hollow) Sync() error                              { return nil }
func (h hollow) Close() error                             { return nil }

// zeroed is a hollow that counts what is written to it.
type zeroed struct {
	hollow
	n *int64
}

func (z zeroed) WriteAt(p []byte, off int64) (int, error) {
	*z.n += int64(len(p))
	return len(p), dev.CheckRange("write", dev.Range{Off: off, Len: int64(len(p))}, z.size)
}

// write writes n bytes that are not zeros.
func write(d dev.Device, off int64, n int) error {
	_, err := d.WriteAt(bytes.Repeat([]byte{0xA5}, n), off)
	return err
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func commitWith(txn *dev.Txn, o dev.CommitOptions) error {
	_, err := txn.Commit(context.Background(), o)
	return err
}
