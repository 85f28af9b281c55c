package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
)

// tarBlock is the unit of a tar archive, bytes.
const tarBlock = 512

// maxRuns bounds the pieces of one sparse file: 16 bytes of the archive each at
// the least.
const maxRuns = 1 << 20

// run is a piece of a sparse file that is in the archive, at byte stored behind
// the start of its data.
type run struct {
	dev.Range
	stored int64
}

// end is where what is stored of a file of size bytes ends in the archive.
func (s *stored) end(size int64) int64 {
	if s.runs == nil {
		return s.off + size
	}
	if rs := *s.runs; len(rs) > 0 {
		return s.off + rs[len(rs)-1].stored + rs[len(rs)-1].Len
	}
	return s.off
}

// dataOf are the ranges of runs, joined where they touch.
func dataOf(runs []run) []dev.Range {
	rs := []dev.Range{}
	for _, r := range runs {
		switch n := len(rs); {
		case r.Empty():
		case n > 0 && rs[n-1].End() == r.Off:
			rs[n-1].Len += r.Len
		default:
			rs = append(rs, r.Range)
		}
	}
	return rs
}

// blockReader reads an archive for tar.Reader and notes where the blocks of
// headers are: archive/tar reads the maps of sparse files and does not tell
// what is in them.
type blockReader struct {
	r      io.ReaderAt
	off    int64
	size   int64
	blocks []int64 // offsets of the blocks that were read for this entry
}

// maxNoted bounds how many blocks are noted: the header is among the first,
// behind at most a long name and PAX records.
const maxNoted = 64

func (b *blockReader) begin() { b.blocks = b.blocks[:0] }

func (b *blockReader) Read(p []byte) (int, error) {
	if b.off >= b.size {
		return 0, io.EOF
	}
	n, err := b.r.ReadAt(p[:min(int64(len(p)), b.size-b.off)], b.off)
	if len(p) == tarBlock && len(b.blocks) < maxNoted {
		b.blocks = append(b.blocks, b.off)
	}
	b.off += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Seek lets tar.Reader pass over contents without reading them.
func (b *blockReader) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += b.off
	case io.SeekEnd:
		off += b.size
	}
	if off < 0 {
		return 0, errors.New("seek to before the start")
	}
	b.off = off
	return off, nil
}

// sparse is the map of a sparse file and where its data starts; nil for a file
// that is not sparse. The three kinds are described in the manual of GNU tar,
// "Storing Sparse Files".
func (b *blockReader) sparse(h *tar.Header) (runs []run, off int64, err error) {
	m := sparseMap{size: h.Size, off: b.off, r: b.r}
	switch {
	case h.Typeflag == tar.TypeGNUSparse:
		err = b.oldGNU(&m)
	case h.PAXRecords["GNU.sparse.major"] == "1" && h.PAXRecords["GNU.sparse.minor"] == "0":
		err = b.pax1(&m)
	case h.PAXRecords["GNU.sparse.map"] != "":
		err = m.fields(strings.Split(h.PAXRecords["GNU.sparse.map"], ","))
	default:
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the map of the sparse file is damaged: %w", err)
	}
	if m.runs == nil {
		m.runs = []run{}
	}
	return m.runs, m.off, nil
}

// sparseMap is a map being read.
type sparseMap struct {
	size   int64
	off    int64
	stored int64
	runs   []run
	r      io.ReaderAt
}

// add appends a piece, which must follow those before and be inside the file.
func (m *sparseMap) add(off, length int64) error {
	after := int64(0)
	if n := len(m.runs); n > 0 {
		after = m.runs[n-1].End()
	}
	switch {
	case off < after || length < 0 || off > m.size || length > m.size-off:
		return fmt.Errorf("a piece of %d bytes at byte %d, behind byte %d of %d", length, off, after, m.size)
	case len(m.runs) >= maxRuns:
		return fmt.Errorf("more than %d pieces", maxRuns)
	}
	m.runs = append(m.runs, run{dev.Range{Off: off, Len: length}, m.stored})
	m.stored += length
	return nil
}

// fields takes offsets and lengths as decimal numbers in turn.
func (m *sparseMap) fields(fs []string) error {
	if len(fs)%2 != 0 {
		return fmt.Errorf("%d numbers", len(fs))
	}
	for i := 0; i < len(fs); i += 2 {
		off, err := strconv.ParseInt(fs[i], 10, 64)
		if err != nil {
			return err
		}
		length, err := strconv.ParseInt(fs[i+1], 10, 64)
		if err != nil {
			return err
		}
		if err := m.add(off, length); err != nil {
			return err
		}
	}
	return nil
}

// header is the last block of type flag among those that were read.
func (b *blockReader) header(is func(flag byte) bool) ([]byte, int, error) {
	block := make([]byte, tarBlock)
	for i, off := range b.blocks {
		if _, err := b.r.ReadAt(block, off); err != nil {
			return nil, 0, err
		}
		// ustar: the type is byte 156, "ustar" is at 257.
		if string(block[257:262]) == "ustar" && is(block[156]) {
			return block, i, nil
		}
	}
	return nil, 0, errors.New("its header is not found")
}

// oldGNU reads the map of a header of type S: four pieces in it, and 21 in each
// block that follows while the one before says so.
func (b *blockReader) oldGNU(m *sparseMap) error {
	block, i, err := b.header(func(flag byte) bool { return flag == tar.TypeGNUSparse })
	if err != nil {
		return err
	}
	const entry = 24 // two numbers of twelve bytes
	at := b.blocks[i]
	list, more := block[386:482], block[482] != 0
	for {
		for ; len(list) >= entry && list[0] != 0; list = list[entry:] {
			off, err := tarNumber(list[:12])
			if err != nil {
				return err
			}
			length, err := tarNumber(list[12:entry])
			if err != nil {
				return err
			}
			if err := m.add(off, length); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		at += tarBlock
		if _, err := b.r.ReadAt(block, at); err != nil {
			return err
		}
		list, more = block[:21*entry], block[21*entry] != 0
	}
}

// tarNumber is a number in octal digits, or in base 256 with the first bit set.
func tarNumber(b []byte) (int64, error) {
	if b[0]&0x80 == 0 {
		s := strings.Trim(string(b), " \x00")
		if s == "" {
			return 0, nil
		}
		return strconv.ParseInt(s, 8, 64)
	}
	if b[0] != 0x80 || !bytes.Equal(b[1:4], []byte{0, 0, 0}) || b[4]&0x80 != 0 {
		return 0, fmt.Errorf("number % x", b)
	}
	var n int64
	for _, c := range b[4:] {
		n = n<<8 | int64(c)
	}
	return n, nil
}

// pax1 reads the map that stands before the data: the number of pieces and
// then offset and length of each, a line a number, filled up to a whole block.
func (b *blockReader) pax1(m *sparseMap) error {
	_, i, err := b.header(func(flag byte) bool { return flag == tar.TypeReg || flag == 0 })
	if err != nil {
		return err
	}
	lines := &lineReader{r: b.r, off: b.blocks[i] + tarBlock}
	n, err := lines.number()
	if err != nil {
		return err
	}
	if n < 0 || n > maxRuns {
		return fmt.Errorf("%d pieces", n)
	}
	for range n {
		off, err := lines.number()
		if err != nil {
			return err
		}
		length, err := lines.number()
		if err != nil {
			return err
		}
		if err := m.add(off, length); err != nil {
			return err
		}
	}
	m.off = lines.off
	return nil
}

// lineReader reads lines block by block.
type lineReader struct {
	r    io.ReaderAt
	off  int64 // of the block after the one that is read
	rest []byte
}

// number is the next line, which is a number.
func (l *lineReader) number() (int64, error) {
	var line []byte
	for len(line) < 20 {
		if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
			line = append(line, l.rest[:i]...)
			l.rest = l.rest[i+1:]
			return strconv.ParseInt(string(line), 10, 64)
		}
		line = append(line, l.rest...)
		l.rest = make([]byte, tarBlock)
		if _, err := l.r.ReadAt(l.rest, l.off); err != nil {
			return 0, err
		}
		l.off += tarBlock
	}
	return 0, errors.New("a number without an end")
}
