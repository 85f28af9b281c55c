package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// stamp is a time as a File entry holds it, [exFAT] §7.4.8: a date and a time
// in steps of two seconds, and hundredths of a second beside them (§7.4.9),
// from 1980 to 2107. It is UTC, and says so (§7.4.10).
type stamp struct {
	when uint32
	tens byte // of milliseconds, 0 … 199
}

// utc is a UtcOffset field that is valid and 0, [exFAT] §7.4.10.
const utc = 0x80

// newStamp is the nearest stamp to unix, seconds since 1970, UTC.
func newStamp(unix int64) stamp {
	date, clock, odd := vol.DOSTime(unix)
	s := stamp{when: uint32(date)<<16 | uint32(clock)}
	if odd {
		s.tens = 100
	}
	return s
}

// create sets all times of a File entry.
func (e entry) create(s stamp) {
	e.put32(offCreate, s.when)
	e.put32(offAccess, s.when)
	e[offCreate10ms], e[offCreateUTC], e[offAccessUTC] = s.tens, utc, utc
	e.touch(s)
}

// touch sets the time of the last change of a File entry.
func (e entry) touch(s stamp) {
	e.put32(offModify, s.when)
	e[offModify10ms], e[offModifyUTC] = s.tens, utc
}
