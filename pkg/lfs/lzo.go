package lfs

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// lzo expands a stream of LZO, [Linux] Documentation/staging/lzo.rst: instructions
// that copy bytes of the stream, or what was made before.
type lzo struct {
	dst, src []byte
	at       int // bytes made
	// state is how many literals came last, 4 for more: what the instructions 0 to
	// 15 mean depends on it.
	state int
	runs  bool // bitstream version 1, LZO-RLE, which has runs of zeros
	done  bool // the end of the stream was read
}

const lzoVersioned = 17 // the first byte of a stream that says its version in the next

// lzoAlgorithm is by which of the two a stream was made, if it is one: LZO-RLE always
// says its version, [Linux] behaviour lzorle1x_1_compress().
func lzoAlgorithm(src []byte) byte {
	if len(src) > 1 && src[0] == lzoVersioned && src[1] == 1 {
		return comprLZORLE
	}
	return comprLZO
}

// errLZO says that a stream breaks the rules.
var errLZO = errors.New("it is no stream of LZO")

// expandLZO fills dst from a stream.
func expandLZO(dst, src []byte) error {
	l := &lzo{dst: dst, src: src}
	if err := l.begin(); err != nil {
		return err
	}
	for !l.done {
		b, err := l.next()
		if err == nil {
			err = l.instruction(int(b))
		}
		if err != nil {
			return err
		}
	}
	if l.at != len(dst) || len(l.src) > 0 {
		return fmt.Errorf("it comes to %d bytes with %d left over, not to %d", l.at, len(l.src), len(dst))
	}
	return nil
}

// begin takes what only the first byte can be: a version, or how many literals come
// before the first instruction.
func (l *lzo) begin() error {
	const shortest = 5 // bytes of a stream with its version
	if len(l.src) == 0 {
		return errLZO
	}
	if l.src[0] == lzoVersioned && len(l.src) >= shortest {
		if l.src[1] > 1 {
			return fmt.Errorf("it is of version %d of LZO", l.src[1])
		}
		l.runs, l.src = l.src[1] == 1, l.src[2:]
	}
	if n := int(l.src[0]) - lzoVersioned; n > 0 {
		l.src = l.src[1:]
		return l.literals(n)
	}
	return nil
}

// instruction carries out one.
func (l *lzo) instruction(b int) error {
	switch {
	case b >= 128:
		return l.near(5+b>>5&3, b)
	case b >= 64:
		return l.near(3+b>>5&1, b)
	case b >= 32:
		return l.within16K(b)
	case b >= 16:
		return l.within48K(b)
	case l.state == 0:
		n, err := l.length(b, 15)
		if err != nil {
			return err
		}
		return l.literals(n + 3)
	case l.state == 4:
		return l.closest(3, b, 2049)
	default:
		return l.closest(2, b, 1)
	}
}

// near copies n bytes from at most 2 KiB back.
func (l *lzo) near(n, b int) error {
	high, err := l.next()
	if err != nil {
		return err
	}
	return l.match(n, int(high)<<3+b>>2&7+1, b)
}

// closest copies n bytes from at most 1 KiB before base.
func (l *lzo) closest(n, b, base int) error {
	high, err := l.next()
	if err != nil {
		return err
	}
	return l.match(n, int(high)<<2+b>>2&3+base, b)
}

func (l *lzo) within16K(b int) error {
	n, err := l.length(b&31, 31)
	if err != nil {
		return err
	}
	word, err := l.word()
	if err != nil {
		return err
	}
	return l.match(n+2, word>>2+1, word)
}

// within48K copies from 16 to 48 KiB back; one distance is that of a run of zeros,
// and another the end.
func (l *lzo) within48K(b int) error {
	const beyond, high, runOf = 1 << 14, 8, 0x3FFF
	if l.runs && b&high != 0 && len(l.src) >= 2 && binary.LittleEndian.Uint16(l.src)>>2 == runOf {
		return l.zeros(b & 7)
	}
	n, err := l.length(b&7, 7)
	if err != nil {
		return err
	}
	word, err := l.word()
	if err != nil {
		return err
	}
	back := beyond + b&high<<11 + word>>2
	if l.done = back == beyond; l.done {
		return nil
	}
	return l.match(n+2, back, word)
}

// zeros is a run of them.
func (l *lzo) zeros(low int) error {
	word, err := l.word()
	if err != nil {
		return err
	}
	more, err := l.next()
	if err != nil {
		return err
	}
	n := int(more)<<3 | low + 4
	if n > len(l.dst)-l.at {
		return errLZO
	}
	clear(l.dst[l.at:][:n])
	l.at += n
	return l.literals(word & 3)
}

// match copies n bytes from so many back, and then the literals that the low bits of
// an operand count.
func (l *lzo) match(n, back, operand int) error {
	if back > l.at || n > len(l.dst)-l.at {
		return errLZO
	}
	for range n { // it may go on into what it makes
		l.dst[l.at] = l.dst[l.at-back]
		l.at++
	}
	return l.literals(operand & 3)
}

// literals copies n bytes of the stream.
func (l *lzo) literals(n int) error {
	if n > len(l.src) || n > len(l.dst)-l.at {
		return errLZO
	}
	l.at += copy(l.dst[l.at:], l.src[:n])
	l.src, l.state = l.src[n:], min(n, 4)
	return nil
}

// length is what an instruction says of one: 0 stands for most and the bytes that
// follow, up to the first that is not 0.
func (l *lzo) length(n, most int) (int, error) {
	if n != 0 {
		return n, nil
	}
	for n = most; n <= len(l.dst); n += 255 {
		b, err := l.next()
		if err != nil {
			return 0, err
		}
		if b != 0 {
			return n + int(b), nil
		}
	}
	return 0, errLZO
}

func (l *lzo) next() (byte, error) {
	if len(l.src) == 0 {
		return 0, errLZO
	}
	b := l.src[0]
	l.src = l.src[1:]
	return b, nil
}

func (l *lzo) word() (int, error) {
	if len(l.src) < 2 {
		return 0, errLZO
	}
	w := binary.LittleEndian.Uint16(l.src)
	l.src = l.src[2:]
	return int(w), nil
}
