package packed

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// xzGuard passes an xz stream on and stops at a block that asks for a larger
// dictionary than anybody needs: the library that unpacks it allocates as much as
// the header of each block claims, up to 4 GiB. So it follows the stream from part
// to part, "The .xz File Format" 1.2.1, 2 to 4, and leaves all else to the library.
type xzGuard struct {
	r    *bufio.Reader
	left int64                  // bytes of the part at hand that are still to be passed on
	next func(g *xzGuard) error // looks at the part that comes then
	sum  int64                  // bytes of the check behind each block
	data int64                  // bytes of the block so far
	rows uint64                 // records of the index to come
}

func newXZGuard(r *bufio.Reader) *xzGuard { return &xzGuard{r: r, next: (*xzGuard).stream} }

func (g *xzGuard) Read(p []byte) (int, error) {
	for g.left == 0 {
		if err := g.next(g); err != nil {
			return 0, err
		}
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}

// pass lets n bytes through, and what comes then is looked at by next.
func (g *xzGuard) pass(n int64, next func(*xzGuard) error) error {
	g.left, g.next = n, next
	return nil
}

// rest lets everything through: the stream ends here, or is not as it should be,
// and the library will say so.
func (g *xzGuard) rest() error { return g.pass(1<<62, (*xzGuard).rest) }

// stream is the header of a stream, or padding before it.
func (g *xzGuard) stream() error {
	b, err := g.r.Peek(12)
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0 {
		return g.pass(4, (*xzGuard).stream)
	}
	if err != nil {
		return g.rest()
	}
	g.sum = []int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[b[7]&15]
	return g.pass(12, (*xzGuard).block)
}

// block is the header of a block, or the index.
func (g *xzGuard) block() error {
	b, err := g.r.Peek(1)
	if err != nil {
		return g.rest()
	}
	if b[0] == 0 {
		g.data = 1
		return g.pass(1, (*xzGuard).index)
	}
	n := (int(b[0]) + 1) * 4
	if b, err = g.r.Peek(n); err != nil {
		return g.rest()
	}
	if size := xzDictionary(b); size > maxWindow {
		return fmt.Errorf("it needs a dictionary of %d bytes, and %d are allowed", size, int64(maxWindow))
	}
	g.data = 0
	return g.pass(int64(n), (*xzGuard).chunk)
}

// xzDictionary is how large a dictionary a block header asks for, in bytes; 0
// where it asks for none that makes sense.
func xzDictionary(b []byte) int64 {
	flags, b := b[1], b[2:]
	skip := func() (v uint64) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	for bit := byte(0x40); bit != 0; bit <<= 1 { // both sizes
		if flags&bit != 0 {
			skip()
		}
	}
	for range flags&3 + 1 {
		id, size := skip(), skip()
		if size > uint64(len(b)) {
			return 0
		}
		if id == 0x21 && size == 1 && b[0] <= 40 {
			return min((2|int64(b[0]&1))<<(b[0]/2+11), 1<<32-1)
		}
		b = b[size:]
	}
	return 0
}

// chunk is one of LZMA2: what it begins with says how long it is.
func (g *xzGuard) chunk() error {
	b, err := g.r.Peek(5)
	switch {
	case len(b) > 0 && b[0] == 0:
		n := 1 + -(g.data+1)&3 + g.sum
		return g.pass(n, (*xzGuard).block)
	case len(b) >= 3 && b[0] <= 2:
		return g.chunkOf(3 + int64(binary.BigEndian.Uint16(b[1:])) + 1)
	case err != nil || b[0] < 0x80:
		return g.rest()
	case b[0] >= 0xC0:
		return g.chunkOf(6 + int64(binary.BigEndian.Uint16(b[3:])) + 1)
	}
	return g.chunkOf(5 + int64(binary.BigEndian.Uint16(b[3:])) + 1)
}

func (g *xzGuard) chunkOf(n int64) error {
	g.data += n
	return g.pass(n, (*xzGuard).chunk)
}

// index is the number of records in it.
func (g *xzGuard) index() error {
	n, err := g.varint(&g.rows)
	if err != nil || n == 0 {
		return g.rest()
	}
	return g.pass(n, (*xzGuard).record)
}

// record is one of the index: two numbers. Behind the last one are padding, a
// checksum, and the footer of the stream.
func (g *xzGuard) record() error {
	if g.rows == 0 {
		return g.pass(-g.data&3+4+12, (*xzGuard).stream)
	}
	var v uint64
	n, err := g.varint(&v)
	if err != nil || n == 0 {
		return g.rest()
	}
	return g.pass(n, func(g *xzGuard) error {
		n, err := g.varint(&v)
		if err != nil || n == 0 {
			return g.rest()
		}
		g.rows--
		return g.pass(n, (*xzGuard).record)
	})
}

// varint is the number that comes next, and how many bytes it has; 0 if it is none.
func (g *xzGuard) varint(v *uint64) (int64, error) {
	b, err := g.r.Peek(9)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	x, n := binary.Uvarint(b)
	*v = x
	g.data += int64(max(n, 0))
	return int64(max(n, 0)), nil
}
