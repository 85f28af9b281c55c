package vol

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// ParseSerial reads a volume serial number of FAT and exFAT: 1234-ABCD as it is
// shown, or up to 8 hexadecimal digits, with or without 0x.
func ParseSerial(s string) (uint32, error) {
	digits := s
	if len(s) == 9 && s[4] == '-' {
		digits = s[:4] + s[5:]
	} else if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		digits = s[2:]
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) > 8 {
		return 0, Usagef("volume id %q: must be like 1234-ABCD, 8 hexadecimal digits", s)
	}
	return uint32(v), nil
}

// SerialText is a serial number as ParseSerial reads it, "1234-ABCD".
func SerialText(v uint32) string { return fmt.Sprintf("%04X-%04X", v>>16, v&0xFFFF) }

// SerialFrom makes a serial number of a seed. It is never 0, which some
// systems take for none. Seeds that differ in a few bits only, as times do,
// give numbers that differ in many.
func SerialFrom(seed uint64) uint32 {
	hi, lo := bits.Mul64(seed^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
	v := hi ^ lo
	if s := uint32(v ^ v>>32); s != 0 {
		return s
	}
	return 1
}

// Serial is the serial number that was asked for, or one made of the seed.
func (o *FormatOptions) Serial() (uint32, error) {
	if o.ID == "" {
		return SerialFrom(o.Seed), nil
	}
	return ParseSerial(o.ID)
}
