package exfat

import (
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

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
func newStamp(unix int64) stamp { return stampOf(time.Unix(unix, 0)) }

// stampOf is the stamp of t, or the nearest that there is.
func stampOf(t time.Time) stamp {
	date, clock, odd := vol.DOSTime(t.Unix())
	s := stamp{when: uint32(date)<<16 | uint32(clock)}
	if odd {
		s.tens = 100
	}
	if y := t.UTC().Year(); y >= 1980 && y <= 2107 {
		s.tens += byte(t.Nanosecond() / 1e7)
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

// time is the time in the field at off of a File entry, in UTC; the zero Time
// where it is none. tens are the hundredths of a second, and utc is the
// UtcOffset: quarters of an hour east of Greenwich, in seven bits with a sign,
// if the eighth says that it is valid. Otherwise the time is taken for UTC.
func (e entry) time(off int, tens, utc byte) time.Time {
	const offsetValid = 0x80
	v := e.u32(off)
	if !dateOK(v) || !clockOK(v) {
		return time.Time{}
	}
	t := time.Date(1980+int(v>>25), time.Month(v>>21&15), int(v>>16&31), int(v>>11&31), int(v>>5&63), int(v&31)*2, 0, time.UTC)
	t = t.Add(time.Duration(min(tens, most10ms)) * 10 * time.Millisecond)
	if utc&offsetValid != 0 {
		t = t.Add(-time.Duration(int8(utc<<1)>>1) * 15 * time.Minute)
	}
	return t
}
