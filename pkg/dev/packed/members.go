package packed

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errTrailing: bytes behind a gzip file that are no part of it.
var errTrailing = errors.New("something follows that is not compressed with gzip")

// members reads the members of a gzip file, RFC 1952, 2.2, one after the other. Zeros
// behind the last one are padding, as of tapes and devices, and passed over as by
// gzip(1); anything else there is an error that says so.
type members struct {
	r *bufio.Reader
	z *gzip.Reader
}

func newMembers(r *bufio.Reader) (*members, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{r, z}, nil
}

func (m *members) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if err = m.next(); err != nil {
		return n, err
	}
	return n, nil
}

// next begins the next member; io.EOF where there is none.
func (m *members) next() error {
	head, err := m.r.Peek(len(magicGzip))
	switch {
	case string(head) == magicGzip:
		err = m.z.Reset(m.r)
		m.z.Multistream(false)
		return err
	case len(head) == 0:
		return err
	}
	for {
		c, err := m.r.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return errTrailing
		}
	}
}

func (m *members) Close() error { return m.z.Close() }
