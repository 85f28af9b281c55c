package fat

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// doublePage is a code page with characters of two bytes.
type doublePage struct {
	alone [256]uint16     // what a byte alone stands for; 0 for nothing
	units [1 << 16]uint16 // what two bytes stand for, the first in the high half; 0 for nothing
	leads [256]bool       // bytes that begin a character of two
	twice []codeRange     // codes that are read but not written: others stand for the same
}

// codeRange is the codes from first to last.
type codeRange struct{ first, last uint16 }

// doubleRules is where a page of Windows is not the encoding of the Web that has
// its name: [MICSFT] CP932.TXT, CP936.TXT, CP949.TXT, CP950.TXT.
type doubleRules struct {
	enc   encoding.Encoding
	leads []codeRange
	// without are codes that Windows leaves to users, and later standards gave
	// characters that no other system would read from a short name.
	without []codeRange
	with    map[uint16]uint16
	// twice are codes that Windows does not write, as it has others for the same
	// characters. Of others that are there twice it writes the first.
	twice []codeRange
}

func doublePageRules(number int) (r doubleRules, ok bool) {
	all := []codeRange{{0x81, 0xFE}}
	switch number {
	case 932: // Shift_JIS; 0xA1 to 0xDF are katakana
		return doubleRules{enc: japanese.ShiftJIS, leads: []codeRange{{0x81, 0x9F}, {0xE0, 0xFC}},
			twice: []codeRange{{0xED40, 0xEEFC}}}, true
	case 936: // GBK, to which GB 18030 added
		return doubleRules{enc: simplifiedchinese.GBK, leads: all, without: []codeRange{
			{0xA2E3, 0xA2E3}, {0xA3A0, 0xA3A0}, {0xA8BF, 0xA8BF}, {0xA989, 0xA995}, {0xFE50, 0xFEA0}}}, true
	case 949:
		return doubleRules{enc: korean.EUCKR, leads: all}, true
	case 950: // Big5, to which Hong Kong added
		return doubleRules{enc: traditionalchinese.Big5, leads: all, without: []codeRange{
			{0x8140, 0xA0FE}, {0xA3C0, 0xA3E0}, {0xC6A1, 0xC8FE}, {0xFA40, 0xFEFE}},
			with:  map[uint16]uint16{0xF9FE: 0x2593},
			twice: []codeRange{{0xA2CC, 0xA2CC}, {0xA2CE, 0xA2CE}}}, true
	}
	return r, false
}

// newDoublePage is the page with a number, nil where there is none.
func newDoublePage(number int) *doublePage {
	r, ok := doublePageRules(number)
	if !ok {
		return nil
	}
	p := &doublePage{twice: r.twice}
	for c := range uint16(0x80) {
		p.alone[c] = c
	}
	for _, l := range r.leads {
		for c := l.first; c <= l.last; c++ {
			p.leads[c] = true
		}
	}
	dec := r.enc.NewDecoder()
	for c := 0x80; c < 0x100; c++ {
		p.alone[c] = decodeOne(dec, []byte{byte(c)})
		for t := 0; p.leads[c] && t < 0x100; t++ {
			if p.pair(byte(c), byte(t)) {
				p.units[c<<8|t] = decodeOne(dec, []byte{byte(c), byte(t)})
			}
		}
	}
	for _, w := range r.without {
		clear(p.units[w.first : int(w.last)+1])
	}
	for code, u := range r.with {
		p.units[code] = u
	}
	return p
}

// decodeOne is the one unit that b stands for; 0 where it is another number of
// them, or none.
func decodeOne(dec *encoding.Decoder, b []byte) uint16 {
	var buf [8]byte
	dec.Reset()
	n, used, err := dec.Transform(buf[:], b, true)
	r, size := utf8.DecodeRune(buf[:n])
	if err != nil || used != len(b) || size != n || r == utf8.RuneError || r > 0xFFFF {
		return 0
	}
	return uint16(r)
}

// pair reports whether two bytes are one character, be it one that is not known.
func (p *doublePage) pair(lead, trail byte) bool {
	return p.leads[lead] && trail >= 0x40 && trail != 0x7F && trail != 0xFF
}

// unit is what two bytes stand for; 0 for nothing.
func (p *doublePage) unit(lead, trail byte) uint16 { return p.units[int(lead)<<8|int(trail)] }

// addCodes adds the characters of two bytes to codes.
func (p *doublePage) addCodes(codes map[uint16]uint16) {
	for code, u := range p.units {
		skip := slices.ContainsFunc(p.twice, func(r codeRange) bool { return code >= int(r.first) && code <= int(r.last) })
		if _, has := codes[u]; u >= 0x80 && !skip && !has {
			codes[u] = uint16(code)
		}
	}
}
