package exfat

import (
	"fmt"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/vol"
)

// decodeUnits is UTF-16 as UTF-8; half a surrogate pair becomes U+FFFD.
func decodeUnits(u []uint16) string { return string(utf16.Decode(u)) }

// badUnit tells whether no name may hold u, [exFAT] §7.7.3 Table 35.
func badUnit(u uint16) bool { return vol.BadNameUnit(u) }

// encodeName is a component of a path, given by a user, as UTF-16. Errors are
// vol.ErrRequest with the reason.
func encodeName(name string) ([]uint16, error) { return vol.EncodeName(name, "exFAT", maxName) }

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
