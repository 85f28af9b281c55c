package exfat

import "time"

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
	t := time.Unix(unix, 0).UTC()
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); t.Before(first) {
		t = first
	}
	if last := time.Date(2107, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		t = last
	}
	date := (t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day()
	clock := t.Hour()<<11 | t.Minute()<<5 | t.Second()/2
	return stamp{when: uint32(date<<16 | clock), tens: byte(t.Second() % 2 * 100)}
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
