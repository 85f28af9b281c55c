package main

import (
	"fmt"
	"math/big"
	"strings"
)

// maxSizeText bounds what is worth reading as a number: 2^63 has 19 digits.
const maxSizeText = 40

// mostQuoted is how many bytes of what is no size are shown: it may be a whole file.
const mostQuoted = 60

// sizeUnits are the suffixes of a size, in lower case: a bare letter is a power
// of two, as truncate(1) and mke2fs(8) have it, "KB" a power of ten.
func sizeUnits() map[string]int64 {
	m := map[string]int64{"": 1, "b": 1}
	two, ten := int64(1), int64(1)
	for _, c := range "kmgtp" {
		two, ten = two<<10, ten*1000
		m[string(c)], m[string(c)+"ib"], m[string(c)+"b"] = two, two, ten
	}
	return m
}

// parseSize reads a size in bytes: 512, 64K, 1.5G, 2T, 3MiB are powers of two,
// 10MB is a power of ten. Only whole numbers of bytes from 0 to 2^63-1 are
// sizes; anything else is a usage error that says why.
func parseSize(text string) (int64, error) {
	return parseUnits(text, sizeUnits())
}

// parseOffset reads where a volume starts, as mtools spells it: a size, or
// with the suffix S a number of sectors of 512 bytes.
func parseOffset(text string) (int64, error) {
	units := sizeUnits()
	units["s"] = 512
	return parseUnits(text, units)
}

func parseUnits(text string, units map[string]int64) (int64, error) {
	if len(text) > mostQuoted {
		return 0, usagef("%q... is not a size such as 512, 64K, 1.5G or 10MB", text[:mostQuoted])
	}
	digits := strings.TrimLeft(text, "0123456789.")
	number := text[:len(text)-len(digits)]
	unit, known := units[strings.ToLower(digits)]
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, usagef("%q: a size cannot be negative", text)
	case number == "" || number == "." || strings.Count(number, ".") > 1 || len(number) > maxSizeText:
		return 0, usagef("%q is not a size such as 512, 64K, 1.5G or 10MB", text)
	case !known:
		return 0, usagef("%q: unknown unit %q; K, M, G, T are powers of two, KB, MB, GB, TB powers of ten", text, digits)
	}
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, usagef("%q is not a size such as 512, 64K, 1.5G or 10MB", text)
	}
	n.Mul(n, new(big.Rat).SetInt64(unit))
	switch {
	case !n.IsInt():
		return 0, usagef("%q is not a whole number of bytes", text)
	case !n.Num().IsInt64():
		return 0, usagef("%q is more than 2^63-1 bytes", text)
	}
	return n.Num().Int64(), nil
}

// plural is n things in words.
func plural(n uint64, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
