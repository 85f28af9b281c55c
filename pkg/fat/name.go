package fat

import (
	"encoding/binary"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fatkit/fatkit/pkg/vol"
)

// trimSpaces is the length of b without trailing spaces, which pad both parts
// of a short name.
func trimSpaces(b []byte) int {
	n := len(b)
	for n > 0 && b[n-1] == ' ' {
		n--
	}
	return n
}

// decodeUnits is UTF-16 as UTF-8; a surrogate without its other half becomes
// U+FFFD.
func decodeUnits(u []uint16) string {
	var buf [3 * maxLongUnits]byte // on the stack: names are decoded by the million
	b := buf[:0]
	for i := 0; i < len(u); i++ {
		r := rune(u[i])
		if utf16.IsSurrogate(r) {
			next := rune(0)
			if i+1 < len(u) {
				next = rune(u[i+1])
			}
			if r = utf16.DecodeRune(r, next); r != utf8.RuneError {
				i++
			}
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// foldUnit is the unit that u is compared as: its simple upper case, as in the
// tables of Windows. [Linux] folds by the tables of its iocharset, which agree
// where they have anything to say.
func foldUnit(u uint16) uint16 {
	if u < 0x80 {
		if 'a' <= u && u <= 'z' {
			u -= 'a' - 'A'
		}
		return u
	}
	if u < 0xE0 || u >= 0x2E80 && u < 0xA640 || u >= 0xAC00 && u < 0xFF21 {
		return u // no letters with case here: symbols, CJK, Hangul, surrogates
	}
	r := unicode.ToUpper(rune(u))
	// Windows' tables keep U+0131 and U+017F apart from I and S, and are older
	// than the capitals of Georgian and Cherokee.
	if r < 0x80 || r > 0xFFFF || r >= 0x13A0 && r < 0x1400 || r >= 0x1C80 && r < 0x1CC0 {
		return u
	}
	return uint16(r)
}

// shortClass says what a byte is good for in a short name.
type shortClass int

const (
	shortOK       shortClass = iota
	shortLower               // a-z: [FAT] DIR_Name is upper case
	shortLongOnly            // + , ; = [ ]: legal in long names alone
	shortLeading             // a space at the start
	shortIllegal             // in no name
)

// classifyShort judges byte i of the 11 bytes of a short name. [FAT]
// "DIR_Name": no bytes below 0x20 but a 0x05 at the start, none of a list, no
// lower case, no space at the start. 0x7F is not on the list, but fsck.fat
// takes it for wrong and DOS cannot type it.
func classifyShort(c byte, i int) shortClass {
	switch {
	case c >= 'a' && c <= 'z':
		return shortLower
	case c == ' ' && i == 0:
		return shortLeading
	case c == entryKanji && i == 0:
		return shortOK
	case c < 0x20 || c == 0x7F:
		return shortIllegal
	}
	switch c {
	case '"', '*', '/', ':', '<', '>', '?', '\\', '|', '.':
		return shortIllegal
	case '+', ',', ';', '=', '[', ']':
		return shortLongOnly
	}
	return shortOK
}

// isDeviceName tells whether the 11 bytes of a short name are what DOS and
// Windows take for a device, whatever the extension.
func isDeviceName(name []byte) bool {
	base := string(name[:trimSpaces(name[:8])])
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CLOCK$":
		return true
	}
	return len(base) == 4 && (base[:3] == "COM" || base[:3] == "LPT") && base[3] >= '1' && base[3] <= '9'
}

// badLongUnit tells whether no long name may have u: [FAT] "Long File Names",
// the list of DIR_Name without + , ; = [ ] and the period.
func badLongUnit(u uint16) bool { return vol.BadNameUnit(u) }

// encodeLong is a component of a path, given by a user, as the units of the
// long name to be created. Errors are vol.ErrRequest with the reason.
func encodeLong(name string) ([]uint16, error) { return vol.EncodeName(name, "FAT", maxLongUnits) }

// longSlots are the directory slots of a long name in the order on the disk,
// the end of the name first; sum is the nameSum of the short name they belong
// to. [FAT] "Long Directory Entries": a name that does not fill its last slot
// is ended by a 0 and padded with 0xFFFF.
func longSlots(units []uint16, sum byte) [][entryLen]byte {
	n := (len(units) + ldirChars - 1) / ldirChars
	slots := make([][entryLen]byte, n)
	for ord := 1; ord <= n; ord++ {
		s := slots[n-ord][:]
		s[offLdirOrd] = byte(ord)
		if ord == n {
			s[offLdirOrd] |= ldirLast
		}
		s[offAttr] = attrLongName
		s[offLdirChk] = sum
		for i := range ldirChars {
			u := uint16(0xFFFF)
			switch at := (ord-1)*ldirChars + i; {
			case at < len(units):
				u = units[at]
			case at == len(units):
				u = 0
			}
			binary.LittleEndian.PutUint16(s[ldirOffset(i):], u)
		}
	}
	return slots
}
