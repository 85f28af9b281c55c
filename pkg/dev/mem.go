package dev

import (
	"bytes"
	"slices"
	"sync"
)

// memChunk is the unit in bytes in which a Mem takes memory.
const memChunk = 64 << 10

// Mem is a sparse device in memory: it takes memory only for chunks of 64 KiB
// that hold data, so that one of 16 TiB costs nothing until it is written to.
// It is safe for concurrent use, by writers too. Closing it keeps what it holds.
type Mem struct {
	mu       sync.RWMutex
	size     int64
	readOnly bool
	// chunks are in order of index. A sorted slice instead of a map, because
	// NextData must find what follows.
	chunks []chunk
	zeros  [memChunk]byte
}

type chunk struct {
	index int64 // it holds the bytes from index*memChunk on
	data  *[memChunk]byte
}

var _ Device = (*Mem)(nil)

// NewMem is a device of size bytes, 0 to 2^62, that reads as zeros. A size
// outside of that is taken for the nearest one inside.
func NewMem(size int64) *Mem { return &Mem{size: min(max(size, 0), 1<<62)} }

// SetReadOnly makes all that would change m fail with ErrReadOnly, or not.
func (m *Mem) SetReadOnly(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readOnly = on
}

// Allocated is how many bytes of memory the chunks take up.
func (m *Mem) Allocated() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return int64(len(m.chunks)) * memChunk
}

// find is the place in m.chunks of chunk index, or where it would be.
func (m *Mem) find(index int64) (int, bool) {
	return slices.BinarySearchFunc(m.chunks, index, func(c chunk, i int64) int {
		return int(min(max(c.index-i, -1), 1))
	})
}

// part is the piece of r that lies in one chunk: which chunk, from which byte
// of it to which.
func part(r Range) (index int64, from, to int) {
	index = r.Off / memChunk
	from = int(r.Off % memChunk)
	return index, from, int(min(int64(from)+r.Len, memChunk))
}

// ReadAt fills p from off.
func (m *Mem) ReadAt(p []byte, off int64) (int, error) {
	if err := CheckRange("read", Range{Off: off, Len: int64(len(p))}, m.size); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for n := 0; n < len(p); {
		index, from, to := part(Range{Off: off + int64(n), Len: int64(len(p) - n)})
		src := &m.zeros
		if i, ok := m.find(index); ok {
			src = m.chunks[i].data
		}
		n += copy(p[n:], src[from:to])
	}
	return len(p), nil
}

// WriteAt writes p at off. Zeros written to a hole leave it one.
func (m *Mem) WriteAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable("write", Range{Off: off, Len: int64(len(p))}); err != nil {
		return 0, err
	}
	for n := 0; n < len(p); {
		index, from, to := part(Range{Off: off + int64(n), Len: int64(len(p) - n)})
		src := p[n : n+to-from]
		i, ok := m.find(index)
		if !ok && !bytes.Equal(src, m.zeros[:len(src)]) {
			m.chunks = slices.Insert(m.chunks, i, chunk{index, new([memChunk]byte)})
			ok = true
		}
		if ok {
			copy(m.chunks[i].data[from:to], src)
		}
		n += len(src)
	}
	return len(p), nil
}

// writable returns ErrReadOnly or ErrRange if r must not be written.
func (m *Mem) writable(op string, r Range) error {
	if m.readOnly {
		return &Error{Op: op, Range: r, Err: ErrReadOnly}
	}
	return CheckRange(op, r, m.size)
}

// Size is the length in bytes.
func (m *Mem) Size() int64 { return m.size }

// Limits are those of an image file.
func (m *Mem) Limits() Limits {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return Limits{
		LogicalSector: 512, PhysicalSector: 512, Readahead: fileReadahead,
		ReadOnly: m.readOnly, Holes: true,
	}
}

// NextData answers in whole chunks.
func (m *Mem) NextData(off int64) Range {
	off = max(off, 0)
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, _ := m.find(off / memChunk)
	if off >= m.size || i == len(m.chunks) {
		return Range{Off: m.size}
	}
	first := m.chunks[i].index
	last := first
	for i++; i < len(m.chunks) && m.chunks[i].index == last+1; i++ {
		last++
	}
	start := max(off, first*memChunk)
	end := m.size
	if last < (m.size-1)/memChunk {
		end = (last + 1) * memChunk
	}
	return Range{Off: start, Len: end - start}
}

// Readahead has nothing to do.
func (m *Mem) Readahead(Range) {}

// Zero makes r read as zeros and gives whole chunks back.
func (m *Mem) Zero(r Range) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writable("zero", r); err != nil || r.Empty() {
		return err
	}
	m.zeroEdges(r)
	// Chunks that r covers, where the last one may end early at m.size.
	first := (r.Off + memChunk - 1) / memChunk
	end := r.End() / memChunk
	if r.End() == m.size && m.size%memChunk != 0 {
		end++
	}
	if first >= end {
		return nil
	}
	i, _ := m.find(first)
	j, _ := m.find(end)
	m.chunks = slices.Delete(m.chunks, i, j)
	return nil
}

// zeroEdges clears what r covers of the chunks that it begins and ends in.
func (m *Mem) zeroEdges(r Range) {
	index, from, to := part(r)
	if i, ok := m.find(index); ok {
		clear(m.chunks[i].data[from:to])
	}
	last := (r.End() - 1) / memChunk
	if last == index {
		return
	}
	if i, ok := m.find(last); ok {
		clear(m.chunks[i].data[:(r.End()-1)%memChunk+1])
	}
}

// Discard zeroes r, for want of anything cheaper.
func (m *Mem) Discard(r Range) error { return m.Zero(r) }

// Sync has nothing to do.
func (m *Mem) Sync() error { return nil }

// Close has nothing to do.
func (m *Mem) Close() error { return nil }
