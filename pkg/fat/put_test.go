package fat

import (
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// TestDescribe: [FAT] "Date and Time Formats": the last change in steps of two
// seconds, the creation in hundredths, the last access in days. What is not told is
// as the last change, and what was before 1980 is at its beginning.
func TestDescribe(t *testing.T) {
	const date2001, date2002, date2003 = 21<<9 | 2<<5 | 3, 22<<9 | 12<<5 | 31, 23<<9 | 6<<5 | 30
	at := func(year, month, day, hour, minute, second, hundredths int) time.Time {
		return time.Date(year, time.Month(month), day, hour, minute, second, hundredths*1e7, time.UTC)
	}
	changed := at(2001, 2, 3, 4, 5, 7, 89)
	for _, tt := range []struct {
		name           string
		others         *vol.Times
		date, time     uint16 // of the creation
		tenth          byte
		access         uint16
		flags          vol.FileFlags
		hadDirectory   byte
		wantAttributes byte
	}{
		{"one time", nil, date2001, 4<<11 | 5<<5 | 3, 189, date2001, vol.FlagReadOnly | vol.FlagArchive, 0, 0x21},
		{"three", &vol.Times{Born: at(2002, 12, 31, 23, 59, 58, 7), Accessed: at(2003, 6, 30, 1, 2, 3, 0)},
			date2002, 23<<11 | 59<<5 | 29, 7, date2003, vol.FlagHidden | vol.FlagSystem, attrDirectory, 0x16},
		{"too old", &vol.Times{Born: at(1975, 1, 1, 1, 1, 1, 50)}, 1<<5 | 1, 0, 0, date2001, 0, 0, 0},
	} {
		e := vol.Entry{Times: tt.others}
		e.Modified, e.Flags = changed, tt.flags
		d := make(dirEntry, entryLen)
		d[offAttr] = tt.hadDirectory
		d.describe(&e)
		if d.u16(offWrtDate) != date2001 || d.u16(offWrtTime) != 4<<11|5<<5|3 {
			t.Errorf("%s: last changed %#x %#x", tt.name, d.u16(offWrtDate), d.u16(offWrtTime))
		}
		if d.u16(offCrtDate) != tt.date || d.u16(offCrtTime) != tt.time || d[offCrtTenth] != tt.tenth {
			t.Errorf("%s: created %#x %#x and %d hundredths, want %#x %#x %d", tt.name, d.u16(offCrtDate), d.u16(offCrtTime), d[offCrtTenth], tt.date, tt.time, tt.tenth)
		}
		if d.u16(offAccDate) != tt.access || d[offAttr] != tt.wantAttributes {
			t.Errorf("%s: accessed %#x, attributes %#x, want %#x %#x", tt.name, d.u16(offAccDate), d[offAttr], tt.access, tt.wantAttributes)
		}
	}
}
