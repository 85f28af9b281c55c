package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

func TestParseManifest(t *testing.T) {
	got, err := parseManifest("m", strings.NewReader("4G\tDCIM/A.MP4\n\n64K\tb c\td.bin\r\n512\tno newline"))
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	want := []vol.PreallocFile{{Path: "DCIM/A.MP4", Length: 4 << 30}, {Path: "b c\td.bin", Length: 64 << 10}, {Path: "no newline", Length: 512}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

func TestParseManifestRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                                       "names no file",
		"\n\n":                                   "names no file",
		"1M\ta\n4G DCIM\n":                       "line 2: no tab",
		"1M\ta\nx\tb\n":                          "line 2: \"x\"",
		"1M\ta\n\n-5\tb\n":                       "line 3",
		strings.Repeat("\x00", 99) + "\tb":       "line 1: \"" + strings.Repeat(`\x00`, mostQuoted) + "\"... is not a size",
		"0\ta\n":                                 "line 1: a path and a length",
		"5\t\n":                                  "line 1: a path and a length",
		"1\ta\n2\t" + strings.Repeat("x", 1<<17): "line 2: longer than",
	} {
		_, err := parseManifest("m", strings.NewReader(in))
		if !errors.Is(err, vol.ErrUsage) || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v, want %q", in, err, why)
		}
	}
}

// A manifest from a pipe that nobody writes to must not keep Ctrl-C waiting.
func TestReadManifestIsCancelled(t *testing.T) {
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := newApp(nil, in, io.Discard, io.Discard)
	if _, err := a.readManifest(ctx, "-"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
