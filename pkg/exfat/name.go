package exfat

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fatkit/fatkit/pkg/vol"
)

// decodeUnits is UTF-16 as UTF-8; half a surrogate pair becomes U+FFFD.
func decodeUnits(u []uint16) string { return string(utf16.Decode(u)) }

// badUnit tells whether no name may hold u, [exFAT] §7.7.3 Table 35.
func badUnit(u uint16) bool {
	if u < 0x20 {
		return true
	}
	switch u {
	case '"', '*', '/', ':', '<', '>', '?', '\\', '|':
		return true
	}
	return false
}

var errName = errors.New("not a name for a file on exFAT")

// encodeName is a component of a path, given by a user, as UTF-16. Errors are
// vol.ErrRequest with the reason.
func encodeName(name string) ([]uint16, error) {
	bad := func(why string) ([]uint16, error) {
		return nil, fmt.Errorf("%w: %q is %w: %s", vol.ErrRequest, name, errName, why)
	}
	switch {
	case name == "":
		return bad("it is empty")
	case name == "." || name == "..":
		return bad("it is reserved")
	case !utf8.ValidString(name):
		return bad("it is no UTF-8")
	}
	// Windows strips trailing periods and blanks, and then cannot open it.
	if c := name[len(name)-1]; c == '.' || c == ' ' {
		return bad("it ends in a period or a blank")
	}
	u := utf16.Encode([]rune(name))
	if len(u) > maxName {
		return bad(fmt.Sprintf("it has %d UTF-16 units, more than %d", len(u), maxName))
	}
	for _, c := range u {
		if badUnit(c) {
			return bad(fmt.Sprintf("%q must not be in it", rune(c)))
		}
	}
	return u, nil
}

// badTimes says what is wrong with the times of a File entry, or "", [exFAT]
// §7.4.8 to §7.4.10.
func badTimes(e entry) string {
	for _, t := range []struct {
		what string
		off  int
	}{{"created", offCreate}, {"modified", offModify}, {"read", offAccess}} {
		v := e.u32(t.off)
		month, day := v>>21&15, v>>16&31
		hour, minute, sec := v>>11&31, v>>5&63, v&31*2
		if month < 1 || month > 12 || day < 1 {
			return fmt.Sprintf("%s: month %d, day %d", t.what, month, day)
		}
		if hour > 23 || minute > 59 || sec > 58 {
			return fmt.Sprintf("%s: %02d:%02d:%02d", t.what, hour, minute, sec)
		}
	}
	for _, off := range []int{offCreate10ms, offModify10ms} {
		if e[off] > 199 {
			return fmt.Sprintf("%d hundredths of a second", e[off])
		}
	}
	return ""
}
