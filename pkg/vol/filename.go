package vol

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// BadNameUnit tells whether no name of a file may hold u on FAT and exFAT, as
// Windows has it.
func BadNameUnit(u uint16) bool {
	const (
		low  = uint64(1)<<32 - 1 | 1<<'"' | 1<<'*' | 1<<'/' | 1<<':' | 1<<'<' | 1<<'>' | 1<<'?'
		high = uint64(1)<<('\\'-64) | 1<<('|'-64)
	)
	return u < 64 && low>>u&1 != 0 || u >= 64 && u < 128 && high>>(u-64)&1 != 0
}

// EncodeName is a component of a path, given by a user, as the UTF-16 of the
// file to be created on FAT or exFAT, which format names, of at most most
// units. Errors are ErrRequest with the reason.
func EncodeName(name, format string, most int) ([]uint16, error) {
	bad := func(why string, args ...any) ([]uint16, error) {
		return nil, Refusef("%q is not a name for a file on %s: %s", name, format, fmt.Sprintf(why, args...))
	}
	switch {
	case name == "":
		return bad("it is empty")
	case name == "." || name == "..":
		return bad("it is reserved")
	case !utf8.ValidString(name):
		return bad("it is no UTF-8")
	}
	// Windows strips trailing periods and spaces, and then cannot open it.
	if c := name[len(name)-1]; c == '.' || c == ' ' {
		return bad("it ends in a period or a space")
	}
	units := utf16.Encode([]rune(name))
	if len(units) > most {
		return bad("it has %d UTF-16 units, more than %d", len(units), most)
	}
	for _, u := range units {
		if BadNameUnit(u) {
			return bad("%q must not be in it", rune(u))
		}
	}
	return units, nil
}

// FitName is the nearest to name that a file on FAT or exFAT can be called: what
// must not be in it becomes '_', and it is cut to most UTF-16 units.
func FitName(name string, most int) string {
	units := utf16.Encode([]rune(strings.ToValidUTF8(name, "_")))
	for i, u := range units {
		if BadNameUnit(u) {
			units[i] = '_'
		}
	}
	if len(units) > most {
		units = units[:most]
		if units[most-1]&0xFC00 == 0xD800 {
			units = units[:most-1] // a pair is not cut in two
		}
	}
	// Windows strips periods and spaces at the end, and then cannot open it.
	for n := len(units) - 1; n >= 0 && (units[n] == '.' || units[n] == ' '); n-- {
		units[n] = '_'
	}
	if len(units) == 0 {
		return "_"
	}
	return string(utf16.Decode(units))
}
