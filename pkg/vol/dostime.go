package vol

import "time"

// DOSTime is unix, seconds since 1970, as FAT and exFAT record times, taken as UTC:
// [FAT] "Date and Time Formats" and [exFAT] §7.4.8, a date from 1980 to 2107 and a
// time in steps of two seconds; odd says that it is a second later. What lies
// outside those years is the first or the last second in them.
func DOSTime(unix int64) (date, clock uint16, odd bool) {
	t := time.Unix(unix, 0).UTC()
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); t.Before(first) {
		t = first
	}
	if last := time.Date(2107, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		t = last
	}
	date = uint16((t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day())
	clock = uint16(t.Hour()<<11 | t.Minute()<<5 | t.Second()/2)
	return date, clock, t.Second()%2 != 0
}
