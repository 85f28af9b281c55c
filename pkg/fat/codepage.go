package fat

import (
	"fmt"
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/fatkit/fatkit/pkg/vol"
)

// codepage is what the bytes of short names beyond ASCII stand for. Which one a
// volume was written with is written nowhere.
type codepage struct {
	// single is what a byte alone stands for, as a unit of UTF-16; 0 for nothing.
	single *[256]uint16
	double *doublePage // characters of two bytes; nil where the page has none
	// codes are the bytes of each unit that is written in another than ASCII, the
	// first of two in the high half. Nil where the user did not name the page: whoever
	// reads a name may take its letters for others then, so they are not written.
	codes map[uint16]uint16
}

// dosPage is code page 437, which Linux takes by default, and DOS did.
func dosPage() codepage { return codepage{single: charmapUnits(charmap.CodePage437)} }

// newCodepage is the code page with a number, 0 for that which nobody named.
func newCodepage(number int) (cp codepage, err error) {
	if number == 0 {
		return dosPage(), nil
	}
	if cp.single = singlePage(number); cp.single == nil {
		if cp.double = newDoublePage(number); cp.double == nil {
			return cp, fmt.Errorf("%w: code page %d is not known; those that are: %v", vol.ErrUsage, number, codepageNumbers())
		}
		cp.single = &cp.double.alone
	}
	cp.codes = map[uint16]uint16{}
	for c := 0xFF; c >= 0x80; c-- { // of two bytes for one letter the lower is written
		// What is below are control characters, which 125x have.
		if u := cp.single[c]; u >= 0xA0 {
			cp.codes[u] = uint16(c)
		}
	}
	if cp.double != nil {
		cp.double.addCodes(cp.codes)
	}
	return cp, nil
}

// entryByte is byte i of a short name without its disguise. [FAT] DIR_Name[0]:
// 0x05 stands for 0xE5, which would mark a free slot.
func entryByte(c byte, i int) byte {
	if i == 0 && c == entryKanji {
		return entryDeleted
	}
	return c
}

// char is the character at the start of part, which is byte i of a short name and
// what follows it up to the period or the end: the unit that it stands for, 0 if
// that is not known, and of how many bytes it is.
func (cp codepage) char(part []byte, i int) (u uint16, n int) {
	c := entryByte(part[0], i)
	if cp.double != nil && len(part) > 1 && cp.double.pair(c, part[1]) {
		return cp.double.unit(c, part[1]), 2
	}
	return cp.single[c], 1
}

// lone yields the bytes of a short name that are characters by themselves, with
// their places: not those of a character of two bytes, of which the second may
// look like a letter or a backslash. Where nobody named the page, what follows a
// byte beyond ASCII is taken for such a second one if it looks so: cameras and
// phones of half the world write them.
func (cp codepage) lone(name []byte) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		for _, part := range [2][2]int{{0, 8}, {8, 11}} {
			for i := part[0]; i < part[1]; {
				_, n := cp.char(name[i:part[1]], i)
				if cp.codes == nil && i+1 < part[1] && entryByte(name[i], i) > 0x80 && seemsTrail(name[i+1]) {
					n = 2
				}
				if n == 1 && !yield(i, name[i]) {
					return
				}
				i += n
			}
		}
	}
}

// seemsTrail reports whether c is no byte of a short name of its own, but one that
// ends characters of two bytes.
func seemsTrail(c byte) bool { return c >= 0x40 && c < 0x7F && classifyShort(c, 1) != shortOK }

// cut is how many bytes the characters at the start of base have that fit into n
// bytes as a whole. base is the start of a short name.
func (cp codepage) cut(base []byte, n int) int {
	at := 0
	for at < len(base) {
		_, k := cp.char(base[at:], at)
		if at+k > n {
			break
		}
		at += k
	}
	return at
}

// encode appends the bytes of a folded unit, which begin at byte i of a short
// name; ok is false where the page has none for it.
func (cp codepage) encode(dst []byte, u uint16, i int) (_ []byte, ok bool) {
	if u < 0x7F {
		// In page 864 the per cent sign is another.
		return append(dst, byte(u)), classifyShort(byte(u), i) == shortOK && cp.single[u] == u
	}
	code, ok := cp.codes[u]
	if !ok {
		return dst, false
	}
	first := len(dst)
	if code > 0xFF {
		dst = append(dst, byte(code>>8))
	}
	dst = append(dst, byte(code))
	if i == 0 && dst[first] == entryDeleted {
		dst[first] = entryKanji
	}
	return dst, true
}

// decode is the 11 bytes of a short name as a user sees them: "BASE.EXT", in
// lower case where the bits of nt (DIR_NTRes, as Windows NT and Linux use it) say
// so; [Linux] has no lower case for characters of two bytes. Bytes that cannot be
// shown become \xNN.
func (cp codepage) decode(name []byte, nt byte) string {
	b := make([]byte, 0, 24)
	part := func(from, to int, lower bool) {
		for i := from; i < to; {
			u, n := cp.char(name[i:to], i)
			r := rune(u)
			switch {
			case !unicode.IsPrint(r):
				b = fmt.Appendf(b, `\x%02X`, name[i])
				if n == 2 {
					b = fmt.Appendf(b, `\x%02X`, name[i+1])
				}
			case lower && n == 1:
				b = utf8.AppendRune(b, unicode.ToLower(r))
			default:
				b = utf8.AppendRune(b, r)
			}
			i += n
		}
	}
	part(0, trimSpaces(name[:8]), nt&lcaseBase != 0)
	if n := trimSpaces(name[8:11]); n > 0 {
		b = append(b, '.')
		part(8, 8+n, nt&lcaseExtension != 0)
	}
	return string(b)
}

// units appends the short name to dst as the UTF-16 that a long name of the same
// look would have, so that the two can be compared. Bytes that stand for nothing
// become units that no long name has, each its own.
func (cp codepage) units(name []byte, dst []uint16) []uint16 {
	part := func(from, to int) {
		for i := from; i < to; {
			u, n := cp.char(name[i:to], i)
			if u != 0 || name[i] == 0 {
				dst = append(dst, u)
			} else {
				for _, c := range name[i : i+n] {
					dst = append(dst, 0xDC00|uint16(c)) // half of a surrogate pair
				}
			}
			i += n
		}
	}
	part(0, trimSpaces(name[:8]))
	if n := trimSpaces(name[8:11]); n > 0 {
		dst = append(dst, '.')
		part(8, 8+n)
	}
	return dst
}
