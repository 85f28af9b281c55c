package vol

import (
	"strconv"
	"strings"
)

// SizeUnit is what a size of about n bytes is given in.
func SizeUnit(n int64) (int64, string) {
	switch {
	case n < 4<<20:
		return 1 << 10, "KiB"
	case n < 4<<30:
		return 1 << 20, "MiB"
	case n < 4<<50:
		return 1 << 30, "GiB"
	}
	return 1 << 40, "TiB"
}

// SizeText is a size for people: exact, or to two digits behind the point.
func SizeText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i, v := 0, float64(n)
	for ; i < len(units)-1 && v >= 1024; i++ {
		v /= 1024
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".") + " " + units[i]
}

// SizeFlag is a power of two as -c, -S and --align take it.
func SizeFlag(n int64) string {
	switch {
	case n >= 1<<20:
		return strconv.FormatInt(n>>20, 10) + "M"
	case n >= 1<<10:
		return strconv.FormatInt(n>>10, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// ClusterFlag names the powers of two from least to most for which works holds
// as the option that asks for them, "" where there are none. Those that work
// follow each other.
func ClusterFlag(least, most int64, works func(cluster int64) bool) string {
	var ok []string
	for c := least; c <= most; c *= 2 {
		if works(c) {
			ok = append(ok, SizeFlag(c))
		}
	}
	switch len(ok) {
	case 0:
		return ""
	case 1:
		return "-c " + ok[0]
	}
	return "-c " + ok[0] + " to " + ok[len(ok)-1]
}
