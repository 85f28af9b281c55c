package main

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "64K": 64 << 10, "64k": 64 << 10, "1.5G": 3 << 29, "2T": 2 << 40, "16T": 16 << 40,
		"3MiB": 3 << 20, "3mib": 3 << 20, "10MB": 10e6, "1KB": 1000, "1TB": 1e12, "100B": 100, "1P": 1 << 50,
		"0.5K": 512, ".5K": 512, "1.": 1, "4294967295": math.MaxUint32, "9223372036854775807": math.MaxInt64,
	} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseSizeRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"": "not a size", ".": "not a size", "K": "not a size", "1..5K": "not a size", "1.2.3": "not a size",
		"-1": "negative", "-64M": "negative", "+5": "not a size", " 5": "not a size",
		"5 K": "unknown unit", "5X": "unknown unit", "5KKB": "unknown unit", "1e3": "unknown unit", "0x10": "unknown unit", "2048S": "unknown unit",
		"1.3K": "whole number", "0.1": "whole number", "0.0005KB": "whole number",
		"9223372036854775808": "2^63", "8388608T": "2^63", "99999999999999999999G": "2^63",
		strings.Repeat("9", 100): "not a size",
	} {
		got, err := parseSize(text)
		if err == nil || !errors.Is(err, vol.ErrUsage) || !strings.Contains(err.Error(), why) {
			t.Errorf("parseSize(%q) = %d, %v; want a usage error with %q", text, got, err, why)
		}
	}
}

func TestParseOffset(t *testing.T) {
	for text, want := range map[string]int64{"63S": 63 * 512, "2048s": 1 << 20, "1M": 1 << 20, "512": 512, "0": 0} {
		if got, err := parseOffset(text); got != want || err != nil {
			t.Errorf("parseOffset(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1.5G", "10MB", "-1", "1e9", "9223372036854775807", "0.00000000001T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseSize(s); err == nil && n < 0 || err != nil && !errors.Is(err, vol.ErrUsage) {
			t.Errorf("parseSize(%q) = %d, %v", s, n, err)
		}
	})
}
