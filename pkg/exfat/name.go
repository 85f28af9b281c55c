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
		switch {
		case !dateOK(v):
			return fmt.Sprintf("%s: month %d, day %d", t.what, v>>21&15, v>>16&31)
		case !clockOK(v):
			return fmt.Sprintf("%s: %02d:%02d:%02d", t.what, v>>11&31, v>>5&63, v&31*2)
		}
	}
	for _, off := range []int{offCreate10ms, offModify10ms} {
		if e[off] > most10ms {
			return fmt.Sprintf("%d hundredths of a second", e[off])
		}
	}
	return ""
}

// most10ms is the largest 10msIncrement, [exFAT] §7.4.9.
const most10ms = 199

// dateOK and clockOK tell whether the halves of a timestamp can be: month and
// day from 1 on, hours, minutes, and seconds in steps of two.
func dateOK(v uint32) bool {
	month := v >> 21 & 15
	return month >= 1 && month <= 12 && v>>16&31 >= 1
}

func clockOK(v uint32) bool { return v>>11&31 <= 23 && v>>5&63 <= 59 && v&31*2 <= 58 }

// timesOK tells whether badTimes has nothing to say.
func timesOK(e entry) bool {
	c, m, a := e.u32(offCreate), e.u32(offModify), e.u32(offAccess)
	return dateOK(c) && dateOK(m) && dateOK(a) && clockOK(c) && clockOK(m) && clockOK(a) && e[offCreate10ms] <= most10ms && e[offModify10ms] <= most10ms
}
