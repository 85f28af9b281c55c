package main

import (
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

func TestParsePlace(t *testing.T) {
	files := map[string]bool{"real:2": true, "real@@1M": true, "a:b/c": true}
	exists := func(name string) bool { return files[name] }
	for arg, want := range map[string]place{
		"card.img":        {path: "card.img", off: -1},
		"card.img:2":      {path: "card.img", part: 2, off: -1},
		"card.img:128":    {path: "card.img", part: 128, off: -1},
		"card.img@@1M":    {path: "card.img", off: 1 << 20},
		"card.img@@63S":   {path: "card.img", off: 63 * 512},
		"card.img@@0":     {path: "card.img", off: 0},
		"a@@b@@512":       {path: "a@@b", off: 512},
		"real:2":          {path: "real:2", off: -1},
		"real:2:3":        {path: "real:2", part: 3, off: -1},
		"real@@1M":        {path: "real@@1M", off: -1},
		"real@@1M@@2M":    {path: "real@@1M", off: 2 << 20},
		"card.img:":       {path: "card.img:", off: -1},
		"card.img:x":      {path: "card.img:x", off: -1},
		"card.img:1x":     {path: "card.img:1x", off: -1},
		":2":              {path: ":2", off: -1},
		"@@2":             {path: "@@2", off: -1},
		"/dev/sdb":        {path: "/dev/sdb", off: -1},
		"/dev/sdb:1":      {path: "/dev/sdb", part: 1, off: -1},
		`C:\images\c.img`: {path: `C:\images\c.img`, off: -1},
	} {
		want.arg = arg
		if got, err := parsePlace(arg, exists); got != want || err != nil {
			t.Errorf("parsePlace(%q) = %+v, %v; want %+v", arg, got, err, want)
		}
	}
	for _, arg := range []string{"", "card.img@@", "card.img@@x", "card.img@@-1", "card.img@@1.3", "card.img:0", "card.img:99999999999999999999", "a\x00b"} {
		if got, err := parsePlace(arg, exists); !errors.Is(err, vol.ErrUsage) {
			t.Errorf("parsePlace(%q) = %+v, %v; want a usage error", arg, got, err)
		}
	}
}
