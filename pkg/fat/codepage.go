package fat

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/fatkit/fatkit/pkg/vol"
)

// codepage is what the bytes of short names beyond ASCII stand for. Which one a
// volume was written with is written nowhere.
type codepage struct {
	m *charmap.Charmap
	// named: the user named it, so short names may be written with its letters,
	// too. Else they are not: whoever reads them may take them for others.
	named bool
}

// dosPage is code page 437, which Linux takes by default, and DOS did.
func dosPage() codepage { return codepage{m: charmap.CodePage437} }

// newCodepage is the code page with a number, 0 for that which nobody named.
func newCodepage(number int) (codepage, error) {
	if number == 0 {
		return dosPage(), nil
	}
	m := map[int]*charmap.Charmap{
		437: charmap.CodePage437, 850: charmap.CodePage850, 852: charmap.CodePage852, 855: charmap.CodePage855,
		858: charmap.CodePage858, 860: charmap.CodePage860, 862: charmap.CodePage862, 863: charmap.CodePage863,
		865: charmap.CodePage865, 866: charmap.CodePage866, 874: charmap.Windows874,
		1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252, 1253: charmap.Windows1253,
		1254: charmap.Windows1254, 1255: charmap.Windows1255, 1256: charmap.Windows1256, 1257: charmap.Windows1257, 1258: charmap.Windows1258,
	}[number]
	if m == nil {
		return codepage{}, fmt.Errorf("%w: code page %d is not known: 437, 850, 852, 855, 858, 860, 862, 863, 865, 866, 874 and 1250 to 1258 are", vol.ErrUsage, number)
	}
	return codepage{m, true}, nil
}

// rune is what byte i of a short name stands for.
func (cp codepage) rune(c byte, i int) rune {
	// [FAT] DIR_Name[0]: 0x05 stands for 0xE5, which would mark a free slot.
	if i == 0 && c == entryKanji {
		c = entryDeleted
	}
	if c < 0x80 {
		return rune(c)
	}
	return cp.m.DecodeByte(c)
}

// byte is the byte that a folded unit has in byte i of a short name; ok is false
// where it has none.
func (cp codepage) byte(u uint16, i int) (c byte, ok bool) {
	switch {
	case u < 0x7F:
		return byte(u), classifyShort(byte(u), i) == shortOK
	case !cp.named || u < 0x80:
		return 0, false
	}
	c, ok = cp.m.EncodeRune(rune(u))
	// A letter whose capital the page lacks would not be found by its short name.
	if !ok || c < 0x80 || uint16(cp.m.DecodeByte(c)) != u {
		return 0, false
	}
	if i == 0 && c == entryDeleted {
		c = entryKanji
	}
	return c, true
}

// decode is the 11 bytes of a short name as a user sees them: "BASE.EXT", in
// lower case where the bits of nt (DIR_NTRes, as Windows NT and Linux use it) say
// so. Bytes that cannot be shown become \xNN.
func (cp codepage) decode(name []byte, nt byte) string {
	b := make([]byte, 0, 16)
	part := func(from, to int, lower bool) {
		for i := from; i < to; i++ {
			r := cp.rune(name[i], i)
			switch {
			case !unicode.IsPrint(r) || r == utf8.RuneError:
				b = fmt.Appendf(b, `\x%02X`, name[i])
				continue
			case lower:
				r = unicode.ToLower(r)
			}
			b = utf8.AppendRune(b, r)
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
// look would have, so that the two can be compared.
func (cp codepage) units(name []byte, dst []uint16) []uint16 {
	for i := range trimSpaces(name[:8]) {
		dst = append(dst, uint16(cp.rune(name[i], i)))
	}
	if n := trimSpaces(name[8:11]); n > 0 {
		dst = append(dst, '.')
		for i := 8; i < 8+n; i++ {
			dst = append(dst, uint16(cp.rune(name[i], i)))
		}
	}
	return dst
}

// decodeShort and shortUnits read a short name in the page that nobody named.
func decodeShort(name []byte, nt byte) string       { return dosPage().decode(name, nt) }
func shortUnits(name []byte, dst []uint16) []uint16 { return dosPage().units(name, dst) }
